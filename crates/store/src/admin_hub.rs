//! Admin hubs: the one conversation of a connector where operators are told things, and what of a conversation
//! with staff is to be shown there.
//!
//! What is told is a row of the outbox, stored together with what says that it was told: whatever is killed,
//! nothing is told twice and nothing is left out.

use cloister_protocol::link::Cause;
use cloister_protocol::{AgentFrame, ChatId, TurnId, Update, UserId};

use crate::actor::Actor;
use crate::connectors::ConnectorId;
use crate::conversations::{Conversation, ConversationId, ConversationKind};
use crate::db::Tx;
use crate::error::{StoreError, Tried, corrupt};
use crate::inbox::InboxItem;
use crate::outbox::Outbox;
use crate::outbox::OutboxItem;
use crate::{audit, forgetting};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminHub {
    pub connector: ConnectorId,
    pub surface: String,
    pub account: String,
    /// A community's: others read along.
    pub conversation: Conversation,
    /// Up to which row of the outbox it was looked.
    pub mirrored_to: i64,
}

/// What somebody and the agent said to each other where the two are alone.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The row of the answer.
    pub row: i64,
    /// The row of what is answered.
    pub asked: i64,
    pub user: UserId,
    pub conversation: ConversationId,
    pub chat: ChatId,
    pub cause: Cause,
    pub received_at: i64,
    pub answer: String,
    pub answered_at: i64,
}

/// Something to be shown in a hub.
#[derive(Clone, Debug)]
pub struct Mirrored {
    pub user: UserId,
    /// The row of the answer.
    pub row: i64,
    pub text: String,
}

/// What operators know of whether a connector works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub connector: ConnectorId,
    pub surface: String,
    pub account: String,
    pub told: Option<String>,
}

type ExchangeRow = (i64, i64, u32, i64, u32, String, i64, String, i64);

/// Answers in conversations between one person and the agent, in the person's own workspace.
const EXCHANGES: &str = "\
    SELECT o.id, i.id, c.user_id, c.id, o.chat, i.cause, i.received_at, \
           coalesce(json_extract(o.frame, '$.text'), ''), o.created_at \
    FROM outbox o \
      JOIN conversations c ON c.id = o.conversation AND c.workspace_id = o.workspace_id \
      JOIN workspaces w ON w.id = c.workspace_id AND w.user_id = c.user_id \
      JOIN inbox i ON i.id = CAST(substr(o.turn, 4) AS INTEGER) AND i.workspace_id = o.workspace_id \
    WHERE o.id > ?2 AND o.id <= ?3 AND o.turn LIKE 't-m%' AND json_extract(o.frame, '$.type') = 'end' \
      AND c.connector_id = ?1 AND c.kind IN ('room', 'lobby') \
    ORDER BY o.id LIMIT ?4";

/// What reports the end of tasks is called after the turn that they are of: `W1:t-m12:T3`. Never more than so many
/// turns are gone back.
const BEGAN_WITH: &str = "\
    WITH RECURSIVE back (id, source, depth) AS ( \
      SELECT id, source, 0 FROM inbox WHERE id = ?1 \
      UNION ALL \
      SELECT i.id, i.source, back.depth + 1 FROM back JOIN inbox r ON r.id = back.id \
        JOIN inbox i ON i.id < r.id AND i.workspace_id = r.workspace_id \
          AND i.id = CAST(substr(r.external_id, instr(r.external_id, ':t-m') + 4) AS INTEGER) \
      WHERE back.source = 'tasks' AND instr(r.external_id, ':t-m') > 0 AND back.depth < 100) \
    SELECT id FROM back WHERE source <> 'tasks'";

const PUSH: &str = "\
    INSERT INTO outbox (workspace_id, chat, turn, seq, frame, created_at, conversation) \
    SELECT ?1, ?2, ?3, coalesce(max(seq) + 1, 0), ?4, ?5, ?6 \
    FROM outbox WHERE workspace_id = ?1 AND turn = ?3 RETURNING id";

impl Outbox {
    /// Every admin hub whose conversation is still there.
    pub async fn admin_hubs(&self) -> Result<Vec<AdminHub>, StoreError> {
        let rows: Vec<(i64, String, String, i64, i64)> = sqlx::query_as(
            "SELECT id, surface, account, admin_hub, mirrored_to FROM connectors \
             WHERE admin_hub IS NOT NULL ORDER BY id",
        )
        .fetch_all(self.store.reader())
        .await
        .tried("list admin hubs")?;
        let mut hubs = Vec::new();
        for (id, surface, account, hub, mirrored_to) in rows {
            let connector = ConnectorId::from_number(id);
            let there = self
                .store
                .conversations()
                .conversation_by_id(ConversationId::from_number(hub))
                .await?;
            let is_hub = |found: &Conversation| {
                found.connector == connector && found.kind == ConversationKind::Shared
            };
            if let Some(conversation) = there.filter(is_hub) {
                hubs.push(AdminHub { connector, surface, account, conversation, mirrored_to });
            }
        }
        Ok(hubs)
    }

    /// Makes a conversation the admin hub of a connector, or (none) leaves it without; whether that is new.
    /// What was said before is not shown there, and what still waited to be told where it was is told nowhere.
    pub async fn set_admin_hub(
        &self,
        actor: &Actor,
        connector: ConnectorId,
        hub: Option<&Conversation>,
    ) -> Result<bool, StoreError> {
        let id = hub.map(|hub| hub.id.number());
        let mut tx = self.store.begin().await?;
        let before: Option<Option<i64>> =
            sqlx::query_scalar("SELECT admin_hub FROM connectors WHERE id = ?")
                .bind(connector.number())
                .fetch_optional(&mut *tx)
                .await
                .tried("find an admin hub")?;
        if before.flatten() == id {
            return Ok(false);
        }
        if let Some(before) = before.flatten() {
            forgetting::unsay(&mut tx, before).await?;
        }
        sqlx::query("DELETE FROM mirror_told WHERE conversation = ? OR conversation = ?")
            .bind(before.flatten())
            .bind(id)
            .execute(&mut *tx)
            .await
            .tried("keep an admin hub")?;
        sqlx::query(
            "UPDATE connectors SET admin_hub = ?2, \
             mirrored_to = coalesce((SELECT max(id) FROM outbox), 0) WHERE id = ?1",
        )
        .bind(connector.number())
        .bind(id)
        .execute(&mut *tx)
        .await
        .tried("keep an admin hub")?;
        let what = if hub.is_some() { "admin_hub.enable" } else { "admin_hub.disable" };
        let place = hub.and_then(|hub| hub.external_id.as_deref()).unwrap_or_default();
        let entry = audit::Entry::new(actor, what, connector).with(place);
        audit::record(&mut tx, self.store.clock.now_ms(), entry).await?;
        tx.commit().await.tried("keep an admin hub")?;
        Ok(true)
    }

    /// What people and the agent said to each other since a hub was last shown something, at most `most`; and
    /// up to which row that is all.
    pub async fn exchanges(
        &self,
        hub: &AdminHub,
        most: u32,
    ) -> Result<(Vec<Exchange>, i64), StoreError> {
        let newest: Option<i64> = sqlx::query_scalar("SELECT max(id) FROM outbox")
            .fetch_one(self.store.reader())
            .await
            .tried("find the newest row")?;
        let newest = newest.unwrap_or(0).max(hub.mirrored_to);
        if newest == hub.mirrored_to {
            return Ok((Vec::new(), newest));
        }
        let rows: Vec<ExchangeRow> = sqlx::query_as(EXCHANGES)
            .bind(hub.connector.number())
            .bind(hub.mirrored_to)
            .bind(newest)
            .bind(most)
            .fetch_all(self.store.reader())
            .await
            .tried("list what was said")?;
        let all = rows.len() < usize::try_from(most).unwrap_or(usize::MAX);
        let found: Vec<Exchange> = rows.into_iter().map(into_exchange).collect::<Result<_, _>>()?;
        let up_to = match found.last() {
            Some(last) if !all => last.row,
            _ => newest,
        };
        Ok((found, up_to))
    }

    /// The message that a turn began with: its own, or where the end of tasks is reported, the one that led to them,
    /// however many turns ago. None: it is not known.
    pub async fn began_with(&self, reported: i64) -> Result<Option<InboxItem>, StoreError> {
        let id: Option<i64> = sqlx::query_scalar(BEGAN_WITH)
            .bind(reported)
            .fetch_optional(self.store.reader())
            .await
            .tried("find what a task began with")?;
        match id {
            Some(id) => self.store.inbox().inbox_item(id).await,
            None => Ok(None),
        }
    }

    /// Shows something in a hub, and that it was looked up to a row.
    pub async fn mirror(
        &self,
        hub: &AdminHub,
        up_to: i64,
        shown: &[Mirrored],
    ) -> Result<Vec<OutboxItem>, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let moved = sqlx::query(
            "UPDATE connectors SET mirrored_to = ?2 WHERE id = ?1 AND mirrored_to < ?2 AND admin_hub = ?3",
        )
        .bind(hub.connector.number())
        .bind(up_to)
        .bind(hub.conversation.id.number())
        .execute(&mut *tx)
        .await
        .tried("keep what was shown in an admin hub")?;
        if moved.rows_affected() == 0 {
            // It is no hub any more, or somebody else was faster.
            return Ok(Vec::new());
        }
        let mut told = Vec::new();
        for Mirrored { user, row, text } in shown {
            let turn = TurnId::of_hub(format_args!("mirror-{row}"));
            let item = push(&mut tx, &hub.conversation, &turn, text, now).await?;
            sqlx::query("INSERT INTO mirrors (outbox_id, user_id) VALUES (?, ?)")
                .bind(item.id)
                .bind(user.number())
                .execute(&mut *tx)
                .await
                .tried("keep whose words are shown")?;
            told.push(item);
        }
        tx.commit().await.tried("show something in an admin hub")?;
        Ok(told)
    }

    /// When somebody was told that what they say is shown in a hub.
    pub async fn told_of_mirror(
        &self,
        hub: &AdminHub,
        user: UserId,
    ) -> Result<Option<i64>, StoreError> {
        sqlx::query_scalar("SELECT told_at FROM mirror_told WHERE conversation = ? AND user_id = ?")
            .bind(hub.conversation.id.number())
            .bind(user.number())
            .fetch_optional(self.store.reader())
            .await
            .tried("find who knows of an admin hub")
    }

    /// Tells somebody, in a conversation of theirs, that what they say is shown in a hub; none: they know.
    pub async fn tell_of_mirror(
        &self,
        hub: &AdminHub,
        user: UserId,
        where_they_are: &Conversation,
        text: &str,
    ) -> Result<Option<OutboxItem>, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let new = sqlx::query(
            "INSERT INTO mirror_told (conversation, user_id, told_at) VALUES (?, ?, ?) \
             ON CONFLICT DO NOTHING",
        )
        .bind(hub.conversation.id.number())
        .bind(user.number())
        .bind(now)
        .execute(&mut *tx)
        .await
        .tried("keep who knows of an admin hub")?;
        if new.rows_affected() == 0 {
            return Ok(None);
        }
        let turn =
            TurnId::of_notice(format_args!("mirrored-{}-{now}", hub.conversation.id.number()));
        let item = push(&mut tx, where_they_are, &turn, text, now).await?;
        tx.commit().await.tried("tell somebody of an admin hub")?;
        Ok(Some(item))
    }

    /// Tells something in a hub, once per key; none: that was done before.
    pub async fn tell_hub(
        &self,
        hub: &AdminHub,
        key: &str,
        text: &str,
    ) -> Result<Option<OutboxItem>, StoreError> {
        let turn = TurnId::of_hub(key);
        let mut tx = self.store.begin().await?;
        let known: bool = sqlx::query_scalar(
            "SELECT EXISTS (SELECT 1 FROM outbox WHERE workspace_id = ? AND turn = ? AND conversation = ?)",
        )
        .bind(hub.conversation.workspace.number())
        .bind(turn.as_str())
        .bind(hub.conversation.id.number())
        .fetch_one(&mut *tx)
        .await
        .tried("look for a notice")?;
        if known {
            return Ok(None);
        }
        let item = push(&mut tx, &hub.conversation, &turn, text, self.store.clock.now_ms()).await?;
        tx.commit().await.tried("tell an admin hub")?;
        Ok(Some(item))
    }

    /// What operators know of every connector.
    pub async fn troubles(&self) -> Result<Vec<Trouble>, StoreError> {
        let rows: Vec<(i64, String, String, Option<String>)> =
            sqlx::query_as("SELECT id, surface, account, trouble_told FROM connectors ORDER BY id")
                .fetch_all(self.store.reader())
                .await
                .tried("list what operators know")?;
        let trouble = |(id, surface, account, told)| Trouble {
            connector: ConnectorId::from_number(id),
            surface,
            account,
            told,
        };
        Ok(rows.into_iter().map(trouble).collect())
    }

    /// Tells hubs that a connector does not work any more, or does again (none), unless they know.
    pub async fn tell_trouble(
        &self,
        connector: ConnectorId,
        trouble: Option<&str>,
        hubs: &[AdminHub],
        text: &str,
    ) -> Result<Vec<OutboxItem>, StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin().await?;
        let changed = sqlx::query(
            "UPDATE connectors SET trouble_told = ?2 WHERE id = ?1 AND trouble_told IS NOT ?2",
        )
        .bind(connector.number())
        .bind(trouble)
        .execute(&mut *tx)
        .await
        .tried("keep what operators know")?;
        if changed.rows_affected() == 0 {
            return Ok(Vec::new());
        }
        let mut told = Vec::new();
        for hub in hubs {
            let turn = TurnId::of_hub(format_args!("connector-{connector}-{now}"));
            told.push(push(&mut tx, &hub.conversation, &turn, text, now).await?);
        }
        tx.commit().await.tried("tell of a connector")?;
        Ok(told)
    }
}

fn into_exchange(row: ExchangeRow) -> Result<Exchange, StoreError> {
    let (id, asked, user, conversation, chat, cause, received_at, answer, answered_at) = row;
    Ok(Exchange {
        row: id,
        asked,
        user: UserId::from_number(user),
        conversation: ConversationId::from_number(conversation),
        chat: ChatId::from_number(chat),
        cause: serde_json::from_str(&cause).map_err(|e| corrupt("cause of a turn", e))?,
        received_at,
        answer,
        answered_at,
    })
}

/// Appends a notice that is told in exactly this conversation.
async fn push(
    tx: &mut Tx,
    to: &Conversation,
    turn: &TurnId,
    text: &str,
    now: i64,
) -> Result<OutboxItem, StoreError> {
    let frame = AgentFrame::Update(Update::Notice { text: text.to_owned() });
    let json = serde_json::to_string(&frame).map_err(|e| corrupt("outbox frame", e))?;
    let id: i64 = sqlx::query_scalar(PUSH)
        .bind(to.workspace.number())
        .bind(to.chat.number())
        .bind(turn.as_str())
        .bind(json)
        .bind(now)
        .bind(to.id.number())
        .fetch_one(&mut *tx)
        .await
        .tried("store what is told")?;
    Ok(OutboxItem {
        id,
        workspace: to.workspace,
        chat: to.chat,
        turn: turn.to_owned(),
        frame,
        created_at: now,
        conversation: Some(to.id),
    })
}

#[cfg(test)]
#[path = "admin_hub_tests.rs"]
mod tests;
