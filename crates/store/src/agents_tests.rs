use std::path::Path;

use super::*;
use crate::db::Store;
use crate::users::UserLimits;

const MOST: u32 = 4;

async fn opened(dir: &Path) -> (Store, WorkspaceId) {
    let store = Store::open(&dir.join("cloister.db")).await.unwrap();
    let limits = UserLimits { quota_bytes: 1, max_executors: 1, daily_budget: 1, task_budget: 1 };
    let user =
        store.users().add_user(&Actor::Operator, &"ada".parse().unwrap(), limits).await.unwrap();
    (store, user.workspace)
}

fn test() -> Actor {
    Actor::person("test")
}

async fn add(store: &Store, workspace: WorkspaceId, name: &str) -> Result<AgentId, StoreError> {
    store.agents().add(&test(), workspace, (name, MOST), None).await
}

async fn new_chat(
    store: &Store,
    workspace: WorkspaceId,
    agent: AgentId,
) -> Result<ChatId, StoreError> {
    let new = chats::NewChat { agent, ..chats::NewChat::default() };
    Ok(store.chats().new_chat(&test(), workspace, new, None).await?.id)
}

/// P13: names are unique whatever their capital letters, in any script, and there is a limit.
#[tokio::test]
async fn names_are_unique_and_there_are_at_most_so_many() {
    let dir = tempfile::tempdir().unwrap();
    let (store, workspace) = opened(dir.path()).await;
    let nora = add(&store, workspace, "Nora").await.unwrap();
    assert_eq!(nora.to_string(), "a2");
    let bender = add(&store, workspace, "Бендер").await.unwrap();
    for taken in ["nora", "NORA", "БЕНДЕР"] {
        let refused = add(&store, workspace, taken).await.unwrap_err();
        assert!(matches!(refused, StoreError::Exists { .. }), "{taken}: {refused}");
    }
    let renamed = AgentChange::Rename("nORA");
    store.agents().change(&test(), (workspace, nora), renamed, None).await.unwrap();
    let taken = AgentChange::Rename("бендер");
    let refused = store.agents().change(&test(), (workspace, nora), taken, None).await;
    assert!(matches!(refused, Err(StoreError::Exists { .. })), "{refused:?}");
    add(&store, workspace, "third").await.unwrap();
    let refused = add(&store, workspace, "fourth").await.unwrap_err();
    assert!(matches!(refused, StoreError::TooMany { .. }), "{refused}");
    // Who is removed makes room, and their number is nobody else's.
    store.agents().change(&test(), (workspace, bender), AgentChange::Remove, None).await.unwrap();
    assert_eq!(add(&store, workspace, "бендер").await.unwrap().to_string(), "a5");
    let back = AgentChange::Restore { most: MOST + 1 };
    let refused = store.agents().change(&test(), (workspace, bender), back, None).await;
    assert!(matches!(refused, Err(StoreError::Exists { .. })), "{refused:?}");
    let back = AgentChange::Restore { most: MOST };
    let refused = store.agents().change(&test(), (workspace, bender), back, None).await;
    assert!(matches!(refused, Err(StoreError::TooMany { .. })), "{refused:?}");
    let names: Vec<_> = store.agents().of(workspace).await.unwrap();
    let names: Vec<_> = names.iter().map(|a| (a.name.as_str(), a.removed)).collect();
    assert_eq!(names, [("nORA", false), ("Бендер", true), ("third", false), ("бендер", false)]);
}

/// A request that comes again makes no second agent and removes nobody twice.
#[tokio::test]
async fn a_request_has_its_effect_once() {
    let dir = tempfile::tempdir().unwrap();
    let (store, workspace) = opened(dir.path()).await;
    let agents = store.agents();
    let made = agents.add(&test(), workspace, ("Nora", MOST), Some("m1")).await.unwrap();
    let again = agents.add(&test(), workspace, ("Nora", MOST), Some("m1")).await.unwrap();
    assert_eq!(made, again);
    let whose = (workspace, made);
    for _ in 0..2 {
        agents.change(&test(), whose, AgentChange::Remove, Some("m2")).await.unwrap();
    }
    let back = AgentChange::Restore { most: MOST };
    agents.change(&test(), whose, back, Some("m3")).await.unwrap();
    agents.change(&test(), whose, AgentChange::Remove, Some("m2")).await.unwrap();
    assert!(!agents.of(workspace).await.unwrap()[0].removed, "the removal came again");
    assert_eq!(agents.of_request(workspace, "m2").await.unwrap(), Some(made));
    assert_eq!(agents.of_request(workspace, "m9").await.unwrap(), None);
}

/// Who is removed has no chats any more, and gets back those that were put away with it and no others.
#[tokio::test]
async fn chats_go_and_come_with_their_agent() {
    let dir = tempfile::tempdir().unwrap();
    let (store, workspace) = opened(dir.path()).await;
    let nora = add(&store, workspace, "Nora").await.unwrap();
    let first = new_chat(&store, workspace, AgentId::FIRST).await.unwrap();
    let older = new_chat(&store, workspace, nora).await.unwrap();
    let newer = new_chat(&store, workspace, nora).await.unwrap();
    assert_eq!(store.chats().agent_of_chat(workspace, newer).await.unwrap(), nora);
    assert_eq!(store.agents().latest_chat(workspace, nora).await.unwrap(), Some(newer));
    store.chats().archive_chat(&test(), workspace, older, true).await.unwrap();
    let whose = (workspace, nora);
    store.agents().change(&test(), whose, AgentChange::Remove, None).await.unwrap();
    let archived = async || {
        let chats = store.chats().of(workspace).await.unwrap();
        chats.into_iter().filter(|c| c.archived).map(|c| c.id).collect::<Vec<_>>()
    };
    assert_eq!(archived().await, [older, newer]);
    assert_eq!(store.agents().latest_chat(workspace, nora).await.unwrap(), None);
    assert!(store.chats().archive_chat(&test(), workspace, newer, false).await.is_err());
    assert!(new_chat(&store, workspace, nora).await.is_err());
    assert!(new_chat(&store, workspace, AgentId::from_number(9)).await.is_err());
    let back = AgentChange::Restore { most: MOST };
    store.agents().change(&test(), whose, back, None).await.unwrap();
    assert_eq!(archived().await, [older]);
    assert_eq!(store.chats().agent_of_chat(workspace, first).await.unwrap(), AgentId::FIRST);
}
