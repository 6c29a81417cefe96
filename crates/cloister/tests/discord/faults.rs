//! A Discord that misbehaves: nothing is lost, nothing is doubled, nobody is hammered, and the operator sees it.

use std::time::{Duration, Instant};

use cloister_testkit::discord::{Fault, Person, Rate, Scope};

use crate::world::{SOON, World, echoes, eventually};

const POST: &str = "POST /channels/:id/messages";

async fn met() -> (World, Person, u64) {
    let world = World::builder().config(SOON).start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "before", "echo: before").await;
    (world, ann, dm)
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
    tokio::time::sleep(Duration::from_secs(2)).await;
    let asked = world.discord.count_since(since, "");
    assert!(asked <= 30, "{asked} requests in 2 s");
    world.discord.heal();
    answered_once(&ann, dm, &["one"]).await;
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
