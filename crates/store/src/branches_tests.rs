use cloister_protocol::{Attachment, Usage};

use super::*;
use crate::db::Store;
use crate::history::{Cursor, Entry};
use crate::inbox::{Inbound, Meant};
use crate::users::UserLimits;

const FIRST: ChatId = ChatId::from_number(1);

async fn world() -> (tempfile::TempDir, Store, WorkspaceId) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("cloister.db")).await.unwrap();
    let limits = UserLimits { quota_bytes: 1, max_executors: 1, daily_budget: 1, task_budget: 1 };
    let user =
        store.users().add_user(&Actor::Operator, &"ada".parse().unwrap(), limits).await.unwrap();
    store.chats().ensure_first_chat(&Actor::person("ada"), user.workspace).await.unwrap();
    (dir, store, user.workspace)
}

/// Somebody says something, and it is answered.
async fn talk(store: &Store, workspace: WorkspaceId, text: &str) -> i64 {
    talk_instead(store, workspace, text, None).await
}

/// The same, in place of what was said from a row on.
async fn talk_instead(store: &Store, workspace: WorkspaceId, text: &str, of: Option<i64>) -> i64 {
    let file = Attachment {
        path: "chats/C1/incoming/a.txt".into(),
        name: "a.txt".into(),
        mime: "text/plain".into(),
        size: 1,
    };
    let (from, text_of, instead) = ("ada".into(), text.into(), of.map(TurnId::of_message));
    let cause = Cause::Message { from, text: text_of, attachments: vec![file], instead };
    let (external_id, meant) = (format!("{workspace}:C1:{text}"), Meant::Words);
    let source = "socket".to_owned();
    let said =
        Inbound { source, external_id, workspace, chat: FIRST, cause, meant, heard_in: None };
    let id = store.inbox().accept(said).await.unwrap().item.id;
    let turn = TurnId::of_message(id);
    let end = AgentFrame::End(End {
        turn: turn.clone(),
        message: None,
        text: format!("echo: {text}"),
        usage: Usage::default(),
        error: None,
    });
    store.outbox().end_turn(id, (workspace, FIRST), &turn, Some(&end)).await.unwrap();
    id
}

fn branch(workspace: WorkspaceId, number: ChatId, upto: i64) -> NewBranch<'static> {
    NewBranch {
        workspace,
        from: FIRST,
        upto,
        number,
        title: "",
        notice: "a branch",
        notice_if_cut: "cut",
        heard_if_cut: &[],
    }
}

async fn shown(store: &Store, workspace: WorkspaceId, chat: ChatId) -> Vec<String> {
    let page = store.inbox().history(workspace, chat, Cursor::NEWEST, 50).await.unwrap();
    let entry = |entry: Entry| match entry {
        Entry::Said(item) => match item.cause {
            Cause::Message { text, attachments, .. } => format!("{text} {}", attachments[0].path),
            _ => String::new(),
        },
        Entry::Told(item) => match item.frame {
            AgentFrame::End(end) => {
                assert_eq!(end.turn, item.turn);
                end.text
            }
            AgentFrame::Update(Update::Notice { text }) => text,
            _ => String::new(),
        },
    };
    page.entries.into_iter().map(entry).collect()
}

#[tokio::test]
async fn a_branch_begins_with_the_conversation_up_to_there() {
    let (_dir, store, workspace) = world().await;
    let one = talk(&store, workspace, "one").await;
    let two = talk(&store, workspace, "two").await;
    talk(&store, workspace, "three").await;
    let branches = store.branches();
    let number = branches.take_number(workspace, "key").await.unwrap();
    assert_eq!(branches.take_number(workspace, "key").await.unwrap(), number);
    let actor = Actor::person("ada");
    branches.branch(&actor, branch(workspace, number, two)).await.unwrap();
    // Made once, however often it is asked for.
    branches.branch(&actor, branch(workspace, number, two)).await.unwrap();
    // In the order of the other chat, whatever fell into one millisecond there; with files of its own.
    let there = shown(&store, workspace, FIRST).await;
    let up_to_two = there.iter().filter(|text| !text.contains("three"));
    let mut all: Vec<_> =
        up_to_two.map(|text| text.replace("chats/C1/", &format!("chats/{number}/"))).collect();
    all.push("a branch".into());
    assert_eq!(all.len(), 5, "{all:?}");
    assert_eq!(shown(&store, workspace, number).await, all);
    assert_eq!(shown(&store, workspace, FIRST).await.len(), 6, "the other chat is as it was");
    assert!(
        store.inbox().unanswered(workspace).await.unwrap().is_empty(),
        "nothing is answered again"
    );
    assert_eq!(branches.last_answered(workspace, FIRST, one).await.unwrap(), Some(one));
}

/// What was edited or asked again is not what was said any more: a branch begins without it, unless it is a branch of it.
#[tokio::test]
async fn a_branch_begins_without_what_was_taken_the_place_of() {
    let (_dir, store, workspace) = world().await;
    talk(&store, workspace, "one").await;
    let wrong = talk(&store, workspace, "wrnog").await;
    let after = talk(&store, workspace, "after").await;
    let right = talk_instead(&store, workspace, "right", Some(wrong)).await;
    let last = talk_instead(&store, workspace, "righter", Some(right)).await;
    let replaced = store.inbox().replaced(workspace, FIRST).await.unwrap();
    assert_eq!(replaced, [wrong..right, right..last]);
    let since =
        async |person| store.inbox().others_since((workspace, FIRST), wrong, person).await.unwrap();
    assert!(!since("ada").await && since("bob").await);
    let branches = store.branches();
    let texts = async |key: &str, upto: i64| {
        let number = branches.take_number(workspace, key).await.unwrap();
        branches.branch(&Actor::person("ada"), branch(workspace, number, upto)).await.unwrap();
        assert!(store.inbox().replaced(workspace, number).await.unwrap().is_empty());
        let begun = branches.begun_with(workspace, number).await.unwrap();
        begun.into_iter().map(|one| one.end.text).collect::<Vec<_>>()
    };
    assert_eq!(texts("new", last).await, ["echo: one", "echo: righter"]);
    assert_eq!(texts("old", after).await, ["echo: one", "echo: wrnog", "echo: after"]);
}

#[tokio::test]
async fn the_agent_gets_what_a_branch_began_with_until_it_has_answered_there() {
    let (_dir, store, workspace) = world().await;
    let branches = store.branches();
    assert!(branches.begun_with(workspace, FIRST).await.unwrap().is_empty());
    talk(&store, workspace, "forgotten").await;
    store.inbox().clear(&Actor::person("ada"), (workspace, FIRST), "k").await.unwrap();
    let cleared = store.inbox().unanswered(workspace).await.unwrap().remove(0).id;
    let turn = TurnId::of_message(cleared);
    store.outbox().end_turn(cleared, (workspace, FIRST), &turn, None).await.unwrap();
    let upto = talk(&store, workspace, "remembered").await;
    let number = branches.take_number(workspace, "key").await.unwrap();
    branches.branch(&Actor::person("ada"), branch(workspace, number, upto)).await.unwrap();
    let begun = branches.begun_with(workspace, number).await.unwrap();
    let texts: Vec<_> = begun.iter().map(|one| one.end.text.as_str()).collect();
    assert_eq!(texts, ["echo: remembered"], "what was cleared stays forgotten");
    assert_eq!(begun[0].end.turn, TurnId::of_message(begun[0].said.id));
}

#[tokio::test]
async fn what_marks_the_content_of_a_chat_marks_its_branches() {
    let (_dir, store, workspace) = world().await;
    let upto = talk(&store, workspace, "one").await;
    let entry = audit::Entry::new(&Actor::person("ada"), "file.upload", FIRST);
    store.approvals().mark_chat_files(workspace, FIRST, "file:a.txt", entry).await.unwrap();
    let number = store.branches().take_number(workspace, "key").await.unwrap();
    store.branches().branch(&Actor::person("ada"), branch(workspace, number, upto)).await.unwrap();
    let content = store.approvals().chat_content(workspace, number).await.unwrap();
    assert_eq!(content.files, ["file:a.txt"]);
}

/// P13: who answered in the other chat answers in the branch.
#[tokio::test]
async fn a_branch_is_with_the_agent_of_the_other_chat() {
    let (_dir, store, workspace) = world().await;
    let ada = Actor::person("ada");
    let nora = store.agents().add(&ada, workspace, ("Nora", 4), None).await.unwrap();
    let new = chats::NewChat { agent: nora, ..chats::NewChat::default() };
    let from = store.chats().new_chat(&ada, workspace, new, None).await.unwrap().id;
    let number = store.branches().take_number(workspace, "key").await.unwrap();
    let made = NewBranch { from, ..branch(workspace, number, 0) };
    assert_eq!(store.branches().branch(&ada, made).await.unwrap().agent, nora);
    assert_eq!(store.chats().agent_of_chat(workspace, number).await.unwrap(), nora);
}

/// G4: what is left behind of a long chat still counts for what goes on from it.
#[tokio::test]
async fn what_a_long_chat_has_heard_marks_a_branch_that_begins_later() {
    let (_dir, store, workspace) = world().await;
    let heard = ["person:eve".to_owned()];
    let history = async |key: &str, upto: i64| {
        let number = store.branches().take_number(workspace, key).await.unwrap();
        let new = NewBranch { heard_if_cut: &heard, ..branch(workspace, number, upto) };
        store.branches().branch(&Actor::person("ada"), new).await.unwrap();
        store.approvals().chat_content(workspace, number).await.unwrap().history
    };
    let upto = talk(&store, workspace, "one").await;
    assert!(history("short", upto).await.is_empty(), "all that was heard is in it");
    let mut tx = store.begin().await.unwrap();
    sqlx::query(
        "WITH RECURSIVE n (at) AS (SELECT 1 UNION ALL SELECT at + 1 FROM n WHERE at < ?1) \
         INSERT INTO inbox (source, external_id, workspace_id, chat, cause, state, received_at) \
         SELECT 'test', 'more' || at, workspace_id, chat, cause, state, received_at FROM inbox, n WHERE id = ?2",
    )
    .bind(MOST_ROWS)
    .bind(upto)
    .execute(&mut *tx)
    .await
    .unwrap();
    tx.commit().await.unwrap();
    assert_eq!(history("long", i64::MAX).await, heard);
}

/// A copy holds the only writer: what is copied is bounded, the newest first, and says that it was cut.
#[tokio::test]
async fn a_branch_of_a_long_chat_copies_a_bounded_part_of_it() {
    let (_dir, store, workspace) = world().await;
    let mut last = 0;
    for number in 0..20 {
        last = talk(&store, workspace, &format!("{number} {}", "x".repeat(200_000))).await;
    }
    let branches = store.branches();
    let number = branches.take_number(workspace, "long").await.unwrap();
    branches.branch(&Actor::person("ada"), branch(workspace, number, last)).await.unwrap();
    let begun = branches.begun_with(workspace, number).await.unwrap();
    assert!((2..8).contains(&begun.len()), "{}", begun.len());
    assert!(begun.last().is_some_and(|turn| turn.end.text.starts_with("echo: 19 ")));
    let told = shown(&store, workspace, number).await;
    assert!(told.last().is_some_and(|notice| notice.contains("cut")), "the notice says so");
}

#[tokio::test]
async fn a_workspace_has_a_bounded_number_of_branches() {
    let (_dir, store, workspace) = world().await;
    let said = talk(&store, workspace, "hello").await;
    let branches = store.branches();
    branches.take_number(workspace, "taken before").await.unwrap();
    for number in 0..MOST_BRANCHES {
        let number = branches.take_number(workspace, &number.to_string()).await.unwrap();
        branches.branch(&Actor::person("ada"), branch(workspace, number, said)).await.unwrap();
    }
    let refused = branches.take_number(workspace, "one more").await.unwrap_err();
    assert!(matches!(refused, StoreError::TooMany { .. }), "{refused}");
    branches.take_number(workspace, "0").await.unwrap();
    // A number is no place of its own: who took many could make that many.
    let refused = branches.take_number(workspace, "taken before").await.unwrap_err();
    assert!(matches!(refused, StoreError::TooMany { .. }), "{refused}");
}
