//! No entry, no effect: every kind of effect, against a database that takes no more entries.

use cloister_protocol::link::Cause;
use cloister_protocol::{AgentFrame, ChatId, End, TurnId, Usage, UserName};
use cloister_vault::{Binding, Form, Keyring, Owner};

use super::*;
use crate::inbox::{Inbound, Meant, MostOpen, Taken};
use crate::secrets::{MasterPlace, NewSecret};
use crate::tasks::NewTask;
use crate::test_world::{self, LIMITS};
use crate::tokens::TokenKind;
use crate::users::User;

const C1: ChatId = ChatId::from_number(1);

struct World {
    dir: tempfile::TempDir,
    store: Store,
    ada: User,
}

impl World {
    async fn new() -> Self {
        let (dir, store) = test_world::store().await;
        let ada = test_world::add(&store, "ada").await;
        store.chats().ensure_first_chat(&Actor::person("test"), ada.workspace).await.unwrap();
        Self { dir, store, ada }
    }

    async fn keys(&self) -> Keyring {
        let master = self.dir.path().join("master.key");
        self.store.secrets().create_master(&master).await.unwrap();
        self.store.secrets().unlock(&MasterPlace::file(&master)).await.unwrap()
    }

    async fn run(&self, sql: &'static str) {
        let mut tx = self.store.begin_one().await.unwrap();
        sqlx::query(sql).execute(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
    }

    /// From here on no entry can be written.
    async fn close_the_book(&self) {
        self.run(
            "CREATE TRIGGER no_entries BEFORE INSERT ON audit_entries BEGIN \
             SELECT RAISE(ABORT, 'the disk is full'); END",
        )
        .await;
    }

    /// All rows of everything but the audit.
    async fn everything(&self) -> String {
        let mut all = String::new();
        for kind in self.store.platform().personal_kinds().await.unwrap() {
            let (records, _) =
                self.store.platform().personal_records(self.ada.id, &kind, 0).await.unwrap();
            all.push_str(&format!("{kind} {records:?}\n"));
        }
        let models: Vec<String> = sqlx::query_scalar("SELECT name FROM models")
            .fetch_all(self.store.reader())
            .await
            .unwrap();
        let users: Vec<String> = sqlx::query_scalar("SELECT name FROM users")
            .fetch_all(self.store.reader())
            .await
            .unwrap();
        format!("{all}{models:?}{users:?}")
    }

    async fn take(&self, id: &str) -> Result<Taken, StoreError> {
        let inbound = Inbound {
            source: "socket".to_owned(),
            external_id: id.to_owned(),
            workspace: self.ada.workspace,
            chat: C1,
            cause: Cause::Message {
                from: "ada".to_owned(),
                text: id.to_owned(),
                attachments: Vec::new(),
                instead: None,
            },
            meant: Meant::Words,
            heard_in: None,
        };
        self.store
            .inbox()
            .take_message(inbound, MostOpen { of_person: 9, in_workspace: 9, in_all: 9 })
            .await
    }

    async fn delegate(&self) -> Result<(), StoreError> {
        let new = NewTask {
            workspace: self.ada.workspace,
            chat: C1,
            person: self.ada.id,
            parent: None,
            turn: cloister_protocol::TurnId::of_message(1),
            title: "a task".to_owned(),
            instructions: "do it".to_owned(),
            request: "first".to_owned(),
            files: Vec::new(),
            plan_first: false,
            budget: 1,
            hosts: None,
            secrets: None,
            marks: Vec::new(),
        };
        self.store.tasks().delegate(new, "w1", "r1").await.map(|_task| ())
    }

    async fn answer(&self, turn: &str) -> Result<bool, StoreError> {
        let turn: TurnId = turn.parse().unwrap();
        let end = AgentFrame::End(End {
            turn: turn.clone(),
            message: None,
            text: "the answer".to_owned(),
            usage: Usage::default(),
            error: None,
        });
        let chat = (self.ada.workspace, C1);
        Ok(self.store.outbox().end_turn(1, chat, &turn, Some(&end)).await?.told.is_some())
    }
}

/// E78: whatever the effect, when its entry can't be written it does not happen, and nobody is told it did.
#[tokio::test]
async fn without_an_entry_there_is_no_effect() {
    let world = World::new().await;
    let store = &world.store;
    world.take("first").await.unwrap();
    let keys = world.keys().await;
    let hosts = vec!["example.org".parse().unwrap()];
    let binding = Binding::new(hosts, Form::Query { name: "key".to_owned() }).unwrap();
    let secret = |name: &str| NewSecret {
        owner: Owner::User(world.ada.id),
        name: name.parse().unwrap(),
        binding: binding.clone(),
        value: "value".to_owned().into(),
    };
    store.secrets().set_secret(&Actor::person("test"), &keys, secret("kept")).await.unwrap();
    world.close_the_book().await;
    let before = world.everything().await;
    let (user, workspace) = (world.ada.id, world.ada.workspace);
    let kept = "kept".parse().unwrap();
    let name: UserName = "grace".parse().unwrap();

    assert!(world.take("second").await.is_err(), "a message");
    assert!(world.answer("t-m1").await.is_err(), "an answer");
    assert!(world.delegate().await.is_err(), "a task");
    assert!(
        store.chats().rename_chat(&Actor::person("test"), workspace, C1, "new").await.is_err(),
        "a chat's title"
    );
    assert!(
        store.chats().archive_chat(&Actor::person("test"), workspace, C1, true).await.is_err(),
        "a chat put away"
    );
    assert!(
        store.egress().allow_egress(&Actor::person("u1"), user, "example.org").await.is_err(),
        "a rule"
    );
    assert!(
        store
            .users()
            .add_token(&Actor::person("test"), TokenKind::Session, "h", user, i64::MAX)
            .await
            .is_err(),
        "a session"
    );
    assert!(
        store.secrets().set_secret(&Actor::person("test"), &keys, secret("other")).await.is_err(),
        "a secret"
    );
    assert!(
        store
            .secrets()
            .remove_secret(&Actor::person("u1"), Owner::User(user), &kept)
            .await
            .is_err(),
        "a removal"
    );
    assert!(
        store.users().set_limits(&Actor::person("test"), &world.ada.name, LIMITS).await.is_err(),
        "limits"
    );
    assert!(store.users().add_user(&Actor::Operator, &name, LIMITS).await.is_err(), "a user");
    assert!(
        store.platform().erase_records(&Actor::person("u1"), user).await.is_err(),
        "an erasure"
    );

    assert_eq!(world.everything().await, before);
    assert_eq!(
        store.inbox().backlog().await.unwrap().open,
        1,
        "the message is still owed an answer"
    );
    world.run("DROP TRIGGER no_entries").await;
    assert!(world.answer("t-m1").await.unwrap(), "it is answered once entries can be written");
}

/// E78: a disk that is full: nothing is acknowledged that is not stored, what was is still there, and when
/// there is room again all goes on with a whole chain.
#[tokio::test]
async fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let world = World::new().await;
    let pages: i64 =
        sqlx::query_scalar("PRAGMA page_count").fetch_one(world.store.reader()).await.unwrap();
    let mut tx = world.store.begin_one().await.unwrap();
    let limit = format!("PRAGMA max_page_count = {}", pages + 6);
    sqlx::query(sqlx::AssertSqlSafe(limit)).execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();

    let mut acknowledged = 0;
    let refused = loop {
        let long = format!("{acknowledged} {}", "x".repeat(2000));
        let entry = Entry::new(&Actor::person("u1"), "test.do", &long).of(world.ada.id);
        match world.store.audit().record(entry).await {
            Ok(()) => acknowledged += 1,
            Err(error) => break error,
        }
        assert!(acknowledged < 1000, "the disk never filled");
    };
    assert!(matches!(refused, StoreError::Query { .. }), "{refused}");
    assert!(world.take(&"y".repeat(9000)).await.is_err(), "no message either");
    assert_eq!(world.store.inbox().backlog().await.unwrap().open, 0);

    world.run("PRAGMA max_page_count = 1000000").await;
    world.take("after").await.unwrap();
    let chain = Owner::User(world.ada.id);
    let kept = world.store.audit().audit_of(chain, None, 2000).await.unwrap();
    let done = kept.iter().filter(|row| row.action == "test.do").count();
    assert_eq!(done, acknowledged);
    assert_eq!(kept.first().map(|row| row.action.as_str()), Some("message.in"));
    let dir = world.dir.path().join("audit");
    let (mut sealer, _) =
        Sealer::open(world.store.clone(), &dir, SealOptions::default()).await.unwrap();
    sealer.checkpoint().await.unwrap().unwrap();
    let report = world.store.audit().verify_audit(&Verification::of(&dir)).await.unwrap();
    assert!(report.is_whole(), "{:#?}", report.findings);
}
