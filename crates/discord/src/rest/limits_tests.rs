use std::time::Duration;

use tokio::time::Instant;

use super::{About, Asked, Limits, ToldLimits, TooMany};

const SECOND: Duration = Duration::from_secs(1);

fn post(channel: u64) -> Asked {
    Asked::of("POST", &format!("channels/{channel}/messages"))
}

fn counted(bucket: &str, remaining: u32, reset_after: Duration) -> ToldLimits {
    ToldLimits {
        bucket: Some(bucket.to_owned()),
        limit: Some(5),
        remaining: Some(remaining),
        reset_after: Some(reset_after),
    }
}

const fn refused(wait: Option<Duration>, about: About) -> TooMany {
    TooMany { wait, about }
}

/// Sends one and has it answered.
fn ask(limits: &mut Limits, asked: &Asked, told: &ToldLimits, now: Instant) {
    let key = limits.leave(asked, now).expect("it may leave");
    limits.answered(asked, &key, told, now);
}

/// X6: after `Remaining: 0` nothing leaves before the reset, and nothing has to be refused for that.
#[tokio::test]
async fn what_is_used_up_is_waited_for() {
    let (mut limits, now) = (Limits::default(), Instant::now());
    ask(&mut limits, &post(1), &counted("a", 1, SECOND), now);
    ask(&mut limits, &post(1), &counted("a", 0, SECOND), now);
    assert_eq!(limits.leave(&post(1), now), Err(SECOND));
    assert!(limits.leave(&post(2), now).is_ok(), "another channel is counted by itself");
    let later = now + SECOND;
    for _ in 0..5 {
        assert!(limits.leave(&post(1), later).is_ok(), "it is full again");
    }
    assert!(limits.leave(&post(1), later).is_err(), "and not more than that");
}

#[tokio::test]
async fn routes_of_one_bucket_are_counted_together() {
    let (mut limits, now) = (Limits::default(), Instant::now());
    let edit = Asked::of("PATCH", "channels/1/messages/22");
    ask(&mut limits, &edit, &counted("a", 4, SECOND), now);
    ask(&mut limits, &post(1), &counted("a", 0, SECOND), now);
    assert!(limits.leave(&edit, now).is_err());
    let typing = Asked::of("POST", "channels/1/typing");
    assert!(limits.leave(&typing, now).is_ok());
}

/// What left at the same time is not in each other's answers.
#[tokio::test]
async fn what_is_under_way_counts() {
    let (mut limits, now) = (Limits::default(), Instant::now());
    let first = limits.leave(&post(1), now).expect("nothing is known");
    assert!(limits.leave(&post(1), now).is_err(), "one finds out");
    limits.answered(&post(1), &first, &counted("a", 2, SECOND), now);
    let second = limits.leave(&post(1), now).expect("two are left");
    let third = limits.leave(&post(1), now).expect("one is left");
    assert!(limits.leave(&post(1), now).is_err());
    // The answers come the wrong way round.
    limits.answered(&post(1), &third, &counted("a", 0, SECOND), now);
    limits.answered(&post(1), &second, &counted("a", 1, SECOND), now);
    assert_eq!(limits.leave(&post(1), now), Err(SECOND));
}

/// A request that nobody answered holds nobody up.
#[tokio::test]
async fn what_was_never_answered_is_counted_back() {
    let (mut limits, now) = (Limits::default(), Instant::now());
    let lost = limits.leave(&post(1), now).expect("nothing is known");
    limits.back(&post(1), &lost);
    ask(&mut limits, &post(1), &counted("a", 0, SECOND), now);
    let later = now + SECOND;
    let lost: Vec<_> = (0..5).map(|_| limits.leave(&post(1), later).expect("full")).collect();
    assert!(limits.leave(&post(1), later).is_err(), "their answers say how many");
    lost.iter().for_each(|key| limits.back(&post(1), key));
    assert!(limits.leave(&post(1), later).is_ok(), "none will say it");
}

#[tokio::test]
async fn answers_that_name_no_limit_limit_nothing() {
    let (mut limits, now) = (Limits::default(), Instant::now());
    ask(&mut limits, &post(1), &ToldLimits::default(), now);
    let under_way: Vec<_> = (0..20).map(|_| limits.leave(&post(1), now).expect("free")).collect();
    // A name that comes late is that of all of them.
    for key in &under_way {
        limits.answered(&post(1), key, &counted("a", 3, SECOND), now);
    }
    limits.answered(&post(1), &under_way[0], &counted("a", 1, 2 * SECOND), now + SECOND);
    assert!(limits.leave(&post(1), now + SECOND).is_ok(), "nothing is under way any more");
}

/// X6: a refusal of a bucket holds the bucket, for as long as it says.
#[tokio::test]
async fn a_refusal_holds_its_bucket() {
    let (mut limits, now) = (Limits::default(), Instant::now());
    let key = limits.leave(&post(1), now).expect("nothing is known");
    let told = counted("a", 0, SECOND);
    let wait = refused(Some(3 * SECOND), About::Bucket);
    assert_eq!(limits.refused((&post(1), &key), &told, &wait, now), 3 * SECOND);
    assert_eq!(limits.leave(&post(1), now + SECOND), Err(2 * SECOND));
    assert!(limits.leave(&post(2), now).is_ok());
    assert!(limits.leave(&post(1), now + 3 * SECOND).is_ok());
}

/// X6: a limit for everything holds everything but the answers to interactions.
#[tokio::test]
async fn a_global_refusal_holds_the_bot() {
    let (mut limits, now) = (Limits::default(), Instant::now());
    let key = limits.leave(&post(1), now).expect("nothing is known");
    let wait = refused(Some(30 * SECOND), About::Bot);
    limits.refused((&post(1), &key), &ToldLimits::default(), &wait, now);
    let roles = Asked::of("GET", "guilds/3/roles");
    assert_eq!(limits.leave(&roles, now), Err(30 * SECOND));
    assert_eq!(limits.leave(&post(2), now + SECOND), Err(29 * SECOND));
    for token in ["interactions/4/secret/callback", "webhooks/5/secret/messages/@original"] {
        assert!(limits.leave(&Asked::of("POST", token), now).is_ok(), "{token}");
    }
    assert!(limits.leave(&roles, now + 30 * SECOND).is_ok());
}

/// X6: who is not wanted at all sends nothing, except that an interaction was heard; without a time it is tried
/// less and less often.
#[tokio::test]
async fn a_refusal_without_a_bucket_shuts_everything() {
    let (mut limits, mut now) = (Limits::default(), Instant::now());
    let mut waits = Vec::new();
    for _ in 0..6 {
        let key = limits.leave(&post(1), now).expect("it is over");
        let wait = limits.refused(
            (&post(1), &key),
            &ToldLimits::default(),
            &refused(None, About::Everything),
            now,
        );
        assert!(limits.leave(&Asked::of("PATCH", "webhooks/5/t/messages/@original"), now).is_err());
        assert!(limits.leave(&Asked::of("POST", "interactions/4/t/callback"), now).is_ok());
        waits.push(wait.as_secs());
        now += wait;
    }
    assert_eq!(waits, [5, 10, 20, 40, 60, 60]);
    ask(&mut limits, &post(1), &counted("a", 4, SECOND), now);
    let key = limits.leave(&post(1), now).expect("all is well");
    let forever = refused(Some(Duration::MAX), About::Bucket);
    let wait = limits.refused((&post(1), &key), &ToldLimits::default(), &forever, now);
    assert_eq!(wait, 3600 * SECOND);
}

/// The token of an interaction is not written down here, and each interaction is counted by itself.
#[test]
fn a_request_is_known_by_its_route_and_what_it_is_about() {
    let of = |path: &str| Asked::of("PATCH", path);
    assert_eq!(of("channels/1/messages/2"), of("channels/1/messages/3?x=1"));
    assert_ne!(of("channels/1/messages/2"), of("channels/2/messages/2"));
    assert_ne!(of("webhooks/1/one/messages/@original"), of("webhooks/1/two/messages/@original"));
    assert!(!format!("{:?}", of("webhooks/1/secret")).contains("secret"));
}

/// X6: Discord names no limit for everything, and counts all the same; that an interaction was heard is not in it.
#[tokio::test]
async fn no_more_is_sent_in_a_second_than_a_bot_may() {
    let (mut limits, now) = (Limits::default(), Instant::now());
    let sent = (0..100).take_while(|channel| limits.leave(&post(*channel), now).is_ok()).count();
    assert_eq!(sent, 45);
    assert_eq!(limits.leave(&post(200), now), Err(SECOND));
    let heard = Asked::of("POST", "interactions/1/token/callback");
    assert!(limits.leave(&heard, now).is_ok());
    assert!(limits.leave(&post(200), now + SECOND).is_ok());
}

/// An answer that never came holds nothing up for ever.
#[tokio::test]
async fn what_was_lost_on_its_way_is_forgotten() {
    let (mut limits, now) = (Limits::default(), Instant::now());
    assert!(limits.leave(&post(1), now).is_ok());
    assert!(limits.leave(&post(1), now).is_err(), "one at a time finds out about its bucket");
    assert!(limits.leave(&post(1), now + 700 * SECOND).is_ok());
}
