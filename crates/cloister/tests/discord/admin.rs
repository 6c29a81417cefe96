//! What an operator does with bots: add, look, remove; and what no file, log or process list may show of it.

use std::path::{Path, PathBuf};

use cloister_testkit::stack::{command_lines, files_with};
use serde_json::{Value, json};

use crate::world::{World, eventually};

async fn add(world: &World, file: &Path, more: &[&str]) -> (Option<i32>, Value) {
    let file = file.to_str().unwrap();
    let arguments = [&["--json", "discord", "add", "--token-file", file], more].concat();
    let output = world.stack.cli(&arguments).await.unwrap();
    let said = serde_json::from_str(&output.stdout).unwrap_or_else(|e| panic!("{e}: {output:?}"));
    (output.code, said)
}

async fn list(world: &World) -> Value {
    world.json(&["discord", "list"]).await
}

/// X6: what does not log in leaves nothing behind, and says what to do, without the token.
#[tokio::test]
async fn a_bot_that_does_not_log_in_is_not_kept() {
    let world = World::builder().bare().await;
    let (api, gateway) = (world.discord.url(), world.discord.gateway_url());
    let wrong = "MTIz.GfAkE1.not-the-token-of-any-bot-at-all";
    let bad = world.token_file("wrong", wrong);
    let good = world.token_file("good", &world.bot.token);
    for (what, file, api) in
        [("wrong token", &bad, api.as_str()), ("unreachable", &good, "http://127.0.0.1:9")]
    {
        let (code, said) = add(&world, file, &["--api-url", api, "--gateway-url", &gateway]).await;
        assert_eq!(code, Some(1), "{what}: {said}");
        assert!(said["error"]["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{what}: {said}");
        assert!(!said.to_string().contains("not-the-token"), "{what}: {said}");
        assert_eq!(list(&world).await, json!([]), "{what}");
    }
    let empty = world.token_file("empty", "");
    let (code, said) = add(&world, &empty, &["--api-url", &api, "--gateway-url", &gateway]).await;
    assert_eq!(code, Some(1), "{said}");
    for more in [&["--api-url", "discord.com"][..], &["--gateway-url", "http://x"], &["--no-such"]]
    {
        let arguments =
            [&["--json", "discord", "add", "--token-file", good.to_str().unwrap()], more].concat();
        let output = world.stack.cli(&arguments).await.unwrap();
        assert!(matches!(output.code, Some(1 | 2)), "{more:?}: {output:?}");
    }
    assert_eq!(list(&world).await, json!([]));
    world.discord.assert_no_complaints();
}

/// X6: the whole life of a bot: added, listed, looked at, removed, added again.
#[tokio::test]
async fn a_bot_is_added_listed_looked_at_and_removed() {
    let world = World::start().await;
    let view = world.until_state("connected").await;
    let account = view["account"].as_str().unwrap().to_owned();
    assert_eq!(account, world.bot.user_id.to_string());
    let words = world.stack.cli_ok(&["discord", "status"]).await.unwrap();
    assert!(words.contains("connected") && words.contains(&account), "{words}");
    assert!(words.contains("helper"), "its name is shown: {words}");
    let doctor = world.stack.cli(&["doctor"]).await.unwrap().stdout;
    assert!(doctor.contains(&account) && doctor.contains("connected"), "{doctor}");
    let status = world.stack.cli(&["status"]).await.unwrap().stdout;
    assert!(status.contains("connected"), "{status}");
    let unknown = world.stack.cli(&["--json", "discord", "status", "12345"]).await.unwrap();
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "hello", "echo: hello").await;

    let refused = world.stack.cli(&["discord", "rm", &account]).await.unwrap();
    assert!(!refused.ok() && refused.stderr.contains("--yes"), "nobody confirmed it: {refused:?}");
    assert_eq!(world.bot_view().await["state"], "connected");
    world.stack.cli_ok(&["discord", "rm", &account, "--yes"]).await.unwrap();
    assert_eq!(list(&world).await, json!([]));
    eventually("it is disconnected", || async {
        (!world.discord.sessions().iter().any(|session| session.connected)).then_some(())
    })
    .await;
    ann.say(dm, "anybody there?");
    world.add_bot(&world.bot).await;
    ann.ask(dm, "and now?", "echo: and now?").await;
    let audit = world.stack.cli_ok(&["audit", "tail"]).await.unwrap();
    for action in ["connector.add", "connector.rm"] {
        assert!(audit.contains(action), "{action}: {audit}");
    }
    world.discord.assert_no_complaints();
}

/// X6: Discord's documents give the address of the API with its version; it is taken with and without.
#[tokio::test]
async fn the_address_may_have_the_version_in_it() {
    let world = World::start().await;
    let file = world.token_file("again", &world.bot.token);
    for version in ["/api", "/api/v10", "/api/v10/"] {
        let api = format!("{}{version}", world.discord.url());
        let gateway = world.discord.gateway_url();
        let (code, said) =
            add(&world, &file, &["--api-url", &api, "--gateway-url", &gateway]).await;
        assert_eq!(code, Some(0), "{version}: {said}");
    }
    let other = format!("{}/api/v9", world.discord.url());
    let (code, said) = add(&world, &file, &["--api-url", &other]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.to_string().contains("only v10"), "{said}");
    world.until_state("connected").await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "hello", "echo: hello").await;
    world.assert_clean();
}

/// X6: the same bot added again with the same token stays one, with its conversations.
#[tokio::test]
async fn a_bot_is_added_once() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "/new Groceries", "C2").await;
    world.add_bot(&world.bot).await;
    world.until_state("connected").await;
    ann.ask(dm, "milk", "echo: milk").await;
    assert_eq!(list(&world).await.as_array().unwrap().len(), 1);
    let shown = ann.ask(dm, "/context", "C2").await;
    assert!(shown.text().contains("Groceries"), "{}", shown.text());
    world.assert_clean();
}

/// P2: a token is in no log, no process list, no audit entry, no status, and in no file that is not sealed.
#[tokio::test]
async fn a_token_is_nowhere_to_be_seen() {
    let world = World::builder().bare().await;
    let ps = {
        let adding = world.add_bot(&world.bot);
        tokio::pin!(adding);
        let mut seen = String::new();
        loop {
            tokio::select! {
                () = &mut adding => break,
                () = tokio::time::sleep(std::time::Duration::from_millis(5)) => seen.push_str(&command_lines()),
            }
        }
        seen
    };
    world.until_state("connected").await;
    std::fs::remove_file(world.token_file("helper", "")).unwrap();
    let mut shown = world.stack.log();
    for command in [
        &["discord", "status"][..],
        &["--json", "discord", "list"],
        &["status"],
        &["doctor"],
        &["audit", "tail"],
        &["secret", "list", "--platform"],
    ] {
        let output = world.stack.cli(command).await.unwrap();
        shown.push_str(&output.stdout);
        shown.push_str(&output.stderr);
    }
    let token = world.bot.token.as_str();
    assert!(!shown.contains(token), "{shown}");
    assert!(!ps.contains(token));
    assert_eq!(files_with(world.stack.data(), token), Vec::<PathBuf>::new());
    world.discord.assert_no_complaints();
}

/// E71: who has an agent and no role on the platform connects nothing, over any way in.
#[tokio::test]
async fn a_member_may_not_add_a_bot() {
    let world = World::builder().bare().await;
    world.stack.cli_ok(&["user", "add", "mallory"]).await.unwrap();
    let session = world.stack.session("mallory").await.unwrap();
    let body = json!({
        "address": world.discord.url(), "account": "", "gateway": world.discord.gateway_url(),
        "credential": { "token": world.bot.token },
    });
    let path = "/admin/v1/surfaces/discord/connectors";
    let body = serde_json::to_vec(&body).unwrap();
    let answer = world.stack.http("POST", path, Some(&session.token), body).await.unwrap();
    assert!(answer.status == 404 || answer.status == 401, "{}", answer.status);
    assert_eq!(list(&world).await, json!([]));
    assert_eq!(world.discord.requests().len(), 0, "nothing was even tried");
}

/// Where nothing runs the bots are still known.
#[tokio::test]
async fn offline_the_bot_is_known() {
    let mut world = World::start().await;
    world.stack.stop().await.unwrap();
    let offline = list(&world).await;
    assert_eq!(offline[0]["account"], json!(world.bot.user_id.to_string()));
    assert!(offline[0]["problem"].as_str().unwrap().contains("cloister up"), "{offline}");
}

/// X9: an account of two users is nobody's: linking it again needs it to be unlinked.
#[tokio::test]
async fn an_account_is_one_persons() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    world.stack.cli_ok(&["user", "add", "mallory"]).await.unwrap();
    let id = ann.id().to_string();
    let link = ["user", "link", "mallory", "--surface", "discord", "--id", &id];
    let refused = world.stack.cli(&link).await.unwrap();
    assert!(!refused.ok(), "{refused:?}");
    ann.ask(dm, "/context", "workspace of ann").await;
    world.assert_clean();
}
