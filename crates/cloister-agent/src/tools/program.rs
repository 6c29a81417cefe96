//! Runs a program in a process group of its own, with a time limit and an output limit.
//!
//! Promises: out of time or no longer wanted, it is killed with everything it started.

use std::borrow::Cow;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use cloister_protocol::link::Outcome;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::time::timeout;

use super::family::Family;
use super::output::{HeadTail, Tail};
use super::place::{ChatFolder, NO_ROOM};
use super::{done, failed};
use crate::egress::{HOME, INSTALLERS, PROGRAMS_DIR};

const MAX_OUTPUT_BYTES: usize = 32 << 10;
const READ_BYTES: usize = 8 << 10;
/// After the program has exited, how long what it left running may still add to the output.
const LINGER: Duration = Duration::from_millis(200);
/// 128 + SIGXFSZ: a write beyond the file-size limit, as a shell reports it.
const FILE_LIMIT_EXIT: i32 = 153;
const FILE_LIMIT_SIGNAL: i32 = 25;
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// What models like to use, of which not every sandbox has all: the usual ones first.
const USUAL: [&str; 14] = [
    "python3", "git", "gcc", "node", "make", "cargo", "go", "java", "ruby", "perl", "jq",
    "sqlite3", "ffmpeg", "pandoc",
];
/// What reaches hosts as it is set up here.
const REACHING: [&str; 5] = ["curl", "git", "pip", "npm", "wget"];

/// The programs of this sandbox, as far as a model is told of them.
#[derive(Debug)]
pub(crate) struct Programs {
    there: Vec<&'static str>,
}

impl Programs {
    /// Looks which of them can be run here.
    pub(crate) fn found() -> Self {
        let path = path();
        let is_there =
            |name: &&str| path.split(':').any(|folder| Path::new(folder).join(name).is_file());
        let mut there: Vec<_> =
            ["bash"].into_iter().chain(USUAL).chain(REACHING).filter(is_there).collect();
        there.dedup();
        Self { there }
    }

    fn listed(&self, of: &[&'static str]) -> Vec<&'static str> {
        of.iter().copied().filter(|name| self.there.contains(name)).collect()
    }

    /// What there is to run.
    pub(crate) fn that_are_there(&self) -> String {
        let missing: Vec<_> =
            USUAL.into_iter().take(4).filter(|name| !self.there.contains(name)).collect();
        let there = [self.listed(&["bash"]), self.listed(&USUAL)].concat();
        let lacks = match missing.as_slice() {
            [] => String::new(),
            missing => format!(" Not installed: {}.", missing.join(", ")),
        };
        format!("Programs that are there: {}.{lacks}", there.join(", "))
    }

    /// With what pages and packages are got, behind the tool for it.
    pub(crate) fn that_reach_out(&self) -> String {
        match self.listed(&REACHING).as_slice() {
            [] => String::new(),
            some => format!(", and use {} as usual, set up for it", some.join(", ")),
        }
    }

    /// Tools that need a program which is not there.
    pub(crate) fn missing_tools(&self) -> Vec<String> {
        let needs = [("python", "python3"), ("bash", "bash")];
        let missing = needs.into_iter().filter(|(_, program)| !self.there.contains(program));
        missing.map(|(tool, _)| tool.to_owned()).collect()
    }
}

/// Where programs are looked for.
#[expect(clippy::disallowed_methods, reason = "no setting of ours: programs look there too")]
fn path() -> String {
    std::env::var("PATH").unwrap_or_else(|_none| PATH.to_owned())
}

/// Models call it `python`, and many a system has it only as `python3`: a function of every bash that is started.
const PYTHON: (&str, &str) = (
    "BASH_FUNC_python%%",
    "() { if type -P python >/dev/null; then command python \"$@\"; else python3 \"$@\"; fi; }",
);

/// What is to be run.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) arguments: Vec<String>,
    pub(crate) input: Option<Vec<u8>>,
    pub(crate) timeout: Duration,
}

/// Variables that a program is given besides the fixed ones.
pub(crate) type Environment = [(Cow<'static, str>, String)];

/// Runs it to its end, and shows the end of what it has printed so far. Dropping the future kills it with everything it
/// started.
pub(crate) async fn run(
    place: &ChatFolder,
    program: Program,
    environment: &Environment,
    shown: &watch::Sender<Tail>,
) -> Outcome {
    let name = program.name;
    match start(place, &program, environment) {
        Ok((child, output)) => follow(child, output, program, shown).await,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            failed(format!("{name} is not installed here"))
        }
        Err(error) => failed(format!("can't start {name}: {error}")),
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place of the agent that starts programs")]
fn start(
    place: &ChatFolder,
    program: &Program,
    environment: &Environment,
) -> io::Result<(Child, pipe::Receiver)> {
    let (reader, writer) = io::pipe()?;
    let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
    let mut command = Command::new(program.name);
    let path = path();
    let child = command
        .args(&program.arguments)
        .current_dir(place.chat())
        .env("PATH", format!("{PROGRAMS_DIR}:{path}"))
        .env("HOME", HOME)
        .env("LANG", "C.UTF-8")
        .env("TERM", "dumb")
        .env("PYTHONUNBUFFERED", "1")
        .env(PYTHON.0, PYTHON.1)
        .envs(INSTALLERS)
        .envs(environment.iter().map(|(name, value)| (name.as_ref(), value)))
        .stdin(if program.input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    Ok((child, output))
}

async fn follow(
    mut child: Child,
    mut pipe: pipe::Receiver,
    program: Program,
    shown: &watch::Sender<Tail>,
) -> Outcome {
    let mut family = Family::of(child.id());
    let stdin = child.stdin.take();
    let mut output = Printed { kept: HeadTail::new(MAX_OUTPUT_BYTES), shown };
    let ended = {
        let feed = async {
            if let (Some(mut stdin), Some(input)) = (stdin, program.input) {
                // A program that does not read its input is its own business.
                stdin.write_all(&input).await.ok();
            }
        };
        let run = async {
            let (status, ()) = tokio::join!(wait(&mut child, &mut pipe, &mut output), feed);
            status
        };
        timeout(program.timeout, run).await
    };
    match ended {
        Ok(Ok(status)) => {
            family.let_go();
            told(status, output.kept.finish())
        }
        Ok(Err(error)) => failed(format!("lost sight of {}: {error}", program.name)),
        Err(_elapsed) => {
            family.kill();
            let seconds = program.timeout.as_secs();
            let output = output.kept.finish();
            failed(format!(
                "{output}\n[killed with everything it started: not done after {seconds} s]"
            ))
        }
    }
}

/// What a program prints: what is kept of it, and what is shown while it runs.
struct Printed<'a> {
    kept: HeadTail,
    shown: &'a watch::Sender<Tail>,
}

impl Printed<'_> {
    fn push(&mut self, bytes: &[u8]) {
        self.kept.push(bytes);
        self.shown.send_modify(|tail| tail.push(bytes));
    }
}

/// Reads until the program has exited and its output has come.
async fn wait(
    child: &mut Child,
    pipe: &mut pipe::Receiver,
    output: &mut Printed<'_>,
) -> io::Result<ExitStatus> {
    let mut buffer = vec![0u8; READ_BYTES];
    let mut open = true;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            read = pipe.read(&mut buffer), if open => match read {
                Ok(0) | Err(_) => open = false,
                Ok(count) => output.push(buffer.get(..count).unwrap_or_default()),
            },
        }
    };
    if open {
        // What runs on in the background may hold the pipe open for ever.
        drop(timeout(LINGER, drain(pipe, &mut buffer, output)).await);
    }
    Ok(status)
}

async fn drain(pipe: &mut pipe::Receiver, buffer: &mut [u8], output: &mut Printed<'_>) {
    while let Ok(count @ 1..) = pipe.read(buffer).await {
        output.push(buffer.get(..count).unwrap_or_default());
    }
}

fn told(status: ExitStatus, output: String) -> Outcome {
    use std::os::unix::process::ExitStatusExt as _;
    let ended = match (status.code(), status.signal()) {
        (Some(code), _) => format!("[exit code {code}]"),
        (None, Some(signal)) => format!("[killed by signal {signal}]"),
        (None, None) => "[ended]".to_owned(),
    };
    let line = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
    let mut told = format!("{output}{line}{ended}");
    let over_limit = status.code() == Some(FILE_LIMIT_EXIT)
        || status.signal() == Some(FILE_LIMIT_SIGNAL)
        || ["No space left on device", "Disk quota exceeded", "File too large"]
            .iter()
            .any(|words| output.contains(words));
    if over_limit {
        told.push('\n');
        told.push_str(NO_ROOM);
    }
    if status.success() { done(told) } else { failed(told) }
}
