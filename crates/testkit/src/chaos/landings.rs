//! Chaos of landings: the control plane is killed while what tasks did to the files of a chat lands, or is taken back;
//! after each start all files are compared with what they were before and what they are to be after.
//!
//! What tasks do and how long after its beginning a landing is struck follow from the seed alone; what a kill hits depends
//! on how fast the machine is.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cloister_protocol::{AgentFrame, Answer, ChatId, MessageId};
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use tokio::time::{Instant, sleep};

use crate::random::Random;
use crate::stack::{AgentClient, CliOutput, Stack, StackError};
use crate::{ModelServer, Received, Reply};

const CONFIG: &str = "[users]\ndaily_budget_usd = 1000000.0\n[limits]\nperson_burst = 100000\nperson_per_s = 1000.0\n";
/// How long a task, an undo or a start may take on a machine that does nothing else, many times over.
const PATIENCE: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(1);
/// A start that goes on with a landing is killed too, at most so often in a row.
const MOST_FALSE_STARTS: u64 = 3;
/// How long after its beginning such a start is killed at most.
const FALSE_START_MS: u64 = 900;
const FOLDERS: u32 = 7;

#[derive(Clone, Copy, Debug)]
pub struct LandingsOptions {
    pub seed: u64,
    /// Kills that hit files that were moving.
    pub kills: usize,
    /// Files that a task has to do with.
    pub files: u32,
    /// After this no more is killed, however many kills are left.
    pub time: Duration,
}

#[derive(Debug, thiserror::Error)]
pub enum LandingsError {
    #[error("the model server did not start")]
    Model(#[source] std::io::Error),
    #[error(transparent)]
    Stack(#[from] StackError),
    #[error("{0}")]
    Late(String),
    #[error("the database could not be read")]
    Database(#[from] rusqlite::Error),
    #[error("the files of the chat could not be read")]
    Files(#[from] std::io::Error),
    #[error("it broke off: {source}\ndata and log are in {}", kept.display())]
    BrokenOff { kept: PathBuf, source: Box<LandingsError> },
}

/// What came of it.
#[derive(Debug)]
pub struct LandingsOutcome {
    pub options: LandingsOptions,
    /// Kills while files moved: of a landing, of an undo or its undo, and of a start that went on with one of them.
    pub landing: usize,
    pub undoing: usize,
    pub starting: usize,
    /// Kills that came before the first file moved, or after the last.
    pub beside: usize,
    pub tasks: u32,
    pub undone: u32,
    /// Files that were compared.
    pub compared: usize,
    pub problems: Vec<String>,
    /// Where data and log are, if something was wrong.
    pub kept: Option<PathBuf>,
}

impl LandingsOutcome {
    pub fn holds(&self) -> bool {
        self.problems.is_empty()
    }

    fn hits(&self) -> usize {
        self.landing + self.undoing + self.starting
    }
}

impl fmt::Display for LandingsOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "chaos landings: seed={} kills={} (landing={} undoing={} starting={}) beside={} tasks={} undone={} \
             files_compared={} half={}",
            self.options.seed,
            self.hits(),
            self.landing,
            self.undoing,
            self.starting,
            self.beside,
            self.tasks,
            self.undone,
            self.compared,
            self.problems.len(),
        )
    }
}

/// Lands, takes back and brings back, and kills meanwhile.
pub async fn run(options: LandingsOptions) -> Result<LandingsOutcome, LandingsError> {
    let files = options.files;
    let model = ModelServer::builder()
        .seed(options.seed)
        .keep(0)
        .rule(move |received: &Received| reply(received, files))
        .start()
        .await
        .map_err(LandingsError::Model)?;
    let mut stack = Stack::builder().config(CONFIG).start().await?;
    stack.use_model(&model).await?;
    match Course::begin(&mut stack, options).await {
        Ok(mut outcome) => {
            if !outcome.holds() {
                outcome.kept = Some(stack.keep());
            }
            Ok(outcome)
        }
        Err(source) => {
            Err(LandingsError::BrokenOff { kept: stack.keep(), source: Box::new(source) })
        }
    }
}

/// All files of a chat, with what they say.
type Files = BTreeMap<String, String>;

/// What the task of this number makes of the files: some it writes, some it removes, one is a file and a folder by turns.
fn after(before: &Files, number: u32, files: u32) -> Files {
    let mut after = before.clone();
    for file in 0..files {
        let path = format!("d{}/f{file}", file % FOLDERS);
        match (number + file) % 4 {
            0 | 3 => drop(after.insert(path, format!("T{number} {file}\n"))),
            1 => drop(after.remove(&path)),
            _ => {}
        }
    }
    after.retain(|path, _| !path.starts_with("turn"));
    let turn = if number.is_multiple_of(2) { "turn" } else { "turn/in" };
    after.insert(turn.to_owned(), format!("{number}\n"));
    after
}

/// The same for a shell. Done twice it is done once.
fn command(number: u32, files: u32) -> String {
    let last = files.saturating_sub(1);
    let turn = match number.is_multiple_of(2) {
        true => format!("echo {number} > turn"),
        false => format!("mkdir turn; echo {number} > turn/in"),
    };
    format!(
        "for i in $(seq 0 {last}); do d=d$((i % {FOLDERS})); mkdir -p $d; case $((({number} + i) % 4)) in \
         0|3) echo T{number} $i > $d/f$i;; 1) rm -f $d/f$i;; esac; done; rm -rf turn; {turn}"
    )
}

fn reply(received: &Received, files: u32) -> Option<Reply> {
    let tools = received.tool_names();
    let asked = received.last_user_text();
    if tools.contains(&"delegate") {
        let number = asked.split_once("landing ").map(|(_, rest)| rest.to_owned());
        let wanted = number.filter(|_| !asked.starts_with("[task report]"));
        let Some(number) = wanted else { return Some(Reply::text("It is done.")) };
        if !received.tool_results().is_empty() {
            return Some(Reply::text("It has begun."));
        }
        let title = format!("landing {number}");
        let arguments = serde_json::json!({"title": title, "instructions": title});
        return Some(Reply::tool_call("delegate", arguments));
    }
    if !tools.contains(&"bash") {
        return Some(Reply::text("A summary."));
    }
    let (_, rest) = asked.split_once("landing ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let results = received.tool_results();
    let known = results.last().is_some_and(|result| !result.starts_with("outcome unknown"));
    if known {
        return Some(Reply::text("Done."));
    }
    let command = command(digits.parse().ok()?, files);
    Some(Reply::tool_call("bash", serde_json::json!({"command": command})))
}

/// How far a task and its layer are.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Far {
    id: u32,
    ended: bool,
    /// None before the executor was launched.
    layer: Option<String>,
}

impl Far {
    fn moves(&self) -> bool {
        matches!(self.layer.as_deref(), Some("landing" | "undoing" | "redoing"))
    }
}

/// One course of landings, one after the other, in one chat.
struct Course<'a> {
    stack: &'a mut Stack,
    client: AgentClient,
    random: Random,
    outcome: LandingsOutcome,
    /// Of the chat.
    place: PathBuf,
    files: Files,
    /// What it took from the first file to the last.
    last_took: Duration,
}

impl<'a> Course<'a> {
    async fn begin(
        stack: &'a mut Stack,
        options: LandingsOptions,
    ) -> Result<LandingsOutcome, LandingsError> {
        stack.cli_ok(&["user", "add", "ada"]).await?;
        let session = stack.session("ada").await?;
        let workspace = format!("workspaces/{}/chats/C1/files", session.workspace);
        let place = stack.data().join(workspace);
        let client = stack.client(&session, ChatId::from_number(1));
        let outcome = LandingsOutcome {
            options,
            landing: 0,
            undoing: 0,
            starting: 0,
            beside: 0,
            tasks: 0,
            undone: 0,
            compared: 0,
            problems: Vec::new(),
            kept: None,
        };
        let random = Random::new(options.seed, "landings");
        let last_took = Duration::from_millis(100);
        let mut course =
            Course { stack, client, random, outcome, place, files: Files::new(), last_took };
        let until = Instant::now() + options.time;
        let mut number = 0;
        while course.outcome.hits() < options.kills
            && course.outcome.problems.is_empty()
            && Instant::now() < until
        {
            number += 1;
            course.land(number).await?;
            course.take_back(number).await?;
        }
        course.stack.stop().await?;
        Ok(course.outcome)
    }

    /// A task lands, and is killed meanwhile; the first is left alone, to know how long it takes.
    async fn land(&mut self, number: u32) -> Result<(), LandingsError> {
        let after = after(&self.files, number, self.outcome.options.files);
        let Ok(id) = format!("landing-{number}").parse::<MessageId>() else { return Ok(()) };
        self.client.submit(id, &format!("landing {number}")).await;
        let moves = self.until(number, "lands", |far| far.moves() || far.ended).await?;
        if number == 1 {
            let begun = Instant::now();
            self.until(number, "has landed", |far| far.ended).await?;
            self.last_took = begun.elapsed();
        } else if moves.moves() && self.strike(number).await? {
            self.outcome.landing += 1;
        }
        self.start_again(number).await?;
        // At the start all of it has landed, or nothing has and the task is begun again.
        let far = self.far(number)?;
        if far.as_ref().is_none_or(|far| !far.ended) {
            self.compare(&format!("before {number}"), [&self.files.clone(), &after])?;
            self.until(number, "ends", |far| far.ended).await?;
        }
        self.compare(&format!("after {number}"), [&after])?;
        self.files = after;
        self.outcome.tasks += 1;
        Ok(())
    }

    /// What a task did is taken back, and brought back, and killed meanwhile.
    #[expect(clippy::disallowed_methods, reason = "it ends with the command, which a kill ends")]
    async fn take_back(&mut self, number: u32) -> Result<(), LandingsError> {
        let Some(far) = self.far(number)? else { return Ok(()) };
        let (task, landed) = (format!("T{}", far.id), self.files.clone());
        // What was before it: all others are as it found them.
        let before = self.before(number);
        for (to, goal) in [("undone", &before), ("landed", &landed)] {
            let is_there = |far: &Far| far.layer.as_deref() == Some(to);
            let asked = tokio::spawn(self.stack.cli_apart(&["task", "undo", &task]));
            let begun = self.until(number, "is taken back", |far| far.moves() || is_there(far));
            let begun = begun.await?;
            if begun.moves() && self.strike(number).await? {
                self.outcome.undoing += 1;
            }
            let said: Option<CliOutput> = asked.await.ok().and_then(Result::ok);
            self.start_again(number).await?;
            let far = self.far(number)?;
            if !far.as_ref().is_some_and(is_there) {
                let said = said.map(|said| format!("{}{}", said.stdout, said.stderr));
                self.problem(format!("{task} is {far:?} and not {to}: {said:?}"));
                return Ok(());
            }
            self.compare(&format!("{task} {to}"), [goal])?;
            self.outcome.undone += 1;
        }
        Ok(())
    }

    /// The files before a task, as all tasks up to it made them.
    fn before(&self, number: u32) -> Files {
        let files = self.outcome.options.files;
        (1..number).fold(Files::new(), |all, number| after(&all, number, files))
    }

    /// Kills the control plane, at some time within what it takes to move all; whether files were moving.
    async fn strike(&mut self, number: u32) -> Result<bool, LandingsError> {
        let most = u64::try_from(self.last_took.as_micros()).unwrap_or(u64::MAX);
        sleep(Duration::from_micros(self.random.below(most))).await;
        self.stack.kill().await?;
        let hit = self.far(number)?.is_some_and(|far| far.moves());
        if !hit {
            self.outcome.beside += 1;
        }
        Ok(hit)
    }

    /// Starts again, if it was killed; the start may be killed too while there is something to go on with.
    async fn start_again(&mut self, number: u32) -> Result<(), LandingsError> {
        if self.stack.pid().is_some() {
            return Ok(());
        }
        for _ in 0..self.random.below(MOST_FALSE_STARTS + 1) {
            if !self.far(number)?.is_some_and(|far| far.moves()) {
                break;
            }
            let after = Duration::from_millis(self.random.below(FALSE_START_MS));
            self.stack.false_start(after).await?;
            if self.far(number)?.is_some_and(|far| far.moves()) {
                self.outcome.starting += 1;
            } else {
                self.outcome.beside += 1;
            }
        }
        Ok(self.stack.restart().await?)
    }

    /// Waits until the task of a number is so far.
    async fn until(
        &mut self,
        number: u32,
        what: &str,
        reached: impl Fn(&Far) -> bool,
    ) -> Result<Far, LandingsError> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(far) = self.far(number)?.filter(&reached) {
                return Ok(far);
            }
            if Instant::now() >= until {
                let far = self.far(number)?;
                return Err(LandingsError::Late(format!("landing {number} never {what}: {far:?}")));
            }
            // Said again after a break. Whatever is asked is allowed; nothing else that is said matters.
            if let Ok(AgentFrame::Ask(ask)) = self.client.frame_or_reconnect(LOOK).await {
                self.client.approve(ask.approval, Answer::Allow).await;
            }
        }
    }

    fn far(&self, number: u32) -> Result<Option<Far>, LandingsError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let database = Connection::open_with_flags(self.stack.data().join("cloister.db"), flags)?;
        database.busy_timeout(Duration::from_secs(5))?;
        let far = "SELECT t.id, t.state, l.state FROM tasks t LEFT JOIN layers l ON l.task_id = t.id \
                   WHERE t.title = ?1";
        let row = |row: &rusqlite::Row<'_>| {
            let state: String = row.get(1)?;
            let ended = !["queued", "running", "waiting"].contains(&state.as_str());
            Ok(Far { id: row.get(0)?, ended, layer: row.get(2)? })
        };
        Ok(database.query_row(far, [format!("landing {number}")], row).optional()?)
    }

    /// The files must be exactly one of these.
    fn compare<const N: usize>(
        &mut self,
        when: &str,
        any: [&Files; N],
    ) -> Result<(), LandingsError> {
        let found = read(&self.place)?;
        self.outcome.compared += found.len();
        if any.contains(&&found) {
            return Ok(());
        }
        let Some(wanted) = any.last() else { return Ok(()) };
        let missing = wanted.iter().filter(|(path, _)| !found.contains_key(*path));
        let missing: Vec<_> = missing.map(|(path, _)| path).take(5).collect();
        let other = found.iter().filter(|(path, text)| wanted.get(*path) != Some(*text));
        let other: Vec<_> = other.take(5).collect();
        self.problem(format!("{when}: missing {missing:?}, not as they should be {other:?}"));
        Ok(())
    }

    fn problem(&mut self, problem: String) {
        self.outcome.problems.push(problem);
    }
}

/// All files below a folder with what they say; nothing else is there.
fn read(place: &Path) -> std::io::Result<Files> {
    let mut found = Files::new();
    let mut open = vec![place.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = match std::fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(place).unwrap_or(&path).display().to_string();
            found.insert(name, std::fs::read_to_string(&path)?);
        }
    }
    Ok(found)
}
