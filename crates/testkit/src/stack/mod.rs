//! The whole product, started for a test: the real programs on a fresh data directory.
//!
//! Promises: what it started ends with it; every wait has a bound; when a test fails, the control
//! plane's log is shown. Works as root and as an ordinary user.

mod client;
pub(crate) mod http;
mod looking;
pub mod processes;
mod programs;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cloister_protocol::ChatId;
use cloister_protocol::admin::{NewSession, Session};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

pub use looking::{command_lines, files_with, processes_with};

pub(crate) use client::comes_back;
pub use client::{AgentClient, Answer, ClientError, Watcher};
pub use http::Response;
use programs::Programs;

use crate::ModelServer;

/// How long `up` may take to say that it is there.
const START_TIME: Duration = Duration::from_secs(30);
/// How long a graceful stop may take.
const STOP_TIME: Duration = Duration::from_secs(30);
/// How long one command of the command line may take.
const CLI_TIME: Duration = Duration::from_secs(60);
/// An operator's policy that asks before anything is deleted or installed, as none of the default ones does where
/// it can be taken back: for tests that are about questions.
const ASKING: &str = r#"@id("test-asks-before-deleting")
@ask("destructive")
@reason("it deletes or overwrites what you have")
forbid (principal, action in [Action::"call_tool", Action::"change_by_tool"], resource)
when { context.risk == "destructive" };

@id("test-asks-before-installing")
@ask("middle")
@reason("it installs or configures something")
forbid (principal, action in [Action::"call_tool", Action::"change_by_tool"], resource)
when { context.risk == "middle" };
"#;
/// How much of the log is shown when a test fails.
const LOG_TAIL: usize = 32 << 10;

#[derive(Debug, thiserror::Error)]
pub enum StackError {
    #[error("{program} is not in {}: `cargo build --workspace --bins` first", dir.display())]
    NotBuilt { program: &'static str, dir: PathBuf },
    #[error("{what}")]
    Io { what: String, source: std::io::Error },
    #[error("`cloister up` did not start: {reason}\n{log}")]
    NotStarted { reason: String, log: String },
    #[error("`cloister up` did not stop within {} s\n{log}", STOP_TIME.as_secs())]
    NotStopped { log: String },
    #[error("`cloister {command}` took longer than {} s", CLI_TIME.as_secs())]
    CliLate { command: String },
    #[error("`cloister {command}` ended with {code:?}: {stderr}")]
    CliFailed { command: String, code: Option<i32>, stderr: String },
    #[error("{method} {path} failed: {reason}")]
    Http { method: String, path: String, reason: String },
    #[error("the control plane does not run")]
    Down,
}

fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> StackError {
    let what = what.into();
    move |source| StackError::Io { what, source }
}

/// Where the control plane listens now; a restart may change it.
#[derive(Clone, Debug, Default)]
pub struct Address(Arc<Mutex<Option<String>>>);

impl Address {
    /// `HOST:PORT`, while the control plane runs.
    pub fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// One request to it.
    pub async fn http(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Response, StackError> {
        let address = self.get().ok_or(StackError::Down)?;
        http::request(&address, (method, path), token, body).await
    }

    fn set(&self, address: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = address;
    }
}

/// What a command of the command line said.
#[derive(Clone, Debug)]
pub struct CliOutput {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl CliOutput {
    pub fn ok(&self) -> bool {
        self.code == Some(0)
    }
}

#[derive(Clone, Debug)]
pub struct StackBuilder {
    config: String,
    log_filter: String,
    same_port: bool,
    environment: Vec<(String, String)>,
    agent: Option<&'static str>,
    connectors: bool,
    asking: bool,
}

impl StackBuilder {
    /// With an operator's policy that asks before anything is deleted or installed.
    pub fn asks_before_deleting(mut self) -> Self {
        self.asking = true;
        self
    }

    /// Another program of this build in the place of the agent.
    pub fn agent(mut self, program: &'static str) -> Self {
        self.agent = Some(program);
        self
    }

    /// As `make up` builds it: no connector is beside the control plane.
    pub fn without_connectors(mut self) -> Self {
        self.connectors = false;
        self
    }

    /// A variable that the control plane is started with.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The text of `cloister.toml`.
    pub fn config(mut self, text: &str) -> Self {
        text.clone_into(&mut self.config);
        self
    }

    /// What the control plane logs; `info` unless told.
    pub fn log_filter(mut self, filter: &str) -> Self {
        filter.clone_into(&mut self.log_filter);
        self
    }

    /// Listens on the same port after a restart: a page that is open finds it again.
    pub fn same_port(mut self) -> Self {
        self.same_port = true;
        self
    }

    pub async fn start(self) -> Result<Stack, StackError> {
        let programs = match (self.agent, self.connectors) {
            (None, true) => Programs::find()?,
            (agent, connectors) => {
                Programs::installed(agent.unwrap_or("cloister-agent"), connectors)?
            }
        };
        let dir = tempfile::Builder::new()
            .prefix("cloister-stack-")
            .tempdir()
            .map_err(io("a temporary directory could not be made"))?;
        let data = dir.path().join("data");
        std::fs::create_dir(&data).map_err(io("the data directory could not be made"))?;
        std::fs::write(data.join("cloister.toml"), in_order(&with_one_reader(&self.config)))
            .map_err(io("cloister.toml could not be written"))?;
        if self.asking {
            let policies = data.join("policies");
            std::fs::create_dir(&policies)
                .and_then(|()| std::fs::write(policies.join("asking.cedar"), ASKING))
                .map_err(io("the policies could not be written"))?;
        }
        let mut stack = Stack {
            dir: Some(dir),
            data,
            programs,
            log_filter: self.log_filter,
            environment: self.environment,
            same_port: self.same_port,
            listen: "127.0.0.1:0".to_owned(),
            address: Address::default(),
            login_url: String::new(),
            running: None,
        };
        stack.launch().await?;
        Ok(stack)
    }
}

/// Every stack reads the database through one connection, unless a test says otherwise: what would hold a reader and
/// wait for another one stands still at once, and not only under load.
fn with_one_reader(config: &str) -> String {
    if config.lines().any(|line| line.trim() == "[store]") {
        return config.to_owned();
    }
    format!("{config}\n[store]\nreaders = 1\n")
}

/// Every stack answers each message by itself, unless a test says otherwise: what most of them send at once is meant to
/// be counted one by one.
fn in_order(config: &str) -> String {
    const QUEUE: &str = "second_message = \"queue\"";
    if config.contains("second_message") {
        return config.to_owned();
    }
    match config.lines().any(|line| line.trim() == "[cells]") {
        true => config.replacen("[cells]", &format!("[cells]\n{QUEUE}"), 1),
        false => format!("{config}\n[cells]\n{QUEUE}\n"),
    }
}

/// A running product; dropping it kills it.
pub struct Stack {
    /// None once it is kept.
    dir: Option<TempDir>,
    data: PathBuf,
    programs: Programs,
    log_filter: String,
    environment: Vec<(String, String)>,
    same_port: bool,
    /// Where the next start listens.
    listen: String,
    address: Address,
    login_url: String,
    running: Option<Child>,
}

impl Stack {
    pub fn builder() -> StackBuilder {
        StackBuilder {
            config: String::new(),
            log_filter: "info".to_owned(),
            same_port: false,
            environment: Vec::new(),
            agent: None,
            connectors: true,
            asking: false,
        }
    }

    pub async fn start() -> Result<Self, StackError> {
        Self::builder().start().await
    }

    /// The data directory.
    pub fn data(&self) -> &Path {
        &self.data
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address.get().unwrap_or_default())
    }

    pub fn login_url(&self) -> &str {
        &self.login_url
    }

    /// The control plane's process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().and_then(Child::id)
    }

    fn log_path(&self) -> PathBuf {
        self.data.with_file_name("cloister.log")
    }

    /// Everything the control plane has logged, over all restarts.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.log_path()).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let start = log.len().saturating_sub(LOG_TAIL);
        let start = (start..log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or(start);
        log.get(start..).unwrap_or_default().to_owned()
    }

    /// Leaves the data directory and the log where they are when the stack is dropped.
    pub fn keep(&mut self) -> PathBuf {
        match self.dir.take() {
            Some(dir) => dir.keep(),
            None => self.data.parent().unwrap_or(&self.data).to_owned(),
        }
    }

    fn command(&self) -> Command {
        let mut command = programs::command(&self.programs.cloister);
        command.arg("--data").arg(&self.data).env("CLOISTER_LOG", &self.log_filter);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts a control plane that has stopped and kills it again after this long, wherever it is
    /// by then.
    pub async fn false_start(&mut self, after: Duration) -> Result<(), StackError> {
        drop(timeout(after, self.launch()).await);
        self.kill().await
    }

    async fn launch(&mut self) -> Result<(), StackError> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log_path())
            .map_err(io("the log could not be opened"))?;
        let mut child = self
            .command()
            .args(["--json", "up", "--listen", &self.listen])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .map_err(io("`cloister up` could not be started"))?;
        let stdout = child.stdout.take();
        self.running = Some(child);
        let first = async {
            let mut lines = BufReader::new(stdout?).lines();
            lines.next_line().await.ok().flatten()
        };
        let first = timeout(START_TIME, first).await;
        let not_started =
            |reason: &str, log: String| StackError::NotStarted { reason: reason.to_owned(), log };
        let line = match first {
            Ok(Some(line)) => line,
            Ok(None) => return Err(not_started("it ended at once", self.log_tail())),
            Err(_elapsed) => return Err(not_started("it took too long", self.log_tail())),
        };
        let started: serde_json::Value = serde_json::from_str(&line)
            .map_err(|error| not_started(&format!("{error}: {line}"), self.log_tail()))?;
        if started.get("login_url").is_none() {
            return Err(not_started(&line, self.log_tail()));
        }
        let field = |name: &str| started.get(name).and_then(|v| v.as_str()).unwrap_or_default();
        field("login_url").clone_into(&mut self.login_url);
        let url = field("url").trim_start_matches("http://").trim_end_matches('/');
        self.address.set(Some(url.to_owned()));
        if self.same_port {
            url.clone_into(&mut self.listen);
        }
        Ok(())
    }

    /// Stops as an operator would, and waits for it.
    pub async fn stop(&mut self) -> Result<(), StackError> {
        self.address.set(None);
        let Some(mut child) = self.running.take() else { return Ok(()) };
        if let Some(pid) = child.id() {
            processes::signal(pid, rustix::process::Signal::TERM);
        }
        match timeout(STOP_TIME, child.wait()).await {
            Ok(ended) => ended.map(|_status| ()).map_err(io("`cloister up` could not be awaited")),
            Err(_elapsed) => {
                child.kill().await.map_err(io("`cloister up` could not be killed"))?;
                Err(StackError::NotStopped { log: self.log_tail() })
            }
        }
    }

    /// Kills the control plane (SIGKILL), as a crash would.
    pub async fn kill(&mut self) -> Result<(), StackError> {
        self.address.set(None);
        let Some(mut child) = self.running.take() else { return Ok(()) };
        child.kill().await.map_err(io("`cloister up` could not be killed"))
    }

    /// Starts again on the same data; stops gracefully first if it still runs.
    pub async fn restart(&mut self) -> Result<(), StackError> {
        self.stop().await?;
        self.launch().await
    }

    /// Runs a command of the command line.
    pub async fn cli(&self, arguments: &[&str]) -> Result<CliOutput, StackError> {
        self.cli_apart(arguments).await
    }

    /// The same, for whoever does something else with the stack meanwhile, as to kill it.
    pub fn cli_apart(
        &self,
        arguments: &[&str],
    ) -> impl Future<Output = Result<CliOutput, StackError>> + Send + 'static {
        let shown = arguments.join(" ");
        let mut command = self.command();
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        async move {
            let output = match timeout(CLI_TIME, command.output()).await {
                Ok(output) => output.map_err(io(format!("`cloister {shown}` did not run")))?,
                Err(_elapsed) => return Err(StackError::CliLate { command: shown }),
            };
            Ok(CliOutput {
                code: output.status.code(),
                stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            })
        }
    }

    /// Runs a command that must succeed; what it printed.
    pub async fn cli_ok(&self, arguments: &[&str]) -> Result<String, StackError> {
        let output = self.cli(arguments).await?;
        if output.ok() {
            return Ok(output.stdout);
        }
        let command = arguments.join(" ");
        let mut stderr = output.stderr;
        if self.pid().is_some_and(|pid| !Path::new(&format!("/proc/{pid}/exe")).exists()) {
            stderr.push_str("(the control plane has ended by itself)\n");
        }
        Err(StackError::CliFailed { command, code: output.code, stderr })
    }

    /// Makes this model server the model of both levels.
    pub async fn use_model(&self, model: &ModelServer) -> Result<(), StackError> {
        let url = model.base_url();
        // Untested: a test of the model would be the first thing it receives.
        let add =
            ["model", "add", "fake", "--base-url", &url, "--model", "test-model", "--no-test"];
        if !self.cli(&add).await?.ok() {
            // It is there from before.
            self.cli_ok(&[&add[..], &["--replace"]].concat()).await?;
        }
        self.cli_ok(&["model", "use", "fake"]).await?;
        Ok(())
    }

    /// One request to the public address.
    pub async fn http(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Response, StackError> {
        self.address.http(method, path, token, body).await
    }

    /// The operator's token.
    pub fn operator_token(&self) -> Result<String, StackError> {
        let path = self.data.join("operator.token");
        let token = std::fs::read_to_string(&path)
            .map_err(io(format!("{} could not be read", path.display())))?;
        Ok(token.trim().to_owned())
    }

    /// A session of a user that exists.
    pub async fn session(&self, user: &str) -> Result<Session, StackError> {
        let path = "/api/v1/sessions";
        let failed = |reason: String| StackError::Http {
            method: "POST".to_owned(),
            path: path.to_owned(),
            reason,
        };
        let name =
            user.parse().map_err(|e: cloister_protocol::ParseIdError| failed(e.to_string()))?;
        let asked = NewSession { user: Some(name), ..NewSession::default() };
        let body = serde_json::to_vec(&asked).map_err(|e| failed(e.to_string()))?;
        let token = self.operator_token()?;
        let response = self.http("POST", path, Some(&token), body).await?;
        response.json().map_err(|error| failed(format!("{error} ({})", response.text())))
    }

    /// A client of one chat; it connects when it is first used.
    pub fn client(&self, session: &Session, chat: ChatId) -> AgentClient {
        AgentClient::new(self.address.clone(), session.clone(), chat)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // Dropping the child kills it, and the sandboxes end with their lifelines.
        if std::thread::panicking() {
            let tail = self.log_tail();
            writeln!(std::io::stderr().lock(), "--- the control plane's log:\n{tail}").ok();
        }
    }
}
