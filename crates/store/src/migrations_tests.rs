use std::collections::BTreeSet;
use std::path::Path;

use cloister_protocol::surface::{CommandSign, Customs};
use sqlx::migrate::Migrator;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};

use super::{STEPS, all, migration};

/// What databases out there have written down: number, name, how the checksum begins.
const RELEASED: &[(i64, &str, &str)] = &[
    (1, "spine", "7797135ebfe4a8b6c4ab50a9cde80db0"),
    (2, "egress", "5b5c8f943673d11fab33e1a7d9d3b683"),
    (3, "chat history", "5c2e87a40a59a59050fc7107e447ab82"),
    (4, "start", "9b5c3724765f08b85d7a758fa1da2054"),
    (5, "audit chain and secrets", "3c4e5a0492786890acd8e064d44dbf13"),
    (6, "gates", "4ea8109c457820871e52b32d3ffade79"),
    (7, "people", "4ed96aafc00d2e46f4e489b41bdf4c19"),
    (8, "platform", "3b975a86636e77776a06f262106f2951"),
    (9, "pki", "25f78e9808a88343ae4adecf09dfbc72"),
    (10, "surfaces", "d32f9f3e6e57e4136e6dd5eac45f80b6"),
    (11, "waiting events", "0d48b586b5677fb33ac03591c2af2dda"),
    (12, "trust", "42f82406d1ed902bc47d34d0419e9f2a"),
    (13, "buttons", "7590d08c10eced51a9881dd9bd67a432"),
    (14, "admin hub", "a320d03279579a7c3568a52c0facab30"),
    (15, "choices", "6f184be007a95a7f0af601fdc17c27c9"),
    (16, "relative trust", "9ee79225c4f07fcca13414fb7e3d3b94"),
    (20, "budget questions", "954ec7a16dee8ac5b277ed368276961c"),
];

#[test]
fn released_steps_are_what_databases_remember() {
    let steps = all();
    for (number, name, checksum) in RELEASED {
        let step = steps.iter().find(|step| step.version == *number).unwrap();
        assert_eq!(step.description, *name);
        assert!(hex::encode(&step.checksum).starts_with(checksum), "step {number} was changed");
    }
}

#[test]
fn every_file_is_a_step_and_they_are_in_order() {
    let files =
        std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations")).unwrap();
    let files: BTreeSet<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .map(|name| name.strip_suffix(".sql").unwrap().to_owned())
        .collect();
    let steps: Vec<&str> = STEPS.iter().map(|(name, _)| *name).collect();
    assert_eq!(steps, files.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(all().iter().count(), STEPS.len(), "a name has no number");
}

/// What a surface was known for by its name holds until its connector says so itself.
#[tokio::test]
async fn what_was_known_of_a_surface_by_its_name_still_holds() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cloister.db");
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut before = options.connect().await.unwrap();
    let steps = STEPS.iter().take_while(|(name, _)| *name != "0022_surface_customs");
    let steps = Migrator::with_migrations(steps.filter_map(migration).collect());
    steps.run(&mut before).await.unwrap();
    for (surface, account) in [("matrix", "@a:x"), ("matrix", "@b:x"), ("telegram", "7")] {
        sqlx::query(
            "INSERT INTO connectors (surface, account, address, settings, added_by, created_at) \
             VALUES (?1, ?2, '', '{}', 'test', 0)",
        )
        .bind(surface)
        .bind(account)
        .execute(&mut before)
        .await
        .unwrap();
    }
    all().run(&mut before).await.unwrap();
    let kept: Vec<(String, String)> =
        sqlx::query_as("SELECT name, customs FROM surfaces").fetch_all(&mut before).await.unwrap();
    let [(name, customs)] = kept.as_slice() else { panic!("{kept:?}") };
    let known =
        Customs { command_sign: CommandSign::Bang, room_per_chat: true, sees_readers: true };
    assert_eq!(name, "matrix");
    assert_eq!(serde_json::from_str::<Customs>(customs).unwrap(), known);
}

/// What was a door of a person is their lobby now, and what was heard there is still known.
#[tokio::test]
async fn doors_of_people_become_lobbies() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cloister.db");
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    // The rows stand alone here: whose they are does not matter.
    let mut before = options.clone().foreign_keys(false).connect().await.unwrap();
    let steps = STEPS.iter().take_while(|(name, _)| *name != "0021_lobbies");
    let steps = Migrator::with_migrations(steps.filter_map(migration).collect());
    steps.run(&mut before).await.unwrap();
    for kind in ["room", "door", "shared"] {
        sqlx::query(
            "INSERT INTO conversations (connector_id, external_id, workspace_id, chat, kind, last_active_at, \
             created_at) VALUES (1, ?1, 1, 1, ?1, 0, 0)",
        )
        .bind(kind)
        .execute(&mut before)
        .await
        .unwrap();
    }
    for heard in ["w1:door2:m1", "w1:C1:door2:m1"] {
        sqlx::query(
            "INSERT INTO inbox (source, external_id, workspace_id, chat, cause, state, received_at) \
             VALUES ('telegram', ?1, 1, 1, '{}', 'answered', 0)",
        )
        .bind(heard)
        .execute(&mut before)
        .await
        .unwrap();
    }
    all().run(&mut before).await.unwrap();
    let words = async |connection: &mut SqliteConnection, sql: &'static str| -> Vec<String> {
        sqlx::query_scalar(sql).fetch_all(connection).await.unwrap()
    };
    let kinds = words(&mut before, "SELECT kind FROM conversations ORDER BY id").await;
    assert_eq!(kinds, ["room", "lobby", "shared"]);
    let heard = words(&mut before, "SELECT external_id FROM inbox ORDER BY id").await;
    assert_eq!(heard, ["w1:lobby2:m1", "w1:C1:door2:m1"]);
}

/// P13: chats and choices of a database from before there were several agents are the first agent's.
#[tokio::test]
async fn what_was_there_before_is_the_first_agents() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cloister.db");
    let options = SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let mut before = options.connect().await.unwrap();
    let steps = STEPS.iter().take_while(|(name, _)| *name != "0040_agents");
    let steps = Migrator::with_migrations(steps.filter_map(migration).collect());
    steps.run(&mut before).await.unwrap();
    for made in [
        "INSERT INTO users (id, name, quota_bytes, max_executors, daily_budget, task_budget, created_at) \
         VALUES (1, 'ada', 1, 1, 1, 1, 0)",
        "INSERT INTO workspaces (id, user_id, next_chat, created_at) VALUES (1, 1, 3, 0)",
        "INSERT INTO chats (workspace_id, number, title, created_at) VALUES (1, 1, '', 0), (1, 2, 'Taxes', 0)",
        "INSERT INTO model_choices (workspace_id, chat, kind, model) \
         VALUES (1, 0, '', 'strong'), (1, 2, 'vision', 'eyes')",
    ] {
        sqlx::query(made).execute(&mut before).await.unwrap();
    }
    all().run(&mut before).await.unwrap();
    let chats: Vec<(u32, u32)> = sqlx::query_as("SELECT number, agent FROM chats ORDER BY number")
        .fetch_all(&mut before)
        .await
        .unwrap();
    assert_eq!(chats, [(1, 1), (2, 1)]);
    let choices: Vec<(u32, u32, String, String)> =
        sqlx::query_as("SELECT agent, chat, kind, model FROM model_choices ORDER BY chat")
            .fetch_all(&mut before)
            .await
            .unwrap();
    let strong = (1, 0, String::new(), "strong".to_owned());
    assert_eq!(choices, [strong, (1, 2, "vision".to_owned(), "eyes".to_owned())]);
}
