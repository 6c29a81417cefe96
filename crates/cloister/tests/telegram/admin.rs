//! What an operator does with bots, and what no file, log or process list may show of it (X5, P2, E71).

use std::path::PathBuf;

use cloister_testkit::stack::{command_lines, files_with};
use serde_json::{Value, json};

use crate::world::{World, eventually};

async fn add(world: &World, token: &str, more: &[&str]) -> (Option<i32>, Value) {
    let file = world.token_file("some", token);
    let (file, url) = (file.to_str().unwrap(), world.telegram.url());
    let add = ["--json", "telegram", "add", "--token-file", file, "--api-url", &url];
    let output = world.stack.cli(&[&add[..], more].concat()).await.unwrap();
    let said =
        serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (output.code, said)
}

/// A token that does not work leaves nothing behind, and what to do is said.
#[tokio::test]
async fn a_bot_that_does_not_work_is_not_kept() {
    let world = World::builder().bare().await;
    let unknown = format!("7000000099:{}", "x".repeat(35));
    for (what, token) in
        [("unknown", unknown.as_str()), ("no token", "not-a-token"), ("empty", "\n")]
    {
        let (code, said) = add(&world, token, &[]).await;
        assert_eq!(code, Some(1), "{what}: {said}");
        assert!(said["error"]["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{what}: {said}");
        assert!(!said.to_string().contains(&"x".repeat(35)), "{what}: {said}");
        assert_eq!(world.json(&["telegram", "list"]).await, json!([]), "{what}");
    }
    let file = world.token_file("right", &world.bot.token);
    let closed = ["--json", "telegram", "add", "--api-url", "http://127.0.0.1:9", "--token-file"];
    let output = world.stack.cli(&[&closed[..], &[file.to_str().unwrap()]].concat()).await.unwrap();
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(!output.stdout.contains(&world.bot.token) && !output.stderr.contains(&world.bot.token));
    assert_eq!(world.json(&["telegram", "list"]).await, json!([]));
    for arguments in [&["--token-file", "x", "--api-url", "127.0.0.1"][..], &[]] {
        let output = world.stack.cli(&[&["telegram", "add"], arguments].concat()).await.unwrap();
        assert_eq!(output.code, Some(2), "{output:?}");
    }
}

/// The whole life of a bot: added, listed, looked at, removed, added again.
#[tokio::test]
async fn a_bot_is_added_listed_looked_at_and_removed() {
    let world = World::builder().bare().await;
    let (code, added) = add(&world, &world.bot.token, &[]).await;
    assert_eq!(code, Some(0), "{added}");
    let view = world.until_state("connected").await;
    assert!(view.to_string().contains("cloister_bot"), "{view}");
    let name = format!("@{}", world.bot.username);
    let words = world.stack.cli_ok(&["telegram", "status", &name]).await.unwrap();
    assert!(words.contains("connected"), "{words}");
    let doctor = world.stack.cli(&["doctor"]).await.unwrap().stdout;
    assert!(
        doctor.contains("cloister_bot") || doctor.contains(&world.bot.id.to_string()),
        "{doctor}"
    );
    let unknown = world.stack.cli(&["telegram", "status", "@nobody_bot"]).await.unwrap();
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    // Added once more it is the same bot.
    let (code, again) = add(&world, &world.bot.token, &[]).await;
    assert_eq!(code, Some(0), "{again}");
    assert_eq!(world.json(&["telegram", "list"]).await.as_array().map(Vec::len), Some(1));
    let refused = world.stack.cli(&["telegram", "rm", &name]).await.unwrap();
    assert!(!refused.ok() && refused.stderr.contains("--yes"), "nobody confirmed it: {refused:?}");
    assert_eq!(world.bot_view().await["state"], "connected");
    world.stack.cli_ok(&["telegram", "rm", &name, "--yes"]).await.unwrap();
    assert_eq!(world.json(&["telegram", "list"]).await, json!([]));
    eventually("nobody polls any more", || async {
        (!world.telegram.is_polled(&world.bot)).then_some(())
    })
    .await;
    let (code, _) = add(&world, &world.bot.token, &[]).await;
    assert_eq!(code, Some(0));
    let audit = world.stack.cli_ok(&["audit", "tail"]).await.unwrap();
    for action in ["connector.add", "connector.rm"] {
        assert!(audit.contains(action), "{action}: {audit}");
    }
}

/// P2: the token is in no log, no process list, no audit entry, no status, no list, no file that is not sealed,
/// and out of reach of a task.
#[tokio::test]
async fn a_token_is_nowhere_to_be_seen() {
    let world = World::builder().log("debug").start().await;
    let (ann, chat) = world.met("ann").await;
    // Errors are where addresses are printed.
    world.telegram.lay_times("sendMessage", cloister_testkit::telegram::Fault::Cut, 1);
    world.telegram.lay_times("getUpdates", cloister_testkit::telegram::Fault::Cut, 1);
    ann.say(&chat, "run: env; ls /secrets /run 2>/dev/null; echo done looking");
    ann.wait_for_words(&chat, "done looking").await;
    std::fs::remove_file(world.token_file(&world.bot.username, "")).unwrap();
    let mut shown = world.stack.log();
    for command in [
        &["telegram", "status"][..],
        &["--json", "telegram", "list"],
        &["status"],
        &["doctor"],
        &["audit", "tail"],
        &["secret", "list", "--platform"],
    ] {
        let output = world.stack.cli(command).await.unwrap();
        shown.push_str(&output.stdout);
        shown.push_str(&output.stderr);
    }
    shown.push_str(&command_lines());
    shown.push_str(&ann.heard_texts(&chat).join("\n"));
    let secret = world.bot.token.split_once(':').unwrap().1;
    assert!(
        !shown.contains(secret),
        "{}",
        shown.lines().find(|line| line.contains(secret)).unwrap()
    );
    assert_eq!(files_with(world.stack.data(), secret), Vec::<PathBuf>::new());
}

/// E71: who has an agent and no role on the platform connects nothing.
#[tokio::test]
async fn a_member_may_not_add_a_bot() {
    let world = World::builder().bare().await;
    world.stack.cli_ok(&["user", "add", "mallory"]).await.unwrap();
    let session = world.stack.session("mallory").await.unwrap();
    let body = json!({
        "address": world.telegram.url(), "account": "", "credential": {"token": world.bot.token},
    });
    let path = "/admin/v1/surfaces/telegram/connectors";
    let body = serde_json::to_vec(&body).unwrap();
    let answer = world.stack.http("POST", path, Some(&session.token), body).await.unwrap();
    assert!(answer.status == 404 || answer.status == 401, "{}", answer.status);
    assert_eq!(world.json(&["telegram", "list"]).await, json!([]));
    assert!(world.telegram.calls("getMe").is_empty(), "nothing was tried");
}

/// What monitoring sees of a bot, and what is known of it where nothing runs.
#[tokio::test]
async fn a_bot_is_known_offline_and_in_the_metrics() {
    let mut world = World::start().await;
    world.until_state("connected").await;
    let line = "cloister_connector_state{surface=\"telegram\"";
    assert!(world.metric(line).await.is_some());
    world.stack.stop().await.unwrap();
    let offline = world.json(&["telegram", "list"]).await;
    assert_eq!(offline.as_array().map(Vec::len), Some(1), "{offline}");
    assert!(offline[0]["problem"].as_str().unwrap().contains("cloister up"), "{offline}");
}
