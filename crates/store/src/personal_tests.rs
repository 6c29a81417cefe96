use std::path::Path;

use cloister_protocol::ChatId;
use cloister_protocol::link::Cause;
use cloister_vault::{Binding, Form, Keyring, Owner};

use crate::actor::Actor;
use crate::audit::{Erasure, SealOptions, Sealer, Verification};
use crate::conversations::{ConversationKind, NewConversation};
use crate::db::Store;
use crate::identities::Account;
use crate::inbox::{Inbound, Meant, MostOpen};
use crate::secrets::{MasterPlace, NewSecret};
use crate::test_world;
use crate::tokens::TokenKind;
use crate::users::User;
use crate::waiting::{ToWait, WhyWaiting};

const CANARY: &str = "canary-5b1e-of-grace";

/// Tables that say nothing of anyone.
const OF_THE_PLATFORM: &[&str] = &[
    "connectors",
    "kind_chains",
    "master_keys",
    "model_chains",
    "models",
    "offered_models",
    "pairing_codes",
    "refused_events",
    "stops",
    "surfaces",
];

async fn store_with(dir: &Path, names: &[&str]) -> (Store, Vec<User>) {
    let store = Store::open(&dir.join("cloister.db")).await.unwrap();
    let mut users = Vec::new();
    for name in names {
        let user = test_world::add(&store, name).await;
        store.chats().ensure_first_chat(&Actor::person("test"), user.workspace).await.unwrap();
        users.push(user);
    }
    (store, users)
}

/// Something of everything.
async fn live(store: &Store, keys: &Keyring, user: &User, words: &str) {
    let inbound = Inbound {
        source: "socket".to_owned(),
        external_id: words.to_owned(),
        workspace: user.workspace,
        chat: ChatId::from_number(1),
        cause: Cause::Message {
            from: user.name.to_string(),
            text: words.to_owned(),
            attachments: Vec::new(),
            instead: None,
        },
        meant: Meant::Words,
        heard_in: None,
    };
    store
        .inbox()
        .take_message(inbound, MostOpen { of_person: 9, in_workspace: 9, in_all: 9 })
        .await
        .unwrap();
    store
        .chats()
        .rename_chat(&Actor::person("test"), user.workspace, ChatId::from_number(1), words)
        .await
        .unwrap();
    let hash = format!("hash of {words}");
    store
        .users()
        .add_token(&Actor::person("test"), TokenKind::Session, &hash, user.id, i64::MAX)
        .await
        .unwrap();
    store.egress().allow_egress(&Actor::person(words), user.id, "example.org").await.unwrap();
    let form = Form::Query { name: "key".to_owned() };
    let binding = Binding::new(vec!["example.org".parse().unwrap()], form).unwrap();
    let new = NewSecret {
        owner: Owner::User(user.id),
        name: "key".parse().unwrap(),
        binding,
        value: words.to_owned().into(),
    };
    store.secrets().set_secret(&Actor::person("test"), keys, new).await.unwrap();
    converse(store, user, words).await;
}

/// Something of everything that is kept about a person on a surface.
async fn converse(store: &Store, user: &User, words: &str) {
    let connector = test_world::connector(store, "matrix", "@bot:example.org").await;
    let account = Account {
        surface: "matrix".to_owned(),
        external_id: words.to_owned(),
        display_name: words.to_owned(),
    };
    assert!(store.conversations().tell_stranger(("matrix", words), 1).await.unwrap());
    store.users().link_identity(&Actor::person("test"), &account, user.id).await.unwrap();
    let room = NewConversation {
        connector,
        external_id: Some(words.to_owned()),
        chat: (user.workspace, ChatId::from_number(1)),
        kind: ConversationKind::Room,
        user: Some(user.id),
    };
    let room = store.conversations().put_conversation(&room).await.unwrap();
    store.chats().set_home(connector, user.id, Some(words)).await.unwrap();
    store.outbox().begin_post(room.id, words, None).await.unwrap();
    store.conversations().set_encrypted("matrix", words).await.unwrap();
    let waits =
        ToWait { connector, place: words, event: words, why: WhyWaiting::NoKey, sealed: None };
    store.inbox().let_wait(waits).await.unwrap();
}

/// O8: whoever adds a table is told here when its rows are nobody's.
#[tokio::test]
async fn every_table_is_someones_or_the_platforms() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = store_with(dir.path(), &[]).await;
    let kinds = store.platform().personal_kinds().await.unwrap();
    let all: Vec<String> = sqlx::query_scalar(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' \
         AND name NOT LIKE '_sqlx%' AND name NOT LIKE 'audit_%' ORDER BY name",
    )
    .fetch_all(store.reader())
    .await
    .unwrap();
    let nobodys: Vec<&String> = all.iter().filter(|table| !kinds.contains(table)).collect();
    assert_eq!(nobodys, OF_THE_PLATFORM, "a table must name whose its rows are");
}

/// O8: what is handed out is the person's, all of it, and no key to anything.
#[tokio::test]
async fn records_of_one_person_are_theirs_alone_and_hold_no_keys() {
    let dir = tempfile::tempdir().unwrap();
    let (store, users) = store_with(dir.path(), &["ada", "grace"]).await;
    let master = dir.path().join("master.key");
    store.secrets().create_master(&master).await.unwrap();
    let keys = store.secrets().unlock(&MasterPlace::file(&master)).await.unwrap();
    live(&store, &keys, &users[0], "words of ada").await;
    live(&store, &keys, &users[1], CANARY).await;
    let mut all = String::new();
    for kind in store.platform().personal_kinds().await.unwrap() {
        let (records, next) =
            store.platform().personal_records(users[1].id, &kind, 0).await.unwrap();
        assert_eq!(next, None);
        all.push_str(&serde_json::to_string(&records).unwrap());
    }
    assert!(all.contains(CANARY) && all.contains("example.org"), "{all}");
    assert!(!all.contains("words of ada"), "{all}");
    assert!(!all.contains("hash of"), "{all}");
    assert!(!all.contains("sealed"), "{all}");
}

/// O8: after an erasure no byte of it is in the database's files, others lost nothing, the chain is whole,
/// and the id is given to nobody else.
#[tokio::test]
async fn an_erased_person_leaves_no_trace_but_a_whole_chain() {
    let dir = tempfile::tempdir().unwrap();
    let (store, users) = store_with(dir.path(), &["ada", "grace"]).await;
    let master = dir.path().join("master.key");
    store.secrets().create_master(&master).await.unwrap();
    let keys = store.secrets().unlock(&MasterPlace::file(&master)).await.unwrap();
    let (ada, grace) = (&users[0], &users[1]);
    live(&store, &keys, ada, "words of ada").await;
    live(&store, &keys, grace, CANARY).await;
    let audit = dir.path().join("audit");
    let options = SealOptions { segment_entries: 3, ..SealOptions::default() };
    let (mut sealer, _) = Sealer::open(store.clone(), &audit, options).await.unwrap();
    sealer.close_segments().await.unwrap();
    sealer.checkpoint().await.unwrap().unwrap();

    let names = vec!["grace".to_owned(), CANARY.to_owned()];
    let why = "asked for it".to_owned();
    let erasure = Erasure { user: grace.id, names, why };
    sealer.erase(&Actor::person("u1"), &erasure).await.unwrap();
    assert!(store.platform().erase_records(&Actor::person("u1"), grace.id).await.unwrap() >= 7);
    sealer.erase(&Actor::person("u1"), &erasure).await.unwrap();
    sealer.checkpoint().await.unwrap();

    let report = store.audit().verify_audit(&Verification::of(&audit)).await.unwrap();
    assert!(report.is_whole(), "{:#?}", report.findings);
    assert!(store.users().user(&"grace".parse().unwrap()).await.is_err());
    assert_eq!(store.secrets().of(Owner::User(grace.id)).await.unwrap(), []);
    assert_eq!(store.secrets().of(Owner::User(ada.id)).await.unwrap().len(), 1);
    let again = test_world::add(&store, "grace").await;
    assert_ne!(again.id, grace.id);
    drop(sealer);
    store.close().await.unwrap();
    assert_eq!(files_with(dir.path(), CANARY), Vec::<String>::new());
}

fn files_with(dir: &Path, needle: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                dirs.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                if bytes.windows(needle.len()).any(|window| window == needle.as_bytes()) {
                    found.push(path.display().to_string());
                }
            }
        }
    }
    found
}

/// Whoever reads all that is a person's has an entry in that person's chain; a long export has one an hour.
#[tokio::test]
async fn who_takes_along_the_data_of_a_person_is_on_record() {
    let dir = tempfile::tempdir().unwrap();
    let (store, users) = store_with(dir.path(), &["ada"]).await;
    let ada = (users[0].id, users[0].workspace);
    for _ in 0..3 {
        store.platform().note_export(&Actor::person("eve"), ada).await.unwrap();
    }
    store.platform().note_export(&Actor::Operator, ada).await.unwrap();
    let entries = store.audit().audit_tail(50).await.unwrap();
    let exports = entries.iter().filter(|row| row.action == "user.export");
    let mut by: Vec<_> = exports.map(|row| (row.actor.clone(), row.subject.clone())).collect();
    by.sort();
    by.dedup();
    let of = |actor: &str| (actor.to_owned(), users[0].id.to_string());
    assert_eq!(by, [of("eve"), of("operator")]);
    let count = entries.iter().filter(|row| row.action == "user.export").count();
    assert!((2..=3).contains(&count), "{count}: an hour may end meanwhile");
}
