use cloister_protocol::{AgentFrame, Update};

use super::*;
use crate::actor::Actor;
use crate::db::Store;
use crate::inbox::{Inbound, Meant};
use crate::test_world;

async fn chat_of(lines: usize) -> (tempfile::TempDir, Store, WorkspaceId, ChatId) {
    let (dir, store) = test_world::store().await;
    let user = test_world::add(&store, "alice").await;
    let chat =
        store.chats().new_chat(&Actor::person("test"), user.workspace, "", None).await.unwrap().id;
    for n in 0..lines {
        let cause = Cause::Message {
            from: "alice".into(),
            text: n.to_string(),
            attachments: vec![],
            instead: None,
        };
        let external_id = format!("{}:{chat}:m{n}", user.workspace);
        let (source, workspace) = ("socket".to_owned(), user.workspace);
        store
            .inbox()
            .accept(Inbound {
                source,
                external_id,
                workspace,
                chat,
                cause,
                meant: Meant::Words,
                heard_in: None,
            })
            .await
            .unwrap();
        let frame = AgentFrame::Update(Update::Notice { text: n.to_string() });
        store.outbox().notify((user.workspace, chat), &n.to_string(), &frame).await.unwrap();
    }
    (dir, store, user.workspace, chat)
}

fn texts(page: &HistoryPage) -> Vec<String> {
    page.entries
        .iter()
        .map(|entry| match entry {
            Entry::Said(InboxItem { cause: Cause::Message { text, .. }, .. }) => format!("s{text}"),
            Entry::Told(OutboxItem {
                frame: AgentFrame::Update(Update::Notice { text }), ..
            }) => format!("t{text}"),
            other => panic!("{other:?}"),
        })
        .collect()
}

#[tokio::test]
async fn pages_show_everything_once_whatever_their_size() {
    let (_dir, store, workspace, chat) = chat_of(12).await;
    for size in [1, 5, 7, 24, 100] {
        let mut cursor = Some(Cursor::NEWEST);
        let mut seen = Vec::new();
        while let Some(at) = cursor {
            let page = store.inbox().history(workspace, chat, at, size).await.unwrap();
            let mut texts = texts(&page);
            texts.extend(seen);
            seen = texts;
            cursor = page.older;
        }
        let (said, told): (Vec<_>, Vec<_>) = seen.iter().partition(|text| text.starts_with('s'));
        let expected = |letter: &str| (0..12).map(|n| format!("{letter}{n}")).collect::<Vec<_>>();
        assert_eq!(said.into_iter().cloned().collect::<Vec<_>>(), expected("s"), "size {size}");
        assert_eq!(told.into_iter().cloned().collect::<Vec<_>>(), expected("t"), "size {size}");
    }
}

#[tokio::test]
async fn a_message_is_found_in_its_own_chat_only() {
    let (_dir, store, workspace, chat) = chat_of(1).await;
    let other =
        store.chats().new_chat(&Actor::person("test"), workspace, "", None).await.unwrap().id;
    assert!(store.inbox().said(workspace, chat, 1).await.unwrap().is_some());
    assert!(store.inbox().said(workspace, other, 1).await.unwrap().is_none());
    assert!(store.inbox().last_told(workspace, chat).await.unwrap() > 0);
    assert_eq!(store.inbox().last_told(workspace, other).await.unwrap(), 0);
}

/// Whoever writes as long messages as they may makes more pages of them, and no larger ones; none is lost.
#[tokio::test]
async fn a_page_holds_a_bounded_part_of_long_messages() {
    let (_dir, store, workspace, chat) = chat_of(0).await;
    for n in 0..12 {
        let text = format!("{n} {}", "x".repeat(250_000));
        let cause =
            Cause::Message { from: "alice".into(), text, attachments: vec![], instead: None };
        let (external_id, source) = (format!("{workspace}:{chat}:m{n}"), "socket".to_owned());
        let meant = Meant::Words;
        let said = Inbound { source, external_id, workspace, chat, cause, meant, heard_in: None };
        store.inbox().accept(said).await.unwrap();
        let frame = AgentFrame::Update(Update::Notice { text: "x".repeat(250_000) });
        store.outbox().notify((workspace, chat), &n.to_string(), &frame).await.unwrap();
    }
    let (mut cursor, mut seen, mut pages) = (Some(Cursor::NEWEST), 0, 0);
    while let Some(at) = cursor {
        let page = store.inbox().history(workspace, chat, at, 1600).await.unwrap();
        assert!(!page.entries.is_empty() && page.entries.len() < 12, "{}", page.entries.len());
        (seen, pages, cursor) = (seen + page.entries.len(), pages + 1, page.older);
    }
    assert!(seen == 24 && pages > 2, "{seen} entries on {pages} pages");
}
