use cloister_protocol::admin::IdentityChange;
use cloister_store::Actor;

use super::*;
use crate::config::VersionedChange;
use crate::test_world::{C1, World};

fn test() -> Actor {
    Actor::person("test")
}

async fn add(world: &World, name: &str, manner: &str) -> Result<KnownAgent, AgentError> {
    let agents = world.control.chats().agents();
    agents.add(&test(), world.ada.workspace, NewAgent { name, manner }, None).await
}

fn file(world: &World, path: &str) -> String {
    let dir = world.control.layout().workspace(world.ada.workspace);
    std::fs::read_to_string(dir.join(path)).unwrap_or_default()
}

#[test]
fn names_are_one_word_in_any_script() {
    for name in ["Nora", "Бендер", "小助手", "Anne-Marie", "O'Neil", "Dr.No", "R2D2", "नोरा", "x"]
    {
        assert_eq!(checked_name(name).unwrap(), name);
    }
    assert_eq!(checked_name("  Nora ").unwrap(), "Nora");
    for name in [
        "",
        "  ",
        "two words",
        "a\nb",
        "<b>",
        "*x*",
        "a_b",
        "@ada",
        "/new",
        "!x",
        "no\u{202e}ra",
        "-x",
        ".",
        "a/b",
        "..",
        "“",
        "`x`",
        &"x".repeat(41),
    ] {
        assert!(matches!(checked_name(name), Err(AgentRefusal::NoName)), "{name:?}");
    }
    for name in ["new", "RM", "Undo", "list", "a2", "A17"] {
        assert!(matches!(checked_name(name), Err(AgentRefusal::Reserved { .. })), "{name:?}");
    }
}

/// P13: an agent has a `SOUL.md` of its own, versioned with who made it; the first one's stays as it is.
#[tokio::test]
async fn a_new_agent_has_a_soul_of_its_own() {
    let world = World::new().await;
    let workspace = world.ada.workspace;
    let nora = add(&world, "Nora", "You look after the garden.").await.unwrap();
    assert_eq!(
        file(&world, "agents/a2/SOUL.md"),
        "# Who the agent is\n\nYour name is Nora.\n\nYou look after the garden.\n"
    );
    let plain = add(&world, "Plain", "").await.unwrap();
    let (manner, _) = world.control.config().soul(workspace, plain.id).unwrap();
    assert!(manner.starts_with("You are a helpful"), "{manner}");
    assert!(!file(&world, "SOUL.md").contains("Nora"));
    let log =
        world.control.config().config_log(None, Some("w2/agents/a2/SOUL.md"), 9).await.unwrap();
    assert_eq!(log.len(), 1, "{log:?}");
    assert_eq!(log[0].author, "test");

    let agents = world.control.chats().agents();
    agents.rename(&test(), (workspace, nora.id), "Flora", None).await.unwrap();
    let soul = file(&world, "agents/a2/SOUL.md");
    assert!(soul.contains("Your name is Flora.\n\nYou look after the garden."), "{soul}");
    assert_eq!(agents.find(workspace, "FLORA").await.unwrap().id, nora.id);
    assert_eq!(agents.find(workspace, "a2").await.unwrap().id, nora.id);
    assert!(agents.find(workspace, "Nora").await.is_err());
    // What was seen is what is changed.
    let (_, seen) = world.control.config().soul(workspace, nora.id).unwrap();
    let config = world.control.config();
    let whose = (workspace, nora.id);
    config.change_soul(&test(), whose, "Flora", ("Brief.", Some(&seen))).await.unwrap();
    let late = config.change_soul(&test(), whose, "Flora", ("Late.", Some(&seen))).await;
    assert!(late.is_err());
    assert!(file(&world, "agents/a2/SOUL.md").contains("Brief."));
}

/// The first agent's name is as taken as any other's, and it can't be removed.
#[tokio::test]
async fn the_first_agent_is_one_of_them() {
    let world = World::new().await;
    let workspace = world.ada.workspace;
    let named = |name: &str| IdentityChange {
        agent_name: Some(name.to_owned()),
        ..IdentityChange::default()
    };
    let config = world.control.config();
    config.write_identity(&test(), workspace, &named("Gustav")).await.unwrap();
    let refused = add(&world, "GUSTAV", "").await.unwrap_err();
    assert!(refused.to_string().contains("already"), "{refused}");
    let nora = add(&world, "Nora", "").await.unwrap();
    let agents = world.control.chats().agents();
    assert!(agents.rename(&test(), (workspace, nora.id), "gustav", None).await.is_err());
    assert!(config.write_identity(&test(), workspace, &named("nora")).await.is_err());
    agents.rename(&test(), (workspace, AgentId::FIRST), "Hugo", None).await.unwrap();
    assert_eq!(config.agent_name(workspace).as_deref(), Some("Hugo"));
    assert!(agents.remove(&test(), (workspace, AgentId::FIRST), None).await.is_err());
    assert_eq!(agents.of(workspace).await.unwrap().len(), 2);
}

/// What is about the person is every agent's, as it is now; nothing else of one is another's.
#[tokio::test]
async fn what_is_about_the_person_is_shared() {
    let world = World::new().await;
    let workspace = world.ada.workspace;
    let nora = add(&world, "Nora", "").await.unwrap();
    world.control.cells().prepare_workspace(workspace, vec![C1]).await.unwrap();
    let agents = world.control.chats().agents();
    agents.prepare(workspace, nora.id).await.unwrap();
    let change = |path: &str, text: &str| VersionedChange {
        workspace,
        path: path.to_owned(),
        text: text.to_owned(),
        why: "the test".to_owned(),
    };
    let config = world.control.config();
    config.write_versioned(&test(), change("USER.md", "She gardens.\n")).await.unwrap();
    assert_eq!(file(&world, "agents/a2/USER.md"), "She gardens.\n");
    config.write_versioned(&test(), change("MEMORY.md", "of the first\n")).await.unwrap();
    assert!(!file(&world, "agents/a2/MEMORY.md").contains("of the first"));
    config.write_versioned(&test(), change("agents/a2/MEMORY.md", "of Nora\n")).await.unwrap();
    assert_eq!(file(&world, "MEMORY.md"), "of the first\n");
    // The copy is no document of its own, and nothing lies where no agent is.
    for nowhere in ["agents/a2/USER.md", "agents/a1/SOUL.md", "agents/SOUL.md", "agents/a2/chats/x"]
    {
        assert!(config.write_versioned(&test(), change(nowhere, "x")).await.is_err(), "{nowhere}");
    }
    // Changed by hand, it is the next coordinator's.
    let by_hand = world.control.layout().workspace(workspace).join("USER.md");
    std::fs::write(by_hand, "She sails.\n").unwrap();
    agents.prepare(workspace, nora.id).await.unwrap();
    assert_eq!(file(&world, "agents/a2/USER.md"), "She sails.\n");
    // Put back, it is an agent's own, too.
    let scope = crate::ConfigScope::Workspace(workspace);
    let path = Some("agents/a2/MEMORY.md");
    config.write_versioned(&test(), change("agents/a2/MEMORY.md", "worse\n")).await.unwrap();
    config.config_rollback(&test(), scope, path, "latest~1").await.unwrap();
    assert_eq!(file(&world, "agents/a2/MEMORY.md"), "of Nora\n");
    assert_eq!(file(&world, "MEMORY.md"), "of the first\n");
}
