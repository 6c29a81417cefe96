use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cloister_protocol::UserId;
use cloister_vault::{Form, MasterKey, MasterSource};
use sqlx::ConnectOptions;
use tokio::task::JoinSet;

use super::*;
use crate::db::Store;
use crate::test_world;

const CANARY: &str = "canary-91c2-s3cret-value";

struct World {
    dir: tempfile::TempDir,
    store: Store,
    keys: Keyring,
}

fn ada() -> Owner {
    Owner::User(UserId::from_number(1))
}

fn name(text: &str) -> SecretName {
    text.parse().unwrap()
}

fn bound_to(host: &str) -> Binding {
    let form = Form::Header { name: "authorization".into(), template: "Bearer {}".into() };
    Binding::new(vec![host.parse().unwrap()], form).unwrap()
}

fn secret(owner: Owner, called: &str, value: &str) -> NewSecret {
    NewSecret {
        owner,
        name: name(called),
        binding: bound_to("api.example.org"),
        value: value.to_owned().into(),
    }
}

impl World {
    async fn new() -> Self {
        let (dir, store) = test_world::store().await;
        let path = dir.path().join("master.key");
        assert!(store.secrets().create_master(&path).await.unwrap());
        let keys = store.secrets().unlock(&MasterPlace::file(&path)).await.unwrap();
        Self { dir, store, keys }
    }

    fn master(&self) -> PathBuf {
        self.dir.path().join("master.key")
    }

    async fn set(&self, owner: Owner, called: &str, value: &str) -> SecretInfo {
        self.store
            .secrets()
            .set_secret(&Actor::person("test"), &self.keys, secret(owner, called, value))
            .await
            .unwrap()
    }

    async fn open(&self, owner: Owner, called: &str) -> Result<String, SecretError> {
        let opened = self.store.secrets().open_secret(&self.keys, owner, &name(called)).await?;
        Ok(String::from_utf8(opened.value.expose().to_vec()).unwrap())
    }

    async fn unlock(&self) -> Result<Keyring, SecretError> {
        self.store.secrets().unlock(&MasterPlace::file(&self.master())).await
    }

    async fn tamper(&self, sql: &'static str) {
        let options = sqlx::sqlite::SqliteConnectOptions::new();
        let mut raw =
            options.filename(self.dir.path().join("cloister.db")).connect().await.unwrap();
        sqlx::raw_sql(sql).execute(&mut raw).await.unwrap();
    }
}

fn holds(dir: &Path, needle: &[u8]) -> Vec<PathBuf> {
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| {
            let bytes = std::fs::read(path).unwrap();
            bytes.windows(needle.len()).any(|window| window == needle)
        })
        .collect()
}

#[tokio::test]
async fn a_secret_is_set_listed_opened_and_removed() {
    let world = World::new().await;
    world.set(ada(), "github", "one").await;
    let info = world.set(ada(), "github", CANARY).await;
    assert_eq!(info.version, 2);
    assert_eq!(world.open(ada(), "github").await.unwrap(), CANARY);
    let listed = world.store.secrets().of(ada()).await.unwrap();
    assert_eq!(listed, [info]);
    assert!(!serde_json::to_string(&listed).unwrap().contains(CANARY));
    assert!(matches!(
        world.open(Owner::Platform, "github").await,
        Err(SecretError::NoSecret { .. })
    ));

    world
        .store
        .secrets()
        .remove_secret(&Actor::person("u1"), ada(), &name("github"))
        .await
        .unwrap();
    assert!(matches!(world.open(ada(), "github").await, Err(SecretError::NoSecret { .. })));
    assert!(
        world
            .store
            .secrets()
            .remove_secret(&Actor::person("u1"), ada(), &name("github"))
            .await
            .is_err()
    );
    assert_eq!(world.set(ada(), "github", "three").await.version, 3, "no version is used twice");
    let actions = world.store.audit().audit_of(ada(), None, 10).await.unwrap();
    let actions: Vec<&str> = actions.iter().map(|row| row.action.as_str()).collect();
    assert_eq!(actions, ["secret.set", "secret.remove", "secret.set", "secret.set"]);
}

#[tokio::test]
async fn a_value_is_in_no_file_no_print_and_no_error() {
    let world = World::new().await;
    world.set(ada(), "github", CANARY).await;
    let anew = "canary-91c2-another-one";
    let id = (ada(), &name("github"));
    world
        .store
        .secrets()
        .rotate_secret(&Actor::person("u1"), &world.keys, id, anew.to_owned().into(), 60_000)
        .await
        .unwrap();
    let opened = world.store.secrets().open_secrets(&world.keys, ada()).await.unwrap();
    assert_eq!(opened.len(), 2, "the one in grace must be masked too");
    let mut shown = format!("{opened:?} {:?} {:?}", world.keys, world.store);
    let bad = SecretValue::new(format!("{CANARY}\r\n").into_bytes());
    let refused = NewSecret { value: bad, ..secret(ada(), "x", "") };
    shown += &format!("{refused:?}");
    let refused = world
        .store
        .secrets()
        .set_secret(&Actor::person("test"), &world.keys, refused)
        .await
        .unwrap_err();
    shown += &format!("{refused:?} {refused}");
    world.tamper("UPDATE secrets SET sealed = x'0102'").await;
    let broken = world.open(ada(), "github").await.unwrap_err();
    shown += &format!("{broken:?} {broken}");
    shown += &serde_json::to_string(&world.store.audit().audit_tail(100).await.unwrap()).unwrap();
    assert!(!shown.contains("canary"), "{shown}");
    // The database, its write-ahead log and its index, while it is open and after it is closed.
    assert_eq!(holds(world.dir.path(), b"canary-91c2"), Vec::<PathBuf>::new());
    world.store.close().await.unwrap();
    assert_eq!(holds(world.dir.path(), b"canary-91c2"), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn rows_that_changed_places_do_not_open() {
    let world = World::new().await;
    let bob = Owner::User(UserId::from_number(2));
    for (owner, called) in [(ada(), "a"), (ada(), "b"), (bob, "a")] {
        world.set(owner, called, CANARY).await;
    }
    let sealed_of = "(SELECT sealed FROM secrets WHERE owner =";
    for moved in [
        format!("UPDATE secrets SET sealed = {sealed_of} 'u1' AND name = 'b') WHERE owner = 'u1' AND name = 'a'"),
        format!("UPDATE secrets SET sealed = {sealed_of} 'u2') WHERE owner = 'u1' AND name = 'a'"),
        "UPDATE secrets SET version = 9 WHERE owner = 'u1' AND name = 'a'".to_owned(),
        "UPDATE secrets SET binding = replace(binding, 'api.', 'evil.') WHERE owner = 'u1' AND name = 'a'".to_owned(),
        "UPDATE data_keys SET sealed = (SELECT sealed FROM data_keys WHERE owner = 'u2') WHERE owner = 'u1'".to_owned(),
    ] {
        world.set(ada(), "a", CANARY).await;
        let options = sqlx::sqlite::SqliteConnectOptions::new();
        let file = world.dir.path().join("cloister.db");
        let mut raw = options.filename(file).connect().await.unwrap();
        sqlx::raw_sql(sqlx::AssertSqlSafe(moved.clone())).execute(&mut raw).await.unwrap();
        let refused = world.open(ada(), "a").await.unwrap_err();
        assert!(matches!(refused, SecretError::Vault(VaultError::DoesNotOpen { .. })), "{moved}: {refused}");
    }
}

#[tokio::test]
async fn an_old_value_opens_until_its_grace_is_over() {
    let world = World::new().await;
    world.set(ada(), "github", "old").await;
    let id = (ada(), &name("github"));
    let new = || SecretValue::from("new".to_owned());
    world
        .store
        .secrets()
        .rotate_secret(&Actor::person("u1"), &world.keys, id, new(), 60_000)
        .await
        .unwrap();
    assert_eq!(world.open(ada(), "github").await.unwrap(), "new");
    assert_eq!(world.store.secrets().open_secrets(&world.keys, ada()).await.unwrap().len(), 2);
    assert_eq!(world.store.secrets().drop_expired_secrets().await.unwrap(), 0);
    world.tamper("UPDATE secrets SET expires_at = 1 WHERE expires_at IS NOT NULL").await;
    assert_eq!(world.store.secrets().open_secrets(&world.keys, ada()).await.unwrap().len(), 1);
    assert_eq!(world.store.secrets().drop_expired_secrets().await.unwrap(), 1);
    let none = (ada(), &name("none"));
    let refused = world
        .store
        .secrets()
        .rotate_secret(&Actor::person("u1"), &world.keys, none, new(), 0)
        .await;
    assert!(matches!(refused, Err(SecretError::NoSecret { .. })));
    let bound = world
        .store
        .secrets()
        .rebind_secret(&Actor::person("u1"), &world.keys, id, bound_to("git.example.org"))
        .await
        .unwrap();
    assert!(bound.binding.covers("git.example.org", 443) && bound.version == 3);
    assert_eq!(world.open(ada(), "github").await.unwrap(), "new");
}

#[tokio::test]
async fn without_the_right_master_key_nothing_starts() {
    let world = World::new().await;
    world.set(ada(), "github", CANARY).await;
    let kept = world.dir.path().join("kept");
    std::fs::rename(world.master(), &kept).unwrap();
    let missing = world.unlock().await.unwrap_err();
    assert!(missing.to_string().contains("there is no master key at"), "{missing}");
    assert!(
        !world.store.secrets().create_master(&world.master()).await.unwrap(),
        "no second key is made"
    );
    assert!(!world.master().exists());

    MasterKey::create(&world.master()).unwrap();
    let wrong = world.unlock().await.unwrap_err();
    assert!(matches!(wrong, SecretError::WrongMaster { .. }), "{wrong}");
    // The right id with other bytes does not do either.
    world.tamper("UPDATE data_keys SET sealed = zeroblob(73)").await;
    std::fs::rename(&kept, world.master()).unwrap();
    let broken = world.unlock().await.unwrap_err();
    assert!(matches!(broken, SecretError::Vault(VaultError::DoesNotOpen { .. })), "{broken}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_master_key_is_replaced_while_secrets_are_read_and_set() {
    let world = Arc::new(World::new().await);
    for number in 1..=100 {
        world.set(Owner::User(UserId::from_number(number)), "a", CANARY).await;
    }
    let over = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for reader in 0..4_u32 {
        let (world, over) = (Arc::clone(&world), Arc::clone(&over));
        readers.spawn(async move {
            let mut reads = 0_u32;
            while !over.load(Ordering::SeqCst) || reads < 50 {
                let owner = Owner::User(UserId::from_number(1 + (reads * 7 + reader) % 100));
                assert_eq!(world.open(owner, "a").await.unwrap(), CANARY);
                if reads.is_multiple_of(5) {
                    let fresh = Owner::User(UserId::from_number(1000 + reads * 4 + reader));
                    world.set(fresh, "a", CANARY).await;
                }
                reads += 1;
            }
        });
    }
    let path = world.master();
    for _ in 0..2 {
        let done = world
            .store
            .secrets()
            .rotate_master_file(&Actor::Operator, &world.keys, &path)
            .await
            .unwrap();
        assert_ne!(done.from, done.to);
        assert!(done.data_keys >= 100);
    }
    over.store(true, Ordering::SeqCst);
    while let Some(done) = readers.join_next().await {
        done.unwrap();
    }
    let keys = world.unlock().await.unwrap();
    assert_eq!(keys.current(), world.keys.current());
}

#[tokio::test]
async fn a_replacement_cut_short_goes_on_from_there() {
    let mut world = World::new().await;
    for number in 1..=100 {
        world.set(Owner::User(UserId::from_number(number)), "a", CANARY).await;
    }
    // Killed after some data keys were sealed anew.
    let beside = world.dir.path().join("master.key.incoming");
    let next = MasterKey::create(&beside).unwrap();
    world.keys.add(next.clone());
    world.store.secrets().register(next.id(), "incoming").await.unwrap();
    world.store.secrets().reseal_batch(&world.keys, next.id()).await.unwrap();
    world.keys = world.unlock().await.unwrap();
    assert_eq!(world.open(ada(), "a").await.unwrap(), CANARY);
    let last = Owner::User(UserId::from_number(100));
    assert_eq!(world.open(last, "a").await.unwrap(), CANARY);
    // Without the incoming key some would not open: it does not start.
    std::fs::rename(&beside, world.dir.path().join("away")).unwrap();
    assert!(matches!(world.unlock().await, Err(SecretError::WrongMaster { .. })));
    std::fs::rename(world.dir.path().join("away"), &beside).unwrap();

    // Killed after the database has changed over, before the file has.
    let done = world
        .store
        .secrets()
        .rotate_master_to(&Actor::Operator, &world.keys, next.clone())
        .await
        .unwrap();
    assert_eq!(done.data_keys, 36);
    world.keys = world.unlock().await.unwrap();
    assert_eq!(&world.keys.current(), next.id());
    assert!(!beside.exists(), "the file has followed");
    assert_eq!(world.open(ada(), "a").await.unwrap(), CANARY);
}

#[tokio::test]
async fn a_key_may_come_from_a_command() {
    let (dir, store) = test_world::store().await;
    let path = dir.path().join("kms");
    MasterKey::create(&path).unwrap();
    let command = vec!["cat".to_owned(), path.display().to_string()];
    let place = MasterPlace { current: MasterSource::Command(command), incoming: None };
    let keys = store.secrets().unlock(&place).await.unwrap();
    store
        .secrets()
        .set_secret(&Actor::person("test"), &keys, secret(ada(), "a", CANARY))
        .await
        .unwrap();
    let keys = store.secrets().unlock(&place).await.unwrap();
    store.secrets().open_secret(&keys, ada(), &name("a")).await.unwrap();
}
