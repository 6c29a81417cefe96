//! Nothing is lost and nothing is said or done twice, whoever is killed and whenever.

use cloister_protocol::{AgentFrame, MessageId, TaskState};
use cloister_testkit::stack::processes::{Kind, signal};
use cloister_testkit::{AgentClient, Reply};
use rustix::process::Signal;
use serde_json::Value;

use crate::world::{PATIENCE, Talk, World, bash, eventually, frame, jobs, report, reports};

fn id(text: &str) -> MessageId {
    text.parse().unwrap()
}

/// A message whose answer has begun to stream and can't go on.
async fn stuck_in_the_middle(world: &World) -> AgentClient {
    let (reply, steps) = Reply::text("this text is never whole").chunks(6).stepped();
    world.model.enqueue(reply);
    steps.allow(2);
    let mut client = world.owner().await;
    client.submit(id("m1"), "hello").await;
    frame(&mut client, "a chunk", |f| matches!(f, AgentFrame::TextChunk(_)).then_some(())).await;
    client
}

async fn assert_one_answer(world: &World, client: &mut AgentClient) {
    let answer = client.ask_as(id("m1"), "hello", PATIENCE).await.unwrap();
    assert_eq!(answer.text, "echo: hello");
    assert!(client.faults().is_empty(), "{:?}", client.faults());
    let texts: Vec<String> =
        world.transcript("C1").await.into_iter().map(|line| line.text).collect();
    assert_eq!(texts, ["hello", "echo: hello"]);
    world.model.assert_no_violations();
}

#[tokio::test]
async fn the_control_plane_is_killed_in_the_middle_of_an_answer() {
    let mut world = World::start().await;
    let mut client = stuck_in_the_middle(&world).await;
    world.stack.kill().await.unwrap();
    world.stack.restart().await.unwrap();
    assert_one_answer(&world, &mut client).await;
}

#[tokio::test]
async fn the_coordinator_is_killed_in_the_middle_of_an_answer() {
    let world = World::start().await;
    let mut client = stuck_in_the_middle(&world).await;
    let coordinators = world.agents(Kind::Coordinator);
    assert_eq!(coordinators.len(), 1);
    assert!(signal(coordinators[0], Signal::KILL));
    assert_one_answer(&world, &mut client).await;
}

#[tokio::test]
async fn an_executor_is_killed_while_a_command_runs() {
    let command = "echo ran >> count; until test -e never; do sleep 0.03; done";
    let world = World::with("", jobs(vec![("once", vec![bash(command)])])).await;
    let mut client = world.owner().await;
    client.say("job:once").await;
    let count = world.layer(1, 1).join("count");
    eventually("the command runs", || async { count.exists().then_some(()) }).await;
    let executors = world.agents(Kind::Executor);
    assert_eq!(executors.len(), 1);
    assert!(signal(executors[0], Signal::KILL));

    let end = report(&mut client).await;
    assert!(end.text.contains("outcome unknown"), "{}", end.text);
    let count = world.files(1, 1).join("count");
    assert_eq!(std::fs::read_to_string(&count).unwrap(), "ran\n");
    let told = world.model.requests().into_iter().filter(|request| {
        request.tool_results().iter().any(|result| result.starts_with("outcome unknown"))
    });
    assert_eq!(told.count(), 1, "the model is told, once");
    let tasks = world.tasks().await;
    assert!(tasks[0].not_shown[0].starts_with("outcome unknown: bash"), "{tasks:?}");
    world.model.assert_no_violations();
}

#[tokio::test]
async fn tasks_survive_the_death_of_everything() {
    let script = jobs(vec![
        ("hold", vec![bash("echo ran >> held; until test -e never; do sleep 0.03; done")]),
        ("quick", vec![bash("echo ran >> quick")]),
    ]);
    let mut world = World::with("[users]\nexecutors = 1\n", script).await;
    let mut client = world.owner().await;
    client.say("job:hold job:quick").await;
    let held = world.layer(1, 1).join("held");
    eventually("the first task runs", || async { held.exists().then_some(()) }).await;
    assert_eq!(world.count_tasks(TaskState::Queued).await, 1);
    let all: Vec<u32> = [Kind::Executor, Kind::Coordinator, Kind::Launcher]
        .into_iter()
        .flat_map(|kind| world.agents(kind))
        .collect();
    world.stack.kill().await.unwrap();
    for pid in all {
        signal(pid, Signal::KILL);
    }
    world.stack.restart().await.unwrap();

    reports(&mut client, &["T1", "T2"]).await;
    assert_eq!(world.count_tasks(TaskState::Done).await, 2);
    for file in ["held", "quick"] {
        assert_eq!(
            std::fs::read_to_string(world.files(1, 1).join(file)).unwrap(),
            "ran\n",
            "{file}"
        );
    }
    assert!(client.faults().is_empty(), "{:?}", client.faults());
}

#[tokio::test]
async fn a_stop_and_a_start_keep_everything() {
    let mut world = World::with("", jobs(vec![("quick", vec![bash("echo fine > made")])])).await;
    world.json(&["chats", "new", "Second"]).await;
    let asked_before = world.model.requests().len();
    let mut client = world.owner().await;
    client.say("remember the word aubergine").await;
    client.say("job:quick").await;
    report(&mut client).await;
    // What an answer took is booked a moment after it is told.
    let asked = (world.model.requests().len() - asked_before) as u64;
    let all = |budget: &Value| {
        let calls = budget["usage"].as_array().unwrap().iter();
        calls.map(|row| row["calls"].as_u64().unwrap()).sum::<u64>() == asked
    };
    let budget = world.budget("owner", all).await;
    let before = (world.transcript("C1").await.len(), budget);

    world.stack.restart().await.unwrap();
    let after = (world.transcript("C1").await.len(), world.json(&["budget", "show"]).await);
    assert_eq!(before, after);
    assert_eq!(world.json(&["chats", "list"]).await[1]["title"], "Second");
    assert_eq!(world.count_tasks(TaskState::Done).await, 1);
    assert_eq!(std::fs::read_to_string(world.files(1, 1).join("made")).unwrap(), "fine\n");
    // The session of before is still good, and the agent still knows.
    client.say("which word?").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(seen.contains("aubergine"), "{seen}");
}

#[tokio::test]
async fn an_idle_cell_stops_and_the_next_message_wakes_it() {
    let world = World::with("[cells]\nttl_s = 1\n", cloister_testkit::ModelServer::builder()).await;
    let mut client = world.owner().await;
    client.say("remember the word aubergine").await;
    eventually("no agent runs", || async {
        let idle = [Kind::Coordinator, Kind::Launcher].map(|kind| world.agents(kind).is_empty());
        (idle == [true, true]).then_some(())
    })
    .await;
    eventually("its sockets are gone", || async {
        let mut left = std::fs::read_dir(world.stack.data().join("run")).unwrap();
        left.next().is_none().then_some(())
    })
    .await;
    let answer = client.say("which word?").await;
    assert_eq!(answer.text, "echo: which word?");
    let seen = world.model.requests().pop().unwrap();
    let texts: Vec<&str> =
        seen.messages().iter().skip(1).filter_map(|message| message["content"].as_str()).collect();
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert_eq!(texts[..2], ["remember the word aubergine", "echo: remember the word aubergine"]);
    assert_eq!(seen.last_user_text(), "which word?");
}

#[tokio::test]
async fn a_stop_in_the_middle_of_everything_loses_nothing() {
    let script = jobs(vec![(
        "hold",
        vec![bash("echo ran >> held; until test -e never; do sleep 0.03; done")],
    )]);
    let mut world = World::with("", script).await;
    let mut client = world.owner().await;
    client.say("job:hold").await;
    let held = world.layer(1, 1).join("held");
    eventually("the command runs", || async { held.exists().then_some(()) }).await;
    let (reply, steps) = Reply::text("this text is never whole").chunks(6).stepped();
    world.model.enqueue(reply);
    steps.allow(2);
    client.submit(id("m1"), "hello").await;
    frame(&mut client, "a chunk", |f| matches!(f, AgentFrame::TextChunk(_)).then_some(())).await;
    let all: Vec<u32> = [Kind::Executor, Kind::Coordinator, Kind::Launcher]
        .into_iter()
        .flat_map(|kind| world.agents(kind))
        .collect();
    assert_eq!(all.len(), 4);

    world.stack.stop().await.unwrap();
    for pid in all {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is left");
    }
    let run = world.stack.data().join("run");
    assert_eq!(std::fs::read_dir(run).unwrap().count(), 0, "empty after a clean stop");
    world.stack.restart().await.unwrap();
    let mut ends = Vec::new();
    while ends.len() < 2 {
        let end = frame(&mut client, "an end", |frame| match frame {
            AgentFrame::End(end) => Some(end.clone()),
            _ => None,
        });
        ends.push(end.await);
    }
    let answer = ends.iter().find(|end| end.message.is_some()).unwrap();
    assert_eq!(answer.text, "echo: hello");
    let told = ends.iter().find(|end| end.message.is_none()).unwrap();
    assert!(told.text.contains("outcome unknown"), "{}", told.text);
    assert_eq!(std::fs::read_to_string(world.files(1, 1).join("held")).unwrap(), "ran\n");
    assert!(client.faults().is_empty(), "{:?}", client.faults());
}
