//! Branches: chats that begin with a copy of what was said and told in another.
//!
//! Promises: a branch is made whole or not at all; what is copied is answered and told already, so that nobody answers
//! or is told it again; what marks the content of the other chat marks the branch's.

use std::collections::HashMap;

use cloister_protocol::link::Cause;
use cloister_protocol::{AgentFrame, AgentId, ChatId, End, TurnId, Update, WorkspaceId};

use crate::actor::Actor;
use crate::chats::{self, Chat};
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt, not_found};
use crate::inbox::{self, InboxItem, trigger_id};
use crate::outbox;
use crate::{audit, conversations, provenance, requests};

/// As many messages of a chat are copied: the last ones.
const MOST_ROWS: u32 = 2000;
/// And as much of what was said and told: a copy holds the only writer, and nobody deletes it.
const MOST_BYTES: i64 = 2 << 20;
/// As many branches are made in one workspace.
const MOST_BRANCHES: i64 = 500;
/// Where the copies in the inbox are from.
const SOURCE: &str = "branch";

/// What a branch is to be.
#[derive(Clone, Copy, Debug)]
pub struct NewBranch<'a> {
    pub workspace: WorkspaceId,
    pub from: ChatId,
    /// The last row of the inbox that it begins with.
    pub upto: i64,
    /// Its number, taken before.
    pub number: ChatId,
    pub title: &'a str,
    /// What is told at its end, once.
    pub notice: &'a str,
    /// The same where the oldest messages were left behind.
    pub notice_if_cut: &'a str,
    /// What the other chat has heard, as marks: the oldest messages count in the branch too, though they are not in it.
    pub heard_if_cut: &'a [String],
}

/// A message that a branch began with, and how it was answered.
#[derive(Clone, Debug)]
pub struct BegunWith {
    pub said: InboxItem,
    pub end: End,
}

struct SaidRow {
    id: i64,
    cause: String,
    command: Option<String>,
    received_at: i64,
    answered_at: Option<i64>,
    sender: Option<String>,
}

from_row!(SaidRow { id, cause, command, received_at, answered_at, sender });

table! {
    /// Chats that begin with the conversation of another.
    pub struct Branches;
}

impl Branches {
    /// Takes the number of a chat that is to be made. The same key again answers with the same; refused is what is not
    /// made yet and would be one too many.
    pub async fn take_number(
        &self,
        workspace: WorkspaceId,
        key: &str,
    ) -> Result<ChatId, StoreError> {
        let what = "take a chat number";
        let scope = format!("branch {workspace}");
        let mut tx = self.store.begin().await?;
        let taken = requests::answered::<u32>(&mut tx, &scope, key).await?;
        let made = match taken {
            Some(number) => chats::is_there(&mut tx, (workspace, number)).await?,
            None => false,
        };
        if !made {
            room_for_another(&mut tx, workspace).await?;
        }
        let number = match taken {
            Some(number) => number,
            None => {
                let number = chats::next_number(&mut tx, workspace).await?;
                let now = self.store.clock.now_ms();
                requests::remember(&mut tx, &scope, key, &number, now).await?;
                number
            }
        };
        tx.commit().await.tried(what)?;
        Ok(ChatId::from_number(number))
    }

    /// The last answered message of a chat up to a row of the inbox, if there is any.
    pub async fn last_answered(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        upto: i64,
    ) -> Result<Option<i64>, StoreError> {
        sqlx::query_scalar(
            "SELECT max(id) FROM inbox WHERE workspace_id = ? AND chat = ? AND id <= ? AND state = 'answered'",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .bind(upto)
        .fetch_one(self.store.reader())
        .await
        .tried("find the last answered message of a chat")
    }

    /// Makes a branch. One that is there already is answered with.
    pub async fn branch(&self, actor: &Actor, new: NewBranch<'_>) -> Result<Chat, StoreError> {
        let what = "branch a chat";
        let NewBranch { workspace, from, number, .. } = new;
        let first = self.first_copied(new).await?;
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        if !chats::is_there(&mut tx, (workspace, number.number())).await? {
            room_for_another(&mut tx, workspace).await?;
            let (context, agent) = place_of(&mut tx, workspace, from).await?;
            let place = chats::NewChat { title: new.title, agent, context: context.as_deref() };
            let named = (workspace, number.number());
            chats::insert_numbered(&mut tx, actor, named, place, now).await?;
            copy_choices(&mut tx, workspace, from, number).await?;
            let (turns, cut) = copy_said(&mut tx, new, first).await?;
            copy_told(&mut tx, new, &turns).await?;
            let heard = if cut { new.heard_if_cut } else { &[] };
            provenance::heard_before(&mut tx, (workspace, number), heard).await?;
            conversations::want_in_every_home(&mut tx, (workspace, number.number()), now).await?;
            let text = if cut { new.notice_if_cut } else { new.notice }.to_owned();
            let frame = AgentFrame::Update(Update::Notice { text });
            let turn = TurnId::of_notice(format_args!("branch-{number}"));
            outbox::push(&mut tx, (workspace, number), &turn, &frame, now).await?;
            let detail = format!("a branch of {from} up to message {}", new.upto);
            let entry = audit::Entry::new(actor, "chat.branch", number).with(detail);
            audit::record(&mut tx, now, entry.of_workspace(workspace)).await?;
        }
        tx.commit().await.tried(what)?;
        self.store.chats().chat(workspace, number).await
    }

    /// The oldest message that a copy has room for, by how long each is with what was told of it: found before anything
    /// is written, and without reading what was said.
    async fn first_copied(&self, new: NewBranch<'_>) -> Result<i64, StoreError> {
        let NewBranch { workspace, from, upto, .. } = new;
        let told: Vec<(String, i64)> = sqlx::query_as(
            "SELECT turn, sum(octet_length(frame)) FROM outbox WHERE workspace_id = ? AND chat = ? GROUP BY turn",
        )
        .bind(workspace.number())
        .bind(from.number())
        .fetch_all(self.store.reader())
        .await
        .tried("measure what was told in a chat")?;
        let told: HashMap<TurnId, i64> =
            told.into_iter().map(|(turn, bytes)| (TurnId::kept(turn), bytes)).collect();
        let said: Vec<(i64, i64)> = sqlx::query_as(
            "SELECT id, octet_length(cause) FROM inbox \
             WHERE workspace_id = ? AND chat = ? AND id <= ? AND state = 'answered' ORDER BY id DESC LIMIT ?",
        )
        .bind(workspace.number())
        .bind(from.number())
        .bind(upto)
        .bind(MOST_ROWS)
        .fetch_all(self.store.reader())
        .await
        .tried("measure what was said in a chat")?;
        let (mut first, mut bytes) = (None, 0_i64);
        for (id, length) in said {
            let answer = told.get(&TurnId::of_message(id)).copied().unwrap_or_default();
            bytes = bytes.saturating_add(length).saturating_add(answer);
            // The last message is copied however long it is: there is nothing to begin with else.
            if bytes > MOST_BYTES && first.is_some() {
                break;
            }
            first = Some(id);
        }
        Ok(first.unwrap_or(upto))
    }

    /// What a chat began with that is a branch, as long as nothing was answered in it since: its agent may not have
    /// it yet. Oldest first, and nothing that was cleared.
    pub async fn begun_with(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Vec<BegunWith>, StoreError> {
        let began: Option<Option<i64>> = sqlx::query_scalar(
            "SELECT began_with FROM chats WHERE workspace_id = ? AND number = ?",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_optional(self.store.reader())
        .await
        .tried("find what a chat began with")?;
        let Some(began) = began.flatten() else { return Ok(Vec::new()) };
        let answered_since: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM inbox WHERE workspace_id = ?1 AND chat = ?2 AND id > ?3 \
             AND state = 'answered' AND (source = 'clear' OR command IS NULL OR command = 'null'))",
        )
        .bind(workspace.number())
        .bind(chat.number())
        .bind(began)
        .fetch_one(self.store.reader())
        .await
        .tried("find what was answered in a branch")?;
        if answered_since {
            return Ok(Vec::new());
        }
        self.turns_up_to(workspace, chat, began).await
    }

    async fn turns_up_to(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
        upto: i64,
    ) -> Result<Vec<BegunWith>, StoreError> {
        let said: Vec<inbox::Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{} WHERE workspace_id = ?1 AND chat = ?2 AND id <= ?3 \
             AND id > coalesce((SELECT max(id) FROM inbox WHERE workspace_id = ?1 AND chat = ?2 AND id <= ?3 \
                                AND json_extract(cause, '$.cause') = 'clear'), 0) ORDER BY id",
            inbox::SELECT
        )))
        .bind(workspace.number())
        .bind(chat.number())
        .bind(upto)
        .fetch_all(self.store.reader())
        .await
        .tried("read what a branch began with")?;
        let told: Vec<outbox::Row> = sqlx::query_as(sqlx::AssertSqlSafe(format!(
            "{} WHERE workspace_id = ? AND chat = ? AND json_extract(frame, '$.type') = 'end' ORDER BY id",
            outbox::SELECT
        )))
        .bind(workspace.number())
        .bind(chat.number())
        .fetch_all(self.store.reader())
        .await
        .tried("read how a branch began")?;
        let mut ends = HashMap::new();
        for row in told {
            if let AgentFrame::End(end) = row.into_item()?.frame {
                ends.insert(end.turn.clone(), end);
            }
        }
        let mut begun = Vec::new();
        for row in said {
            let said = row.into_item()?;
            if let Some(end) = ends.remove(&TurnId::of_message(said.id)) {
                begun.push(BegunWith { said, end });
            }
        }
        Ok(begun)
    }
}

/// Refuses one branch more than a workspace may have, and one chat more.
async fn room_for_another(tx: &mut Tx, workspace: WorkspaceId) -> Result<(), StoreError> {
    chats::room_for_another(tx, workspace).await?;
    let there: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM chats WHERE workspace_id = ? AND branched_from IS NOT NULL",
    )
    .bind(workspace.number())
    .fetch_one(&mut *tx)
    .await
    .tried("count the branches of a workspace")?;
    if there < MOST_BRANCHES { Ok(()) } else { Err(StoreError::TooMany { what: "branches" }) }
}

/// Where a chat belongs, and who answers in it.
async fn place_of(
    tx: &mut Tx,
    workspace: WorkspaceId,
    chat: ChatId,
) -> Result<(Option<String>, AgentId), StoreError> {
    let place: Option<(Option<String>, u32)> =
        sqlx::query_as("SELECT context, agent FROM chats WHERE workspace_id = ? AND number = ?")
            .bind(workspace.number())
            .bind(chat.number())
            .fetch_optional(&mut *tx)
            .await
            .tried("find where a chat belongs")?;
    let (context, agent) = place.ok_or_else(|| not_found("chat", chat))?;
    Ok((context, AgentId::from_number(agent)))
}

/// Copies what marks a chat, and which models were chosen in it.
async fn copy_choices(
    tx: &mut Tx,
    workspace: WorkspaceId,
    from: ChatId,
    number: ChatId,
) -> Result<(), StoreError> {
    for copy in [
        "INSERT INTO chat_marks (workspace_id, chat, part, mark) \
         SELECT workspace_id, ?3, part, mark FROM chat_marks WHERE workspace_id = ?1 AND chat = ?2",
        "INSERT INTO model_choices (workspace_id, agent, chat, kind, model) \
         SELECT workspace_id, agent, ?3, kind, model FROM model_choices WHERE workspace_id = ?1 AND chat = ?2",
    ] {
        sqlx::query(copy)
            .bind(workspace.number())
            .bind(from.number())
            .bind(number.number())
            .execute(&mut *tx)
            .await
            .tried("copy what holds for a chat")?;
    }
    Ok(())
}

/// Copies what was said; the turns it began, by their names before, and whether older ones were left behind.
async fn copy_said(
    tx: &mut Tx,
    new: NewBranch<'_>,
    first: i64,
) -> Result<(HashMap<TurnId, i64>, bool), StoreError> {
    let NewBranch { workspace, from, upto, number, .. } = new;
    let rows: Vec<SaidRow> = sqlx::query_as(
        "SELECT id, cause, command, received_at, answered_at, sender FROM inbox \
         WHERE workspace_id = ? AND chat = ? AND id BETWEEN ? AND ? AND state = 'answered' ORDER BY id DESC LIMIT ?",
    )
    .bind(workspace.number())
    .bind(from.number())
    .bind(first)
    .bind(upto)
    .bind(MOST_ROWS)
    .fetch_all(&mut *tx)
    .await
    .tried("read what was said in a chat")?;
    let cut: bool = sqlx::query_scalar(
        "SELECT EXISTS (SELECT 1 FROM inbox WHERE workspace_id = ? AND chat = ? AND id < ? AND state = 'answered')",
    )
    .bind(workspace.number())
    .bind(from.number())
    .bind(first)
    .fetch_one(&mut *tx)
    .await
    .tried("look for what a branch leaves behind")?;
    let mut turns = HashMap::new();
    let mut last = 0;
    for row in without_replaced(rows)?.into_iter().rev() {
        last = sqlx::query_scalar(
            "INSERT INTO inbox (source, external_id, workspace_id, chat, cause, state, received_at, \
                                answered_at, command, sender) \
             VALUES (?, ?, ?, ?, ?, 'answered', ?, ?, ?, ?) RETURNING id",
        )
        .bind(SOURCE)
        .bind(format!("{workspace}:{number}:{}", row.id))
        .bind(workspace.number())
        .bind(number.number())
        .bind(moved(&row.cause, from, number)?)
        .bind(row.received_at)
        .bind(row.answered_at)
        .bind(row.command)
        .bind(row.sender)
        .fetch_one(&mut *tx)
        .await
        .tried("copy what was said")?;
        turns.insert(TurnId::of_message(row.id), last);
    }
    sqlx::query(
        "UPDATE chats SET branched_from = ?, began_with = ? WHERE workspace_id = ? AND number = ?",
    )
    .bind(from.number())
    .bind(last)
    .bind(workspace.number())
    .bind(number.number())
    .execute(&mut *tx)
    .await
    .tried("say what a branch began with")?;
    Ok((turns, cut))
}

/// Rows, newest first, without those that a later one of them took the place of.
fn without_replaced(rows: Vec<SaidRow>) -> Result<Vec<SaidRow>, StoreError> {
    let mut before = i64::MAX;
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        let is_replaced = row.id >= before;
        let cause: Cause =
            serde_json::from_str(&row.cause).map_err(|e| corrupt("inbox cause", e))?;
        // Of one that was itself taken the place of too.
        if let Cause::Message { instead: Some(turn), .. } = cause {
            before = before.min(turn.message().unwrap_or(before));
        }
        if !is_replaced {
            kept.push(row);
        }
    }
    Ok(kept)
}

/// A message whose files are those of the branch.
fn moved(cause: &str, from: ChatId, to: ChatId) -> Result<String, StoreError> {
    let mut cause: Cause = serde_json::from_str(cause).map_err(|e| corrupt("inbox cause", e))?;
    if let Cause::Message { attachments, instead, .. } = &mut cause {
        // What it took the place of stays behind.
        *instead = None;
        for file in attachments {
            if let Some(rest) = file.path.strip_prefix(&format!("chats/{from}/")) {
                file.path = format!("chats/{to}/{rest}");
            }
        }
    }
    serde_json::to_string(&cause).map_err(|e| corrupt("inbox cause", e))
}

/// Copies answers, and the files that were sent with them. What asked something, or said how something stood, is of
/// the other chat.
async fn copy_told(
    tx: &mut Tx,
    new: NewBranch<'_>,
    turns: &HashMap<TurnId, i64>,
) -> Result<(), StoreError> {
    let NewBranch { workspace, from, number, .. } = new;
    let rows: Vec<(i64, String)> = sqlx::query_as(
        "SELECT id, turn FROM outbox WHERE workspace_id = ? AND chat = ? ORDER BY id",
    )
    .bind(workspace.number())
    .bind(from.number())
    .fetch_all(&mut *tx)
    .await
    .tried("read what was told in a chat")?;
    for (id, turn) in rows {
        let Some(message) = turns.get(&TurnId::kept(turn)) else { continue };
        let told: Option<(i64, String, i64)> = sqlx::query_as(
            "SELECT seq, frame, created_at FROM outbox WHERE id = ? \
             AND json_extract(frame, '$.type') IN ('end', 'send_file')",
        )
        .bind(id)
        .fetch_optional(&mut *tx)
        .await
        .tried("read what was told in a chat")?;
        let Some((seq, frame, at)) = told else { continue };
        let turn = TurnId::of_message(*message);
        let mut frame: AgentFrame =
            serde_json::from_str(&frame).map_err(|e| corrupt("outbox frame", e))?;
        match &mut frame {
            AgentFrame::End(end) => {
                end.turn = turn.clone();
                end.message = end.message.as_ref().map(|_| trigger_id(*message)).transpose()?;
            }
            AgentFrame::SendFile(file) => file.turn = file.turn.as_ref().map(|_| turn.clone()),
            _ => continue,
        }
        let frame = serde_json::to_string(&frame).map_err(|e| corrupt("outbox frame", e))?;
        sqlx::query(
            "INSERT INTO outbox (workspace_id, chat, turn, seq, frame, created_at, delivered_at) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
        )
        .bind(workspace.number())
        .bind(number.number())
        .bind(turn.as_str())
        .bind(seq)
        .bind(frame)
        .bind(at)
        .execute(&mut *tx)
        .await
        .tried("copy what was told")?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "branches_tests.rs"]
mod tests;
