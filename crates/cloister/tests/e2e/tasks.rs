//! Tasks: delegated, run side by side, limited, fair, cancelled, reported truthfully.

use std::time::Duration;

use cloister_protocol::{AgentFrame, Cancel, ClientFrame, TaskState, Update};
use cloister_testkit::stack::processes::Kind;
use cloister_testkit::{Matcher, ModelServer, Reply};
use serde_json::json;

use crate::world::{
    Talk, World, ask_for_report, bash, eventually, frame, hold, jobs, processes_with, report,
    reports,
};

#[tokio::test]
async fn several_tasks_run_at_once_and_each_is_told_once() {
    let world = World::with("", jobs(vec![("hold", vec![hold()])])).await;
    let mut client = world.owner().await;
    client.say("job:hold-1 job:hold-2 job:hold-3").await;
    eventually("they run side by side", || async {
        (world.agents(Kind::Executor).len() == 3).then_some(())
    })
    .await;
    world.release(1, 1);
    let tasks = ["T1 \"hold-1\": done", "T2 \"hold-2\": done", "T3 \"hold-3\": done"];
    let told = reports(&mut client, &tasks).await;
    for task in tasks {
        assert_eq!(told.matches(task).count(), 1, "{told}");
    }
    world.model.assert_no_violations();
}

#[tokio::test]
async fn a_task_is_told_when_it_ends_whatever_others_still_do() {
    let script = jobs(vec![("hold", vec![hold()]), ("quick", vec![bash("echo quick")])]);
    let world = World::with("", script).await;
    let mut client = world.owner().await;
    let first = ask_for_report(&mut client, "job:hold job:quick").await;
    assert!(
        first.text.contains("T2 \"quick\": done") && !first.text.contains("T1"),
        "{}",
        first.text
    );
    assert_eq!(world.count_tasks(TaskState::Running).await, 1);
    world.release(1, 1);
    let second = report(&mut client).await;
    assert!(
        second.text.contains("T1 \"hold\": done") && !second.text.contains("T2"),
        "{}",
        second.text
    );
}

#[tokio::test]
async fn a_user_has_at_most_their_number_of_executors() {
    let world = World::with("[users]\nexecutors = 2\n", jobs(vec![("hold", vec![hold()])])).await;
    let mut client = world.owner().await;
    client.say("job:hold-1 job:hold-2 job:hold-3 job:hold-4 job:hold-5").await;
    world.until_tasks(TaskState::Running, 2).await;
    world.release(1, 1);
    eventually("all of them are done", || async {
        let running = world.agents(Kind::Executor).len();
        assert!(running <= 2, "{running} run at once");
        (world.count_tasks(TaskState::Done).await == 5).then_some(())
    })
    .await;
}

#[tokio::test]
async fn one_user_can_not_starve_another() {
    let never = bash("until test -e incoming/never; do sleep 0.03; done");
    let quick = vec![bash("echo quick")];
    let script = jobs(vec![("hold", vec![hold()]), ("never", vec![never]), ("quick", quick)]);
    let world = World::with("[cells]\nexecutors = 2\n", script).await;
    world.add_user("bob").await;
    let mut owner = world.owner().await;
    let many: Vec<String> = (1..=19).map(|number| format!("job:never-{number}")).collect();
    owner.say(&format!("job:hold {}", many.join(" "))).await;
    world.until_tasks(TaskState::Running, 2).await;

    let mut bob = world.client("bob", 1).await;
    bob.say("job:quick").await;
    assert_eq!(world.count_tasks(TaskState::Queued).await, 19);
    // The first place that becomes free is bob's, though eighteen waited before him.
    world.release(1, 1);
    let end = report(&mut bob).await;
    assert!(end.text.contains("quick"), "{}", end.text);
    let tasks = world.tasks().await;
    let done = tasks.iter().filter(|task| task.state == TaskState::Done);
    assert_eq!(done.count(), 2, "one of the owner's and bob's");
}

#[tokio::test]
async fn the_agent_answers_while_tasks_run_and_cancels_them_on_request() {
    let world = World::with("", jobs(vec![("hold", vec![hold()])])).await;
    let mut client = world.owner().await;
    client.say("job:hold-1 job:hold-2 job:hold-3 job:hold-4 job:hold-5").await;
    world.until_tasks(TaskState::Running, 5).await;
    assert_eq!(client.say("are you there?").await.text, "echo: are you there?");
    assert_eq!(world.count_tasks(TaskState::Running).await, 5);
    let listed = client.say("/tasks").await.text;
    assert!(listed.contains("T5 hold-5 (running, C1)"), "{listed}");

    let cancelled = world.json(&["task", "cancel", "T1"]).await;
    assert_eq!(cancelled["cancelled"], json!(["T1"]));
    assert_eq!(client.say("/cancel T2").await.text, "Cancelled: T2.");
    let frame = Cancel { turn: None, task: Some("T3".parse().unwrap()) };
    client.send(&ClientFrame::Cancel(frame)).await.unwrap();
    world.until_tasks(TaskState::Cancelled, 3).await;
    assert_eq!(world.count_tasks(TaskState::Running).await, 2);
    assert_eq!(client.say("/cancel").await.text, "Cancelled: T4, T5.");
    assert_eq!(world.count_tasks(TaskState::Cancelled).await, 5);
    eventually("no executor", || async { world.agents(Kind::Executor).is_empty().then_some(()) })
        .await;

    assert_eq!(client.say("/cancel").await.text, "Nothing was running here.");
    let (code, error) = world.failing(&["task", "cancel", "T1"]).await;
    assert_eq!((code, error.error.code.as_str()), (1, "not_found"));
}

#[tokio::test]
async fn everything_of_a_chat_or_a_user_is_cancelled_at_once() {
    let world = World::with("", jobs(vec![("hold", vec![hold()])])).await;
    world.json(&["chats", "new"]).await;
    let mut first = world.owner().await;
    let mut second = world.client("owner", 2).await;
    first.say("job:hold-1 job:hold-2").await;
    second.say("job:hold-3 job:hold-4").await;
    world.until_tasks(TaskState::Running, 4).await;
    // All tasks of its own chat.
    first.send(&ClientFrame::Cancel(Cancel { turn: None, task: None })).await.unwrap();
    world.until_tasks(TaskState::Cancelled, 2).await;
    assert_eq!(world.count_tasks(TaskState::Running).await, 2);
    // A stranger can't.
    world.add_user("mallory").await;
    let mut stranger = world.client("mallory", 1).await;
    let answer = stranger.say("/cancel T3").await;
    assert!(answer.error.is_some() && answer.text.contains("no task T3"), "{}", answer.text);
    assert_eq!(world.count_tasks(TaskState::Running).await, 2);
    // All of the user.
    let cancelled = world.json(&["task", "cancel", "--all"]).await;
    assert_eq!(cancelled["cancelled"], json!(["T3", "T4"]));
}

#[tokio::test]
async fn cancelling_ends_every_process_a_task_started() {
    let mark = format!("mark-{}", std::process::id());
    let command = format!(
        "setsid bash -c 'exec -a {mark}-a sleep 300' & \
         (setsid bash -c 'trap \"\" TERM HUP INT; exec -a {mark}-b sleep 300' &) ; \
         python3 -c 'import os,time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n\
os.execvp(\"bash\", [\"bash\", \"-c\", \"exec -a {mark}-c sleep 300\"])' ; \
         exec -a {mark}-d sleep 300"
    );
    let world = World::with("", jobs(vec![("family", vec![bash(&command)])])).await;
    let mut client = world.owner().await;
    client.say("job:family").await;
    let running = |letter: &str| processes_with(&format!("{mark}-{letter}\0")).len();
    eventually("four processes run", || async {
        ["a", "b", "c", "d"].iter().all(|letter| running(letter) == 1).then_some(())
    })
    .await;
    let began = std::time::Instant::now();
    client.say("/cancel T1").await;
    eventually("all of them are gone", || async {
        ["a", "b", "c", "d"].iter().all(|letter| running(letter) == 0).then_some(())
    })
    .await;
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_executor_hands_a_part_to_another_and_uses_its_report() {
    let child = json!({"title": "child", "instructions": "count the letters"});
    let script = jobs(vec![
        ("parent", vec![Reply::tool_call("task", child)]),
        ("child", vec![bash("echo the-child-was-here | tee part.txt")]),
    ]);
    let world = World::with("[users]\nexecutors = 1\n", script).await;
    let mut client = world.owner().await;
    // With one executor at a time: a task that waits for its part does not stand in its way.
    let end = ask_for_report(&mut client, "job:parent").await;
    assert!(end.text.contains("the-child-was-here"), "{}", end.text);
    let tasks = world.tasks().await;
    assert_eq!(tasks.len(), 2);
    assert_eq!(tasks[1].parent, Some(tasks[0].id));
    assert!(tasks.iter().all(|task| task.state == TaskState::Done), "{tasks:?}");
    assert!(world.files(1, 1).join("part.txt").exists());
    assert_eq!(world.transcript("C1").await.len(), 3, "the part is not reported by itself");
    world.model.assert_no_violations();
}

#[tokio::test]
async fn the_todo_list_is_shown() {
    let todos =
        json!({"todos": [{"text": "look", "state": "done"}, {"text": "leap", "state": "doing"}]});
    let world =
        World::with("", jobs(vec![("listed", vec![Reply::tool_call("write_todos", todos)])])).await;
    let mut client = world.owner().await;
    client.say("job:listed").await;
    let shown = frame(&mut client, "a todo list", |frame| match frame {
        AgentFrame::Update(Update::Todos { todos, .. }) => Some(todos.clone()),
        _ => None,
    })
    .await;
    assert_eq!(shown.iter().map(|todo| todo.text.as_str()).collect::<Vec<_>>(), ["look", "leap"]);
}

/// A8: what a command prints is told while it runs, its end where it is long; a client that reads along needs no result.
#[tokio::test]
async fn what_a_command_prints_is_told_while_it_runs() {
    let command = "seq 1 5000; echo the last line; sleep 600";
    let world = World::with("", jobs(vec![("talks", vec![bash(command)])])).await;
    let mut client = world.owner().await;
    client.say("job:talks").await;
    let (task, call, text) = frame(&mut client, "what it printed", |frame| match frame {
        AgentFrame::Update(Update::Output { task, call, text }) if text.contains("last line") => {
            Some((*task, call.clone(), text.clone()))
        }
        _ => None,
    })
    .await;
    assert_eq!(task, Some("T1".parse().unwrap()));
    assert!(text.len() <= 8 << 10 && text.ends_with("4999\n5000\nthe last line\n"), "{text}");
    assert!(!call.is_empty());
    assert_eq!(world.tasks().await[0].state, TaskState::Running);
    client.say("/cancel T1").await;
}

#[tokio::test]
async fn failures_are_told_as_failures() {
    let failed = json!({"result": "The disk is on fire.", "ok": false});
    let script = jobs(vec![
        ("wrong", vec![bash("echo oops >&2; exit 3")]),
        ("gave", vec![Reply::tool_call("finish", failed)]),
        ("silent", vec![Reply::text(" ")]),
    ]);
    let world = World::with("", script).await;
    let mut client = world.owner().await;
    client.say("job:wrong job:gave job:silent").await;
    let expected = [
        "oops\n[exit code 3]",
        "T2 \"gave\": failed\nThe disk is on fire.",
        "T3 \"silent\": failed",
    ];
    reports(&mut client, &expected).await;
}

#[tokio::test]
async fn a_claim_that_the_record_does_not_show_is_told_as_such() {
    let claim = json!({"result": "I created report.md and all tests pass.",
                       "claims": [{"what": "a chart", "call": "call_nowhere"}]});
    // Even if the coordinator's model would rather not mention it.
    let model = jobs(vec![("lie", vec![bash("ls"), Reply::tool_call("finish", claim)])])
        .when(Matcher::last_user_contains("[task report]"), Reply::text("All went well."));
    let world = World::with("", model).await;
    let mut client = world.owner().await;
    let end = ask_for_report(&mut client, "job:lie").await;
    assert!(end.text.starts_with("All went well."), "{}", end.text);
    for unshown in ["report.md", "tests are said to pass", "a chart"] {
        assert!(end.text.contains(unshown), "{unshown}: {}", end.text);
    }
    assert_eq!(world.tasks().await[0].not_shown.len(), 3);
}

#[tokio::test]
async fn a_model_that_goes_in_circles_is_stopped_and_it_is_explained() {
    let again = bash("echo the same");
    let model = ModelServer::builder().when(Matcher::executor(), again).when(
        Matcher::coordinator().and(Matcher::last_user_contains("circle")),
        Reply::tool_call("list_tasks", json!({})),
    );
    let world = World::with("", model).await;
    let mut client = world.owner().await;
    let answer = client.say("go in a circle").await;
    assert_eq!(answer.error.map(|code| code.as_str()), Some("loop_stopped"));
    assert!(answer.text.contains("the same call came 4 times"), "{}", answer.text);

    let end = ask_for_report(&mut client, "run: anything").await;
    assert!(end.text.contains("the same call came 4 times"), "{}", end.text);
    assert_eq!(world.count_tasks(TaskState::Failed).await, 1);
}

#[tokio::test]
async fn a_task_of_too_many_steps_is_stopped() {
    let steps = (0..20).map(|number| bash(&format!("echo {number}"))).collect();
    let world = World::with("[work]\nmax_steps = 5\n", jobs(vec![("long", steps)])).await;
    let mut client = world.owner().await;
    let end = ask_for_report(&mut client, "job:long").await;
    assert!(end.text.contains("asking the model 5 times"), "{}", end.text);
    assert_eq!(world.count_tasks(TaskState::Failed).await, 1);
}

#[tokio::test]
async fn a_task_that_failed_can_be_tried_again() {
    let script = jobs(vec![(
        "flaky",
        vec![
            bash("test -e second && echo fine || { touch second; exit 1; }"),
            Reply::tool_call("finish", json!({"result": "see the record", "ok": false})),
        ],
    )]);
    let world = World::with("", script).await;
    let mut client = world.owner().await;
    ask_for_report(&mut client, "job:flaky").await;
    assert_eq!(world.count_tasks(TaskState::Failed).await, 1);
    world.json(&["task", "retry", "T1"]).await;
    let end = report(&mut client).await;
    assert!(end.text.contains("T2"), "{}", end.text);
    let shown = world.json(&["task", "show", "T2"]).await.to_string();
    assert!(shown.contains("fine"), "{shown}");
    let (code, error) = world.failing(&["task", "retry", "T9"]).await;
    assert_eq!((code, error.error.code.as_str()), (1, "not_found"));
}

#[tokio::test]
async fn every_tool_works_and_what_it_does_is_shown() {
    let call = |name: &str, arguments: serde_json::Value| Reply::tool_call(name, arguments);
    let steps = vec![
        call("write_file", json!({"path": "notes/a.txt", "content": "one\ntwo\n"})),
        call("edit_file", json!({"path": "notes/a.txt", "old": "two", "new": "three"})),
        call("read_file", json!({"path": "/chat/notes/a.txt"})),
        call("ls", json!({"path": "notes"})),
        call("glob", json!({"pattern": "**/*.txt"})),
        call("grep", json!({"pattern": "thr.e"})),
        call("python", json!({"code": "print(6 * 7)"})),
        bash("wc -l < notes/a.txt"),
        call("send_file", json!({"path": "notes/a.txt"})),
        call("no_such_tool", json!({})),
        call("bash", json!({"nonsense": 1})),
    ];
    let expected = [
        "",
        "",
        "three",
        "a.txt",
        "notes/a.txt",
        "three",
        "42",
        "2",
        "Sent",
        "no_such_tool",
        "nonsense",
    ];
    let world = World::with("", jobs(vec![("tools", steps)])).await;
    let mut client = world.owner().await;
    client.say("job:tools").await;
    let (mut called, mut results, mut states) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        match client.frame_or_reconnect(crate::world::PATIENCE).await.unwrap() {
            AgentFrame::ToolCall(call) if call.task.is_some() => called.push(call.name),
            AgentFrame::ToolResult(result) if result.task.is_some() => results.push(result),
            AgentFrame::Update(Update::Task { state, .. }) => states.push(state),
            AgentFrame::End(end) if end.message.is_none() => break,
            _ => {}
        }
    }
    assert_eq!(results.len(), expected.len(), "{results:#?}");
    for (number, (result, part)) in results.iter().zip(expected).enumerate() {
        assert_eq!(result.ok, number < 9, "{result:?}");
        assert!(result.output.contains(part), "{part}: {result:?}");
    }
    assert!(called.starts_with(&["write_file".to_owned(), "edit_file".to_owned()]), "{called:?}");
    assert!(states.contains(&TaskState::Done), "{states:?}");
    world.model.assert_no_violations();
}
