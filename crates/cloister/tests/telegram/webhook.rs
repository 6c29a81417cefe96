//! Updates that are posted to us: the secret is checked, nothing is acknowledged before it is stored (X5, X1).

use cloister_testkit::telegram::Fault;
use serde_json::json;

use crate::world::{SITE, World, echoes, eventually};

/// A webhook instead of polls: the same conversation, and nobody polls.
#[tokio::test]
async fn updates_are_posted() {
    let world = World::builder().webhook().start().await;
    let (ann, chat) = world.met("ann").await;
    ann.ask(&chat, "hello", "echo: hello").await;
    let (url, secret) = world.telegram.webhook(&world.bot).unwrap();
    assert!(url.starts_with(&format!("{SITE}/hooks/telegram/")), "{url}");
    assert!(!url.contains(&world.bot.token), "the token is not in the address");
    assert!(secret.is_some_and(|secret| secret.len() >= 20));
    assert!(world.telegram.calls("getUpdates").is_empty());
    assert_eq!(world.telegram.unconfirmed(&world.bot), 0);
}

/// The attack: whoever knows the address and not the secret is refused, and what they post is not taken.
#[tokio::test]
async fn a_post_without_the_secret_is_refused() {
    let world = World::builder().webhook().start().await;
    let (ann, chat) = world.met("ann").await;
    let (url, _) = world.telegram.webhook(&world.bot).unwrap();
    let path = url.strip_prefix(SITE).unwrap();
    let forged = json!({"update_id": 999_999_999, "message": {
        "message_id": 99, "date": 1, "text": "forged words",
        "from": {"id": ann.id(), "is_bot": false, "first_name": "ann"},
        "chat": {"id": ann.id(), "type": "private", "first_name": "ann"},
    }});
    let body = serde_json::to_vec(&forged).unwrap();
    let answer = world.stack.http("POST", path, None, body.clone()).await.unwrap();
    assert!(answer.status == 403 || answer.status == 404, "{}", answer.status);
    let unknown = world.stack.http("POST", "/hooks/telegram/nobody", None, body).await.unwrap();
    assert_eq!(unknown.status, 404);
    ann.ask(&chat, "hello", "echo: hello").await;
    assert_eq!(world.model.request_count(), 1);
    let asked = world.model.requests().pop().unwrap().body.to_string();
    assert!(!asked.contains("forged words"));
}

/// While nothing runs Telegram keeps the updates; after a kill each is taken once, in order.
#[tokio::test]
async fn a_kill_loses_no_post() {
    let mut world = World::builder().webhook().start().await;
    let (ann, chat) = world.met("ann").await;
    world.stack.kill().await.unwrap();
    ann.say(&chat, "one");
    ann.say(&chat, "two");
    world.stack.restart().await.unwrap();
    ann.wait_for_text(&chat, "echo: two").await;
    assert_eq!(echoes(&ann, &chat), ["echo: one", "echo: two"]);
    eventually("all is taken", || async {
        (world.telegram.unconfirmed(&world.bot) == 0).then_some(())
    })
    .await;
}

/// The answer to a post was lost: Telegram posts it again, and it is taken once.
#[tokio::test]
async fn what_is_posted_twice_is_taken_once() {
    let world = World::builder().webhook().start().await;
    let (ann, chat) = world.met("ann").await;
    world.telegram.lay_times("webhook", Fault::Swallow, 2);
    ann.say(&chat, "one");
    ann.ask(&chat, "two", "echo: two").await;
    assert_eq!(echoes(&ann, &chat), ["echo: one", "echo: two"]);
    assert_eq!(world.telegram.pending(), 0, "the fault was met");
    assert_eq!(world.model.request_count(), 2);
}

/// The address must be one that Telegram takes.
#[tokio::test]
async fn a_webhook_that_telegram_refuses_is_told() {
    let world = World::builder().bare().await;
    let file = world.token_file("bot", &world.bot.token);
    let (file, url) = (file.to_str().unwrap(), world.telegram.url());
    let add = ["telegram", "add", "--token-file", file, "--api-url", &url];
    let add = [&add[..], &["--webhook", "http://agents.example.org"]].concat();
    let refused = world.stack.cli(&add).await.unwrap();
    let listed = world.json(&["telegram", "list"]).await;
    if refused.ok() {
        // It is connected, and says what is wrong with it.
        let problem = eventually("it says what is wrong", || async {
            let view = world.bot_view().await;
            view["problem"].as_str().map(str::to_owned)
        });
        assert!(problem.await.to_lowercase().contains("https"), "{listed}");
    } else {
        assert!(refused.stderr.to_lowercase().contains("https"), "{refused:?}");
        assert_eq!(listed, json!([]));
    }
}

/// From a webhook back to polls: the webhook is removed first.
#[tokio::test]
async fn from_a_webhook_to_polls() {
    let world = World::builder().webhook().start().await;
    let (ann, chat) = world.met("ann").await;
    world
        .stack
        .cli_ok(&["telegram", "rm", &format!("@{}", world.bot.username), "--yes"])
        .await
        .unwrap();
    world.add_bot(&world.bot, &[]).await;
    ann.ask(&chat, "hello", "echo: hello").await;
    assert!(world.telegram.webhook(&world.bot).is_none());
    assert!(!world.telegram.calls("getUpdates").is_empty());
}

/// X1: what can't be stored is not acknowledged: Telegram is told so, posts it again, and it is taken once.
#[tokio::test]
async fn what_can_not_be_stored_comes_again() {
    let world = World::builder().webhook().start().await;
    let (ann, chat) = world.met("ann").await;
    ann.ask(&chat, "hello", "echo: hello").await;
    let database = || rusqlite::Connection::open(world.stack.data().join("cloister.db")).unwrap();
    // As when the disk is full: nothing of the transaction is left.
    let full =
        "CREATE TRIGGER full BEFORE INSERT ON inbox BEGIN SELECT RAISE(ROLLBACK, 'full'); END";
    database().execute_batch(full).unwrap();
    ann.say(&chat, "one");
    ann.say(&chat, "two");
    eventually("it is told so", || async {
        world.telegram.delivery_problem(&world.bot).filter(|problem| problem.contains("503"))
    })
    .await;
    assert_eq!(world.telegram.unconfirmed(&world.bot), 2, "nothing is acknowledged");
    database().execute_batch("DROP TRIGGER full").unwrap();
    ann.wait_for_text(&chat, "echo: two").await;
    assert_eq!(echoes(&ann, &chat), ["echo: hello", "echo: one", "echo: two"]);
    assert_eq!(world.telegram.unconfirmed(&world.bot), 0);
    assert_eq!(world.model.request_count(), 3);
}
