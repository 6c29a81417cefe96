//! Homes: what keeps the conversations of one person together on a surface, such as a Matrix Space.

use cloister_protocol::{ChatId, UserId, WorkspaceId};

use crate::chats::Chats;
use crate::connectors::ConnectorId;
use crate::conversations::{self, ConversationKind, NewConversation};
use crate::db::Tx;
use crate::error::{StoreError, Tried};

/// A room that was wanted and never made, with the home that it was to be in.
struct Unmade {
    id: i64,
    workspace_id: u32,
    chat: u32,
    user_id: u32,
    home: Option<String>,
}

from_row!(Unmade { id, workspace_id, chat, user_id, home });

impl Chats {
    /// What keeps a person's conversations together there.
    pub async fn home(
        &self,
        connector: ConnectorId,
        user: UserId,
    ) -> Result<Option<String>, StoreError> {
        sqlx::query_scalar("SELECT external_id FROM homes WHERE connector_id = ? AND user_id = ?")
            .bind(connector.number())
            .bind(user.number())
            .fetch_optional(self.store.reader())
            .await
            .tried("find a home")
    }

    pub async fn homes(&self, connector: ConnectorId) -> Result<Vec<(UserId, String)>, StoreError> {
        let rows: Vec<(u32, String)> = sqlx::query_as(
            "SELECT user_id, external_id FROM homes WHERE connector_id = ? ORDER BY user_id",
        )
        .bind(connector.number())
        .fetch_all(self.store.reader())
        .await
        .tried("list homes")?;
        Ok(rows.into_iter().map(|(user, id)| (UserId::from_number(user), id)).collect())
    }

    /// Keeps a home, in the place of the one that was known (none: it is forgotten).
    pub async fn set_home(
        &self,
        connector: ConnectorId,
        user: UserId,
        external_id: Option<&str>,
    ) -> Result<(), StoreError> {
        let now = self.store.clock.now_ms();
        let mut tx = self.store.begin_one().await?;
        let query = match external_id {
            Some(id) => sqlx::query(
                "INSERT INTO homes (connector_id, user_id, external_id, created_at) VALUES (?, ?, ?, ?) \
                 ON CONFLICT DO UPDATE SET external_id = excluded.external_id",
            )
            .bind(connector.number())
            .bind(user.number())
            .bind(id)
            .bind(now),
            None => sqlx::query("DELETE FROM homes WHERE connector_id = ? AND user_id = ?")
                .bind(connector.number())
                .bind(user.number()),
        };
        query.execute(&mut *tx).await.tried("keep a home")?;
        tx.commit().await.tried("keep a home")
    }

    /// A surface makes no rooms any more for a person (none: for anybody): they have no home there, and what waits
    /// for a room that is not there is told in their lobby. Says whether anything changed.
    pub async fn give_up_rooms(
        &self,
        connector: ConnectorId,
        user: Option<UserId>,
    ) -> Result<bool, StoreError> {
        let what = "give rooms up";
        let user = user.map(UserId::number);
        let mut tx = self.store.begin().await?;
        let unmade: Vec<Unmade> = sqlx::query_as(
            "SELECT c.id, c.workspace_id, c.chat, c.user_id, homes.external_id AS home \
             FROM conversations c \
             LEFT JOIN homes ON homes.connector_id = c.connector_id AND homes.user_id = c.user_id \
             WHERE c.connector_id = ?1 AND c.kind = 'room' AND c.external_id IS NULL \
               AND c.user_id IS NOT NULL AND (?2 IS NULL OR c.user_id = ?2) ORDER BY c.id",
        )
        .bind(connector.number())
        .bind(user)
        .fetch_all(&mut *tx)
        .await
        .tried(what)?;
        let mut changed = false;
        for room in unmade {
            if let Some(lobby) =
                lobby_of(&mut tx, connector, &room, self.store.clock.now_ms()).await?
            {
                turn_over(&mut tx, room.id, lobby).await?;
                changed = true;
            }
        }
        let homes = sqlx::query(
            "DELETE FROM homes WHERE connector_id = ?1 AND (?2 IS NULL OR user_id = ?2)",
        )
        .bind(connector.number())
        .bind(user)
        .execute(&mut *tx)
        .await
        .tried(what)?;
        tx.commit().await.tried(what)?;
        Ok(changed || homes.rows_affected() > 0)
    }
}

/// The lobby of a person, made where their home is if they never wrote there. None: nobody knows where it would be.
async fn lobby_of(
    tx: &mut Tx,
    connector: ConnectorId,
    room: &Unmade,
    now: i64,
) -> Result<Option<i64>, StoreError> {
    let known: Option<i64> = sqlx::query_scalar(
        "SELECT id FROM conversations WHERE connector_id = ?1 AND user_id = ?2 AND kind = 'lobby' \
           AND external_id IS NOT NULL \
         ORDER BY external_id IS ?3 DESC, broken IS NULL DESC, last_active_at DESC LIMIT 1",
    )
    .bind(connector.number())
    .bind(room.user_id)
    .bind(&room.home)
    .fetch_optional(&mut *tx)
    .await
    .tried("find a lobby")?;
    let (None, Some(home)) = (known, &room.home) else { return Ok(known) };
    let new = NewConversation {
        connector,
        external_id: Some(home.clone()),
        chat: (WorkspaceId::from_number(room.workspace_id), ChatId::from_number(room.chat)),
        kind: ConversationKind::Lobby,
        user: Some(UserId::from_number(room.user_id)),
    };
    conversations::insert(tx, &new, now).await.map(Some)
}

/// What was heard in a room, and is to be told there, belongs to a lobby from now on; the room is no more.
async fn turn_over(tx: &mut Tx, room: i64, lobby: i64) -> Result<(), StoreError> {
    for turn in [
        "UPDATE outbox SET conversation = ?2 WHERE conversation = ?1 AND delivered_at IS NULL",
        "UPDATE inbox SET conversation = ?2 WHERE conversation = ?1",
        "UPDATE chats SET last_conversation = ?2 WHERE last_conversation = ?1",
        "UPDATE workspaces SET last_conversation = ?2 WHERE last_conversation = ?1",
    ] {
        let done = sqlx::query(turn).bind(room).bind(lobby).execute(&mut *tx).await;
        done.tried("turn a room over to a lobby")?;
    }
    for forget in
        ["DELETE FROM posts WHERE conversation = ?", "DELETE FROM conversations WHERE id = ?"]
    {
        let done = sqlx::query(forget).bind(room).execute(&mut *tx).await;
        done.tried("forget a room that is not there")?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "homes_tests.rs"]
mod tests;
