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

/// Issue 13: where no chat more may be opened, nothing is copied for one.
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
