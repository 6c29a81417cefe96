use std::os::unix::fs::PermissionsExt as _;

use super::*;
use crate::test_world::World;

const KEY: &str = "sk-canary-8f2b71";

/// S1: a plain key is sealed, can be opened, and is nowhere else afterwards.
#[tokio::test]
async fn plain_keys_are_sealed_and_removed() {
    let world = World::new().await;
    let dir = world.control.layout().keys();
    for (name, text) in [("old.key", format!("{KEY}\n")), (".old.key.new", KEY.to_owned())] {
        std::fs::write(dir.join(name), text).unwrap();
        std::fs::set_permissions(dir.join(name), std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    std::fs::write(dir.join("README"), "two words").unwrap();
    assert_eq!(world.control.models().seal_plain_keys().await.unwrap(), ["old.key"]);
    let left: Vec<_> =
        std::fs::read_dir(&dir).unwrap().map(|one| one.unwrap().file_name()).collect();
    assert_eq!(left, ["README"]);
    let open = async || {
        let name = key_secret("old.key").unwrap();
        let store = world.control.store();
        store.secrets().open_secret(world.control.keys(), Owner::Platform, &name).await
    };
    assert_eq!(open().await.unwrap().value.expose(), KEY.as_bytes());
    let database = std::fs::read(world.control.layout().database()).unwrap();
    let wal = world.control.layout().database().with_extension("db-wal");
    let wal = std::fs::read(wal).unwrap_or_default();
    let shows = |bytes: &[u8]| bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes());
    assert!(!shows(&database) && !shows(&wal));
    // A file that comes later takes the place of what is there; a second start finds nothing to do.
    std::fs::write(dir.join("old.key"), "sk-newer").unwrap();
    assert_eq!(world.control.models().seal_plain_keys().await.unwrap(), ["old.key"]);
    assert_eq!(open().await.unwrap().value.expose(), b"sk-newer");
    assert!(world.control.models().seal_plain_keys().await.unwrap().is_empty());
    world.control.models().forget_key(&Actor::person("test"), "old.key").await.unwrap();
    assert!(open().await.is_err());
    world.control.models().forget_key(&Actor::person("test"), "old.key").await.unwrap();
}
