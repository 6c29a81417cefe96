//! Requests that had an effect, and what was answered: the same request again gets the same answer.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::db::{Store, Tx};
use crate::error::{StoreError, Tried, corrupt};

pub(crate) async fn answered<T: DeserializeOwned>(
    tx: &mut Tx,
    scope: &str,
    id: &str,
) -> Result<Option<T>, StoreError> {
    let reply: Option<String> =
        sqlx::query_scalar("SELECT reply FROM requests WHERE scope = ? AND id = ?")
            .bind(scope)
            .bind(id)
            .fetch_optional(&mut *tx)
            .await
            .tried("look up a request")?;
    reply.map(|json| serde_json::from_str(&json).map_err(|e| corrupt("reply", e))).transpose()
}

/// The same for who only wants to know.
pub(crate) async fn known<T: DeserializeOwned>(
    store: &Store,
    scope: &str,
    id: &str,
) -> Result<Option<T>, StoreError> {
    let reply: Option<String> =
        sqlx::query_scalar("SELECT reply FROM requests WHERE scope = ? AND id = ?")
            .bind(scope)
            .bind(id)
            .fetch_optional(store.reader())
            .await
            .tried("look up a request")?;
    reply.map(|json| serde_json::from_str(&json).map_err(|e| corrupt("reply", e))).transpose()
}

pub(crate) async fn remember<T: Serialize + Sync>(
    tx: &mut Tx,
    scope: &str,
    id: &str,
    reply: &T,
    at: i64,
) -> Result<(), StoreError> {
    let reply = serde_json::to_string(reply).map_err(|e| corrupt("reply", e))?;
    sqlx::query("INSERT INTO requests (scope, id, reply, at) VALUES (?, ?, ?, ?)")
        .bind(scope)
        .bind(id)
        .bind(reply)
        .bind(at)
        .execute(&mut *tx)
        .await
        .tried("remember a request")?;
    Ok(())
}
