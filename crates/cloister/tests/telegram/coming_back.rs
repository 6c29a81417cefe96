//! Who left, and what vanished: the same day, with the next message, without a false word.

use cloister_testkit::Reply;

use crate::world::{World, count};

/// Who was told how to pair, blocked the bot and comes again is told again the same day, and pairs.
#[tokio::test]
async fn a_stranger_who_left_can_pair_again() {
    let world = World::start().await;
    let eve = world.telegram.person("eve");
    let chat = eve.with(&world.bot);
    eve.ask(&chat, "hello", "get a code").await;
    eve.ask(&chat, "pair", "cloister pair").await;
    eve.block(&world.bot);
    eve.unblock(&world.bot);
    eve.start(&chat);
    eve.wait_for(&chat, "it is said again", |_| count(&eve, &chat, "get a code") == 2).await;
    eve.say(&chat, "pair");
    let codes = |text: &str| text.contains("cloister pair") && !text.contains("get a code");
    eve.wait_for(&chat, "another code", |_| {
        eve.heard_texts(&chat).iter().filter(|text| codes(text)).count() == 2
    })
    .await;
    world.link("eve", &eve).await;
    eve.ask(&chat, "it is me", "echo: it is me").await;
    assert_eq!(world.model.request_count(), 1, "a stranger reaches no model");
}

/// Telegram tells bots of no topic that is deleted. Who asks for its chat gets another one.
#[tokio::test]
async fn a_topic_that_vanished_is_made_again_for_who_asks_for_its_chat() {
    let world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    ann.say(&c1, "/new Taxes");
    let c2 = ann.topic(&world.bot, "C2").await;
    ann.ask(&c2, "the word is aubergine", "echo: the word is aubergine").await;
    ann.delete_topic(&c2);
    ann.ask(&c1, "/chats C2", "C2 “Taxes”").await;
    let again = ann.topic(&world.bot, "C2").await;
    assert_ne!(again, c2);
    ann.wait_for_words(&again, "C2").await;
    ann.ask(&again, "which word?", "echo: which word?").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(seen.contains("aubergine"), "it is the same chat");
}

/// A group that the bot was thrown out of works again with the next message once it is back.
#[tokio::test]
async fn a_group_that_was_left_is_the_same_again() {
    let world = World::start().await;
    let (ann, _) = world.met("ann").await;
    let group = world.telegram.group("Club", &[&ann]);
    world.club(&group, &[("ann", "member")]).await;
    group.add_bot(&ann, &world.bot);
    ann.ask(&group.place(), "@cloister_bot the word is aubergine", "aubergine").await;
    group.kick(&ann, &world.bot);
    group.add_bot(&ann, &world.bot);
    ann.ask(&group.place(), "@cloister_bot which word?", "which word?").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(seen.contains("aubergine"), "it is the same chat");
}

/// Who asks what is going on while an answer is being written is told so.
#[tokio::test]
async fn an_answer_under_way_is_told_of() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let (reply, steps) = Reply::text("this goes on for ever").chunks(5).stepped();
    world.model.enqueue(reply);
    steps.allow(2);
    ann.say(&chat, "talk");
    world.told_model("talk").await;
    let status = ann.ask(&chat, "/status", "Budget").await.text;
    assert!(status.contains("answering in C1"), "{status}");
    assert!(!status.contains("Nothing is running"), "{status}");
    steps.allow(10);
    ann.wait_for_words(&chat, "this goes on for ever").await;
    ann.ask(&chat, "/status", "Nothing is running").await;
}
