use cloister_protocol::link::Cause;

use super::*;
use crate::db::Store;
use crate::history::{Cursor, Entry};
use crate::inbox::{Inbound, Meant};
use crate::test_world;

async fn world() -> (tempfile::TempDir, Store, WorkspaceId) {
    let (dir, store) = test_world::store().await;
    let user = test_world::add(&store, "ada").await;
    for title in ["", "", "Taxes"] {
        let actor = Actor::person("test");
        store.chats().new_chat(&actor, user.workspace, title, None).await.unwrap();
    }
    (dir, store, user.workspace)
}

async fn say(store: &Store, workspace: WorkspaceId, chat: u32, text: &str) {
    let cause = Cause::Message {
        from: "ada".into(),
        text: text.into(),
        attachments: vec![],
        instead: None,
    };
    let (chat, external_id) = (ChatId::from_number(chat), format!("{workspace}:{chat}:{text}"));
    let (source, meant) = ("socket".to_owned(), Meant::Words);
    let said = Inbound { source, external_id, workspace, chat, cause, meant, heard_in: None };
    store.inbox().accept(said).await.unwrap();
}

#[tokio::test]
async fn a_chat_without_a_name_is_known_by_its_first_words() {
    let (_dir, store, workspace) = world().await;
    for text in ["/help", "!new peas", "plant beans", "and peas"] {
        say(&store, workspace, 1, text).await;
    }
    let listed = store.chats().listed(workspace).await.unwrap();
    let openings: Vec<_> = listed.iter().map(|one| (one.opening.as_deref(), one.empty)).collect();
    assert_eq!(openings, [(Some("plant beans"), false), (None, true), (None, true)]);
    let called: Vec<String> = listed.iter().map(ListedChat::called).collect();
    assert_eq!(called, ["plant beans", "", "Taxes"]);
    let long = ListedChat { opening: Some("ä".repeat(99)), ..listed[0].clone() };
    assert_eq!(long.called(), format!("{}…", "ä".repeat(60)));
    let second = ChatId::from_number(2);
    store.chats().pin_chat(&Actor::person("ada"), workspace, second, true).await.unwrap();
    let pinned = |listed: Vec<ListedChat>| listed.iter().map(|one| one.pinned).collect::<Vec<_>>();
    assert_eq!(pinned(store.chats().listed(workspace).await.unwrap()), [false, true, false]);
    store.chats().pin_chat(&Actor::person("ada"), workspace, second, false).await.unwrap();
    assert_eq!(pinned(store.chats().listed(workspace).await.unwrap()), [false; 3]);
}

/// A chat is used when something is said in it, and when it is made.
#[tokio::test]
async fn a_chat_is_used_when_something_is_said_in_it() {
    let (_dir, store, workspace) = world().await;
    let before = store.chats().listed(workspace).await.unwrap();
    let unused: Vec<_> = before.iter().map(|one| one.chat.created_at).collect();
    let used = |listed: Vec<ListedChat>| listed.iter().map(|one| one.used_at).collect::<Vec<_>>();
    assert_eq!(used(before), unused);
    say(&store, workspace, 1, "first").await;
    let said = store.inbox().history(workspace, ChatId::from_number(1), Cursor::NEWEST, 1).await;
    let at = said.unwrap().entries.iter().find_map(|entry| match entry {
        Entry::Said(item) => Some(item.received_at),
        Entry::Told(_) => None,
    });
    let after = used(store.chats().listed(workspace).await.unwrap());
    assert_eq!((after.first().copied(), after.get(1..)), (at, unused.get(1..)));
}

#[tokio::test]
async fn words_are_found_to_the_letter_and_in_no_other_workspace() {
    let (_dir, store, workspace) = world().await;
    say(&store, workspace, 1, "Plant 100% beans").await;
    say(&store, workspace, 2, "plant 1000 beans").await;
    let found = store.chats().find_words(workspace, "PLANT 100%", 10).await.unwrap().found;
    let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["Plant 100% beans"]);
    let apart = store.chats().find_words(workspace, "  beans 1000 ", 10).await.unwrap().found;
    let texts: Vec<&str> = apart.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["plant 1000 beans"], "all of the words, in any order");
    assert!(store.chats().find_words(workspace, "beans peas", 10).await.unwrap().found.is_empty());
    assert_eq!(store.chats().find_words(workspace, "beans", 10).await.unwrap().found.len(), 2);
    assert_eq!(store.chats().find_words(workspace, "beans", 1).await.unwrap().found.len(), 1);
    let other = WorkspaceId::from_number(workspace.number() + 1);
    assert!(store.chats().find_words(other, "beans", 10).await.unwrap().found.is_empty());
}

#[tokio::test]
async fn capital_letters_do_not_count_in_any_script() {
    let (_dir, store, workspace) = world().await;
    for text in ["Купить ХЛЕБ", "Die STRASSE ist lang", "ΟΔΟΣ Αθηνών", "ÉTÉ à Łódź"]
    {
        say(&store, workspace, 1, text).await;
    }
    for (words, whole) in [
        ("купить хлеб", "Купить ХЛЕБ"),
        ("Straße", "Die STRASSE ist lang"),
        ("οδοσ", "ΟΔΟΣ Αθηνών"),
        ("οδος", "ΟΔΟΣ Αθηνών"),
        ("été À łÓDŹ", "ÉTÉ à Łódź"),
    ] {
        let found = store.chats().find_words(workspace, words, 10).await.unwrap().found;
        let texts: Vec<&str> = found.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, [whole], "{words}");
    }
}

/// What is found may lie behind any number of newer entries.
#[tokio::test]
async fn old_words_are_found_behind_many_new_ones() {
    let (_dir, store, workspace) = world().await;
    say(&store, workspace, 1, "the first beans").await;
    for number in 0..(2 * BATCH) {
        say(&store, workspace, 1, &format!("peas {number}")).await;
    }
    assert_eq!(store.chats().find_words(workspace, "BEANS", 5).await.unwrap().found.len(), 1);
    assert_eq!(store.chats().find_words(workspace, "peas", 5).await.unwrap().found.len(), 5);
}

/// Whoever writes long messages and looks for the same word again and again has each of them compared once.
#[test]
fn a_search_looks_for_each_word_once_and_for_a_bounded_number() {
    assert_eq!(wanted_words(&"q Q ".repeat(50)), ["q"]);
    let many: String = (0..100).map(|number| format!("w{number} ")).collect();
    assert_eq!(wanted_words(&many).len(), 16);
}

#[tokio::test]
async fn a_search_reads_a_bounded_part_and_says_so() {
    let (_dir, store, workspace) = world().await;
    let long = "x".repeat(700 << 10);
    say(&store, workspace, 1, "the first beans").await;
    for number in 0..60 {
        say(&store, workspace, 1, &format!("{number} {long}")).await;
    }
    let finds = store.chats().find_words(workspace, "beans", 10).await.unwrap();
    assert!(finds.cut && finds.found.is_empty());
    let newest = store.chats().find_words(workspace, "59", 1).await.unwrap();
    assert!(!newest.cut && newest.found.len() == 1);
}
