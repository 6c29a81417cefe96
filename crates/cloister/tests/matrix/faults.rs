//! A homeserver that misbehaves: nothing is lost, nothing is doubled, nobody is hammered, and the operator
//! sees it (X1, X4, X11).

use std::time::{Duration, Instant};

use cloister_testkit::synapse::Fault;
use matrix_sdk::Room;

use crate::person::Person;
use crate::world::{World, WorldBuilder, eventually};

/// Long enough to tell patience from a busy loop.
const WATCHED: Duration = Duration::from_secs(6);
/// The most requests that somebody who waits between attempts makes in that time.
const PATIENT: usize = 40;

fn behind_proxy() -> WorldBuilder {
    // Short waits, so that recovery is seen soon.
    World::builder()
        .behind_proxy()
        .config("[matrix]\nretry_most_s = 2\nrequest_timeout_s = 5\nsync_timeout_s = 2\n")
}

async fn met() -> (World, Person, Room) {
    let world = behind_proxy().start().await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, "before", "echo: before").await;
    (world, ann, c1)
}

/// Each of these was answered once, in this order, and nothing else was said.
async fn answered_once(person: &Person, room: &Room, said: &[&str]) {
    let expected: Vec<String> = said.iter().map(|text| format!("echo: {text}")).collect();
    for answer in &expected {
        person.wait_for_text(room, answer).await;
    }
    // Another one behind them: whatever was to come before it has come.
    person.ask(room, "the last", "echo: the last").await;
    let heard: Vec<String> = person.heard(room).into_iter().map(|post| post.text).collect();
    let echoes: Vec<&String> = heard.iter().filter(|text| text.starts_with("echo:")).collect();
    let mut wanted: Vec<String> = vec!["echo: before".to_owned()];
    wanted.extend(expected);
    wanted.push("echo: the last".to_owned());
    assert_eq!(echoes, wanted.iter().collect::<Vec<_>>(), "{heard:#?}");
}

/// Watches for a while how often the homeserver is asked.
async fn is_patient(world: &World) {
    let since = Instant::now();
    tokio::time::sleep(WATCHED).await;
    let asked = world.proxy().count_since(since, "");
    assert!(asked <= PATIENT, "{asked} requests in {} s", WATCHED.as_secs());
}

/// The homeserver can't be reached: it is tried again with patience, the operator sees it, and what was said
/// meanwhile is answered when it is back.
#[tokio::test]
async fn an_unreachable_homeserver_is_waited_for() {
    let (world, ann, c1) = met().await;
    world.proxy().lay("", Fault::Cut);
    ann.say(&c1, "one").await;
    ann.say(&c1, "two").await;
    let view = world.until_state("retrying").await;
    assert!(view["problem"].as_str().is_some_and(|problem| !problem.is_empty()), "{view}");
    let status = world.stack.cli(&["matrix", "status"]).await.unwrap();
    assert!(status.stdout.contains("trying again"), "{status:?}");
    let doctor = world.stack.cli(&["doctor"]).await.unwrap();
    let doctor = format!("{}{}", doctor.stdout, doctor.stderr);
    assert!(doctor.contains(&world.bot.user_id), "{doctor}");
    is_patient(&world).await;
    world.proxy().heal();
    world.until_state("connected").await;
    answered_once(&ann, &c1, &["one", "two"]).await;
}

/// 5xx on everything, and then on sends alone.
#[tokio::test]
async fn server_errors_pass() {
    let (world, ann, c1) = met().await;
    world.proxy().lay("", Fault::Status(502));
    ann.say(&c1, "one").await;
    world.until_state("retrying").await;
    is_patient(&world).await;
    world.proxy().heal();
    ann.wait_for_text(&c1, "echo: one").await;
    world.proxy().lay_times("/send/", Fault::Status(500), 3);
    ann.say(&c1, "two").await;
    answered_once(&ann, &c1, &["one", "two"]).await;
    assert_eq!(world.proxy().pending(), 0, "the fault was met");
}

/// 429 with a time: it is waited that long, not asked before.
#[tokio::test]
async fn too_many_requests_are_answered_with_waiting() {
    let (world, ann, c1) = met().await;
    let since = Instant::now();
    world.proxy().lay_times("/send/", Fault::TooMany { retry_after_ms: 2_500 }, 2);
    ann.say(&c1, "one").await;
    ann.wait_for_text(&c1, "echo: one").await;
    let sends: Vec<Instant> = world
        .proxy()
        .passed()
        .into_iter()
        .filter(|passed| passed.at >= since && passed.path.contains("/send/m.room"))
        .map(|passed| passed.at)
        .collect();
    let waited = sends.windows(2).take(2).map(|pair| pair[1] - pair[0]);
    for time in waited {
        assert!(time >= Duration::from_millis(2_400), "asked again after {} ms", time.as_millis());
    }
    answered_once(&ann, &c1, &["one"]).await;
}

/// The homeserver's own limit, on an answer that streams: every word arrives, once.
#[tokio::test]
async fn a_strict_limit_of_the_homeserver_is_lived_with() {
    let (world, ann, c1) = met().await;
    world.synapse.limit(&world.bot.user_id, 1, 2).await.unwrap();
    for number in 0..4 {
        ann.say(&c1, &format!("number {number}")).await;
    }
    answered_once(&ann, &c1, &["number 0", "number 1", "number 2", "number 3"]).await;
}

/// A sync that never answers is given up and asked again; a slow one is no fault.
#[tokio::test]
async fn a_hanging_and_a_slow_sync() {
    let (world, ann, c1) = met().await;
    world.proxy().lay_times("/sync", Fault::Hang, 1);
    ann.say(&c1, "one").await;
    ann.wait_for_text(&c1, "echo: one").await;
    world.proxy().lay("/sync", Fault::Delay(Duration::from_millis(1500)));
    ann.say(&c1, "two").await;
    ann.wait_for_text(&c1, "echo: two").await;
    world.proxy().heal();
    answered_once(&ann, &c1, &["one", "two"]).await;
}

/// The homeserver took a message and its answer was lost: it is not posted twice.
#[tokio::test]
async fn a_send_whose_answer_is_lost_is_not_posted_twice() {
    let (world, ann, c1) = met().await;
    world.proxy().lay_times("/send/m.room", Fault::Swallow, 2);
    ann.say(&c1, "one").await;
    ann.wait_for_text(&c1, "echo: one").await;
    eventually("the fault was met", || async { (world.proxy().pending() == 0).then_some(()) })
        .await;
    answered_once(&ann, &c1, &["one"]).await;
}

/// A room whose making was not confirmed is not made twice.
#[tokio::test]
async fn a_room_whose_making_is_not_confirmed_is_not_made_twice() {
    let (world, ann, c1) = met().await;
    world.proxy().lay_times("/createRoom", Fault::Swallow, 1);
    ann.say(&c1, "!new Twins").await;
    let c2 = ann.room_of("C2").await;
    ann.ask(&c2, "hello", "echo: hello").await;
    eventually("the fault was met", || async { (world.proxy().pending() == 0).then_some(()) })
        .await;
    let twins = ann.names().into_iter().filter(|name| name.starts_with("C2")).count();
    assert_eq!(twins, 1, "{:?}", ann.names());
}

/// A sync tells events again that it told before.
#[tokio::test]
async fn events_that_are_told_twice_are_answered_once() {
    let (world, ann, c1) = met().await;
    ann.say(&c1, "one").await;
    ann.wait_for_text(&c1, "echo: one").await;
    world.proxy().lay_times("/sync", Fault::RepeatEvents, 3);
    ann.say(&c1, "two").await;
    ann.wait_for_text(&c1, "echo: two").await;
    eventually("the fault was met", || async { (world.proxy().pending() == 0).then_some(()) })
        .await;
    answered_once(&ann, &c1, &["one", "two"]).await;
}

/// Events come one sync late, behind newer ones: each is answered, once.
#[tokio::test]
async fn events_out_of_order_are_all_answered() {
    let (world, ann, c1) = met().await;
    world.proxy().lay_times("/sync", Fault::HoldEvents, 1);
    ann.say(&c1, "one").await;
    eventually("it was held", || async { (world.proxy().pending() == 0).then_some(()) }).await;
    ann.say(&c1, "two").await;
    for answer in ["echo: one", "echo: two"] {
        ann.wait_for_text(&c1, answer).await;
    }
    ann.ask(&c1, "the last", "echo: the last").await;
    let heard: Vec<String> = ann.heard(&c1).into_iter().map(|post| post.text).collect();
    for answer in ["echo: one", "echo: two", "echo: the last"] {
        assert_eq!(heard.iter().filter(|text| *text == answer).count(), 1, "{heard:#?}");
    }
}

/// The token is revoked: no hammering, the operator is told what to do, and once the account is added again
/// it is heard again.
#[tokio::test]
async fn a_revoked_token_needs_an_operator() {
    let (world, ann, c1) = met().await;
    for device in world.synapse.devices(&world.bot.user_id).await.unwrap() {
        world.synapse.revoke(&world.bot.user_id, &device).await.unwrap();
    }
    let view = world.until_state("logged_out").await;
    let problem = view["problem"].as_str().unwrap_or_default();
    assert!(problem.contains("matrix add"), "{problem}");
    let status = world.stack.cli(&["matrix", "status"]).await.unwrap();
    assert_eq!(status.code, Some(1), "{status:?}");
    is_patient(&world).await;
    ann.say(&c1, "one").await;
    world.add_bot(&world.bot).await;
    world.until_state("connected").await;
    ann.ask(&c1, "two", "echo: two").await;
}

/// What an operator's monitoring sees of all this.
#[tokio::test]
async fn the_state_is_in_the_metrics() {
    let (world, _ann, _c1) = met().await;
    world.proxy().lay("", Fault::Status(503));
    world.until_state("retrying").await;
    let token = world.stack.operator_token().unwrap();
    let metrics = world.stack.http("GET", "/metrics", Some(&token), Vec::new()).await.unwrap();
    let text = metrics.text();
    let lines: Vec<&str> =
        text.lines().filter(|line| line.contains("connector") && !line.starts_with('#')).collect();
    let retrying = lines.iter().find(|line| line.contains("state=\"retrying\""));
    assert!(retrying.is_some_and(|line| line.ends_with(" 1")), "{lines:#?}");
    let log = world.stack.log();
    let told = log
        .lines()
        .filter(|line| line.contains("can't be used") && line.contains(&world.bot.user_id));
    assert_eq!(told.count(), 1, "the log says it once, not at every attempt: {log}");
}

/// A homeserver that is gone while the product starts does not keep it from starting.
#[tokio::test]
async fn a_start_without_a_homeserver_waits_for_it() {
    let (mut world, ann, c1) = met().await;
    world.stack.stop().await.unwrap();
    world.proxy().lay("", Fault::Cut);
    ann.say(&c1, "one").await;
    world.stack.restart().await.unwrap();
    world.until_state("retrying").await;
    world.proxy().heal();
    world.until_state("connected").await;
    answered_once(&ann, &c1, &["one"]).await;
}

/// An account that can't log in is not kept, and the sentence says what is wrong.
#[tokio::test]
async fn a_wrong_password_is_told_and_not_kept() {
    let world = behind_proxy().start().await;
    let password = world.stack.data().join("wrong");
    std::fs::write(&password, "wrong").unwrap();
    let other = world.synapse.register("other").await.unwrap();
    let homeserver = world.homeserver();
    let add = [
        "matrix",
        "add",
        "--homeserver",
        &homeserver,
        "--user",
        &other.user_id,
        "--password-file",
        password.to_str().unwrap(),
    ];
    let refused = world.stack.cli(&add).await.unwrap();
    assert!(!refused.ok(), "{refused:?}");
    assert!(refused.stderr.to_lowercase().contains("password"), "{refused:?}");
    assert!(!refused.stderr.contains("wrong\n"), "the password is not repeated");
    let listed = world.json(&["matrix", "list"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
}
