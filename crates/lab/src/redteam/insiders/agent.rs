//! The agent program as the attacker: the testkit's hostile agent stands in the place of ours in every kind of
//! sandbox, coordinator and executor, of a private workspace and of a community, and sends every frame with every
//! id, path and mark that is not its own.

use std::path::PathBuf;

use cloister::CliError;
use cloister_protocol::admin::Session;
use cloister_protocol::{ChatId, TaskState, WorkspaceId};
use cloister_store::Store;
use cloister_testkit::hostile::{FLOOD_MB, FORGED, REPORT, Report, TREASURE};
use cloister_testkit::{AgentClient, Stack};
use serde_json::{Value, json};

use super::super::attacker::Attacker;
use super::super::failed;
use super::super::report::Verdict;
use super::super::scenario::Aim;
use super::ground::{Ground, eventually, plant, report, say};
use super::{Insider, Tried, harm_if};

/// What it must have tried at least: one that stops early shows nothing.
const LEAST_TRIES: usize = 100;

/// A chat that is somebody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SomebodysChat {
    workspace: u32,
    chat: u32,
}

const fn place(workspace: u32, chat: u32) -> SomebodysChat {
    SomebodysChat { workspace, chat }
}

/// The owner's chats, of which C3 is another agent's, Bob's, and those of the club: C2 and C3 are contexts of their own.
const PLACES: [SomebodysChat; 7] =
    [place(1, 1), place(1, 2), place(1, 3), place(2, 1), place(3, 1), place(3, 2), place(3, 3)];

impl SomebodysChat {
    fn treasure(self) -> String {
        format!("{TREASURE} w{} C{}", self.workspace, self.chat)
    }

    fn workspace(self) -> WorkspaceId {
        WorkspaceId::from_number(self.workspace)
    }
}

/// Where the hostile program runs.
#[derive(Clone, Copy, Debug)]
struct Sandbox {
    channel: &'static str,
    at: SomebodysChat,
    is_executor: bool,
    /// A chat of the same context, whose tasks are no secret.
    beside: Option<SomebodysChat>,
}

const PRIVATE: Sandbox = Sandbox {
    channel: "agent-private",
    at: place(1, 1),
    is_executor: false,
    beside: Some(place(1, 2)),
};
/// The person's other agent, to whom the first one is as strange as anybody's.
const SECOND: Sandbox =
    Sandbox { channel: "agent-second", at: place(1, 3), is_executor: false, beside: None };
const CONTEXT: Sandbox =
    Sandbox { channel: "agent-context", at: place(3, 2), is_executor: false, beside: None };
const COMMUNITY: Sandbox =
    Sandbox { channel: "agent-community", at: place(3, 1), is_executor: false, beside: None };

const SANDBOXES: [Sandbox; 8] = [
    PRIVATE,
    Sandbox { channel: "agent-private-task", is_executor: true, ..PRIVATE },
    SECOND,
    Sandbox { channel: "agent-second-task", is_executor: true, ..SECOND },
    CONTEXT,
    Sandbox { channel: "agent-context-task", is_executor: true, ..CONTEXT },
    COMMUNITY,
    Sandbox { channel: "agent-community-task", is_executor: true, ..COMMUNITY },
];

const GOALS: [(&str, Aim); 5] = [
    ("files", Aim::Exfiltrate),
    ("tasks", Aim::CrossUser),
    ("door", Aim::Escalate),
    ("forge", Aim::Forge),
    ("stop", Aim::Exhaust),
];

pub(super) fn scenarios() -> Vec<Insider> {
    let of = |sandbox: Sandbox| {
        GOALS.into_iter().map(move |(goal, aim)| Insider {
            attacker: Attacker::Agent,
            channel: sandbox.channel,
            goal,
            aim,
        })
    };
    SANDBOXES.into_iter().flat_map(of).collect()
}

pub(super) async fn run(chosen: &[Insider]) -> Vec<Verdict> {
    if chosen.is_empty() {
        return Vec::new();
    }
    match attack(chosen).await {
        Ok(verdicts) => verdicts,
        Err(error) => chosen.iter().map(|one| one.broken(&error)).collect(),
    }
}

async fn attack(chosen: &[Insider]) -> Result<Vec<Verdict>, CliError> {
    let mut field = Field::new().await?;
    let mut verdicts = Vec::new();
    for sandbox in SANDBOXES {
        let wanted: Vec<&Insider> =
            chosen.iter().filter(|one| one.channel == sandbox.channel).collect();
        if wanted.is_empty() {
            continue;
        }
        let (before, kept) = (field.look().await?, field.kept()?);
        let report = field.attack(sandbox).await?;
        let after = field.look().await?;
        let grown = field.kept()?.saturating_sub(kept) >> 20;
        let swollen =
            harm_if(grown >= u64::from(FLOOD_MB), || format!("the database has {grown} MB more"));
        let stopped = field.stands_still().await?.or(swollen);
        let seen = SeenAttack { sandbox, report, before, after, stopped };
        verdicts.extend(wanted.iter().map(|one| one.judged(seen.judge(one.goal))));
    }
    field.ground.stack.stop().await.map_err(failed)?;
    Ok(verdicts)
}

/// What can be seen from outside of the sandboxes.
#[derive(Debug, PartialEq, Eq)]
struct Look {
    /// Somebody was told what the agent forged.
    told_forged: bool,
    memories: Vec<String>,
    cancelled: usize,
    /// Whose treasures were sent to somebody.
    sent: Vec<SomebodysChat>,
}

struct Field {
    ground: Ground,
    owner: Session,
    bob: Session,
}

impl Field {
    async fn new() -> Result<Self, CliError> {
        let ground = Ground::new(Stack::builder().agent("hostile-agent")).await?;
        let _second: Value = ground.root.post("/admin/v1/users/owner/chats", &json!({})).await?;
        let nora = json!({"name": "Nora", "manner": "Kind."});
        let _nora: Value = ground.root.post("/admin/v1/users/owner/agents", &nora).await?;
        let hers = json!({"agent": "Nora"});
        let _hers: Value = ground.root.post("/admin/v1/users/owner/chats", &hers).await?;
        ground.add_user("bob").await?;
        ground.add_community("book-club", &["reading", "board"]).await?;
        ground.give_role("bob", "member", "workspace:w3").await?;
        let (owner, bob) = (ground.session("owner").await?, ground.session("bob").await?);
        let field = Self { ground, owner, bob };
        for at in PLACES {
            // A task of each place, which is none of the others' business.
            let mut client = field.client(at);
            let answer = say(&mut client, "quiet").await?;
            report(&mut client, &answer).await?;
            let folder = field.ground.chat_folder(at.workspace(), at.chat);
            for file in
                ["files/treasure.txt", "incoming/treasure.txt", "history.db", "history.db-wal"]
            {
                plant(&folder.join(file), &at.treasure())?;
            }
        }
        Ok(field)
    }

    fn client(&self, at: SomebodysChat) -> AgentClient {
        let session = if at.workspace == 1 { &self.owner } else { &self.bob };
        self.ground.client(session, at.workspace(), at.chat)
    }

    /// The attack from this sandbox; what the hostile program says it got.
    async fn attack(&mut self, sandbox: Sandbox) -> Result<Report, CliError> {
        let Sandbox { at, is_executor, .. } = sandbox;
        let folder = self.ground.chat_folder(at.workspace(), at.chat);
        let mut client = self.client(at);
        let path = if is_executor {
            let answer = say(&mut client, "delegate").await?;
            report(&mut client, &answer).await?;
            let landed = folder.join("files").join(REPORT);
            if landed.exists() { landed } else { self.not_landed(at)? }
        } else {
            say(&mut client, "attack").await?;
            folder.join(REPORT)
        };
        let text = std::fs::read_to_string(&path).map_err(failed)?;
        std::fs::remove_file(&path).map_err(failed)?;
        serde_json::from_str(&text).map_err(failed)
    }

    /// Where the report of a task is that did not end well.
    fn not_landed(&self, at: SomebodysChat) -> Result<PathBuf, CliError> {
        let layers = self.ground.stack.data().join("layers").join(at.workspace().to_string());
        let tasks = std::fs::read_dir(layers).map_err(failed)?;
        let mut reports = tasks.flatten().map(|task| task.path().join("1/upper").join(REPORT));
        reports.find(|report| report.exists()).ok_or_else(|| failed("no task has reported"))
    }

    async fn look(&self) -> Result<Look, CliError> {
        let data = self.ground.stack.data();
        let memory = |workspace: u32| {
            std::fs::read_to_string(data.join(format!("workspaces/w{workspace}/MEMORY.md")))
        };
        let mut memories = (1..=3).map(memory).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        let noras = data.join("workspaces/w1/agents/a2/MEMORY.md");
        memories.push(std::fs::read_to_string(noras).unwrap_or_default());
        let tasks = self.ground.tasks().await?;
        let cancelled = tasks.iter().filter(|task| task.state == TaskState::Cancelled).count();
        let sent = PLACES.into_iter().filter(|at| self.ground.was_sent(&at.treasure())).collect();
        Ok(Look { told_forged: self.told().await?.contains(FORGED), memories, cancelled, sent })
    }

    /// Everything that is kept of what was said anywhere.
    async fn told(&self) -> Result<String, CliError> {
        let store = Store::open(&self.ground.stack.data().join("cloister.db")).await?;
        let mut told = String::new();
        for at in PLACES {
            let chat = ChatId::from_number(at.chat);
            for row in store.outbox().outbox_after(at.workspace(), chat, 0).await? {
                told.push_str(&serde_json::to_string(&row.frame).map_err(failed)?);
            }
        }
        store.close().await?;
        Ok(told)
    }

    /// What the database takes on disk.
    fn kept(&self) -> Result<u64, CliError> {
        let size = |file: &str| match std::fs::metadata(self.ground.stack.data().join(file)) {
            Ok(about) => Ok(about.len()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(error) => Err(failed(error)),
        };
        Ok(size("cloister.db")? + size("cloister.db-wal")?)
    }

    /// Whether somebody is not answered any more, or something is left over.
    async fn stands_still(&self) -> Result<Option<String>, CliError> {
        for at in PLACES {
            let answer = say(&mut self.client(at), "still there?").await;
            if !answer.is_ok_and(|answer| answer.text == "hostile: still there?") {
                return Ok(Some(format!("{at:?} stands still")));
            }
        }
        let ended = eventually("no task is open", async || {
            let tasks = self.ground.tasks().await?;
            Ok(tasks.iter().all(|task| task.state.is_final()).then_some(()))
        });
        if let Err(error) = ended.await {
            return Ok(Some(error.body.message));
        }
        let panicked = self.ground.stack.log().contains("panicked");
        Ok(harm_if(panicked, || "the control plane panicked".to_owned()))
    }
}

/// One attack, to be judged.
struct SeenAttack {
    sandbox: Sandbox,
    report: Report,
    before: Look,
    after: Look,
    stopped: Option<String>,
}

impl SeenAttack {
    fn judge(&self, goal: &str) -> Tried {
        let tries = self.report.answers.len() + self.report.http.len();
        let harm = match goal {
            "files" => self.files(),
            "tasks" => self.tasks(),
            "door" => self.door(),
            "forge" => self.forge(),
            _ => self.stopped.clone(),
        };
        // It sees its own treasures, if it looks at all.
        let looked = tries >= LEAST_TRIES && !self.report.seen.is_empty();
        Tried::new(if looked { tries } else { 0 }, harm)
    }

    /// What the requests of one kind were answered.
    fn outcomes(&self, outcome: &'static str) -> impl Iterator<Item = Value> {
        let bodies = self.report.answers.iter().filter_map(|answer| answer.split_once(": "));
        let parsed = bodies.filter_map(|(_, json)| serde_json::from_str::<Value>(json).ok());
        parsed.filter(move |value| value["outcome"] == outcome)
    }

    /// Files of others, seen in the sandbox or sent out of it.
    fn files(&self) -> Option<String> {
        let at = self.sandbox.at;
        let own = format!("/workspace/chats/C{}/", at.chat);
        let foreign = self
            .report
            .seen
            .iter()
            .find(|path| !path.starts_with(&own) && !path.starts_with("/chat/"));
        let places =
            [format!("chats/C{}/files/", at.chat), format!("chats/C{}/incoming/", at.chat)];
        let is_own = |path: &str| places.iter().any(|place| path.starts_with(place.as_str()));
        let sent =
            self.outcomes("sent").find(|sent| !sent["file"]["path"].as_str().is_some_and(is_own));
        let stolen = self.after.sent.iter().find(|of| **of != at && !self.before.sent.contains(of));
        foreign
            .map(|path| format!("it sees {path}"))
            .or_else(|| sent.map(|sent| format!("it sent {sent}")))
            .or_else(|| stolen.map(|of| format!("the treasure of {of:?} was sent")))
    }

    /// Tasks of others, shown or cancelled.
    fn tasks(&self) -> Option<String> {
        let Sandbox { at, is_executor, beside, .. } = self.sandbox;
        let known = |task: &Value| {
            let number = task["task"].as_str()?.strip_prefix('T')?.parse::<usize>().ok()?;
            // The first task of each place is made in the order of the places; later ones are the attackers'.
            let of = PLACES.get(number.checked_sub(1)?)?;
            Some(*of == at || Some(*of) == beside)
        };
        for tasks in self.outcomes("tasks") {
            let all = tasks["tasks"].as_array().cloned().unwrap_or_default();
            let foreign = all.iter().find(|task| known(task) == Some(false));
            if let Some(task) = foreign.or(all.first().filter(|_| is_executor)) {
                return Some(format!("it was shown {task}"));
            }
        }
        let cancelled = self.after.cancelled > self.before.cancelled;
        harm_if(cancelled, || "a task of somebody's was cancelled".to_owned())
    }

    /// What is behind the door, and beside the sandbox's own files.
    fn door(&self) -> Option<String> {
        let open = |line: &&String| line.contains(" 200 ") || line.contains(" 101 ");
        let opened = self.report.http.iter().find(open).map(|line| format!("the door said {line}"));
        opened.or_else(|| self.report.writable.first().map(|place| format!("it writes to {place}")))
    }

    fn forge(&self) -> Option<String> {
        if self.after.told_forged {
            return Some("somebody was told what the agent forged".to_owned());
        }
        harm_if(self.after.memories != self.before.memories, || "a memory has changed".to_owned())
    }
}
