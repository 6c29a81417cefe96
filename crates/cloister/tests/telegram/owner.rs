//! A bot of one person's own: it serves them and nobody else (X5).

use crate::world::{World, count};

/// `--owner`: the owner is served, others who are known are told so, strangers reach nothing.
#[tokio::test]
async fn an_owners_bot_serves_the_owner_alone() {
    let world = World::builder().bare().await;
    let (ann, bob) = (world.person("ann").await, world.person("bob").await);
    world.add_bot(&world.bot, &["--owner", "ann"]).await;
    let (anns, bobs) = (ann.with(&world.bot), bob.with(&world.bot));
    ann.start(&anns);
    ann.wait_for_words(&anns, "Hello").await;
    ann.ask(&anns, "hello", "echo: hello").await;
    bob.ask(&bobs, "me too", "one person").await;
    bob.say(&bobs, "/status");
    let eve = world.telegram.person("eve");
    eve.say(&eve.with(&world.bot), "and me?");
    ann.ask(&anns, "still there?", "echo: still there?").await;
    assert_eq!(world.model.request_count(), 2);
    assert_eq!(count(&bob, &bobs, "Nothing is running"), 0);
}

/// An owner that nobody is: it is refused and nothing is kept.
#[tokio::test]
async fn an_owner_must_exist() {
    let world = World::builder().bare().await;
    let file = world.token_file("bot", &world.bot.token);
    let (file, url) = (file.to_str().unwrap(), world.telegram.url());
    let add = ["telegram", "add", "--token-file", file, "--api-url", &url, "--owner", "nobody"];
    let refused = world.stack.cli(&add).await.unwrap();
    assert!(!refused.ok() && refused.stderr.contains("nobody"), "{refused:?}");
    assert_eq!(world.json(&["telegram", "list"]).await, serde_json::json!([]));
}

/// The shared bot and a bot of one's own, in one process: one agent, two ways to it.
#[tokio::test]
async fn a_bot_of_ones_own_beside_the_shared_one() {
    let world = World::start().await;
    let own = world.telegram.bot("anns_bot");
    let (ann, shared) = world.met("ann").await;
    world.add_bot(&own, &["--owner", "ann"]).await;
    let mine = ann.with(&own);
    ann.start(&mine);
    ann.wait_for_words(&mine, "Hello").await;
    ann.ask(&shared, "the word is aubergine", "aubergine").await;
    ann.ask(&mine, "which word?", "which word?").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(seen.contains("aubergine"), "one agent: {seen}");
}
