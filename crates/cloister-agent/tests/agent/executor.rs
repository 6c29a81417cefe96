use std::time::Duration;

use cloister_protocol::link::{
    Asked, Call, CallStatus, Claim, Downlink, Finish, Outcome, Reply, Request, Start, Step,
    TaskReport, Uplink,
};
use cloister_protocol::{Answer, ModelDoing, ModelFacts, TaskId, TaskState, Update};
use serde_json::{Value, json};
use tokio::process::Child;
use tokio::time::{Instant, timeout};

use crate::door::{Door, Link, PATIENCE};

pub(crate) fn task() -> Start {
    Start {
        task: TaskId::from_number(5),
        title: "Try".into(),
        instructions: "Do the thing.".into(),
        request: "please do the thing".into(),
        files: Vec::new(),
        plan_first: false,
        may_delegate: true,
        max_steps: 30,
        ledger: Vec::new(),
        notes: vec![],
        model: ModelFacts::default(),
        about: String::new(),
        now: String::new(),
        without: Vec::new(),
    }
}

/// The control plane of one attempt: takes steps into the ledger and confirms them.
pub(crate) struct Attempt {
    pub(crate) door: Door,
    agent: Child,
    link: Link,
    ledger: Vec<Step>,
    others: Vec<Uplink>,
}

impl Attempt {
    pub(crate) async fn begin(start: Start) -> Self {
        Self::begin_at(Door::open(), start).await
    }

    async fn begin_at(door: Door, start: Start) -> Self {
        let agent = door.executor();
        Self::begin_by(door, agent, start).await
    }

    async fn begin_by(mut door: Door, agent: Child, start: Start) -> Self {
        let link = door.link().await;
        let ledger = start.ledger.clone();
        link.send(Downlink::Start(start)).await;
        Self { door, agent, link, ledger, others: Vec::new() }
    }

    /// Confirms steps until a frame comes that is none.
    async fn next(&mut self) -> Uplink {
        loop {
            match self.link.next().await {
                Uplink::Step { seq, step } => {
                    assert_eq!(seq as usize, self.ledger.len(), "{step:?}");
                    self.ledger.push(step);
                    self.link.send(Downlink::Journaled { seq }).await;
                }
                Uplink::Update(update @ Update::Progress { .. }) => {
                    self.others.push(Uplink::Update(update))
                }
                other => return other,
            }
        }
    }

    /// Lets the model make these calls and gives back their results.
    pub(crate) async fn calls(&mut self, prefix: &str, calls: &[(&str, Value)]) -> Vec<Outcome> {
        self.door.model().await.call("", prefix, calls).await;
        let results = self.ledger.len();
        while self.results(results).len() < calls.len() {
            self.step().await;
        }
        self.results(results)
    }

    fn results(&self, from: usize) -> Vec<Outcome> {
        let outcome = |step: &Step| match step {
            Step::Result { outcome, .. } => Some(outcome.clone()),
            _ => None,
        };
        self.ledger[from..].iter().filter_map(outcome).collect()
    }

    /// Confirms one step.
    async fn step(&mut self) -> Step {
        loop {
            match self.link.next().await {
                Uplink::Step { seq, step } => {
                    assert_eq!(seq as usize, self.ledger.len(), "{step:?}");
                    self.ledger.push(step.clone());
                    self.link.send(Downlink::Journaled { seq }).await;
                    return step;
                }
                other => self.others.push(other),
            }
        }
    }

    /// The result of the next call that is made.
    pub(crate) async fn outcome(&mut self) -> Outcome {
        loop {
            if let Step::Result { outcome, .. } = self.step().await {
                return outcome;
            }
        }
    }

    pub(crate) async fn finish(&mut self) -> Finish {
        loop {
            if let Uplink::Finish(finish) = self.next().await {
                return finish;
            }
        }
    }

    async fn request(&mut self) -> Request {
        loop {
            if let Uplink::Request(request) = self.next().await {
                return request;
            }
        }
    }

    /// Ends it: the last answer, the finish, the exit.
    pub(crate) async fn say(mut self, text: &str) -> Finish {
        self.door.model().await.say(text).await;
        let finish = self.finish().await;
        self.link.close().await;
        let status = timeout(PATIENCE, self.agent.wait()).await.unwrap().unwrap();
        assert_eq!(status.code(), Some(0));
        finish
    }
}

fn output(outcomes: &[Outcome], index: usize) -> &str {
    &outcomes[index].output
}

#[tokio::test]
async fn every_step_is_journaled_before_it_takes_effect() {
    let mut attempt = Attempt::begin(task()).await;
    let files = attempt.door.files();
    let call = attempt.door.model().await;
    assert!(call.shown().contains("Do the thing.") && call.shown().contains("please do the thing"));
    call.call("I write it.", "c", &[("write_file", json!({"path": "a.txt", "content": "hi"}))])
        .await;
    let Uplink::Update(Update::Progress { text, .. }) = attempt.link.next().await else { panic!() };
    assert_eq!(text, "I write it.");
    for confirmed in 0..2 {
        let Uplink::Step { seq, step } = attempt.link.next().await else { panic!() };
        assert_eq!(seq, confirmed);
        assert!(!files.join("a.txt").exists(), "acted before {step:?} was journaled");
        attempt.ledger.push(step);
        attempt.link.send(Downlink::Journaled { seq }).await;
    }
    let Step::Result { outcome, .. } = attempt.step().await else { panic!() };
    assert_eq!(outcome.status, CallStatus::Ok);
    assert_eq!(std::fs::read_to_string(files.join("a.txt")).unwrap(), "hi");
    let finish = attempt.say("Done.").await;
    assert_eq!((finish.ok, finish.result.as_str()), (true, "Done."));
    assert_eq!(finish.usage.prompt_tokens, 20);
}

/// A3: whoever looks at a task sees that its model is at it, though nothing of its answer can be shown.
#[tokio::test]
async fn what_the_model_of_a_task_is_at_is_told() {
    let mut attempt = Attempt::begin(task()).await;
    let mut call = attempt.door.model().await;
    call.begin().await;
    call.event(&json!({"cloister": "waiting", "attempt": 1, "doing": "reads"})).await;
    call.event(&json!({"cloister": "waiting", "attempt": 2, "doing": "reads"})).await;
    let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    for _ in 0..3 {
        call.event(&delta(json!({"reasoning_content": "hm "}))).await;
    }
    call.text("Done.").await;
    call.text(" All of it.").await;
    call.end().await;
    let finish = attempt.finish().await;
    assert_eq!(finish.result, "Done. All of it.");
    let at: Vec<_> = attempt
        .others
        .iter()
        .filter_map(|frame| match frame {
            Uplink::Update(Update::Progress { doing, attempt, .. }) => Some((*doing, *attempt)),
            _ => None,
        })
        .collect();
    let (reads, thinks, writes) = (ModelDoing::Reads, ModelDoing::Thinks, ModelDoing::Writes);
    let again = Some(2);
    assert_eq!(
        at,
        [(Some(reads), None), (Some(reads), again), (Some(thinks), again), (Some(writes), again)]
    );
}

/// What a model is told is there is there, and it is offered no tool that can't work.
#[tokio::test]
async fn a_model_is_told_of_the_programs_that_there_are() {
    let door = Door::open();
    let programs = door.dir.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    for name in ["bash", "git", "curl"] {
        std::os::unix::fs::symlink(format!("/usr/bin/{name}"), programs.join(name)).unwrap();
    }
    let agent = door.executor_with(&programs);
    let mut attempt = Attempt::begin_by(door, agent, task()).await;
    let call = attempt.door.model().await;
    let shown = call.shown();
    assert!(shown.contains("Programs that are there: bash, git."), "{shown}");
    assert!(shown.contains("Not installed: python3, gcc, node."), "{shown}");
    assert!(shown.contains("use curl, git as usual"), "{shown}");
    let tools = call.body["tools"].to_string();
    assert!(tools.contains("\"bash\"") && !tools.contains("\"python\""), "{tools}");
    call.say("Done.").await;
    assert!(attempt.finish().await.ok);
}

#[tokio::test]
async fn programs_run_with_their_output_exit_code_and_limits() {
    let mut attempt = Attempt::begin(task()).await;
    let outcomes = attempt
        .calls(
            "a",
            &[
                ("bash", json!({"command": "echo out; echo err >&2; pwd; exit 3"})),
                ("python", json!({"code": "print(6 * 7)"})),
                ("bash", json!({"command": "yes 0123456789 | head -c 1000000"})),
                ("bash", json!({"command": "sleep 300 & sleep 300", "timeout_s": 1})),
                ("bash", json!({"command": "sleep 3 & echo started"})),
                ("bash", json!({"command": "cat"})),
                ("bash", json!({"command": 5})),
            ],
        )
        .await;
    let here = std::fs::canonicalize(attempt.door.files()).unwrap();
    assert_eq!(output(&outcomes, 0), format!("out\nerr\n{}\n[exit code 3]", here.display()));
    assert_eq!(outcomes[0].status, CallStatus::Failed);
    assert_eq!(output(&outcomes, 1), "42\n[exit code 0]");
    assert!(
        output(&outcomes, 2).contains("bytes left out"),
        "the middle of a long output is left out"
    );
    assert!(outcomes[2].output.len() < 40_000);
    assert!(output(&outcomes, 3).contains("not done after 1 s"), "{}", output(&outcomes, 3));
    assert_eq!(output(&outcomes, 4), "started\n[exit code 0]");
    assert_eq!(output(&outcomes, 5), "[exit code 0]");
    assert!(output(&outcomes, 6).contains("the arguments are wrong"));
    attempt.say("Done.").await;
}

#[tokio::test]
async fn files_are_written_read_edited_and_found() {
    let mut attempt = Attempt::begin(task()).await;
    let files = attempt.door.files();
    std::fs::write(files.join("bin.dat"), [0u8, 1, 2]).unwrap();
    let outcomes = attempt
        .calls(
            "a",
            &[
                ("write_file", json!({"path": "src/a.py", "content": "one\ntwo\ntwo\nthree\n"})),
                ("read_file", json!({"path": "/chat/src/a.py", "offset": 2, "limit": 1})),
                ("edit_file", json!({"path": "src/a.py", "old": "two", "new": "2"})),
                ("edit_file", json!({"path": "src/a.py", "old": "two", "new": "2", "all": true})),
                ("edit_file", json!({"path": "src/a.py", "old": "absent", "new": "2"})),
                ("ls", json!({"path": "src"})),
                ("glob", json!({"pattern": "**/*.py"})),
                ("grep", json!({"pattern": "^th.ee$", "glob": "*.py"})),
                ("grep", json!({"pattern": "("})),
                ("read_file", json!({"path": "bin.dat"})),
                ("read_file", json!({"path": "/etc/passwd"})),
                ("read_file", json!({"path": "none.txt"})),
                ("ls", json!({"wrong": 1})),
            ],
        )
        .await;
    let expected = [
        "Wrote 18 bytes to src/a.py.",
        "two\n\n[there is more: go on with offset 3]",
        "\"src/a.py\" was not changed: `old` is in it 2 times; give more of its surroundings, or set all",
        "Edited src/a.py.",
        "\"src/a.py\" was not changed: `old` is not in it; read the file and copy the text exactly",
        "a.py 14",
        "src/a.py",
        "src/a.py:4: three",
    ];
    for (index, expected) in expected.iter().enumerate() {
        assert_eq!(output(&outcomes, index), *expected);
    }
    for (index, words) in [
        (8, "not a regular expression"),
        (9, "is not text (3 bytes)"),
        (10, "outside /chat and /tmp"),
        (11, "No such file"),
        (12, "unknown field `wrong`"),
    ] {
        assert!(output(&outcomes, index).contains(words), "{}", output(&outcomes, index));
        assert_eq!(outcomes[index].status, CallStatus::Failed);
    }
    assert_eq!(std::fs::read_to_string(files.join("src/a.py")).unwrap(), "one\n2\n2\nthree\n");
    attempt.say("Done.").await;
}

fn call(id: &str, name: &str, arguments: &Value) -> Call {
    Call { id: id.into(), name: name.into(), arguments: arguments.to_string() }
}

#[tokio::test]
async fn a_call_under_way_when_the_attempt_was_killed_has_an_unknown_outcome() {
    let mut attempt = Attempt::begin(task()).await;
    let files = attempt.door.files();
    let command = "echo x >> log; touch begun; for i in $(seq 400); do [ -e over ] && break; sleep 0.05; done";
    let calls = [("bash", json!({"command": command})), ("ls", json!({}))];
    attempt.door.model().await.call("", "c", &calls).await;
    attempt.step().await;
    attempt.step().await;
    let deadline = Instant::now() + PATIENCE;
    while !files.join("begun").exists() {
        assert!(Instant::now() < deadline, "the command never began");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    attempt.agent.kill().await.unwrap();
    // Outside a sandbox the command outlives its agent.
    std::fs::write(files.join("over"), "").unwrap();
    let Attempt { door, ledger, .. } = attempt;
    assert_eq!(ledger.len(), 2);

    let mut second = Attempt::begin_at(door, Start { ledger, ..task() }).await;
    let Step::Result { call, outcome } = second.step().await else { panic!() };
    assert_eq!((call.as_str(), outcome.status), ("c0", CallStatus::Unknown));
    assert!(outcome.output.contains("check before doing it again"));
    // The call that had not begun is started as usual.
    assert_eq!(second.step().await, Step::Call { call: "c1".into() });
    let Step::Result { outcome, .. } = second.step().await else { panic!() };
    assert_eq!(outcome.status, CallStatus::Ok);
    let asked = second.door.model().await;
    assert!(asked.shown().contains("outcome unknown"), "{}", asked.shown());
    asked.say("I looked: it ran once.").await;
    assert!(second.finish().await.ok);
    assert_eq!(std::fs::read_to_string(files.join("log")).unwrap(), "x\n");
}

#[tokio::test]
async fn reading_calls_and_requests_are_simply_made_again() {
    let answer = Step::Answer {
        text: String::new(),
        calls: vec![
            call("r", "read_file", &json!({"path": "a.txt"})),
            call("s", "send_file", &json!({"path": "/chat/a.txt"})),
        ],
    };
    let door = Door::open();
    std::fs::write(door.files().join("a.txt"), "content").unwrap();
    let ledger = vec![answer.clone(), Step::Call { call: "r".into() }];
    let mut attempt = Attempt::begin_at(door, Start { ledger, ..task() }).await;
    let Step::Result { outcome, .. } = attempt.step().await else { panic!() };
    assert_eq!(outcome.output, "content");
    let first = attempt.request().await;
    assert!(matches!(&first.ask, Asked::SendFile { path, .. } if path == "a.txt"));
    attempt.agent.kill().await.unwrap();
    let Attempt { door, ledger, .. } = attempt;
    let mut attempt = Attempt::begin_at(door, Start { ledger, ..task() }).await;
    let second = attempt.request().await;
    assert_eq!(first, second);
}

#[tokio::test]
async fn nothing_is_changed_before_the_plan_is_approved() {
    let mut attempt = Attempt::begin(Start { plan_first: true, ..task() }).await;
    let files = attempt.door.files();
    let write = ("write_file", json!({"path": "a.txt", "content": "x"}));
    let outcomes = attempt
        .calls("a", &[write.clone(), ("bash", json!({"command": "touch b"})), ("ls", json!({}))])
        .await;
    assert_eq!(outcomes[0].status, CallStatus::Refused);
    assert!(output(&outcomes, 1).contains("propose_plan"));
    assert_eq!((outcomes[2].status, output(&outcomes, 2)), (CallStatus::Ok, "[empty]"));
    for (answer, status) in [(Answer::Deny, CallStatus::Refused), (Answer::Allow, CallStatus::Ok)] {
        let plan = json!({"plan": format!("{answer:?} this")});
        attempt.door.model().await.call("", "p", &[("propose_plan", plan), write.clone()]).await;
        let asked = attempt.request().await;
        assert!(matches!(&asked.ask, Asked::ProposePlan { .. }));
        attempt
            .link
            .send(Downlink::Reply { id: asked.id, result: Reply::Answered { answer } })
            .await;
        let mut outcomes = Vec::new();
        while outcomes.len() < 2 {
            if let Step::Result { outcome, .. } = attempt.step().await {
                outcomes.push(outcome.status);
            }
        }
        assert_eq!(outcomes, [status, status]);
        assert_eq!(files.join("a.txt").exists(), answer == Answer::Allow);
    }
    attempt.say("Done.").await;
}

#[tokio::test]
async fn a_sub_task_answers_with_its_report_and_todos_are_shown() {
    let mut attempt = Attempt::begin(task()).await;
    let todos = json!({"todos": [{"text": "split", "state": "doing"}]});
    let sub = json!({"title": "part", "instructions": "do a part"});
    attempt.door.model().await.call("", "a", &[("write_todos", todos), ("task", sub)]).await;
    let shown = loop {
        if let Uplink::Todos { todos } = attempt.next().await {
            break todos;
        }
    };
    assert_eq!(shown[0].text, "split");
    let asked = attempt.request().await;
    assert!(matches!(&asked.ask, Asked::Delegate { risky: false, .. }));
    let report = TaskReport {
        task: TaskId::from_number(6),
        title: "part".into(),
        state: TaskState::Done,
        result: "the part is done".into(),
        not_shown: Vec::new(),
    };
    attempt
        .link
        .send(Downlink::Reply { id: asked.id, result: Reply::Tasks { tasks: vec![report] } })
        .await;
    while attempt.results(0).len() < 2 {
        attempt.step().await;
    }
    assert!(attempt.results(0)[1].output.contains("the part is done"));
    let claims = json!([{"what": "the part", "call": "a1"}]);
    let finish = json!({"result": "All done.", "claims": claims});
    attempt.door.model().await.call("", "f", &[("finish", finish)]).await;
    let finish = attempt.finish().await;
    assert_eq!(finish.claims, [Claim { what: "the part".into(), call: Some("a1".into()) }]);
    assert!(finish.ok);
}

#[tokio::test]
async fn a_task_that_goes_in_circles_or_loses_its_model_fails_with_the_reason() {
    let mut attempt = Attempt::begin(task()).await;
    for _ in 0..4 {
        attempt.calls("same", &[("bash", json!({"command": "false"}))]).await;
    }
    let finish = attempt.finish().await;
    assert!(!finish.ok && finish.result.contains("bash"), "{finish:?}");

    let mut attempt = Attempt::begin(Start { max_steps: 2, ..task() }).await;
    attempt.calls("a", &[("ls", json!({}))]).await;
    attempt.calls("b", &[("glob", json!({"pattern": "*"}))]).await;
    let finish = attempt.finish().await;
    assert!(!finish.ok && finish.result.contains("2 times"), "{finish:?}");

    let mut attempt = Attempt::begin(task()).await;
    attempt
        .door
        .model()
        .await
        .refuse(402, "over_budget", "The task's budget is used up.", "")
        .await;
    let finish = attempt.finish().await;
    assert_eq!((finish.ok, finish.result.as_str()), (false, "The task's budget is used up."));
}

#[tokio::test]
async fn a_refused_write_is_explained_and_harms_nothing() {
    let mut attempt = Attempt::begin(task()).await;
    let files = attempt.door.files();
    std::fs::write(files.join("a.txt"), "before").unwrap();
    let pid = rustix::process::Pid::from_raw(attempt.agent.id().unwrap() as i32);
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::prlimit(pid, rustix::process::Resource::Fsize, none).unwrap();
    let outcomes = attempt
        .calls(
            "a",
            &[
                ("write_file", json!({"path": "a.txt", "content": "after"})),
                ("bash", json!({"command": "echo after > a.txt"})),
                ("bash", json!({"command": "rm -f gone; cat a.txt || true"})),
            ],
        )
        .await;
    for outcome in &outcomes[..2] {
        assert_eq!(outcome.status, CallStatus::Failed);
        assert!(outcome.output.contains("over its quota"), "{}", outcome.output);
    }
    assert_eq!(outcomes[2].status, CallStatus::Ok);
    attempt.say("It is full.").await;
}

#[tokio::test]
async fn stopping_kills_what_runs() {
    let mut attempt = Attempt::begin(task()).await;
    let files = attempt.door.files();
    // It leaves its process group, as daemons do.
    let command = "setsid sleep 400 & echo $! > pid; wait";
    attempt.door.model().await.call("", "c", &[("bash", json!({"command": command}))]).await;
    attempt.step().await;
    attempt.step().await;
    let deadline = Instant::now() + PATIENCE;
    let pid = loop {
        let pid = std::fs::read_to_string(files.join("pid")).unwrap_or_default();
        if let Ok(pid) = pid.trim().parse::<i32>() {
            break rustix::process::Pid::from_raw(pid).unwrap();
        }
        assert!(Instant::now() < deadline, "the command never began");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    attempt.link.send(Downlink::Stop).await;
    let status = timeout(PATIENCE, attempt.agent.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(0));
    let deadline = Instant::now() + PATIENCE;
    while rustix::process::test_kill_process(pid).is_ok() && !is_zombie(pid) {
        assert!(Instant::now() < deadline, "the background process lives on");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A killed orphan that its new parent has not reaped yet.
fn is_zombie(pid: rustix::process::Pid) -> bool {
    let stat =
        std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.contains(") Z ")
}

#[tokio::test]
async fn an_unconfirmed_step_is_sent_again_after_a_broken_link() {
    let mut attempt = Attempt::begin(task()).await;
    attempt.door.model().await.say("Done.").await;
    let first = attempt.link.next().await;
    assert!(matches!(first, Uplink::Step { seq: 0, .. }));
    attempt.link.close().await;
    attempt.link = attempt.door.link().await;
    let again = attempt.link.next().await;
    assert_eq!(first, again);
    attempt.link.send(Downlink::Journaled { seq: 0 }).await;
    let finish = attempt.finish().await;
    assert_eq!(finish.result, "Done.");
}

/// Plays the control plane for one attempt that is killed after so many frames; the finish if it
/// came before.
async fn play(attempt: &mut Attempt, frames: usize) -> Option<Finish> {
    for _ in 0..frames {
        loop {
            tokio::select! {
                call = attempt.door.model() => {
                    if call.shown().contains("\"role\":\"tool\"") {
                        call.say("Looked after.").await;
                    } else {
                        let command = json!({"command": "echo x >> log"});
                        call.call("", "c", &[("bash", command)]).await;
                    }
                }
                frame = attempt.link.next() => {
                    match frame {
                        Uplink::Step { seq, step } => {
                            assert_eq!(seq as usize, attempt.ledger.len(), "{step:?}");
                            attempt.ledger.push(step);
                            attempt.link.send(Downlink::Journaled { seq }).await;
                        }
                        Uplink::Finish(finish) => return Some(finish),
                        _ => {}
                    }
                    break;
                }
            }
        }
    }
    attempt.agent.kill().await.unwrap();
    None
}

#[tokio::test]
async fn killed_after_any_frame_nothing_is_done_twice_unsaid() {
    for frames in 0.. {
        let mut first = Attempt::begin(task()).await;
        let early = play(&mut first, frames).await;
        let Attempt { door, ledger, .. } = first;
        let files = door.files();
        let mut second = Attempt::begin_at(door, Start { ledger, ..task() }).await;
        let finish = play(&mut second, usize::MAX).await.unwrap();
        assert!(finish.ok, "killed after {frames} frames: {finish:?}");
        let log = std::fs::read_to_string(files.join("log")).unwrap_or_default();
        let unknown = second.results(0).iter().any(|outcome| outcome.status == CallStatus::Unknown);
        assert!(
            log == "x\n" || (log.is_empty() && unknown),
            "killed after {frames} frames: {log:?}"
        );
        if early.is_some() {
            assert!(frames > 4, "the task has several frames to be killed after");
            return;
        }
    }
}
