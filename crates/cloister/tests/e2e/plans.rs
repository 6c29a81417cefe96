//! Plans: what is risky waits for a person, however long, and nothing is changed before.

use cloister_protocol::{AgentFrame, Answer, ApprovalAnswer, ClientFrame, TaskState};
use cloister_testkit::stack::processes::Kind;
use cloister_testkit::{AgentClient, Reply};
use serde_json::json;

use crate::world::{Talk, World, ask_for_report, bash, eventually, frame, jobs, report};

/// Tries at once, is refused, asks, and tries again.
fn wipe() -> Vec<Reply> {
    let plan = json!({"plan": "1. delete keep.txt: `rm keep.txt; echo gone`"});
    vec![
        bash("rm keep.txt"),
        Reply::tool_call("propose_plan", plan),
        bash("rm keep.txt; echo gone"),
    ]
}

async fn with_a_file() -> (World, AgentClient) {
    let script = jobs(vec![("keep", vec![bash("echo precious > keep.txt")]), ("wipe", wipe())]);
    let world = World::with("", script).await;
    let mut client = world.owner().await;
    ask_for_report(&mut client, "job:keep").await;
    (world, client)
}

async fn question(client: &mut AgentClient) -> String {
    let asked = frame(client, "a question", |frame| match frame {
        AgentFrame::Ask(ask) => Some(ask.clone()),
        _ => None,
    })
    .await;
    assert!(asked.text.contains("delete keep.txt"), "{}", asked.text);
    asked.approval.to_string()
}

#[tokio::test]
async fn a_risky_request_waits_through_a_restart_and_goes_on_with_yes() {
    let (mut world, mut client) = with_a_file().await;
    let file = world.files(1, 1).join("keep.txt");
    // The person's own word makes it risky, whatever the coordinator thinks.
    client.say("please deploy everything with job:wipe").await;
    question(&mut client).await;
    assert!(file.exists());
    world.until_tasks(TaskState::Waiting, 1).await;
    let refused = world.model.requests().into_iter().filter(|request| {
        request.tool_results().iter().any(|result| result.starts_with("refused:"))
    });
    assert_eq!(refused.count(), 1, "the model was told to plan first");

    world.stack.kill().await.unwrap();
    world.stack.restart().await.unwrap();
    assert_eq!(world.count_tasks(TaskState::Waiting).await, 1);
    assert!(world.agents(Kind::Executor).is_empty(), "what waits needs no process");
    let status = client.say("/status").await.text;
    assert!(status.contains("A1 waits for your answer"), "{status}");
    assert!(file.exists());

    assert!(client.say("/yes").await.text.starts_with("A1 allowed"));
    let end = report(&mut client).await;
    assert!(end.text.contains("gone"), "{}", end.text);
    assert!(!file.exists());
    let again = client.say("/yes").await;
    assert!(again.text.contains("nothing waits"), "{}", again.text);
    world.model.assert_no_violations();
}

#[tokio::test]
async fn a_plan_that_is_refused_is_not_carried_out() {
    let (world, mut client) = with_a_file().await;
    // Here it is the coordinator who thinks that it is risky.
    client.say("tidy up with risky:wipe").await;
    question(&mut client).await;
    assert!(client.say("/no").await.text.starts_with("A1 refused"));
    let end = report(&mut client).await;
    assert!(world.files(1, 1).join("keep.txt").exists());
    assert!(!end.text.contains("gone\n"), "{}", end.text);
    let told = world.model.requests().into_iter().filter(|request| {
        request.tool_results().iter().any(|result| result.contains("said no to this plan"))
    });
    assert_eq!(told.count(), 1);
}

#[tokio::test]
async fn only_the_person_who_was_asked_can_answer() {
    let (world, mut client) = with_a_file().await;
    client.say("tidy up with risky:wipe").await;
    let id = question(&mut client).await;
    world.add_user("mallory").await;
    let mut stranger = world.client("mallory", 1).await;
    let answer = stranger.say(&format!("/approve {id}")).await;
    assert_eq!(answer.error.map(|code| code.as_str()), Some("not_found"), "{}", answer.text);
    let allow = ApprovalAnswer { id: id.parse().unwrap(), answer: Answer::Allow, digest: None };
    stranger.send(&ClientFrame::Approval(allow.clone())).await.unwrap();
    let refused = frame(&mut stranger, "an error", |frame| match frame {
        AgentFrame::Error(error) => Some(error.clone()),
        _ => None,
    })
    .await;
    assert_eq!((refused.code.as_str(), refused.id), ("not_found", Some(id.clone())));
    let (code, error) = world.failing(&["task", "approve", "--user", "mallory", &id]).await;
    assert_eq!((code, error.error.code.as_str()), (1, "not_found"));
    assert_eq!(world.count_tasks(TaskState::Waiting).await, 1);
    assert!(world.files(1, 1).join("keep.txt").exists());

    client.send(&ClientFrame::Approval(allow)).await.unwrap();
    report(&mut client).await;
    assert!(!world.files(1, 1).join("keep.txt").exists());
}

#[tokio::test]
async fn a_task_that_waits_can_be_cancelled() {
    let (world, mut client) = with_a_file().await;
    client.say("tidy up with risky:wipe").await;
    let id = question(&mut client).await;
    client.say("/cancel T2").await;
    let late = client.say(&format!("/approve {id}")).await;
    assert_eq!(late.error.map(|code| code.as_str()), Some("not_found"), "{}", late.text);
    assert_eq!(world.json(&["task", "approvals"]).await, json!([]));
    assert!(world.files(1, 1).join("keep.txt").exists());
}

#[tokio::test]
async fn before_the_plan_even_an_agent_that_obeys_nothing_has_nothing_to_write_to() {
    let world = World::with("", jobs(vec![("idle", vec![Reply::hang()])])).await;
    let mut client = world.owner().await;
    client.say("please deploy everything with job:idle").await;
    let executor = eventually("an executor", || async { world.agents(Kind::Executor).pop() }).await;
    let mounts = std::fs::read_to_string(format!("/proc/{executor}/mountinfo")).unwrap();
    for place in ["/chat", "/chat/incoming"] {
        let options = mounts.lines().find_map(|line| {
            let mut fields = line.split(' ');
            (fields.nth(4) == Some(place)).then(|| fields.next().unwrap_or_default().to_owned())
        });
        let options = options.unwrap_or_else(|| panic!("{place} is not mounted:\n{mounts}"));
        assert!(options.split(',').any(|option| option == "ro"), "{place}: {options}");
    }
}
