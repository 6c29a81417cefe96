//! The shortest ways to an answer.

use cloister_testkit::Reply;

use crate::world::{World, count, eventually};

/// X5, I2: a bot is added, a stranger asks for a code, is linked, and is answered.
#[tokio::test]
async fn from_nothing_to_an_answer() {
    let world = World::start().await;
    let eve = world.telegram.person("eve");
    let chat = eve.with(&world.bot);
    eve.start(&chat);
    eve.wait_for_words(&chat, "pair").await;
    let told = eve.ask(&chat, "pair", "cloister pair").await;
    let code = told.text.split("cloister pair ").nth(1).unwrap();
    let code = code.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap();
    assert_eq!(world.model.request_count(), 0);
    world.stack.cli_ok(&["user", "add", "eve"]).await.unwrap();
    world.stack.cli_ok(&["pair", code, "--user", "eve"]).await.unwrap();
    eve.ask(&chat, "hello", "echo: hello").await;
    assert_eq!(world.model.request_count(), 1);
}

/// X5, A8: a known person is greeted and answered; the answer is seen while it is written, and is one message.
#[tokio::test]
async fn an_answer_is_seen_while_it_is_written() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let (reply, steps) = Reply::text("one two three four").chunks(4).stepped();
    world.model.enqueue(reply);
    ann.say(&chat, "count");
    steps.allow(2);
    eventually("a part of it is seen", || async {
        let draft = ann.draft(&chat).filter(|draft| draft.starts_with("one"));
        let partial = ann.heard_texts(&chat).into_iter().find(|text| text.starts_with("one"));
        draft.or(partial).filter(|shown| !shown.contains("four"))
    })
    .await;
    assert!(ann.saw_typing(&chat), "it is seen writing");
    steps.allow(10);
    ann.wait_for_text(&chat, "one two three four").await;
    assert_eq!(count(&ann, &chat, "one two"), 1);
    assert!(ann.draft(&chat).is_none(), "the draft is over");
}

/// X5: with topics, the person's first chat is a topic, and is answered there.
#[tokio::test]
async fn a_topic_per_chat() {
    let world = World::with_topics().await;
    let (ann, c1) = world.met_in_topic("ann").await;
    ann.ask(&c1, "hello", "echo: hello").await;
    assert_eq!(ann.topics(&world.bot).len(), 1);
}
