//! Rows that tests of control and of ring 3 begin with: a store on a directory, a bot, a task, a question.

use std::path::Path;

use cloister_protocol::{Answer, ChatId, TaskId, TurnId, UserId, WorkspaceId};
use cloister_store::approvals::{ApprovalKind, NewApproval};
use cloister_store::connectors::NewConnector;
use cloister_store::secrets::MasterPlace;
use cloister_store::tasks::NewTask;
use cloister_store::{Store, StoreOptions};
use cloister_vault::Keyring;

/// The store of a data directory and what it is sealed under; `new`: with a master key made for it.
///
/// # Panics
/// When there is none, or another master key.
pub async fn store_in(dir: &Path, new: bool) -> (Store, Keyring) {
    let database = dir.join("cloister.db");
    let store = Store::open_with(&database, StoreOptions { readers: 1 }).await;
    let store = store.unwrap_or_else(|error| panic!("{}: {error}", database.display()));
    let master = dir.join("master.key");
    if new {
        let made = store.secrets().create_master(&master).await;
        made.unwrap_or_else(|error| panic!("no master key: {error}"));
    }
    let keys = store.secrets().unlock(&MasterPlace::file(&master)).await;
    (store, keys.unwrap_or_else(|error| panic!("the store stays closed: {error}")))
}

/// A bot account of ours.
pub fn bot(surface: &str, account: &str) -> NewConnector {
    NewConnector {
        surface: surface.into(),
        account: account.into(),
        address: "https://example.org".into(),
        settings: serde_json::json!({}),
    }
}

/// What somebody asks for in a chat, and nothing besides.
pub fn task((workspace, chat): (WorkspaceId, ChatId), person: UserId) -> NewTask {
    NewTask {
        workspace,
        chat,
        person,
        parent: None,
        turn: TurnId::of_message(1),
        title: "a task".into(),
        instructions: "do it".into(),
        request: String::new(),
        files: Vec::new(),
        plan_first: false,
        budget: 1,
        hosts: None,
        secrets: None,
        marks: Vec::new(),
    }
}

/// Whether something may be sent out, which one person may answer with yes or no.
pub fn question(
    (workspace, chat): (WorkspaceId, ChatId),
    user: UserId,
    task: Option<TaskId>,
) -> NewApproval {
    NewApproval {
        workspace,
        chat,
        task,
        user,
        kind: ApprovalKind::Effect,
        digest: "0".repeat(64),
        class: "outward".into(),
        reason: "it sends something out".into(),
        sources: Vec::new(),
        people: 1,
        offered: vec![Answer::Allow, Answer::Deny],
        title: "a question".into(),
        text: "send it?".into(),
        describes: String::new(),
        template: None,
        host: None,
        call: None,
        proposal: None,
        raise: None,
        park: false,
    }
}
