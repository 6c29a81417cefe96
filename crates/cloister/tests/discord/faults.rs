//! A Discord that misbehaves: nothing is lost, nothing is doubled, nobody is hammered, and the operator sees it.

use std::time::{Duration, Instant};

use cloister_testkit::discord::{Fault, Person, Rate, Request, Scope};

use crate::world::{SOON, World, echoes, eventually};

const POST: &str = "POST /channels/:id/messages";

async fn met() -> (World, Person, u64) {
    let world = World::builder().config(SOON).start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "before", "echo: before").await;
    (world, ann, dm)
}

/// What was refused because of too many requests.
fn refusals(world: &World) -> Vec<Request> {
    world.discord.requests().into_iter().filter(|request| request.status == 429).collect()
}

async fn answered_once(person: &Person, channel: u64, said: &[&str]) {
    for text in said {
        person.wait_for_text(channel, &format!("echo: {text}")).await;
    }
    person.ask(channel, "the last", "echo: the last").await;
    let mut expected = vec!["echo: before".to_owned()];
    expected.extend(said.iter().map(|text| format!("echo: {text}")));
    expected.push("echo: the last".to_owned());
    assert_eq!(echoes(person, channel), expected);
}

/// X1, X6: all of Discord is away: the operator sees it, it is tried again with patience, and what was said
/// meanwhile is answered when it is back.
#[tokio::test]
async fn an_unreachable_discord_is_waited_for() {
    let (world, ann, dm) = met().await;
    world.discord.down();
    ann.say(dm, "one");
    let view = world.until_state("retrying").await;
    assert!(view["problem"].as_str().is_some_and(|problem| !problem.is_empty()), "{view}");
    let status = world.stack.cli(&["discord", "status"]).await.unwrap();
    assert!(status.stdout.contains("trying again"), "{status:?}");
    let doctor = world.stack.cli(&["doctor"]).await.unwrap();
    assert!(format!("{doctor:?}").contains("discord"), "{doctor:?}");
    world.discord.up();
    world.until_state("connected").await;
    answered_once(&ann, dm, &["one"]).await;
    world.assert_clean();
}

/// X1: Discord begins anew: connections cut, sessions forgotten.
#[tokio::test]
async fn a_restart_of_discord_is_lived_through() {
    let (world, ann, dm) = met().await;
    world.discord.restart();
    ann.say(dm, "one");
    answered_once(&ann, dm, &["one"]).await;
    world.assert_clean();
}

/// X1: 5xx of Discord and of what stands before it, also on edits.
#[tokio::test]
async fn server_errors_pass() {
    let (world, ann, dm) = met().await;
    world.discord.lay_times(POST, Fault::Status(502), 2);
    ann.say(dm, "one");
    ann.wait_for_text(dm, "echo: one").await;
    world.discord.lay_times(POST, Fault::Status(500), 1);
    world.discord.lay_times("POST /channels/:id/typing", Fault::Status(503), 2);
    ann.say(dm, "two");
    answered_once(&ann, dm, &["one", "two"]).await;
    world.assert_clean();
}

/// X1: connections that are cut.
#[tokio::test]
async fn cut_requests_pass() {
    let (world, ann, dm) = met().await;
    world.discord.lay_times(POST, Fault::Cut, 2);
    ann.say(dm, "one");
    answered_once(&ann, dm, &["one"]).await;
    world.assert_clean();
}

/// X1: an answer that never comes is given up, and asked for again.
#[tokio::test]
async fn a_request_that_hangs_is_given_up() {
    let (world, ann, dm) = met().await;
    world.discord.lay_times(POST, Fault::Hang, 1);
    ann.say(dm, "one");
    answered_once(&ann, dm, &["one"]).await;
    world.assert_clean();
}

/// X1: what was being posted when everything was killed, and had got there, is not posted again.
#[tokio::test]
async fn killed_between_a_post_and_its_record() {
    let (mut world, ann, dm) = met().await;
    world.discord.lay(POST, Fault::Lost);
    ann.say(dm, "one");
    ann.wait_for_text(dm, "echo: one").await;
    world.stack.kill().await.unwrap();
    world.discord.heal();
    world.stack.restart().await.unwrap();
    answered_once(&ann, dm, &["one"]).await;
    world.assert_clean();
}

/// X6: Discord's real limits on a channel are kept by its headers: nothing is asked too early, nothing lost.
#[tokio::test]
async fn limits_are_kept_by_header() {
    let (world, ann, dm) = met().await;
    world.discord.limit_messages(Rate::new(2, Duration::from_secs(1)));
    let said: Vec<String> = (0..6).map(|number| format!("number {number}")).collect();
    for text in &said {
        ann.say(dm, text);
    }
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    answered_once(&ann, dm, &said).await;
    // Every answer says how many more are taken, and when: nothing has to be refused.
    assert_eq!(refusals(&world).len(), 0, "{:#?}", refusals(&world));
    world.assert_clean();
}

/// X6: at the rates that Discord really has, in several conversations at once and with commands in between, nothing
/// is refused, nothing lost and nothing doubled.
#[tokio::test]
async fn at_real_rates_nothing_is_refused() {
    let (world, ann, dm) = met().await;
    let (bo, bos) = world.met("bo").await;
    bo.ask(bos, "before", "echo: before").await;
    world.discord.real_limits();
    let said: Vec<String> = (0..7).map(|number| format!("number {number}")).collect();
    for text in &said {
        ann.say(dm, text);
        bo.say(bos, text);
    }
    let status = ann.use_command(dm, &world.bot, "status", &[]).await;
    assert!(!status.text().is_empty());
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    answered_once(&ann, dm, &said).await;
    answered_once(&bo, bos, &said).await;
    assert_eq!(refusals(&world).len(), 0, "{:#?}", refusals(&world));
    world.assert_clean();
}

/// X6: a 429 names a time; nothing is asked before it, whether it is our own limit or one that is shared.
#[tokio::test]
async fn too_many_requests_are_answered_with_waiting() {
    let (world, ann, dm) = met().await;
    let after = Duration::from_secs(1);
    for scope in [Scope::User, Scope::Shared] {
        let since = Instant::now();
        world.discord.lay_times(POST, Fault::TooMany { after, scope }, 1);
        ann.ask(dm, &format!("{scope:?}"), &format!("echo: {scope:?}")).await;
        let requests = world.discord.requests();
        let posts: Vec<Instant> = requests
            .iter()
            .filter(|request| request.at >= since && request.route == POST)
            .map(|request| request.at)
            .collect();
        assert!(posts.len() >= 2, "{scope:?}");
        let waited = posts[1] - posts[0];
        assert!(waited >= Duration::from_millis(900), "{scope:?}: again after {waited:?}");
    }
    let expected = ["echo: before", "echo: User", "echo: Shared"];
    assert_eq!(echoes(&ann, dm), expected);
    world.assert_clean();
}

/// X6: a global limit that lasts is waited for and not hammered.
#[tokio::test]
async fn a_global_limit_is_not_hammered() {
    let (world, ann, dm) = met().await;
    let (after, scope) = (Duration::from_secs(1), Scope::Global);
    world.discord.lay("", Fault::TooMany { after, scope });
    let since = Instant::now();
    ann.say(dm, "one");
    eventually("it is refused twice", || async { (refusals(&world).len() > 1).then_some(()) })
        .await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    let asked = world.discord.count_since(since, "");
    assert!(asked <= 12, "{asked} requests in {:?}", since.elapsed());
    world.discord.heal();
    answered_once(&ann, dm, &["one"]).await;
    world.assert_clean();
}

/// X6: a limit for everything, of Discord or of what stands before it, holds everybody, for as long as it says and
/// no longer.
#[tokio::test]
async fn a_global_limit_holds_the_whole_bot() {
    let (world, ann, dm) = met().await;
    let (bo, bos) = world.met("bo").await;
    bo.ask(bos, "before", "echo: before").await;
    for (scope, word) in [(Scope::Global, "global"), (Scope::Edge, "edge")] {
        let after = Duration::from_secs(3);
        world.discord.lay_times("", Fault::TooMany { after, scope }, 1);
        let known = refusals(&world).len();
        ann.say(dm, word);
        let refused = || async { refusals(&world).get(known).cloned() };
        let refused = eventually("it is refused", refused).await;
        let quiet = || async {
            let last = world.discord.requests().last().map(|request| request.at);
            last.is_some_and(|at| at.elapsed() > Duration::from_millis(400)).then_some(())
        };
        eventually("what was on its way then is past", quiet).await;
        bo.say(bos, word);
        bo.wait_for_text(bos, &format!("echo: {word}")).await;
        ann.wait_for_text(dm, &format!("echo: {word}")).await;
        let requests = world.discord.requests();
        // What was on its way when it was refused may still come.
        let next = requests
            .iter()
            .map(|request| request.at)
            .find(|at| *at > refused.at + Duration::from_secs(1));
        let held = next.unwrap() - refused.at;
        assert!(held >= Duration::from_millis(2800), "{word}: nobody asks before {held:?}");
        assert!(held < Duration::from_millis(4900), "{word}: it said three seconds, not {held:?}");
    }
    assert_eq!(refusals(&world).len(), 2);
    let expected = ["echo: before", "echo: global", "echo: edge"];
    assert_eq!((echoes(&ann, dm), echoes(&bo, bos)), (own(&expected), own(&expected)));
    world.assert_clean();
}

fn own(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// X1: killed while an answer was being posted, and away for longer than Discord knows a nonce: the channel is read,
/// and what got there is not posted again.
#[tokio::test]
async fn after_a_minute_in_doubt_the_channel_is_read() {
    let (mut world, ann, dm) = met().await;
    world.discord.lay(POST, Fault::Lost);
    ann.say(dm, "one");
    ann.wait_for_text(dm, "echo: one").await;
    world.stack.kill().await.unwrap();
    world.discord.heal();
    world.discord.nonces_last(Duration::ZERO);
    let db = rusqlite::Connection::open(world.stack.data().join("cloister.db")).unwrap();
    let long_ago = "UPDATE posts SET created_at = created_at - 120000 WHERE external_id IS NULL";
    assert_eq!(db.execute(long_ago, []).unwrap(), 1, "one post is in doubt");
    drop(db);
    let since = Instant::now();
    world.stack.restart().await.unwrap();
    answered_once(&ann, dm, &["one"]).await;
    assert!(world.discord.count_since(since, "GET /channels/:id/messages") > 0);
    world.assert_clean();
}

/// X6: who takes no direct messages any more is not tried for ever; when they write again, they are answered.
#[tokio::test]
async fn closed_direct_messages_are_lived_with() {
    let (world, ann, dm) = met().await;
    ann.close_dms();
    ann.say(dm, "one");
    world.told_model("one").await;
    let since = Instant::now();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(world.discord.count_since(since, POST) <= 4, "nobody is hammered");
    ann.open_dms();
    ann.ask(dm, "two", "echo: two").await;
    world.assert_clean();
}

/// X6: the state is in the metrics, and the log says it once and not at every attempt.
#[tokio::test]
async fn the_state_is_in_the_metrics() {
    let (world, _ann, _dm) = met().await;
    world.discord.down();
    world.until_state("retrying").await;
    let line = eventually("the metrics say so", || async {
        let token = world.stack.operator_token().unwrap();
        let metrics = world.stack.http("GET", "/metrics", Some(&token), Vec::new()).await.unwrap();
        let retrying = |line: &&str| {
            line.contains("surface=\"discord\"")
                && line.contains("state=\"retrying\"")
                && line.ends_with(" 1")
        };
        metrics.text().lines().find(retrying).map(str::to_owned)
    })
    .await;
    assert!(line.starts_with("cloister_connector_state"), "{line}");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let log = world.stack.log();
    let id = world.bot.user_id.to_string();
    let told = log.lines().filter(|line| line.contains("WARN") && line.contains(&id)).count();
    assert!(told <= 1, "{told} times: {log}");
    world.discord.up();
    world.until_state("connected").await;
}

/// A start without Discord does not keep the product from starting.
#[tokio::test]
async fn a_start_without_discord_waits_for_it() {
    let (mut world, ann, dm) = met().await;
    world.stack.stop().await.unwrap();
    world.discord.down();
    ann.say(dm, "one");
    world.stack.restart().await.unwrap();
    world.until_state("retrying").await;
    world.discord.up();
    world.until_state("connected").await;
    answered_once(&ann, dm, &["one"]).await;
    world.assert_clean();
}
