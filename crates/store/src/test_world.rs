//! What tests of every table begin with: a store on a temporary directory, people, a bot.

use cloister_protocol::surface::ConnectorId;

use crate::actor::Actor;
use crate::connectors::NewConnector;
use crate::db::Store;
use crate::users::{User, UserLimits};

/// As little as there can be of everything.
pub(crate) const LIMITS: UserLimits =
    UserLimits { quota_bytes: 1, max_executors: 1, daily_budget: 1, task_budget: 1 };

pub(crate) async fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("cloister.db")).await.unwrap();
    (dir, store)
}

pub(crate) async fn add(store: &Store, name: &str) -> User {
    add_with(store, name, LIMITS).await
}

pub(crate) async fn add_with(store: &Store, name: &str, limits: UserLimits) -> User {
    let name = name.parse().unwrap();
    store.users().add_user(&Actor::Operator, &name, limits).await.unwrap()
}

/// A bot account that somebody connects.
pub(crate) fn bot(surface: &str, account: &str) -> NewConnector {
    NewConnector {
        surface: surface.into(),
        account: account.into(),
        address: "https://a".into(),
        settings: serde_json::json!({}),
    }
}

pub(crate) async fn connector(store: &Store, surface: &str, account: &str) -> ConnectorId {
    let bot = bot(surface, account);
    store.conversations().put_connector(&Actor::person("test"), &bot).await.unwrap().id
}
