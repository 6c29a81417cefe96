//! A conversation over the agent socket: nothing is answered twice, out of order, or lost.

use std::time::Duration;

use cloister_protocol::{
    AgentFrame, Cancel, ClientFrame, ErrorCode, MessageId, ModelDoing, Update,
};
use cloister_testkit::{Matcher, ModelServer, Reply};

use crate::world::{PATIENCE, Talk, World, eventually, frame, report};

fn id(text: &str) -> MessageId {
    text.parse().unwrap()
}

#[tokio::test]
async fn the_same_message_again_is_the_same_message() {
    let world = World::start().await;
    let mut first = world.owner().await;
    first.connect().await.unwrap();
    first.send_message(&id("m1"), "hello").await.unwrap();
    first.send_message(&id("m1"), "hello").await.unwrap();
    let answer = first.ask_as(id("m1"), "another text, same id", PATIENCE).await.unwrap();
    assert_eq!(answer.text, "echo: hello");

    let mut second = world.owner().await;
    let replayed = second.ask_as(id("m1"), "hello", PATIENCE).await.unwrap();
    assert_eq!((replayed.text, replayed.turn), (answer.text, answer.turn));
    assert_eq!(first.faults(), second.faults());
    assert!(first.faults().is_empty(), "{:?}", first.faults());
    assert_eq!(world.model.request_count(), 1);
    assert_eq!(world.transcript("C1").await.len(), 2);

    // In another chat, or of another user, the same id is another message.
    world.json(&["chats", "new"]).await;
    let elsewhere = world.client("owner", 2).await.ask_as(id("m1"), "two", PATIENCE).await.unwrap();
    assert_eq!(elsewhere.text, "echo: two");
    world.add_user("alice").await;
    let other = world.client("alice", 1).await.ask_as(id("m1"), "three", PATIENCE).await.unwrap();
    assert_eq!(other.text, "echo: three");
}

#[tokio::test]
async fn chunks_are_the_answer_piece_by_piece() {
    let world = World::start().await;
    let text = "Zwölf Boxkämpfer 🥊 jagen Viktor quer über den großen Sylter Deich. ".repeat(20);
    let (reply, steps) = Reply::text(text.clone()).chunks(10).stepped();
    world.model.enqueue(reply);
    let mut client = world.owner().await;
    client.submit(id("m1"), "tell me").await;
    let mut seen = String::new();
    // Each piece is shown before the model has said the next one.
    while seen != text {
        steps.allow(1);
        let piece = frame(&mut client, "a chunk", |frame| match frame {
            AgentFrame::TextChunk(chunk) => Some(chunk.text.clone()),
            _ => None,
        });
        seen.push_str(&piece.await);
        assert!(text.starts_with(&seen));
    }
    steps.allow(100);
    let answer = client.ask_as(id("m1"), "tell me", PATIENCE).await.unwrap();
    assert_eq!(answer.text, text);
    assert!(client.faults().is_empty(), "{:?}", client.faults());
}

#[tokio::test]
async fn what_is_said_to_nobody_is_said_once_to_the_next_who_comes() {
    let world = World::start().await;
    let (reply, steps) = Reply::text("while you were away").chunks(2).stepped();
    world.model.enqueue(reply);
    let mut client = world.owner().await;
    client.connect().await.unwrap();
    client.send_message(&id("m1"), "hello").await.unwrap();
    frame(&mut client, "accepted", |f| matches!(f, AgentFrame::Accepted { .. }).then_some(()))
        .await;
    client.drop_connection();
    steps.allow(100);
    eventually("the answer is stored", || async {
        (world.transcript("C1").await.len() == 2).then_some(())
    })
    .await;

    let mut later = world.owner().await;
    later.connect().await.unwrap();
    let end = frame(&mut later, "the answer", |frame| match frame {
        AgentFrame::End(end) => Some(end.clone()),
        _ => None,
    });
    assert_eq!(end.await.text, "while you were away");
    assert!(later.faults().is_empty(), "{:?}", later.faults());

    let mut last = world.owner().await;
    let answer = last.say("and now?").await;
    let old = |frame: &&AgentFrame| matches!(frame, AgentFrame::End(end) if end.text == "while you were away");
    assert_eq!(answer.frames.iter().filter(old).count(), 0);
}

#[tokio::test]
async fn everybody_who_looks_sees_the_answer_as_it_comes() {
    let world = World::start().await;
    let (reply, steps) = Reply::text("one two three four").chunks(4).stepped();
    world.model.enqueue(reply);
    let (mut first, mut second) = (world.owner().await, world.owner().await);
    second.connect().await.unwrap();
    first.submit(id("m1"), "count").await;
    let chunk = |frame: &AgentFrame| matches!(frame, AgentFrame::TextChunk(_)).then_some(());
    steps.allow(2);
    frame(&mut first, "a chunk", chunk).await;
    frame(&mut second, "a chunk for the other", chunk).await;
    // Who comes in the middle gets the whole text in the end.
    let mut third = world.owner().await;
    third.connect().await.unwrap();
    steps.allow(100);
    for client in [&mut first, &mut second, &mut third] {
        let end = frame(client, "the end", |frame| match frame {
            AgentFrame::End(end) => Some(end.text.clone()),
            _ => None,
        });
        assert_eq!(end.await, "one two three four");
        assert!(client.faults().is_empty(), "{:?}", client.faults());
    }
}

#[tokio::test]
async fn a_turn_can_be_cancelled() {
    let world = World::start().await;
    let (reply, steps) = Reply::text("this goes on for ever").chunks(5).stepped();
    world.model.enqueue(reply);
    steps.allow(2);
    let mut client = world.owner().await;
    client.submit(id("m1"), "talk").await;
    let turn = frame(&mut client, "a chunk", |frame| match frame {
        AgentFrame::TextChunk(chunk) => Some(chunk.turn.clone()),
        _ => None,
    })
    .await;
    let cancel = Cancel { turn: Some(turn), task: None };
    // Somebody else's word does not count.
    world.add_user("mallory").await;
    let mut stranger = world.client("mallory", 1).await;
    stranger.connect().await.unwrap();
    stranger.send(&ClientFrame::Cancel(cancel.clone())).await.unwrap();
    assert_eq!(stranger.say("hello").await.text, "echo: hello");
    assert_eq!(world.model.open_answers(), 1);
    client.send(&ClientFrame::Cancel(cancel)).await.unwrap();
    let end = frame(&mut client, "the end", |frame| match frame {
        AgentFrame::End(end) => Some(end.clone()),
        _ => None,
    })
    .await;
    assert_eq!(end.error, Some(ErrorCode::Cancelled));
    assert!("this goes on for ever".starts_with(end.text.trim()), "{}", end.text);
    assert!(world.model.wait_for_abandoned(1, PATIENCE).await, "the call is given up");
    assert_eq!(client.say("and now?").await.text, "echo: and now?");
}

/// A model that takes its time is not silence: what it is at is told, and it can be stopped meanwhile.
#[tokio::test]
async fn who_waits_is_told_what_the_model_is_at_and_can_stop_it() {
    let world = World::start().await;
    world.model.enqueue(
        Reply::text("Because.").thinking("They ask why.").delay(Duration::from_millis(50)),
    );
    let mut client = world.owner().await;
    client.submit(id("m1"), "why?").await;
    let thought = frame(&mut client, "its thoughts", |frame| match frame {
        AgentFrame::Update(Update::Model { doing: ModelDoing::Thinks, thought, .. }) => {
            Some(thought.clone())
        }
        _ => None,
    })
    .await;
    assert_eq!(thought, "They ask why.");
    let end = frame(&mut client, "the end", |frame| match frame {
        AgentFrame::End(end) => Some(end.clone()),
        _ => None,
    })
    .await;
    assert_eq!(end.text, "Because.", "thoughts are no part of the answer");

    world.model.enqueue(Reply::status(503, "starting"));
    world.model.enqueue(Reply::hang());
    client.submit(id("m2"), "and now?").await;
    let turn = frame(&mut client, "that the second attempt reads", |frame| match frame {
        AgentFrame::Update(Update::Model {
            turn, doing: ModelDoing::Reads, attempt: 2, ..
        }) => Some(turn.clone()),
        _ => None,
    })
    .await;
    client.send(&ClientFrame::Cancel(Cancel { turn: Some(turn), task: None })).await.unwrap();
    let end = frame(&mut client, "the end", |frame| match frame {
        AgentFrame::End(end) => Some(end.clone()),
        _ => None,
    })
    .await;
    assert_eq!(end.error, Some(ErrorCode::Cancelled));
    assert!(world.model.wait_for_abandoned(1, PATIENCE).await, "the call is given up");
}

#[tokio::test]
async fn a_turn_can_be_cancelled_before_its_cell_is_up() {
    let world = World::start().await;
    let (reply, steps) = Reply::text("this goes on for ever").chunks(5).stepped();
    world.model.enqueue(reply);
    let mut client = world.owner().await;
    client.submit(id("m1"), "talk").await;
    let turn = frame(&mut client, "that it is stored", |frame| match frame {
        AgentFrame::Accepted { turn, .. } => Some(turn.clone()),
        _ => None,
    })
    .await;
    // The first message of a user: its cell is only being launched.
    client.send(&ClientFrame::Cancel(Cancel { turn: Some(turn), task: None })).await.unwrap();
    let end = frame(&mut client, "the end", |frame| match frame {
        AgentFrame::End(end) => Some(end.clone()),
        _ => None,
    })
    .await;
    assert_eq!(end.error, Some(ErrorCode::Cancelled));
    drop(steps);
}

#[tokio::test]
async fn messages_are_answered_in_the_order_they_came() {
    let world = World::start().await;
    let mut client = world.owner().await;
    for number in 0..10 {
        client.submit(id(&format!("m{number}")), &format!("number {number}")).await;
    }
    let mut answered = Vec::new();
    while answered.len() < 10 {
        let end = frame(&mut client, "an answer", |frame| match frame {
            AgentFrame::End(end) => Some(end.text.clone()),
            _ => None,
        });
        answered.push(end.await);
    }
    let expected: Vec<String> = (0..10).map(|number| format!("echo: number {number}")).collect();
    assert_eq!(answered, expected);
    // Each was shown what was said before it.
    let last = world.model.requests().pop().unwrap();
    assert_eq!(last.messages().len(), 1 + 2 * 9 + 1);
}

#[tokio::test]
async fn a_second_message_takes_over_the_answer_that_is_being_written() {
    let world = World::with("[cells]\nsecond_message = \"steer\"\n", ModelServer::builder()).await;
    let (reply, steps) = Reply::text("All rivers of Europe").chunks(5).stepped();
    world.model.enqueue(reply);
    steps.allow(2);
    let mut client = world.owner().await;
    client.submit(id("m1"), "list rivers").await;
    frame(&mut client, "a chunk", |frame| matches!(frame, AgentFrame::TextChunk(_)).then_some(()))
        .await;
    client.submit(id("m2"), "only of France").await;
    let ended = |wanted: &'static str| {
        move |frame: &AgentFrame| match frame {
            AgentFrame::End(end) if end.message == Some(id(wanted)) => Some(end.clone()),
            _ => None,
        }
    };
    let first = frame(&mut client, "the first end", ended("m1")).await;
    assert_eq!(first.error, Some(ErrorCode::Continued));
    assert!("All rivers of Europe".starts_with(first.text.trim()), "{}", first.text);
    let second = frame(&mut client, "the second end", ended("m2")).await;
    assert_eq!(second.error, None);
    assert!(second.text.contains("only of France"), "{}", second.text);
    assert!(world.model.wait_for_abandoned(1, PATIENCE).await, "the first call is given up");
    let asked = world.model.requests().pop().unwrap();
    assert_eq!(asked.messages().len(), 4, "{:?}", asked.messages());
}

/// Each person chooses what a message of theirs does to the answer they wait for; the installation's way is for
/// who chose none.
#[tokio::test]
async fn a_person_chooses_what_a_second_message_does() {
    let world = World::with("[cells]\nsecond_message = \"steer\"\n", ModelServer::builder()).await;
    let mut client = world.owner().await;
    let shown = client.say("/settings").await.text;
    assert!(shown.contains("it stops where it is, and both are answered together"), "{shown}");
    let refused = client.say("/settings second maybe").await.text;
    assert!(refused.contains("queue, steer, interrupt or default"), "{refused}");
    client.say("/settings second queue").await;
    let shown = client.say("/settings").await.text;
    assert!(shown.contains("the answer is finished first"), "{shown}");
    let (reply, steps) = Reply::text("All rivers of Europe").chunks(5).stepped();
    world.model.enqueue(reply);
    steps.allow(2);
    client.submit(id("m1"), "list rivers").await;
    frame(&mut client, "a chunk", |frame| matches!(frame, AgentFrame::TextChunk(_)).then_some(()))
        .await;
    client.submit(id("m2"), "only of France").await;
    frame(&mut client, "it is taken", |frame| match frame {
        AgentFrame::Accepted { id: taken, .. } if *taken == id("m2") => Some(()),
        _ => None,
    })
    .await;
    steps.allow(10);
    let ended = |wanted: &'static str| {
        move |frame: &AgentFrame| match frame {
            AgentFrame::End(end) if end.message == Some(id(wanted)) => Some(end.clone()),
            _ => None,
        }
    };
    let first = frame(&mut client, "the first end", ended("m1")).await;
    assert_eq!((first.text.as_str(), first.error), ("All rivers of Europe", None));
    let second = frame(&mut client, "the second end", ended("m2")).await;
    assert_eq!(second.text, "echo: only of France");
    let back = client.say("/settings second default").await.text;
    assert!(back.contains("both are answered together"), "{back}");
}

/// A1: a person is answered while the end of a task is being told, and is told of it with that answer.
#[tokio::test]
async fn a_message_does_not_wait_until_a_report_is_told() {
    let (telling, steps) = Reply::text("The task has come to its end").chunks(6).stepped();
    let model = ModelServer::builder()
        .when(Matcher::last_user_contains("how late"), Reply::text("Late. And it was made."))
        .when(Matcher::last_user_contains("[task report]"), telling);
    let world = World::with("[cells]\nsecond_message = \"steer\"\n", model).await;
    steps.allow(2);
    let mut client = world.owner().await;
    assert_eq!(client.say("run: echo made-$((1+1))").await.error, None);
    frame(&mut client, "a piece of the report", |frame| match frame {
        AgentFrame::TextChunk(chunk) if chunk.text.contains("The") => Some(()),
        _ => None,
    })
    .await;
    client.submit(id("m2"), "how late is it?").await;
    let report = report(&mut client).await;
    assert_eq!(report.error, Some(ErrorCode::Continued));
    let answer = frame(&mut client, "the answer", |frame| match frame {
        AgentFrame::End(end) if end.message == Some(id("m2")) => Some(end.clone()),
        _ => None,
    })
    .await;
    assert_eq!((answer.text.as_str(), answer.error), ("Late. And it was made.", None));
    assert!(world.model.wait_for_abandoned(1, PATIENCE).await, "the telling is given up");
    let asked = world.model.requests().pop().unwrap();
    let shown = serde_json::Value::from(asked.messages()).to_string();
    assert!(shown.contains("made-2") && shown.contains("how late"), "{shown}");
    frame(&mut client, "that it was told", |frame| match frame {
        AgentFrame::Update(Update::Task { told: true, .. }) => Some(()),
        _ => None,
    })
    .await;
}

#[tokio::test]
async fn too_many_unanswered_messages_are_told_to_wait() {
    let world = World::with("[work]\nmax_unanswered = 3\n", ModelServer::builder()).await;
    let (reply, steps) = Reply::text("slow").stepped();
    world.model.enqueue(reply);
    let mut client = world.owner().await;
    client.connect().await.unwrap();
    for number in 0..3 {
        client.send_message(&id(&format!("m{number}")), "hello").await.unwrap();
    }
    client.send_message(&id("m3"), "one too many").await.unwrap();
    let error = frame(&mut client, "an error", |frame| match frame {
        AgentFrame::Error(error) => Some(error.clone()),
        _ => None,
    })
    .await;
    assert_eq!((error.code, error.id.as_deref()), (ErrorCode::Busy, Some("m3")));
    // One that is stored already is still known.
    client.send_message(&id("m0"), "hello").await.unwrap();
    frame(&mut client, "m0 is accepted", |frame| match frame {
        AgentFrame::Accepted { id, .. } if id.as_str() == "m0" => Some(()),
        _ => None,
    })
    .await;
    steps.allow(100);
    assert_eq!(client.ask_as(id("m3"), "later", PATIENCE).await.unwrap().text, "echo: later");
}
