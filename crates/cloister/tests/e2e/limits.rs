//! What one task may take of the machine, and that its end is told in words.

use cloister_protocol::TaskState;
use cloister_testkit::{ModelServer, Reply};
use serde_json::json;

use crate::world::{Talk, World, ask_for_report, bash, jobs, reports};

#[tokio::test]
async fn a_task_that_takes_too_much_memory_is_ended_and_the_others_go_on() {
    let hog = "python3 -c 'x = []\nwhile True: x.append(bytearray(4 << 20))'; echo survived";
    let script = jobs(vec![("hog", vec![bash(hog)]), ("quiet", vec![bash("echo quiet-is-fine")])]);
    let world = World::with("[cells]\nexecutor_memory_mb = 96\n", script).await;
    let mut client = world.owner().await;
    client.say("job:hog job:quiet").await;
    let said = reports(&mut client, &["T1", "quiet-is-fine"]).await;
    let tasks = world.tasks().await;
    let told = said.contains("memory") || said.contains("Killed") || said.contains("MemoryError");
    assert!(told, "{tasks:?}\n{said}");
    assert_eq!(client.say("still there?").await.text, "echo: still there?");
}

#[tokio::test]
async fn a_task_that_takes_too_long_is_ended() {
    let script = jobs(vec![("slow", vec![bash("sleep 300")])]);
    let world = World::with("[cells]\nexecutor_wall_s = 1\n", script).await;
    let mut client = world.owner().await;
    let end = ask_for_report(&mut client, "job:slow").await;
    assert!(end.text.contains("took longer than a task may take"), "{}", end.text);
    assert!(end.text.contains("outcome unknown"), "{}", end.text);
    assert_eq!(world.count_tasks(TaskState::Failed).await, 1);
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_killed_and_the_task_goes_on() {
    let slow =
        Reply::tool_call("bash", json!({"command": "echo begun; sleep 300", "timeout_s": 1}));
    let world = World::with("", jobs(vec![("slow", vec![slow, bash("echo next")])])).await;
    let mut client = world.owner().await;
    client.say("job:slow").await;
    let end = crate::world::report(&mut client).await;
    assert!(end.text.contains("next"), "{}", end.text);
    let told = world.model.requests().into_iter().flat_map(|request| request.tool_results());
    let told: Vec<String> = told.filter(|result| result.contains("not done after 1 s")).collect();
    assert!(told[0].contains("begun"), "{told:?}");
}

#[tokio::test]
async fn a_fork_bomb_stays_in_its_sandbox() {
    let bomb = "bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 0.5; echo over";
    let script =
        jobs(vec![("bomb", vec![bash(bomb)]), ("quiet", vec![bash("echo quiet-is-fine")])]);
    let world = World::with("[cells]\nexecutor_processes = 40\n", script).await;
    let mut client = world.owner().await;
    client.say("job:bomb").await;
    let end = ask_for_report(&mut client, "job:quiet").await;
    assert!(end.text.contains("quiet-is-fine") || end.text.contains("over"), "{}", end.text);
    client.say("/cancel all").await;
    world.until_tasks(TaskState::Running, 0).await;
    assert_eq!(client.say("still there?").await.text, "echo: still there?");
}

#[tokio::test]
async fn a_flood_of_output_is_cut_and_says_so() {
    let flood = "head -c 30000000 /dev/zero | tr '\\0' 'x'; echo; echo the-end";
    let world = World::with("", jobs(vec![("flood", vec![bash(flood)])])).await;
    let mut client = world.owner().await;
    let end = ask_for_report(&mut client, "job:flood").await;
    assert!(end.text.contains("the-end") && end.text.len() < 100_000, "{}", end.text.len());
    let odd = World::with(
        "",
        jobs(vec![("odd", vec![bash("head -c 1000 /dev/urandom; echo; echo fine")])]),
    )
    .await;
    let end = ask_for_report(&mut odd.owner().await, "job:odd").await;
    assert!(end.text.contains("fine"), "{}", end.text);
}

#[tokio::test]
async fn a_very_long_answer_still_ends_the_turn() {
    let world = World::with("", ModelServer::builder()).await;
    let mut client = world.owner().await;
    world.model.enqueue(Reply::text("long ".repeat(300_000)));
    let answer = client.say("talk").await;
    assert!(answer.text.starts_with("long long"), "{:?}", answer.error);
    assert_eq!(client.say("and now?").await.text, "echo: and now?");
    assert!(client.faults().is_empty());
}

#[tokio::test]
async fn a_very_long_step_of_a_task_still_ends_the_task() {
    let write = json!({"path": "big.txt", "content": "x".repeat(1_300_000)});
    let world =
        World::with("", jobs(vec![("write", vec![Reply::tool_call("write_file", write)])])).await;
    let mut client = world.owner().await;
    ask_for_report(&mut client, "job:write").await;
    assert_eq!(client.say("and now?").await.text, "echo: and now?");
}

#[tokio::test]
async fn a_user_has_at_most_so_many_open_tasks() {
    let script = jobs(vec![("hold", vec![crate::world::hold()])]);
    let world = World::with("[work]\nmax_open_tasks = 3\n", script).await;
    let mut client = world.owner().await;
    client.say("job:hold-1 job:hold-2 job:hold-3 job:hold-4 job:hold-5").await;
    assert_eq!(world.tasks().await.len(), 3);
    let told: Vec<String> =
        world.model.requests().into_iter().flat_map(|request| request.tool_results()).collect();
    let refused = told.iter().filter(|result| result.contains("3 tasks are open already"));
    assert_eq!(refused.count(), 2, "{told:#?}");
}
