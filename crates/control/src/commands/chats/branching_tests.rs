use std::path::Path;

use cloister_store::audit::Entry;
use cloister_store::chats::NewChat;

use super::*;
use crate::test_world::{C1, World};

fn text(at: &Path) -> String {
    std::fs::read_to_string(at).unwrap()
}

/// G4: a branch that was asked for once more, as after a lost answer, got the files of the other chat again, without what
/// marked them by then, over those that had been made in it.
#[tokio::test]
async fn a_branch_that_is_asked_for_again_is_left_as_it_is() {
    let world = World::new().await;
    let (ada, workspace) = (&world.ada, world.ada.workspace);
    let row = world.stored((workspace, C1), ada, "hello", None).await;
    let turn = TurnId::of_message(row.id);
    world.store().outbox().end_turn(row.id, (workspace, C1), &turn, None).await.unwrap();
    world.control.cells().prepare_workspace(workspace, vec![C1]).await.unwrap();
    let layout = world.control.layout();
    std::fs::write(layout.chat_files(workspace, C1).join("a.txt"), "mine").unwrap();
    let branch = async || {
        let branching =
            Branching { workspace, chat: C1, upto: None, title: "", key: "k1", to: Language::En };
        let chats = world.control.chats();
        chats.branch_chat((&Actor::person("ada"), ada.id), branching).await.unwrap().id
    };
    let made = branch().await;
    assert_eq!(text(&layout.chat_files(workspace, made).join("a.txt")), "mine");

    let entry = Entry::new(&Actor::person("eve"), "file.upload", C1);
    world.control.provenance().file_comes_in(workspace, C1, "evil.txt", entry).await.unwrap();
    std::fs::write(layout.chat_incoming(workspace, C1).join("evil.txt"), "evil").unwrap();
    std::fs::write(layout.chat_files(workspace, C1).join("a.txt"), "evil").unwrap();
    std::fs::write(layout.chat_files(workspace, made).join("b.txt"), "made there").unwrap();
    assert_eq!(branch().await, made);
    let files = layout.chat_files(workspace, made);
    assert_eq!(
        (text(&files.join("a.txt")), text(&files.join("b.txt"))),
        ("mine".into(), "made there".into())
    );
    assert!(!layout.chat_incoming(workspace, made).join("evil.txt").exists());
    assert!(
        world.store().approvals().chat_content(workspace, made).await.unwrap().files.is_empty()
    );
}

/// Killed while it was copied, a branch is nobody's chat; asked for again, it has what the other chat has then: nothing
/// half, and nothing that was taken away there meanwhile.
#[tokio::test]
async fn a_branch_that_was_killed_half_way_is_made_whole() {
    let world = World::new().await;
    let (ada, workspace) = (&world.ada, world.ada.workspace);
    let row = world.stored((workspace, C1), ada, "hello", None).await;
    let turn = TurnId::of_message(row.id);
    world.store().outbox().end_turn(row.id, (workspace, C1), &turn, None).await.unwrap();
    let number = world.store().branches().take_number(workspace, "k1").await.unwrap();
    world.control.cells().prepare_workspace(workspace, vec![C1, number]).await.unwrap();
    let layout = world.control.layout();
    let files = layout.chat_files(workspace, number);
    std::fs::write(layout.chat_files(workspace, C1).join("a.txt"), "all of it").unwrap();
    std::fs::write(files.join("a.txt"), "all o").unwrap();
    std::fs::create_dir(files.join("deep")).unwrap();
    std::fs::write(files.join("deep/gone.txt"), "taken away in the other chat").unwrap();
    assert!(world.store().chats().chat(workspace, number).await.is_err(), "it is no chat yet");

    let branching =
        Branching { workspace, chat: C1, upto: None, title: "", key: "k1", to: Language::En };
    let by = (&Actor::person("ada"), ada.id);
    let made = world.control.chats().branch_chat(by, branching).await.unwrap().id;
    assert_eq!(made, number);
    assert_eq!(text(&files.join("a.txt")), "all of it");
    assert!(!files.join("deep/gone.txt").exists());
}

/// Where no chat more may be opened, nothing is copied for one.
#[tokio::test]
async fn a_branch_that_would_be_one_chat_too_many_copies_nothing() {
    let world = World::new().await;
    let (ada, workspace) = (&world.ada, world.ada.workspace);
    let row = world.stored((workspace, C1), ada, "hello", None).await;
    let turn = TurnId::of_message(row.id);
    world.store().outbox().end_turn(row.id, (workspace, C1), &turn, None).await.unwrap();
    world.control.cells().prepare_workspace(workspace, vec![C1]).await.unwrap();
    let layout = world.control.layout();
    std::fs::write(layout.chat_files(workspace, C1).join("a.txt"), "mine").unwrap();
    let actor = Actor::person("ada");
    let mut last = C1;
    while let Ok(chat) =
        world.store().chats().new_chat(&actor, workspace, NewChat::default(), None).await
    {
        last = chat.id;
    }
    let branching =
        Branching { workspace, chat: C1, upto: None, title: "", key: "k1", to: Language::En };
    world.control.chats().branch_chat((&actor, ada.id), branching).await.unwrap_err();
    for number in last.number() + 1..last.number() + 4 {
        let files = layout.chat_files(workspace, ChatId::from_number(number));
        assert!(!files.join("a.txt").exists(), "{number}");
    }
}
