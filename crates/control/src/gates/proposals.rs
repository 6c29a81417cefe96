//! Proposals: lasting changes that an agent may ask for, and only the control plane makes.

use std::io::Read;

use cloister_policy::engine::{Cell, CellAsk, Proposal};
use cloister_policy::gate::{Action, Asker, Effect, Surroundings, TargetFile};
use cloister_policy::provenance::{Flow, Labels, Mark, Sink, TaskContext};
use cloister_policy::reach::CellRequest;
use cloister_protocol::link::Lasting;
use cloister_protocol::{TaskId, UserId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::approvals::{Allowed, Approval, ApprovalState};
use cloister_store::grants::{Passing, Recorded};
use cloister_store::inbox::InboxItem;
use cloister_store::tasks::Task;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::asking::{Then, pass_entry, said_no};
use super::held::land_if_allowed;
use super::{Judged, Wanted};
use crate::cells::Admitted;
use crate::config::{VersionedChange, unified};
use crate::error::Fault;
use crate::files::{FileError, RelPath};
use crate::gates::{GateError, GateRefusal, Gates};
use crate::layout::document_of;
use crate::people::AllowedLink;

/// The longest text of one such file.
pub(super) const MAX_TEXT_BYTES: usize = 64 << 10;
const MAX_WHY_CHARS: usize = 1000;
const MAX_NAME_BYTES: usize = 64;
const MAX_DEPTH: usize = 4;
/// What is kept in mind.
const MEMORY: &str = "MEMORY.md";

/// A lasting change that is asked for.
pub(crate) struct Proposing<'a> {
    pub(crate) what: Lasting,
    pub(crate) path: &'a str,
    pub(crate) text: &'a str,
    pub(crate) why: &'a str,
}

/// What became of it.
pub(crate) enum Proposed {
    Kept {
        path: String,
    },
    /// People are asked; it is written when they allow it.
    Asked(Box<Approval>),
    Refused(String),
}

/// A proposal that waits, as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    path: String,
    text: String,
    why: String,
    /// What the file was when people were asked; nothing: it did not exist.
    before: Option<String>,
    /// Where its text came from.
    origin: Labels,
}

/// What lets a lasting change be made, and in whose name.
enum WrittenBy {
    /// It passed the gate, and that is on record.
    Agent { leave: Recorded, actor: Actor },
    /// People have allowed it.
    People(Box<Allowed>),
}

impl WrittenBy {
    fn into_actor(self) -> Actor {
        match self {
            Self::Agent { leave: _used_up, actor } => actor,
            Self::People(allowed) => {
                let answers = allowed.approval().answers.iter();
                let by: Vec<&str> = answers.map(|given| given.by.as_str()).collect();
                Actor::person(by.join(" and "))
            }
        }
    }
}

/// Who proposes, and with what in mind.
struct Proposer {
    cell: Cell,
    context: TaskContext,
    person: UserId,
    workspace: WorkspaceId,
    task: Option<TaskId>,
    plan_pending: bool,
}

impl Gates {
    /// A task proposes.
    pub(crate) async fn propose_from_task(
        &self,
        leave: Admitted,
        task: &Task,
        proposing: &Proposing<'_>,
    ) -> Result<Proposed, GateError> {
        leave.to(CellRequest::Propose)?;
        let (context, plan_pending) = {
            let mut guard = self.control.provenance().live(task.id).await?;
            let live = guard.get()?;
            (live.context.clone(), live.plan_pending)
        };
        let proposer = Proposer {
            cell: self.cell_of_task(task).await?,
            context,
            person: task.person,
            workspace: task.workspace,
            task: Some(task.id),
            plan_pending,
        };
        self.propose(proposer, proposing).await
    }

    /// The coordinator proposes, in a turn.
    pub(crate) async fn propose_from_turn(
        &self,
        leave: Admitted,
        row: &InboxItem,
        proposing: &Proposing<'_>,
    ) -> Result<Proposed, GateError> {
        leave.to(CellRequest::Propose)?;
        let person = self.control.provenance().person_of(row).await?;
        let part = cloister_policy::engine::Part::Coordinator;
        let proposer = Proposer {
            cell: self.cell(part, person, row.workspace, row.chat).await?,
            context: self.control.provenance().chat_context(row, person).await?,
            person,
            workspace: row.workspace,
            task: None,
            plan_pending: false,
        };
        self.propose(proposer, proposing).await
    }

    async fn propose(
        &self,
        proposer: Proposer,
        proposing: &Proposing<'_>,
    ) -> Result<Proposed, GateError> {
        let named = checked_path(proposing.what, proposing.path)?;
        check_text(proposing.text)?;
        let (workspace, chat) = (proposer.workspace, proposer.cell.chat);
        let agent = self.control.store().chats().agent_of_chat(workspace, chat).await?;
        // What it calls its own is where its agent's documents are.
        let path = RelPath::parse(&document_of(agent, named.as_str()))?;
        let now = self.current_text(workspace, &path)?;
        let done = || Proposed::Kept { path: named.as_str().to_owned() };
        if now.as_deref() == Some(proposing.text) {
            return Ok(done());
        }
        let what = proposing.what;
        let sink = match added(named.as_str(), now.as_deref(), proposing.text) {
            Some(text) => Sink::Write { what, text },
            None => Sink::Rewrite { what },
        };
        let flow = proposer.context.decide(&sink);
        let kept = Kept {
            path: path.as_str().to_owned(),
            text: proposing.text.to_owned(),
            why: proposing.why.chars().take(MAX_WHY_CHARS).collect(),
            before: now.as_deref().map(sha256_hex),
            origin: origin_of(&proposer, &flow),
        };
        let wanted = wanted(&proposer, proposing, &kept, now.as_deref(), flow)?;
        let judged = self.judge(&proposer.cell, wanted).await?;
        match judged {
            Judged::Denied { reason } => Ok(Proposed::Refused(reason)),
            Judged::Asked(approval) => match approval.state {
                ApprovalState::Pending => Ok(Proposed::Asked(approval)),
                ApprovalState::Denied | ApprovalState::Void => {
                    Ok(Proposed::Refused(said_no(&approval)))
                }
                ApprovalState::Allowed => {
                    let allowed = self.control.store().approvals().allowed(approval.id).await?;
                    if let Some(allowed) = allowed {
                        self.apply_proposal(allowed).await?;
                    }
                    Ok(done())
                }
            },
            Judged::Pass(cleared) => {
                let entry = pass_entry(&cleared);
                let passing = Passing::of(*cleared, vec![entry]);
                let recorded = match self.control.store().approvals().pass(passing).await? {
                    Ok(recorded) => recorded,
                    Err(ended) => return Ok(Proposed::Refused(ended.to_string())),
                };
                let actor = self.control.accounts().acting(proposer.person).await?;
                let by = WrittenBy::Agent { leave: recorded, actor };
                self.write_kept((workspace, proposer.task), kept, by).await?;
                Ok(done())
            }
        }
    }

    /// Writes what was allowed, unless the file is no longer what people saw. Done before, it does
    /// nothing more.
    pub(super) async fn apply_proposal(&self, allowed: Allowed) -> Result<(), GateError> {
        if allowed.approval().applied_at.is_some() {
            return Ok(());
        }
        let allowed = match self.control.people().link_if_allowed(allowed).await {
            AllowedLink::Done(linked) => return Ok(linked?),
            AllowedLink::Other(allowed) => allowed,
        };
        let Some(allowed) = land_if_allowed(&self.control, allowed).await? else { return Ok(()) };
        let approval = allowed.approval();
        let unreadable = GateRefusal::ProposalUnreadable;
        let Some(json) = &approval.proposal else { return Err(unreadable.into()) };
        let kept: Kept = serde_json::from_str(json).map_err(|_error| unreadable)?;
        let path = RelPath::parse(&kept.path)?;
        let now = self.current_text(approval.workspace, &path)?;
        let done = now.as_deref() == Some(kept.text.as_str());
        if !done && now.as_deref().map(sha256_hex) != kept.before {
            self.control.store().approvals().proposal_applied(approval.id).await?;
            let (approval, path) = (approval.id, kept.path);
            return Err(GateRefusal::FileChanged { approval, path }.into());
        }
        let (workspace, task, id) = (approval.workspace, approval.task, approval.id);
        if !done {
            self.write_kept((workspace, task), kept, WrittenBy::People(allowed)).await?;
        }
        Ok(self.control.store().approvals().proposal_applied(id).await?)
    }

    /// Writes what was allowed just before a stop.
    pub(crate) async fn apply_allowed_proposals(&self) -> Result<(), GateError> {
        for allowed in self.control.store().approvals().unapplied_proposals().await? {
            let id = allowed.approval().id;
            if let Err(error) = self.apply_proposal(allowed).await {
                tracing::warn!(approval = %id, error = error.chain(), "an allowed change could not be made");
            }
        }
        Ok(())
    }

    async fn write_kept(
        &self,
        (workspace, task): (WorkspaceId, Option<TaskId>),
        kept: Kept,
        by: WrittenBy,
    ) -> Result<(), GateError> {
        let actor = by.into_actor();
        let Kept { path, text, why, before: _, origin } = kept;
        if let Some(task) = task {
            // What a task changes can be taken back with the rest of what it did.
            let before = self.current_text(workspace, &RelPath::parse(&path)?)?;
            let documents = self.control.store().task_documents();
            documents.note((workspace, task), &path, before.as_deref(), &text).await?;
        }
        // Whoever reads the file from now on reads what it came from.
        self.control.provenance().workspace_marked(workspace, &origin).await?;
        Ok(self
            .control
            .config()
            .write_versioned(&actor, VersionedChange { workspace, path, text, why })
            .await?)
    }

    fn current_text(
        &self,
        workspace: WorkspaceId,
        path: &RelPath,
    ) -> Result<Option<String>, Fault> {
        let failed = "the workspace could not be opened";
        let tree = self.control.layout().tree(workspace).map_err(Fault::io(failed))?;
        let file = match tree.read(path) {
            Ok(file) => file,
            Err(FileError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut text = String::new();
        let most = 16 * MAX_TEXT_BYTES as u64;
        let failed = format!("{} could not be read", path.as_str());
        file.take(most).read_to_string(&mut text).map_err(Fault::io(failed))?;
        Ok(Some(text))
    }
}

/// Words that provenance lets pass are the person's own, byte for byte; anything else is what the proposer has
/// read.
fn origin_of(proposer: &Proposer, flow: &Flow) -> Labels {
    match flow {
        Flow::Run => Labels::of(Mark::Own { user: proposer.person }),
        Flow::Ask { .. } => proposer.context.labels().clone(),
    }
}

fn wanted(
    proposer: &Proposer,
    proposing: &Proposing<'_>,
    kept: &Kept,
    now: Option<&str>,
    flow: Flow,
) -> Result<Wanted, GateError> {
    let diff = unified(&kept.path, now.map(str::as_bytes), Some(kept.text.as_bytes()));
    let action = Action::Keep { what: proposing.what, path: kept.path.clone(), diff };
    let target = TargetFile {
        path: kept.path.clone(),
        sha256: now.map(|text| Sha256::digest(text.as_bytes()).into()),
    };
    let json = serde_json::to_string(kept).map_err(GateRefusal::TextNotKept)?;
    Ok(Wanted {
        effect: Effect {
            action,
            surroundings: Surroundings { target: Some(target), ..Surroundings::default() },
            asker: Asker {
                user: proposer.person,
                workspace: proposer.workspace,
                chat: proposer.cell.chat,
                task: proposer.task,
                why: kept.why.clone(),
                origin: proposer.context.labels().clone(),
            },
        },
        ask: CellAsk::Propose(match proposing.what {
            Lasting::Memory => Proposal::Memory,
            Lasting::Skill => Proposal::Skill,
            Lasting::Schedule => Proposal::Schedule,
            Lasting::Config => Proposal::Config,
            Lasting::Tool => Proposal::Tool,
        }),
        flow,
        plan_pending: proposer.plan_pending,
        plans: Vec::new(),
        then: Then::Proposal { json },
    })
}

/// What a change adds at the end of a file, in lines of its own; none where it does anything else. The name of
/// a new file is text as well, and nobody's but the proposer's, but for the one that memory always has.
pub(super) fn added<'a>(path: &str, before: Option<&str>, after: &'a str) -> Option<&'a str> {
    match before.map(str::trim_end) {
        None if path == MEMORY => Some(after),
        None => None,
        Some("") => Some(after),
        Some(before) => after.strip_prefix(before).filter(|added| added.starts_with('\n')),
    }
}

fn sha256_hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Only the files that a kind of change is about.
pub(super) fn checked_path(what: Lasting, path: &str) -> Result<RelPath, GateError> {
    let parts: Vec<&str> = path.split('/').collect();
    let fits = match (what, parts.as_slice()) {
        (Lasting::Memory, [MEMORY]) => true,
        (Lasting::Memory, ["notes", folders @ .., file]) => {
            folders.len() < MAX_DEPTH
                && folders.iter().all(|name| is_name(name))
                && file.strip_suffix(".md").is_some_and(is_name)
        }
        (Lasting::Config, ["SOUL.md" | "USER.md" | "HEARTBEAT.md"]) => true,
        (Lasting::Skill, ["skills", name, "SKILL.md"]) | (Lasting::Tool, ["tools", name]) => {
            is_name(name)
        }
        (Lasting::Schedule, ["schedules", file]) => file.strip_suffix(".md").is_some_and(is_name),
        (
            Lasting::Memory | Lasting::Config | Lasting::Skill | Lasting::Tool | Lasting::Schedule,
            _,
        ) => false,
    };
    if fits {
        return Ok(RelPath::parse(path)?);
    }
    let shown: String = path.chars().take(100).collect();
    Err(GateRefusal::NoFileFor { shown, what }.into())
}

fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.bytes().all(plain)
}

fn check_text(text: &str) -> Result<(), GateRefusal> {
    if text.len() > MAX_TEXT_BYTES || text.contains('\0') {
        return Err(GateRefusal::TextTooLong);
    }
    Ok(())
}
