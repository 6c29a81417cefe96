//! Errors as Telegram words them.

use serde_json::{Value, json};

/// What a method is answered with.
pub(super) type Answer = Result<Value, Refusal>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: u16,
    pub(super) description: String,
    pub(super) retry_after: Option<u64>,
    pub(super) migrate_to: Option<i64>,
}

impl Refusal {
    pub(super) fn new(code: u16, description: impl Into<String>) -> Self {
        Self { code, description: description.into(), retry_after: None, migrate_to: None }
    }

    pub(super) fn bad(what: &str) -> Self {
        Self::new(400, format!("Bad Request: {what}"))
    }

    pub(super) fn forbidden(what: &str) -> Self {
        Self::new(403, format!("Forbidden: {what}"))
    }

    pub(super) fn conflict(what: &str) -> Self {
        Self::new(409, format!("Conflict: {what}"))
    }

    pub(super) fn too_many(retry_after: u64) -> Self {
        let description = format!("Too Many Requests: retry after {retry_after}");
        Self { retry_after: Some(retry_after), ..Self::new(429, description) }
    }

    pub(super) fn migrated(to: i64) -> Self {
        let refused = Self::bad("group chat was upgraded to a supergroup chat");
        Self { migrate_to: Some(to), ..refused }
    }

    pub(super) fn envelope(&self) -> Value {
        let mut told =
            json!({"ok": false, "error_code": self.code, "description": self.description});
        if let Some(seconds) = self.retry_after {
            told["parameters"] = json!({"retry_after": seconds});
        }
        if let Some(chat) = self.migrate_to {
            told["parameters"] = json!({"migrate_to_chat_id": chat});
        }
        told
    }
}
