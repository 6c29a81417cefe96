//! What is known of a person's presence: whether they were ever here, and where they look first.

use cloister_protocol::{ChatId, UserId, WorkspaceId};

use crate::db::Tx;
use crate::error::{StoreError, Tried};
use crate::users::Users;

const NEWCOMER: &str = "SELECT NOT (EXISTS (SELECT 1 FROM identities WHERE user_id = ?1) \
       OR EXISTS (SELECT 1 FROM tokens WHERE user_id = ?1 AND (kind = 'session' OR used_at IS NOT NULL)) \
       OR EXISTS (SELECT 1 FROM users WHERE id = ?1 AND start_offered_at IS NOT NULL) \
       OR EXISTS (SELECT 1 FROM inbox i JOIN workspaces w ON w.id = i.workspace_id WHERE w.user_id = ?1))";

/// Whether nobody was ever here as this person: no account, no session, no login, no message. There is nobody to
/// ask then, and nothing to read.
pub(crate) async fn is_newcomer(tx: &mut Tx, user: UserId) -> Result<bool, StoreError> {
    sqlx::query_scalar(NEWCOMER)
        .bind(user.number())
        .fetch_one(tx)
        .await
        .tried("see whether a person was here before")
}

const LAST_CHAT: &str = "SELECT c.number FROM chats c WHERE c.workspace_id = ?1 AND c.archived_at IS NULL \
     ORDER BY coalesce((SELECT max(i.id) FROM inbox i \
       WHERE i.workspace_id = c.workspace_id AND i.chat = c.number), 0) DESC, c.number LIMIT 1";

/// Where a person or community is told what answers nothing; none where the account is gone.
pub(crate) async fn last_place_of(
    tx: &mut Tx,
    user: UserId,
) -> Result<Option<(WorkspaceId, ChatId)>, StoreError> {
    let workspace: Option<u32> = sqlx::query_scalar("SELECT id FROM workspaces WHERE user_id = ?")
        .bind(user.number())
        .fetch_optional(&mut *tx)
        .await
        .tried("find a user's workspace")?;
    let Some(workspace) = workspace else { return Ok(None) };
    let chat: Option<u32> = sqlx::query_scalar(LAST_CHAT)
        .bind(workspace)
        .fetch_optional(tx)
        .await
        .tried("find the chat that was used last")?;
    Ok(Some((WorkspaceId::from_number(workspace), ChatId::from_number(chat.unwrap_or(1)))))
}

impl Users {
    /// Whether nobody was ever here as this person.
    pub async fn is_newcomer(&self, user: UserId) -> Result<bool, StoreError> {
        sqlx::query_scalar(NEWCOMER)
            .bind(user.number())
            .fetch_one(self.store.reader())
            .await
            .tried("see whether a person was here before")
    }

    /// The chat that was written in last, or else the first that is not put away.
    pub async fn last_chat(&self, workspace: WorkspaceId) -> Result<ChatId, StoreError> {
        let number: Option<u32> = sqlx::query_scalar(LAST_CHAT)
            .bind(workspace.number())
            .fetch_optional(self.store.reader())
            .await
            .tried("find the chat that was used last")?;
        Ok(ChatId::from_number(number.unwrap_or(1)))
    }
}
