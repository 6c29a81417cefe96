//! What is left when the dust has settled: the databases and files are read and every promise is
//! counted.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use cloister_protocol::link::{Call, CallStatus, Cause, Step};
use cloister_protocol::{AgentFrame, ChatId, TaskState, WorkspaceId};
use rusqlite::{Connection, OpenFlags};

use super::load::{Said, Told};
use super::script;

/// The counts of one run. What must be zero has a line in `problems` for each.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    pub messages: usize,
    pub lost: usize,
    pub doubled: usize,
    /// Turns that ended with an error: answered, but not as they would have been without a kill.
    pub failed: usize,
    pub tasks: usize,
    pub vanished: usize,
    pub repeated_unreported: usize,
    pub unknown_reported: usize,
    pub broken_databases: usize,
    pub problems: Vec<String>,
}

impl Verdict {
    pub fn holds(&self) -> bool {
        let answers = self.lost + self.doubled + self.failed;
        answers + self.vanished + self.repeated_unreported + self.broken_databases == 0
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Turn {
    workspace: WorkspaceId,
    cause: Cause,
    answered: bool,
    external_id: String,
    ends: Vec<cloister_protocol::End>,
}

struct TaskRow {
    id: u32,
    workspace: WorkspaceId,
    chat: ChatId,
    top: bool,
    title: String,
    state: String,
    not_shown: String,
    steps: Vec<Step>,
}

/// How often a token was appended, by which calls, and what the ledger says of them.
#[derive(Default)]
struct Appends {
    begun: usize,
    ok: usize,
    unknown: usize,
    written: usize,
}

/// Counts everything on the data directory of a control plane that has stopped.
pub(super) fn count(data: &Path, told: &[Told], delegated: &[String]) -> Result<Verdict, Failure> {
    let mut verdict = Verdict::default();
    let db = Connection::open_with_flags(
        data.join("cloister.db"),
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    let turns = turns(&db)?;
    let tasks = tasks(&db)?;
    verdict.tasks = tasks.len();
    count_messages(&mut verdict, &turns, told);
    count_ends(&mut verdict, &turns);
    count_tasks(&mut verdict, &tasks, &turns, delegated);
    count_appends(&mut verdict, data, &tasks)?;
    count_sent_files(&mut verdict, &db)?;
    drop(db);
    check_databases(&mut verdict, data);
    Ok(verdict)
}

fn turns(db: &Connection) -> Result<HashMap<String, Turn>, Failure> {
    let mut turns = HashMap::new();
    let mut rows = db.prepare("SELECT id, workspace_id, external_id, cause, state FROM inbox")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let turn = Turn {
            workspace: WorkspaceId::from_number(row.get(1)?),
            external_id: row.get(2)?,
            cause: serde_json::from_str(&row.get::<_, String>(3)?)?,
            answered: row.get::<_, String>(4)? == "answered",
            ends: Vec::new(),
        };
        turns.insert(format!("t-m{}", row.get::<_, i64>(0)?), turn);
    }
    let mut rows = db.prepare("SELECT turn, frame FROM outbox ORDER BY id")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let frame: AgentFrame = serde_json::from_str(&row.get::<_, String>(1)?)?;
        if let (Some(turn), AgentFrame::End(end)) =
            (turns.get_mut(&row.get::<_, String>(0)?), frame)
        {
            turn.ends.push(end);
        }
    }
    Ok(turns)
}

fn tasks(db: &Connection) -> Result<Vec<TaskRow>, Failure> {
    let mut tasks = Vec::new();
    let mut rows = db.prepare(
        "SELECT id, workspace_id, chat, parent_id IS NULL, title, state, not_shown FROM tasks ORDER BY id",
    )?;
    let mut steps = db.prepare("SELECT step FROM task_steps WHERE task_id = ? ORDER BY seq")?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let id: u32 = row.get(0)?;
        let json = steps.query_map([id], |row| row.get::<_, String>(0))?;
        let json = json.collect::<Result<Vec<_>, _>>()?;
        tasks.push(TaskRow {
            id,
            workspace: WorkspaceId::from_number(row.get(1)?),
            chat: ChatId::from_number(row.get(2)?),
            top: row.get(3)?,
            title: row.get(4)?,
            state: row.get(5)?,
            not_shown: row.get(6)?,
            steps: json.iter().map(|j| serde_json::from_str(j)).collect::<Result<_, _>>()?,
        });
    }
    Ok(tasks)
}

/// Every message that was said has exactly one answer, and its client was shown no other.
fn count_messages(verdict: &mut Verdict, turns: &HashMap<String, Turn>, told: &[Told]) {
    let by_message: HashMap<&str, &Turn> =
        turns.values().map(|turn| (turn.external_id.as_str(), turn)).collect();
    for Told { client, said } in told {
        for Said { id, token, accepted, .. } in said.iter().filter(|said| !said.refused) {
            verdict.messages += 1;
            let key = format!("{}:{}:{id}", client.session().workspace, client.chat());
            match by_message.get(key.as_str()) {
                Some(turn) => {
                    let answer = turn.ends.first().map(|end| end.text.as_str());
                    let (mark, failed) =
                        (script::answer_mark(token), turn.ends.iter().any(|e| e.error.is_some()));
                    if let Some(answer) = answer.filter(|a| !a.contains(&mark) && !failed) {
                        verdict.doubled += 1;
                        verdict
                            .problems
                            .push(format!("doubled: {token} got the answer {answer:?}"));
                    }
                }
                None => {
                    verdict.lost += 1;
                    verdict
                        .problems
                        .push(format!("lost: {token} (accepted: {accepted}) is not in the inbox"));
                }
            }
        }
        for fault in client.faults() {
            verdict.doubled += 1;
            verdict.problems.push(format!("doubled: a client saw: {fault}"));
        }
    }
}

/// Every turn has exactly one end, and no answer was given under two turns.
fn count_ends(verdict: &mut Verdict, turns: &HashMap<String, Turn>) {
    let mut answers: HashMap<(WorkspaceId, &str), &str> = HashMap::new();
    for (name, turn) in turns {
        match (turn.ends.as_slice(), &turn.cause) {
            ([], Cause::Clear) => {}
            ([], Cause::Message { .. } | Cause::TasksEnded { .. }) => {
                verdict.lost += 1;
                let answered = turn.answered;
                verdict.problems.push(format!("lost: {name} has no end (answered: {answered})"));
            }
            ([_], _) => {}
            (ends, _) => {
                verdict.doubled += 1;
                verdict.problems.push(format!("doubled: {name} has {} ends", ends.len()));
            }
        }
        for end in &turn.ends {
            if let Some(error) = end.error {
                verdict.failed += 1;
                let (code, text) = (error.as_str(), &end.text);
                verdict.problems.push(format!("failed: {name} ended with {code}: {text:?}"));
            } else if let Some(other) = answers.insert((turn.workspace, &end.text), name)
                && other != name
            {
                verdict.doubled += 1;
                let text = &end.text;
                verdict.problems.push(format!("doubled: {name} and {other} both said {text:?}"));
            }
        }
    }
}

/// Every task has ended, once, and the person was told.
fn count_tasks(
    verdict: &mut Verdict,
    tasks: &[TaskRow],
    turns: &HashMap<String, Turn>,
    delegated: &[String],
) {
    let mut told: HashMap<String, Vec<&str>> = HashMap::new();
    for turn in turns.values() {
        if let Cause::TasksEnded { reports } = &turn.cause {
            let text = turn.ends.first().map_or("", |end| end.text.as_str());
            for report in reports {
                told.entry(report.task.to_string()).or_default().push(text);
            }
        }
    }
    let mut titles: HashSet<&str> = HashSet::new();
    let mut known: HashSet<String> = HashSet::new();
    for task in tasks {
        let id = format!("T{}", task.id);
        let ended = TaskState::parse(&task.state).is_some_and(TaskState::is_final);
        let reports = told.get(&id).map_or(&[][..], Vec::as_slice);
        if !ended || (task.top && task.state != "cancelled" && reports.is_empty()) {
            verdict.vanished += 1;
            let (state, reports) = (&task.state, reports.len());
            verdict.problems.push(format!("vanished: {id} is {state} with {reports} reports"));
        }
        if reports.len() > 1 {
            verdict.doubled += 1;
            verdict.problems.push(format!("doubled: {id} was reported {} times", reports.len()));
        }
        if task.not_shown.contains("outcome unknown")
            && reports.iter().any(|text| !text.contains("outcome unknown"))
        {
            verdict.repeated_unreported += 1;
            verdict.problems.push(format!("unreported: the person was not told of {id}"));
        }
        if !titles.insert(&task.title) {
            verdict.repeated_unreported += 1;
            verdict.problems.push(format!("repeated: {} was delegated twice", task.title));
        }
        known.insert(id);
    }
    for id in delegated.iter().filter(|id| !known.contains(*id)) {
        verdict.vanished += 1;
        verdict.problems.push(format!("vanished: {id} was promised and is not there"));
    }
}

/// Every command ran at most as often as the ledger admits.
fn count_appends(verdict: &mut Verdict, data: &Path, tasks: &[TaskRow]) -> Result<(), Failure> {
    let mut appends: HashMap<String, Appends> = HashMap::new();
    let mut folders: BTreeSet<PathBuf> = BTreeSet::new();
    for task in tasks {
        let files = format!("workspaces/{}/chats/{}/files", task.workspace, task.chat);
        folders.insert(data.join(files));
        folders.extend(not_landed(&data.join(format!("layers/{}/T{}", task.workspace, task.id))));
        // One that is still open is counted as vanished.
        let told = matches!(task.state.as_str(), "done" | "failed");
        for (call, status) in begun_calls(&task.steps) {
            let Some(token) =
                command_of(call).as_deref().and_then(script::appended).map(str::to_owned)
            else {
                continue;
            };
            let append = appends.entry(token.clone()).or_default();
            append.begun += 1;
            match status {
                Some(CallStatus::Ok) => append.ok += 1,
                Some(CallStatus::Failed | CallStatus::Refused) => {}
                Some(CallStatus::Unknown) | None => {
                    append.unknown += 1;
                    if task.not_shown.contains("outcome unknown") {
                        verdict.unknown_reported += 1;
                    } else if told {
                        verdict.repeated_unreported += 1;
                        let id = task.id;
                        let line =
                            format!("unreported: T{id} does not say that {token} is unknown");
                        verdict.problems.push(line);
                    }
                }
            }
        }
    }
    for folder in folders {
        // No executor of this chat has written yet.
        let Ok(files) = std::fs::read_dir(folder.join(script::LEDGER)) else { continue };
        for file in files {
            let text = std::fs::read_to_string(file?.path()).unwrap_or_default();
            for token in text.lines() {
                appends.entry(token.to_owned()).or_default().written += 1;
            }
        }
    }
    for (token, Appends { begun, ok, unknown, written }) in appends {
        let repeated = written > begun || (written > 1 && unknown == 0);
        if repeated || written < ok {
            verdict.repeated_unreported += 1;
            verdict.problems.push(format!(
                "repeated: {token} was written {written} times by {begun} calls ({ok} ok, {unknown} unknown)"
            ));
        }
    }
    Ok(())
}

/// Where a task has written that did not land.
fn not_landed(task: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(task).into_iter().flatten().flatten();
    let uppers = folders.map(|folder| folder.path().join("upper"));
    uppers.filter(|upper| upper.is_dir()).collect()
}

/// The calls that were about to run, and how they ended if that is known.
fn begun_calls(steps: &[Step]) -> Vec<(&Call, Option<CallStatus>)> {
    let asked = steps.iter().flat_map(|step| match step {
        Step::Answer { calls, .. } => calls.as_slice(),
        Step::Call { .. } | Step::Result { .. } => &[],
    });
    let begun = |id: &str| steps.iter().any(|s| matches!(s, Step::Call { call } if call == id));
    let status = |id: &str| {
        steps.iter().find_map(|step| match step {
            Step::Result { call, outcome } if call == id => Some(outcome.status),
            Step::Result { .. } | Step::Answer { .. } | Step::Call { .. } => None,
        })
    };
    asked.filter(|call| begun(&call.id)).map(|call| (call, status(&call.id))).collect()
}

fn command_of(call: &Call) -> Option<String> {
    let arguments: serde_json::Value = serde_json::from_str(&call.arguments).ok()?;
    arguments.get("command")?.as_str().map(str::to_owned)
}

/// A file is sent by a request that has no second effect.
fn count_sent_files(verdict: &mut Verdict, db: &Connection) -> Result<(), Failure> {
    let mut rows = db.prepare(
        "SELECT json_extract(frame, '$.name'), count(*) FROM outbox \
         WHERE json_extract(frame, '$.type') = 'send_file' GROUP BY 1 HAVING count(*) > 1",
    )?;
    let mut rows = rows.query([])?;
    while let Some(row) = rows.next()? {
        let (name, times): (String, u32) = (row.get(0)?, row.get(1)?);
        verdict.repeated_unreported += 1;
        verdict.problems.push(format!("repeated: {name} was sent {times} times"));
    }
    Ok(())
}

fn check_databases(verdict: &mut Verdict, data: &Path) {
    let mut databases = vec![data.join("cloister.db")];
    let list = |dir: PathBuf| std::fs::read_dir(dir).into_iter().flatten().flatten();
    for workspace in list(data.join("workspaces")) {
        for chat in list(workspace.path().join("chats")) {
            databases.extend(Some(chat.path().join("history.db")).filter(|path| path.exists()));
        }
    }
    for path in databases {
        let checked = integrity(&path);
        if !matches!(checked.as_deref(), Ok("ok")) {
            verdict.broken_databases += 1;
            verdict.problems.push(format!("integrity: {}: {checked:?}", path.display()));
        }
    }
}

fn integrity(path: &Path) -> Result<String, rusqlite::Error> {
    Connection::open(path)?.query_row("PRAGMA integrity_check", [], |row| row.get(0))
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
