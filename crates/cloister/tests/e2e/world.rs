//! The product with a scripted model behind it, and what the tests ask of both.
//!
//! A person who says `job:NAME` gets a task of that name; its executor takes the steps that the test
//! wrote down for the name (up to a `-`, so that `hold-1` and `hold-2` are two tasks of one kind).

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use cloister_protocol::admin::{Line, Session, TaskView};
use cloister_protocol::{
    AgentFrame, ChatId, End, ErrorCode, ErrorEnvelope, TaskState, WorkspaceId,
};
use cloister_store::Store;
use cloister_store::audit::AuditRow;
use cloister_testkit::stack::{Response, processes};
pub(crate) use cloister_testkit::stack::{files_with, processes_with};
use cloister_testkit::{
    AgentClient, Answer, ModelServer, ModelServerBuilder, Product, Received, Reply, Stack,
    world_of_product,
};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

pub(crate) use cloister_testkit::product::{PATIENCE, eventually};

/// The steps of the executors, by the name of their task.
pub(crate) type Jobs = Vec<(&'static str, Vec<Reply>)>;

/// A model that delegates `job:NAME` and works on it as told; anything else is echoed.
pub(crate) fn jobs(jobs: Jobs) -> ModelServerBuilder {
    ModelServer::builder().rule(move |received| {
        let tools = received.tool_names();
        if tools.contains(&"delegate") {
            return delegated(received);
        }
        if !tools.contains(&"bash") {
            return None;
        }
        let (_, steps) = jobs.iter().find(|(name, _)| *name == job_of(received))?;
        let taken = received.messages().iter().filter(|message| message["role"] == "assistant");
        let done = || Reply::text(format!("done: {}", received.tool_results().join("\n")));
        Some(steps.get(taken.count()).cloned().unwrap_or_else(done))
    })
}

fn delegated(received: &Received) -> Option<Reply> {
    let asked = received.last_user_text();
    if asked.starts_with("[task report]") {
        return None;
    }
    let named = |word: &str| {
        let (kind, name) = word.split_once(':')?;
        ["job", "risky"].contains(&kind).then(|| (name.to_owned(), kind == "risky"))
    };
    let wanted: Vec<(String, bool)> = asked.split_whitespace().filter_map(named).collect();
    if wanted.is_empty() {
        return None;
    }
    if !received.tool_results().is_empty() {
        return Some(Reply::text("It has begun."));
    }
    let delegate = |reply: Reply, (name, risky): &(String, bool)| {
        let arguments =
            json!({"title": name, "instructions": format!("job {name}"), "risky": risky});
        reply.and_tool_call("delegate", arguments)
    };
    Some(wanted.iter().fold(Reply::default(), delegate))
}

/// The kind of job an executor was given.
fn job_of(received: &Received) -> String {
    let asked = received.last_user_text();
    let title = asked.lines().next().and_then(|line| line.strip_prefix("Task: "));
    title.unwrap_or_default().split('-').next().unwrap_or_default().to_owned()
}

pub(crate) fn bash(command: &str) -> Reply {
    Reply::tool_call("bash", json!({"command": command}))
}

/// A command that lasts until the chat is released.
pub(crate) fn hold() -> Reply {
    bash("until test -e incoming/go; do sleep 0.03; done; echo released")
}

pub(crate) struct World {
    pub(crate) product: Product,
}

world_of_product!(World);

impl World {
    /// With a model that echoes and acts on `run: COMMAND`.
    pub(crate) async fn start() -> Self {
        Self::with("", ModelServer::builder()).await
    }

    /// Where an operator's policy asks before anything is deleted or installed.
    pub(crate) async fn asking(config: &str, model: ModelServerBuilder) -> Self {
        let stack = Stack::builder().asks_before_deleting().config(config);
        Self { product: Product::start(stack, model).await }
    }

    pub(crate) async fn with(config: &str, model: ModelServerBuilder) -> Self {
        Self { product: Product::start(Stack::builder().config(config), model).await }
    }

    /// A client of the owner's first chat.
    pub(crate) async fn owner(&self) -> AgentClient {
        self.client("owner", 1).await
    }

    pub(crate) async fn client(&self, user: &str, chat: u32) -> AgentClient {
        let session = self.stack.session(user).await.unwrap();
        self.stack.client(&session, ChatId::from_number(chat))
    }

    pub(crate) async fn add_user(&self, name: &str) -> Session {
        self.stack.cli_ok(&["user", "add", name]).await.unwrap();
        self.stack.session(name).await.unwrap()
    }

    /// Where the files of a chat are on this machine.
    pub(crate) fn files(&self, workspace: u32, chat: u32) -> PathBuf {
        let workspace = WorkspaceId::from_number(workspace).to_string();
        let chat = ChatId::from_number(chat).to_string();
        self.stack.data().join("workspaces").join(workspace).join("chats").join(chat).join("files")
    }

    /// Where a task writes that has not ended.
    pub(crate) fn layer(&self, workspace: u32, task: u32) -> PathBuf {
        let workspace = WorkspaceId::from_number(workspace).to_string();
        let task = cloister_protocol::TaskId::from_number(task).to_string();
        self.stack.data().join("layers").join(workspace).join(task).join("1/upper")
    }

    /// Lets the commands of a chat go on that hold.
    pub(crate) fn release(&self, workspace: u32, chat: u32) {
        let incoming = self.files(workspace, chat).with_file_name("incoming");
        std::fs::write(incoming.join("go"), "").unwrap();
    }

    /// A command that must fail, with its exit code and error.
    pub(crate) async fn failing(&self, arguments: &[&str]) -> (i32, ErrorEnvelope) {
        let mut all = vec!["--json"];
        all.extend(arguments);
        let output = self.stack.cli(&all).await.unwrap();
        let envelope = serde_json::from_str(&output.stdout)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {output:?}"));
        (output.code.unwrap(), envelope)
    }

    /// Every task, oldest first.
    pub(crate) async fn tasks(&self) -> Vec<TaskView> {
        serde_json::from_value(self.json(&["task", "list"]).await).unwrap()
    }

    pub(crate) async fn count_tasks(&self, state: TaskState) -> usize {
        self.tasks().await.iter().filter(|task| task.state == state).count()
    }

    pub(crate) async fn until_tasks(&self, state: TaskState, count: usize) {
        eventually(&format!("{count} tasks are {}", state.as_str()), || async {
            (self.count_tasks(state).await == count).then_some(())
        })
        .await;
    }

    /// What was said in the owner's chat.
    pub(crate) async fn transcript(&self, chat: &str) -> Vec<Line> {
        serde_json::from_value(self.json(&["chats", "show", chat]).await).unwrap()
    }

    /// The newest entries of the audit trail.
    pub(crate) async fn audit(&self) -> Vec<AuditRow> {
        let store = Store::open(&self.stack.data().join("cloister.db")).await.unwrap();
        let rows = store.audit().audit_tail(1000).await.unwrap();
        store.close().await.unwrap();
        rows
    }

    /// The agents of this stack that run now.
    pub(crate) fn agents(&self, kind: processes::Kind) -> Vec<u32> {
        let all = processes::below(self.stack.pid().unwrap());
        all.into_iter().filter(|process| process.kind == kind).map(|process| process.pid).collect()
    }

    pub(crate) async fn upload(&self, session: &Session, name: &str, bytes: &[u8]) -> Response {
        let path = format!("/cells/{}/v1/chats/C1/files?name={name}", session.workspace);
        self.stack.http("POST", &path, Some(&session.token), bytes.to_vec()).await.unwrap()
    }
}

/// Says something new and waits for the answer. Every call is another message, also of a second
/// client of the same chat.
pub(crate) trait Talk {
    async fn say(&mut self, text: &str) -> Answer;
}

impl Talk for AgentClient {
    async fn say(&mut self, text: &str) -> Answer {
        static SAID: AtomicU32 = AtomicU32::new(0);
        let id = format!("say-{}", SAID.fetch_add(1, Ordering::Relaxed)).parse().unwrap();
        self.ask_as(id, text, PATIENCE).await.unwrap()
    }
}

/// The next frame that fits; what comes before it is passed over.
pub(crate) async fn frame<T>(
    client: &mut AgentClient,
    what: &str,
    fits: impl Fn(&AgentFrame) -> Option<T>,
) -> T {
    let wait = async {
        loop {
            let frame = client.frame_or_reconnect(PATIENCE).await.unwrap();
            if let Some(found) = fits(&frame) {
                return found;
            }
        }
    };
    timeout(PATIENCE, wait).await.unwrap_or_else(|_late| panic!("never came: {what}"))
}

/// The end of the next turn that no message started: what the agent says of its tasks.
pub(crate) async fn report(client: &mut AgentClient) -> End {
    frame(client, "a report", |frame| match frame {
        AgentFrame::End(end) if end.message.is_none() => Some(end.clone()),
        _ => None,
    })
    .await
}

/// What the agent says of its tasks, until all of this was said.
pub(crate) async fn reports(client: &mut AgentClient, all: &[&str]) -> String {
    let mut said = String::new();
    while !all.iter().all(|part| said.contains(part)) {
        said.push_str(&report(client).await.text);
        said.push('\n');
    }
    said
}

/// Says something and waits for what becomes of the tasks it starts.
pub(crate) async fn ask_for_report(client: &mut AgentClient, text: &str) -> End {
    let answer = client.say(text).await;
    assert_eq!(answer.error, None, "{}", answer.text);
    report(client).await
}

/// The code of an answer in the error envelope.
pub(crate) fn code_of(response: &Response) -> ErrorCode {
    let envelope: ErrorEnvelope =
        response.json().unwrap_or_else(|error| panic!("{error}: {}", response.text()));
    assert!(!envelope.error.message.is_empty());
    envelope.error.code
}

/// A program of the product, started by hand.
#[expect(clippy::disallowed_methods, reason = "the program under test is a program")]
pub(crate) fn program(path: &Path) -> Command {
    let mut command = Command::new(path);
    command.env_remove("CLOISTER_DATA").kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The command line on a data directory of the test's own.
pub(crate) fn cloister(data: &Path) -> Command {
    let mut command = program(Path::new(env!("CARGO_BIN_EXE_cloister")));
    command.arg("--data").arg(data);
    command
}

/// Runs a command to its end, with something to read on its standard input.
pub(crate) async fn run_with_input(command: &mut Command, input: &str) -> Output {
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap()
}

pub(crate) async fn run(command: &mut Command) -> Output {
    timeout(PATIENCE, command.output()).await.unwrap().unwrap()
}
