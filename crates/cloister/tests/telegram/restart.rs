//! A control plane that is killed or stopped: every message is answered once (X1).

use std::time::Duration;

use cloister_testkit::Reply;
use cloister_testkit::telegram::{Person, Place};

use crate::world::{World, count, echoes};

const KILLS: u32 = 5;

/// Killed again and again while messages flow; each is answered, in order, and what may be a repetition says so.
#[tokio::test]
async fn killed_while_messages_flow() {
    let mut world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let mut said = Vec::new();
    for number in 0..KILLS {
        let text = format!("number {number}");
        ann.say(&chat, &text);
        said.push(format!("echo: {text}"));
        // Every time a little later: reading, thinking, answering.
        tokio::time::sleep(Duration::from_millis(u64::from(number) * 60)).await;
        world.stack.kill().await.unwrap();
        world.stack.restart().await.unwrap();
    }
    for answer in &said {
        ann.wait_for_words(&chat, answer).await;
    }
    ann.ask(&chat, "the last", "echo: the last").await;
    for answer in &said {
        repetitions_are_announced(&ann, &chat, answer);
    }
    // A repetition comes right after what it repeats.
    let mut order = echoes(&ann, &chat);
    order.dedup();
    order.retain(|text| said.contains(text));
    assert_eq!(order, said);
}

/// Killed in the middle of an answer that is shown as a draft: it becomes whole, as one message.
#[tokio::test]
async fn killed_in_the_middle_of_an_answer() {
    let mut world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let (reply, steps) = Reply::text("this text is never whole").chunks(6).stepped();
    world.model.enqueue(reply);
    steps.allow(3);
    ann.say(&chat, "hello");
    ann.wait_for_draft(&chat, |draft| draft.starts_with("this")).await;
    world.stack.kill().await.unwrap();
    world.stack.restart().await.unwrap();
    ann.wait_for_text(&chat, "echo: hello").await;
    assert_eq!(count(&ann, &chat, "this text"), 0, "a draft is no message");
    assert_eq!(echoes(&ann, &chat), ["echo: hello"]);
}

/// X11: a stop in the middle of an answer ends in time, and the answer comes after the next start.
#[tokio::test]
async fn stopped_in_the_middle_of_an_answer() {
    let mut world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let (reply, steps) = Reply::text("this text is never whole").chunks(6).stepped();
    world.model.enqueue(reply);
    steps.allow(3);
    ann.say(&chat, "hello");
    ann.wait_for_draft(&chat, |draft| draft.starts_with("this")).await;
    world.stack.stop().await.unwrap();
    ann.say(&chat, "while you were away");
    world.stack.restart().await.unwrap();
    ann.wait_for_text(&chat, "echo: while you were away").await;
    assert_eq!(echoes(&ann, &chat), ["echo: hello", "echo: while you were away"]);
}

/// What is there more than once was announced as what may be a repetition, before the second.
#[track_caller]
pub(crate) fn repetitions_are_announced(person: &Person, place: &Place, text: &str) {
    let heard = person.heard_texts(place);
    let first = heard.iter().position(|said| said == text).unwrap();
    let second = heard.iter().skip(first + 1).position(|said| said == text);
    if let Some(second) = second {
        let between: Vec<&String> = heard.iter().skip(first + 1).take(second).collect();
        assert!(between.iter().any(|said| said.contains("ignore it")), "{heard:#?}");
    }
}

/// Killed after Telegram took the answer and before that was written down: it is there once more at most, and
/// then says that it may be a repetition.
#[tokio::test]
async fn killed_between_a_post_and_its_record() {
    let mut world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    world.telegram.lay_times("sendMessage", cloister_testkit::telegram::Fault::Swallow, 1);
    ann.say(&chat, "hello");
    ann.wait_for_words(&chat, "echo: hello").await;
    world.stack.kill().await.unwrap();
    world.telegram.heal();
    world.stack.restart().await.unwrap();
    ann.ask(&chat, "the last", "echo: the last").await;
    repetitions_are_announced(&ann, &chat, "echo: hello");
}

/// A long absence: every word is answered, in order, once.
#[tokio::test]
async fn a_long_absence_is_caught_up_with() {
    const MANY: usize = 120;
    let limits = "[limits]\nperson_burst = 1000\n";
    let mut world = World::builder().config("", limits).start().await;
    let (ann, chat) = world.met("ann").await;
    world.stack.stop().await.unwrap();
    // More than one answer to a poll holds; commands are told in one breath.
    for number in 0..MANY {
        ann.say(&chat, &format!("/rename title {number}"));
    }
    ann.say(&chat, "hello");
    world.stack.restart().await.unwrap();
    crate::world::eventually("the last is in the inbox", || async {
        (world.telegram.unconfirmed(&world.bot) == 0).then_some(())
    })
    .await;
    crate::world::eventually("all of it was taken", || async {
        let chats = world.json(&["chats", "list", "--user", "ann"]).await.to_string();
        chats.contains(&format!("title {}", MANY - 1)).then_some(())
    })
    .await;
    world.told_model("hello").await;
    assert_eq!(world.model.request_count(), 1);
}
