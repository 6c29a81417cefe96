use cloister_store::secrets::{MasterPlace, NewSecret};
use cloister_store::{Actor, Store};
use cloister_vault::{Binding, Form};

use super::*;

const KEY: &str = "sk-very-secret-0123456789";

async fn ring_with(value: &str) -> (tempfile::TempDir, KeyRing) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("cloister.db")).await.unwrap();
    let master = dir.path().join("master.key");
    store.secrets().create_master(&master).await.unwrap();
    let keys = store.secrets().unlock(&MasterPlace::file(&master)).await.unwrap();
    let form = Form::Header { name: "authorization".to_owned(), template: "Bearer {}".to_owned() };
    let new = NewSecret {
        owner: Owner::Platform,
        name: key_secret("provider.key").unwrap(),
        binding: Binding::new(vec!["provider.test:443".parse().unwrap()], form).unwrap(),
        value: value.to_owned().into(),
    };
    store.secrets().set_secret(&Actor::person("test"), &keys, new).await.unwrap();
    let ring = KeyRing::new(Books::new(store, keys), dir.path().to_owned());
    (dir, ring)
}

fn sealed(name: &str) -> KeyRef {
    KeyRef::Sealed(name.to_owned())
}

#[tokio::test]
async fn a_key_never_prints() {
    let (_dir, ring) = ring_with(KEY).await;
    let key = ring.read(&sealed("provider.key")).await.unwrap().unwrap();
    for printed in [format!("{key:?}"), format!("{ring:?}"), format!("{:?}", key.bearer())] {
        assert!(!printed.contains("secret"), "{printed}");
    }
    assert_eq!(key.bearer().unwrap().to_str().unwrap(), format!("Bearer {KEY}"));
    assert_eq!(key.strip_from(&format!("bad key {KEY}!")), "bad key [key]!");
}

#[tokio::test]
async fn a_plain_file_is_not_used() {
    let (dir, ring) = ring_with(KEY).await;
    std::fs::write(dir.path().join("plain.key"), KEY).unwrap();
    let error = ring.read(&sealed("plain.key")).await.unwrap_err();
    assert!(error.to_string().contains("after a restart"), "{error}");
}

#[tokio::test]
async fn a_missing_or_broken_key_names_its_place_and_not_its_content() {
    let (_dir, ring) = ring_with("secret with spaces").await;
    let error = ring.read(&sealed("provider.key")).await.unwrap_err();
    assert!(error.to_string().contains("sealed:provider.key"), "{error}");
    assert!(!error.to_string().contains("spaces"), "{error}");
    let error = ring.read(&sealed("other.key")).await.unwrap_err();
    assert!(error.to_string().contains("other.key"), "{error}");
    let missing = KeyRef::Env("CLOISTER_TEST_NO_SUCH_VARIABLE".to_owned());
    let error = ring.read(&missing).await.unwrap_err();
    assert!(error.to_string().contains("CLOISTER_TEST_NO_SUCH_VARIABLE"), "{error}");
}
