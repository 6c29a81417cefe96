//! Approvals: questions that only people may answer, each bound to what exactly was asked.
//!
//! Promises: the same question of the same task is asked once while it waits; a pending approval
//! stays until it is answered or its task ends, whatever is restarted.

pub use cloister_protocol::surface::ApprovalState;
use cloister_protocol::{
    AgentFrame, Answer, ApprovalId, Ask, ChatId, TaskId, TurnId, UserId, WorkspaceId,
};

use crate::audit;
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt, not_found};
use crate::outbox::{self, OutboxItem};
use crate::raises::Raise;

/// Questions of one task, of one person in a community, and of one workspace, that may wait at once.
const MAX_PENDING_OF_TASK: i64 = 10;
const MAX_PENDING_OF_MEMBER: i64 = 12;
const MAX_PENDING: i64 = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalKind {
    /// What a task means to do, before it changes anything.
    Plan,
    /// One action.
    Effect,
    /// A lasting change, which the control plane makes when it is allowed.
    Proposal,
}

impl ApprovalKind {
    const ALL: [Self; 3] = [Self::Plan, Self::Effect, Self::Proposal];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Effect => "effect",
            Self::Proposal => "proposal",
        }
    }
}

/// What is asked, and what an answer would mean.
#[derive(Clone, Debug)]
pub struct NewApproval {
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    /// None: the coordinator asks.
    pub task: Option<TaskId>,
    /// Whom the asker works for.
    pub user: UserId,
    pub kind: ApprovalKind,
    pub digest: String,
    pub class: String,
    pub reason: String,
    pub sources: Vec<String>,
    pub people: u8,
    pub offered: Vec<Answer>,
    pub title: String,
    pub text: String,
    /// What a grant would cover, in words.
    pub describes: String,
    /// The same as data, where there is an "always".
    pub template: Option<String>,
    /// The host that it is about.
    pub host: Option<String>,
    /// The call of the task's ledger that waits for it.
    pub call: Option<String>,
    /// What is to be written when it is allowed.
    pub proposal: Option<String>,
    /// What a yes raises, where it is asked for more money.
    pub raise: Option<Raise>,
    /// The task waits without an executor from now on.
    pub park: bool,
}

/// One person's answer.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct GivenAnswer {
    pub user: UserId,
    /// Their name.
    pub by: String,
    pub answer: Answer,
}

#[derive(Clone, Debug, serde::Serialize)]
pub struct Approval {
    pub id: ApprovalId,
    pub workspace: WorkspaceId,
    pub chat: ChatId,
    pub task: Option<TaskId>,
    pub user: UserId,
    pub kind: ApprovalKind,
    pub digest: String,
    pub class: String,
    pub reason: String,
    pub sources: Vec<String>,
    pub people: u8,
    pub offered: Vec<Answer>,
    pub title: String,
    pub text: String,
    pub describes: String,
    pub template: Option<String>,
    pub host: Option<String>,
    pub call: Option<String>,
    pub proposal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raise: Option<Raise>,
    pub applied_at: Option<i64>,
    pub state: ApprovalState,
    pub asked_at: i64,
    /// What people have answered so far, in order.
    pub answers: Vec<GivenAnswer>,
}

impl Approval {
    /// Whether somebody wants the task stopped.
    pub fn stops_the_task(&self) -> bool {
        self.answers.iter().any(|given| given.answer == Answer::DenyAndStop)
    }
}

/// A question that people have answered with yes: what carries out what it was about takes this. It comes from the
/// database and from nowhere else.
///
/// ```
/// use cloister_store::approvals::{Allowed, Approval};
/// fn seen(leave: &Allowed) -> &Approval { leave.approval() }
/// ```
///
/// ```compile_fail
/// use cloister_store::approvals::{Allowed, Approval};
/// fn made(approval: Approval) -> Allowed { Allowed(approval) }
/// ```
///
/// ```compile_fail
/// use cloister_store::approvals::Allowed;
/// fn copied(leave: &Allowed) -> Allowed { Clone::clone(leave) }
/// ```
#[derive(Debug)]
pub struct Allowed(Approval);

impl Allowed {
    /// None unless it is allowed.
    fn of(approval: Approval) -> Option<Self> {
        (approval.state == ApprovalState::Allowed).then_some(Self(approval))
    }

    pub const fn approval(&self) -> &Approval {
        &self.0
    }
}

pub(crate) struct Row {
    id: u32,
    workspace_id: u32,
    chat: u32,
    task_id: Option<u32>,
    user_id: u32,
    kind: String,
    digest: String,
    class: String,
    reason: String,
    sources: String,
    people: u8,
    offered: String,
    title: String,
    text: String,
    describes: String,
    template: Option<String>,
    host: Option<String>,
    call_id: Option<String>,
    proposal: Option<String>,
    raise_task: Option<u32>,
    raise_day: Option<String>,
    raise_by: Option<i64>,
    applied_at: Option<i64>,
    state: String,
    asked_at: i64,
    answers: String,
}

from_row!(Row {
    id,
    workspace_id,
    chat,
    task_id,
    user_id,
    kind,
    digest,
    class,
    reason,
    sources,
    people,
    offered,
    title,
    text,
    describes,
    template,
    host,
    call_id,
    proposal,
    raise_task,
    raise_day,
    raise_by,
    applied_at,
    state,
    asked_at,
    answers,
});

/// Answers come along as JSON, so that an approval is read whole in one statement.
pub(crate) const SELECT: &str = "SELECT id, workspace_id, chat, task_id, user_id, kind, digest, class, reason, sources, people, \
       offered, title, text, describes, template, host, call_id, proposal, raise_task, raise_day, raise_by, \
       applied_at, state, asked_at, \
       (SELECT json_group_array(json_array(g.user_id, u.name, g.answer)) FROM approval_answers g \
          JOIN users u ON u.id = g.user_id WHERE g.approval_id = approvals.id ORDER BY g.at) AS answers \
     FROM approvals";

impl Row {
    pub(crate) fn into_approval(self) -> Result<Approval, StoreError> {
        let state = ApprovalState::ALL.into_iter().find(|state| state.as_str() == self.state);
        let kind = ApprovalKind::ALL.into_iter().find(|kind| kind.as_str() == self.kind);
        let json = |e: serde_json::Error| corrupt("approval", e);
        let answers: Vec<(u32, String, String)> =
            serde_json::from_str(&self.answers).map_err(json)?;
        let answers = answers.into_iter().map(|(user, by, answer)| {
            let answer = parse_answer(&answer)?;
            Ok(GivenAnswer { user: UserId::from_number(user), by, answer })
        });
        Ok(Approval {
            id: ApprovalId::from_number(self.id),
            workspace: WorkspaceId::from_number(self.workspace_id),
            chat: ChatId::from_number(self.chat),
            task: self.task_id.map(TaskId::from_number),
            user: UserId::from_number(self.user_id),
            kind: kind.ok_or_else(|| corrupt("approval kind", &self.kind))?,
            digest: self.digest,
            class: self.class,
            reason: self.reason,
            sources: serde_json::from_str(&self.sources).map_err(json)?,
            people: self.people,
            offered: serde_json::from_str(&self.offered).map_err(json)?,
            title: self.title,
            text: self.text,
            describes: self.describes,
            template: self.template,
            host: self.host,
            call: self.call_id,
            proposal: self.proposal,
            raise: match (self.raise_by, self.raise_task, self.raise_day) {
                (Some(by), Some(task), _) => {
                    Some(Raise::Task { task: TaskId::from_number(task), by })
                }
                (Some(by), None, Some(day)) => Some(Raise::Day { day, by }),
                (None, _, _) | (Some(_), None, None) => None,
            },
            applied_at: self.applied_at,
            state: state.ok_or_else(|| corrupt("approval state", &self.state))?,
            asked_at: self.asked_at,
            answers: answers.collect::<Result<_, StoreError>>()?,
        })
    }
}

fn parse_answer(text: &str) -> Result<Answer, StoreError> {
    let answer = Answer::ALL.into_iter().find(|answer| answer.as_str() == text);
    answer.ok_or_else(|| corrupt("answer", text))
}

/// What asking did.
#[derive(Debug)]
pub struct Asked {
    pub approval: Approval,
    /// The question, to be sent; none when it was asked before.
    pub told: Option<OutboxItem>,
}

/// Nobody reads so many questions: a task that asks more is refused instead. In a community what is asked for one
/// person leaves room for what is asked for the others.
pub(crate) async fn refuse_flood(tx: &mut Tx, new: &NewApproval) -> Result<(), StoreError> {
    let (of_task, of_member, of_workspace): (i64, i64, i64) = sqlx::query_as(
        "SELECT COALESCE(SUM(a.task_id IS ?1), 0), \
           COALESCE(SUM(CASE WHEN a.user_id = ?2 AND u.kind = 'community' THEN 1 ELSE 0 END), 0), COUNT(*) \
         FROM approvals a JOIN workspaces w ON w.id = a.workspace_id JOIN users u ON u.id = w.user_id \
         WHERE a.workspace_id = ?3 AND a.state = 'pending'",
    )
    .bind(new.task.map(TaskId::number))
    .bind(new.user.number())
    .bind(new.workspace.number())
    .fetch_one(tx)
    .await
    .tried("count the questions that wait")?;
    let many_of_member = of_member >= MAX_PENDING_OF_MEMBER;
    if of_task >= MAX_PENDING_OF_TASK || many_of_member || of_workspace >= MAX_PENDING {
        return Err(StoreError::TooMany { what: "questions wait for an answer already" });
    }
    Ok(())
}

table! {
    /// Questions, grants, and what is known of content.
    pub struct Approvals;
}

impl Approvals {
    /// Asks people, unless the same was asked before and still says something: it waits, it was
    /// denied, or it was allowed and that has not been used up.
    pub async fn ask(&self, new: NewApproval) -> Result<Asked, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let known = known(&mut tx, &new).await?;
        let (approval, told) = match known {
            Some(approval) => (approval, None),
            None => {
                refuse_flood(&mut tx, &new).await?;
                let approval = insert(&mut tx, &new, now).await?;
                let told = tell(&mut tx, &approval, now).await?;
                (approval, Some(told))
            }
        };
        if let Some(task) =
            new.task.filter(|_| new.park && approval.state == ApprovalState::Pending)
        {
            sqlx::query(
                "UPDATE tasks SET state = 'waiting', attempts = 0 WHERE id = ? AND state = 'running'",
            )
            .bind(task.number())
            .execute(&mut *tx)
            .await
            .tried("let a task wait")?;
        }
        tx.commit().await.tried("ask for an approval")?;
        Ok(Asked { approval, told })
    }

    pub async fn approval(&self, id: ApprovalId) -> Result<Approval, StoreError> {
        let row: Option<Row> =
            sqlx::query_as(sqlx::AssertSqlSafe(format!("{SELECT} WHERE id = ?")))
                .bind(id.number())
                .fetch_optional(self.store.reader())
                .await
                .tried("find an approval")?;
        row.ok_or_else(|| not_found("approval", id))?.into_approval()
    }

    /// What may be carried out because people have said yes to it; none: they have not.
    pub async fn allowed(&self, id: ApprovalId) -> Result<Option<Allowed>, StoreError> {
        Ok(Allowed::of(self.approval(id).await?))
    }

    /// Everything that a task has asked, oldest first.
    pub async fn approvals_of(&self, task: TaskId) -> Result<Vec<Approval>, StoreError> {
        let rows: Vec<Row> =
            sqlx::query_as(sqlx::AssertSqlSafe(format!("{SELECT} WHERE task_id = ? ORDER BY id")))
                .bind(task.number())
                .fetch_all(self.store.reader())
                .await
                .tried("list the approvals of a task")?;
        rows.into_iter().map(Row::into_approval).collect()
    }

    /// Whether a plan of this task has been allowed.
    pub async fn has_allowed_plan(&self, task: TaskId) -> Result<bool, StoreError> {
        sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM approvals WHERE task_id = ? AND kind = 'plan' \
             AND state = 'allowed')",
        )
        .bind(task.number())
        .fetch_one(self.store.reader())
        .await
        .tried("look for an approval")
    }

    pub async fn pending_approvals(
        &self,
        workspace: WorkspaceId,
    ) -> Result<Vec<Approval>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{SELECT} WHERE workspace_id = ? AND state = 'pending' ORDER BY id"
        )))
        .bind(workspace.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list approvals")?;
        rows.into_iter().map(Row::into_approval).collect()
    }

    /// What waits in every workspace, oldest first, and no more than so many.
    pub async fn pending_everywhere(&self, most: u32) -> Result<Vec<Approval>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{SELECT} WHERE state = 'pending' ORDER BY id LIMIT ?"
        )))
        .bind(most)
        .fetch_all(self.store.reader())
        .await
        .tried("list what waits everywhere")?;
        rows.into_iter().map(Row::into_approval).collect()
    }

    /// How many questions wait for people.
    pub async fn count_pending_approvals(&self) -> Result<i64, StoreError> {
        sqlx::query_scalar("SELECT count(*) FROM approvals WHERE state = 'pending'")
            .fetch_one(self.store.reader())
            .await
            .tried("count what waits for people")
    }

    /// Lets a task wait if something that it asked is unanswered; whether it does.
    pub async fn park(&self, task: TaskId) -> Result<bool, StoreError> {
        let mut tx = self.store.begin_one().await?;
        let done = sqlx::query(
            "UPDATE tasks SET state = 'waiting', attempts = 0 WHERE id = ?1 AND state = 'running' \
             AND EXISTS (SELECT 1 FROM approvals WHERE task_id = ?1 AND state = 'pending')",
        )
        .bind(task.number())
        .execute(&mut *tx)
        .await
        .tried("let a task wait")?;
        tx.commit().await.tried("let a task wait")?;
        Ok(done.rows_affected() == 1)
    }

    /// Proposals that were allowed and are not written yet.
    pub async fn unapplied_proposals(&self) -> Result<Vec<Allowed>, StoreError> {
        let rows: Vec<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{SELECT} WHERE kind = 'proposal' AND state = 'allowed' AND applied_at IS NULL ORDER BY id"
        )))
        .fetch_all(self.store.reader())
        .await
        .tried("list allowed proposals")?;
        let rows = rows.into_iter().map(Row::into_approval);
        rows.filter_map(|row| row.map(Allowed::of).transpose()).collect()
    }

    /// An allowed proposal is dealt with.
    pub async fn proposal_applied(&self, id: ApprovalId) -> Result<(), StoreError> {
        let mut tx = self.store.begin_one().await?;
        sqlx::query("UPDATE approvals SET applied_at = ? WHERE id = ? AND applied_at IS NULL")
            .bind(self.store.clock.now_ms())
            .bind(id.number())
            .execute(&mut *tx)
            .await
            .tried("note that a proposal is written")?;
        tx.commit().await.tried("note that a proposal is written")
    }
}

/// The question that says the same already, if there is one.
async fn known(tx: &mut Tx, new: &NewApproval) -> Result<Option<Approval>, StoreError> {
    let newest = match new.task {
        Some(_) => format!("{SELECT} WHERE task_id = ?1 AND digest = ?4 ORDER BY id DESC LIMIT 1"),
        None => format!(
            "{SELECT} WHERE task_id IS ?1 AND workspace_id = ?2 AND chat = ?3 AND digest = ?4 \
             AND state = 'pending' ORDER BY id DESC LIMIT 1"
        ),
    };
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(newest))
        .bind(new.task.map(TaskId::number))
        .bind(new.workspace.number())
        .bind(new.chat.number())
        .bind(&new.digest)
        .fetch_optional(&mut *tx)
        .await
        .tried("find an approval")?;
    let Some(approval) = row.map(Row::into_approval).transpose()? else { return Ok(None) };
    let says_something = match (approval.state, approval.kind) {
        (ApprovalState::Pending | ApprovalState::Denied, _)
        | (ApprovalState::Allowed | ApprovalState::Void, ApprovalKind::Plan) => true,
        (ApprovalState::Allowed, ApprovalKind::Effect) => has_exact_grant(tx, approval.id).await?,
        (ApprovalState::Allowed, ApprovalKind::Proposal) => approval.applied_at.is_none(),
        (ApprovalState::Void, ApprovalKind::Effect | ApprovalKind::Proposal) => false,
    };
    Ok(says_something.then_some(approval))
}

async fn has_exact_grant(tx: &mut Tx, id: ApprovalId) -> Result<bool, StoreError> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM grants WHERE approval_id = ? AND ended_at IS NULL \
         AND reach IN ('once', 'task'))",
    )
    .bind(id.number())
    .fetch_one(&mut *tx)
    .await
    .tried("look for a grant")
}

pub(crate) async fn insert(
    tx: &mut Tx,
    new: &NewApproval,
    now: i64,
) -> Result<Approval, StoreError> {
    let json = |e: serde_json::Error| corrupt("approval", e);
    let (raise_task, raise_day, raise_by) = match &new.raise {
        None => (None, None, None),
        Some(Raise::Task { task, by }) => (Some(task.number()), None, Some(*by)),
        Some(Raise::Day { day, by }) => (None, Some(day.as_str()), Some(*by)),
    };
    let id: u32 = sqlx::query_scalar(
        "INSERT INTO approvals (workspace_id, chat, task_id, user_id, kind, digest, class, reason, sources, \
           people, offered, title, text, describes, template, host, call_id, proposal, raise_task, raise_day, \
           raise_by, state, asked_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?) RETURNING id",
    )
    .bind(new.workspace.number())
    .bind(new.chat.number())
    .bind(new.task.map(TaskId::number))
    .bind(new.user.number())
    .bind(new.kind.as_str())
    .bind(&new.digest)
    .bind(&new.class)
    .bind(&new.reason)
    .bind(serde_json::to_string(&new.sources).map_err(json)?)
    .bind(new.people.max(1))
    .bind(serde_json::to_string(&new.offered).map_err(json)?)
    .bind(&new.title)
    .bind(&new.text)
    .bind(&new.describes)
    .bind(&new.template)
    .bind(&new.host)
    .bind(&new.call)
    .bind(&new.proposal)
    .bind(raise_task)
    .bind(raise_day)
    .bind(raise_by)
    .bind(now)
    .fetch_one(&mut *tx)
    .await
    .tried("ask for an approval")?;
    one(tx, ApprovalId::from_number(id)).await
}

pub(crate) async fn one(tx: &mut Tx, id: ApprovalId) -> Result<Approval, StoreError> {
    let row: Option<Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!("{SELECT} WHERE id = ?")))
        .bind(id.number())
        .fetch_optional(&mut *tx)
        .await
        .tried("find an approval")?;
    row.ok_or_else(|| not_found("approval", id))?.into_approval()
}

/// Puts the question into the outbox and the audit trail.
pub(crate) async fn tell(
    tx: &mut Tx,
    approval: &Approval,
    now: i64,
) -> Result<OutboxItem, StoreError> {
    let frame = AgentFrame::Ask(Ask {
        approval: approval.id,
        task: approval.task,
        title: approval.title.clone(),
        text: approval.text.clone(),
        digest: approval.digest.clone(),
        class: approval.class.clone(),
        reason: approval.reason.clone(),
        sources: approval.sources.clone(),
        offered: approval.offered.clone(),
        people: approval.people,
    });
    let chat = (approval.workspace, approval.chat);
    let told = outbox::push(tx, chat, &TurnId::of_question(approval.id), &frame, now).await?;
    let entry =
        audit::Entry::of_cell((approval.workspace, approval.task), "approval.ask", approval.id);
    let detail = format!("{} {} {}", approval.class, approval.digest, approval.title);
    audit::record(tx, now, entry.with(detail)).await?;
    Ok(told)
}
