//! Bots: what was set for them, and what waits to be told them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};

/// How many confirmed updates are remembered, to be told again.
const REMEMBERED_UPDATES: usize = 50;

/// What may be set for a bot with BotFather.
#[derive(Clone, Copy, Debug)]
pub struct BotSettings {
    /// Topics in private chats.
    pub topics: bool,
    /// Whether people may open topics of their own.
    pub people_open_topics: bool,
    /// Privacy mode is off: it gets everything that is said in its groups.
    pub reads_everything: bool,
}

impl Default for BotSettings {
    fn default() -> Self {
        Self { topics: false, people_open_topics: true, reads_everything: true }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Webhook {
    pub(super) url: String,
    pub(super) secret: Option<String>,
    pub(super) max_connections: i64,
    pub(super) last_error: Option<(u64, String)>,
}

#[derive(Debug)]
pub(super) struct Bot {
    pub(super) id: i64,
    pub(super) token: String,
    pub(super) username: String,
    pub(super) settings: BotSettings,
    pub(super) next_update: i64,
    pub(super) next_message: i64,
    pub(super) updates: VecDeque<Value>,
    pub(super) confirmed: VecDeque<Value>,
    /// None: all but those that have to be asked for.
    pub(super) allowed: Option<BTreeSet<String>>,
    /// Counts requests for updates: the one that waits is the last, or it is over.
    pub(super) polls: u64,
    pub(super) polling: bool,
    pub(super) webhook: Option<Webhook>,
    /// Commands by scope and language.
    pub(super) commands: BTreeMap<(String, String), Value>,
    pub(super) descriptions: BTreeMap<(String, String), String>,
    pub(super) logged_out: bool,
}

impl Bot {
    pub(super) fn user(&self) -> Value {
        json!({"id": self.id, "is_bot": true, "first_name": self.username, "username": self.username})
    }

    fn wants(&self, kind: &str) -> bool {
        match &self.allowed {
            Some(allowed) => allowed.contains(kind),
            None => !matches!(kind, "chat_member" | "message_reaction" | "message_reaction_count"),
        }
    }

    pub(super) fn push(&mut self, kind: &str, content: Value) {
        if !self.wants(kind) {
            return;
        }
        let id = self.next_update;
        self.next_update += 1;
        let mut update = json!({"update_id": id});
        update[kind] = content;
        self.updates.push_back(update);
    }

    /// Forgets all before this one.
    pub(super) fn confirm(&mut self, offset: i64) {
        while self.updates.front().is_some_and(|first| first["update_id"].as_i64() < Some(offset)) {
            self.confirmed.extend(self.updates.pop_front());
            if self.confirmed.len() > REMEMBERED_UPDATES {
                self.confirmed.pop_front();
            }
        }
    }
}
