//! The emergency stop: nothing runs and nothing leaves, what people write is kept, and after the release
//! everything goes on, once.

use cloister_protocol::{AgentFrame, ErrorCode, MessageId, TaskState, Update};
use cloister_testkit::stack::processes::Kind;

use crate::world::{PATIENCE, Talk, World, bash, eventually, frame, hold, jobs, report};

fn id(text: &str) -> MessageId {
    text.parse().unwrap()
}

fn notice(frame: &AgentFrame) -> Option<String> {
    match frame {
        AgentFrame::Update(Update::Notice { text }) => Some(text.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn everything_stops_at_once_and_goes_on_after_the_release() {
    let script = jobs(vec![
        ("hold", vec![hold(), bash("echo ran >> count")]),
        ("late", vec![bash("echo ran >> late")]),
    ]);
    let mut world = World::with("", script).await;
    let mut client = world.owner().await;
    world.json(&["chats", "new"]).await;
    client.say("job:hold").await;
    world.until_tasks(TaskState::Running, 1).await;
    eventually("an executor runs", || async {
        (!world.agents(Kind::Executor).is_empty()).then_some(())
    })
    .await;

    let stopped = world.json(&["stop", "--all", "--reason", "odd traffic"]).await;
    assert_eq!(
        (&stopped["stopped"], &stopped["ended"], &stopped["left"]),
        (&true.into(), &1.into(), &0.into())
    );
    assert_eq!(
        world.agents(Kind::Executor),
        Vec::<u32>::new(),
        "executors are gone when it returns"
    );
    assert_eq!(world.count_tasks(TaskState::Queued).await, 1);
    let calls = world.model.request_count();

    // Whoever writes is told in a sentence, and the message is kept.
    client.submit(id("kept"), "job:late").await;
    let told = frame(&mut client, "the notice", notice).await;
    assert!(
        told.contains("stopped by operator")
            && told.contains("odd traffic")
            && told.contains("kept"),
        "{told}"
    );
    // Who waits in a terminal is not kept waiting for something that may be days away.
    let said = world.stack.cli(&["chat", "--chat", "C2", "anybody?"]).await.unwrap();
    assert_eq!(said.code, Some(75), "{said:?}");
    assert!(said.stderr.contains("error: everything is stopped"), "{said:?}");
    assert!(said.stderr.contains("cloister release") && said.stdout.is_empty(), "{said:?}");
    // What is refused at once says who lets it go on, and how.
    let refused = world.stack.cli(&["chat", "--chat", "C2", "/task look around"]).await.unwrap();
    let said = format!("{}{}", refused.stdout, refused.stderr);
    assert!(said.contains("all-is-stopped") && said.contains("`cloister release`"), "{said}");
    let status = world.stack.cli(&["--json", "status"]).await.unwrap();
    assert_eq!(status.code, Some(1), "{status:?}");
    assert!(status.stdout.contains("Everything was stopped by operator"), "{}", status.stdout);
    let metrics = world.stack.http("GET", "/metrics", None, Vec::new()).await.unwrap();
    assert!(metrics.text().contains("cloister_emergency_stop 1"));

    // It holds over a crash, and over a restart in order.
    world.stack.kill().await.unwrap();
    world.stack.restart().await.unwrap();
    world.stack.restart().await.unwrap();
    assert_eq!(world.agents(Kind::Executor), Vec::<u32>::new());
    assert_eq!(world.count_tasks(TaskState::Queued).await, 1);
    assert_eq!(world.model.request_count(), calls, "no model was called meanwhile");
    assert_eq!(
        world.json(&["stop", "--all"]).await["reason"],
        "odd traffic",
        "the first one stands"
    );

    world.json(&["release"]).await;
    world.release(1, 1);
    let answer = client.ask_as(id("kept"), "job:late", PATIENCE).await.unwrap();
    assert_eq!((answer.error, answer.text.as_str()), (None, "It has begun."));
    world.until_tasks(TaskState::Done, 2).await;
    let files = world.files(1, 1);
    assert_eq!(std::fs::read_to_string(files.join("late")).unwrap(), "ran\n");
    let counted = std::fs::read_to_string(files.join("count")).unwrap_or_default();
    assert!(counted == "ran\n" || counted.is_empty(), "it ran twice: {counted}");
    assert!(client.faults().is_empty(), "{:?}", client.faults());
    let audit = world.audit().await;
    for action in ["platform.stop", "platform.release"] {
        assert_eq!(audit.iter().filter(|row| row.action == action).count(), 1, "{action}");
    }
}

#[tokio::test]
async fn in_a_chat_only_those_who_may() {
    let world = World::with("", jobs(vec![("hold", vec![hold()])])).await;
    world.add_user("bob").await;
    let mut bob = world.client("bob", 1).await;
    let refused = bob.say("/stop all because I can").await;
    assert_eq!(refused.error, Some(ErrorCode::Forbidden), "{}", refused.text);
    let mut owner = world.owner().await;
    owner.say("job:hold").await;
    world.until_tasks(TaskState::Running, 1).await;
    assert_eq!(owner.say("/stop").await.error, Some(ErrorCode::BadRequest));

    let done = owner.say("/stop all drill").await;
    assert_eq!(done.error, None, "{}", done.text);
    assert!(
        done.text.contains("stopped by owner") && done.text.contains("1 running"),
        "{}",
        done.text
    );
    let status = bob.say("/status").await;
    assert!(status.text.contains("Everything was stopped by owner"), "{}", status.text);
    assert_eq!(bob.say("/release").await.error, Some(ErrorCode::Forbidden));
    bob.submit(id("b1"), "hello?").await;
    frame(&mut bob, "the notice", notice).await;

    assert_eq!(owner.say("/release").await.text, "Everything goes on.");
    let answer = bob.ask_as(id("b1"), "hello?", PATIENCE).await.unwrap();
    assert_eq!(answer.text, "echo: hello?");
    world.release(1, 1);
    let end = report(&mut owner).await;
    assert_eq!(end.error, None, "{}", end.text);
    assert!(bob.faults().is_empty() && owner.faults().is_empty());
}

/// A turn that is being answered when everything is stopped is answered after the release, once.
#[tokio::test]
async fn a_turn_in_the_middle_is_answered_after_the_release() {
    let world = World::start().await;
    let (reply, steps) =
        cloister_testkit::Reply::text("this text is never whole").chunks(6).stepped();
    world.model.enqueue(reply);
    steps.allow(2);
    let mut client = world.owner().await;
    client.submit(id("m1"), "hello").await;
    frame(&mut client, "a chunk", |f| matches!(f, AgentFrame::TextChunk(_)).then_some(())).await;
    world.json(&["stop", "--all"]).await;
    frame(&mut client, "the notice", notice).await;
    eventually("coordinators are gone", || async {
        world.agents(Kind::Coordinator).is_empty().then_some(())
    })
    .await;
    world.json(&["release"]).await;
    let answer = client.ask_as(id("m1"), "hello", PATIENCE).await.unwrap();
    assert_eq!(answer.text, "echo: hello");
    let texts: Vec<String> =
        world.transcript("C1").await.into_iter().map(|line| line.text).collect();
    assert_eq!(texts.iter().filter(|text| *text == "echo: hello").count(), 1, "{texts:?}");
}
