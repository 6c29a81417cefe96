//! The shortest way to an answer.

use cloister_testkit::Reply;

use crate::world::{World, echoes};

/// X6, X9, I2: a bot is added, a stranger pairs, says hello and is answered.
#[tokio::test]
async fn from_a_token_to_an_answer() {
    let world = World::start().await;
    let eve = world.discord.person("eve");
    let dm = eve.dm(&world.bot);
    eve.ask(dm, "hello", "pair").await;
    let told = eve.ask(dm, "pair", "cloister pair").await.text();
    let code = told.split_whitespace().skip_while(|word| *word != "pair").nth(1).unwrap();
    let code = code.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    assert_eq!(world.model.request_count(), 0, "a stranger reaches no model");
    world.stack.cli_ok(&["user", "add", "eve"]).await.unwrap();
    world.stack.cli_ok(&["pair", code, "--user", "eve"]).await.unwrap();
    eve.ask(dm, "hello again", "echo: hello again").await;
    assert_eq!(echoes(&eve, dm), ["echo: hello again"]);
    world.assert_clean();
}

/// A8: an answer grows while the model still writes, as one message.
#[tokio::test]
async fn an_answer_is_streamed_into_one_message() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    let (reply, steps) = Reply::text("one two three four").chunks(4).stepped();
    world.model.enqueue(reply);
    ann.say(dm, "count");
    steps.allow(2);
    let part = ann.wait_for(dm, "a part", |seen| seen.content.starts_with("one")).await;
    assert!(!part.content.contains("four"), "{}", part.content);
    assert!(ann.saw_typing(dm));
    steps.allow(10);
    let whole = ann.wait_for_text(dm, "one two three four").await;
    assert_eq!(whole.id, part.id, "edited, not posted again");
    let parts = ann.heard(dm).into_iter().filter(|seen| seen.content.contains("one two"));
    assert_eq!(parts.count(), 1);
    world.assert_clean();
}
