use std::os::unix::fs::PermissionsExt;

use super::*;

fn hex_of(key: &MasterKey) -> String {
    hex::encode(key.key.expose())
}

#[test]
fn a_new_key_file_is_private_and_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("master.key");
    let made = MasterKey::create(&path).unwrap();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let read = MasterKey::load(&MasterSource::File(path.clone())).unwrap();
    assert_eq!(read.id(), made.id());
    assert!(MasterKey::create(&path).is_err(), "a key that is there is never replaced");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_missing_exposed_or_broken_file_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("master.key");
    let source = MasterSource::File(path.clone());
    let missing = MasterKey::load(&source).unwrap_err().to_string();
    assert!(missing.contains("there is no master key at"), "{missing}");

    MasterKey::create(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let exposed = MasterKey::load(&source).unwrap_err().to_string();
    assert!(exposed.contains("chmod 600"), "{exposed}");

    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&path, "canary-not-a-key").unwrap();
    let broken = MasterKey::load(&source).unwrap_err();
    assert!(matches!(broken, VaultError::NotAMaster { .. }));
    assert!(!format!("{broken:?} {broken}").contains("canary"), "the file's content is not shown");
}

#[test]
fn a_command_prints_the_key() {
    let key = MasterKey::random().unwrap();
    let command = |script: String| MasterSource::Command(vec!["sh".into(), "-c".into(), script]);
    let loaded = MasterKey::load(&command(format!("echo {}", hex_of(&key)))).unwrap();
    assert_eq!(loaded.id(), key.id());

    let failed = MasterKey::load(&command(format!("echo {}; exit 3", hex_of(&key)))).unwrap_err();
    assert!(matches!(failed, VaultError::CommandFailed { .. }), "{failed}");
    let nonsense = MasterKey::load(&command("echo canary".into())).unwrap_err();
    assert!(!format!("{nonsense:?}").contains("canary\\n"), "what it printed is not shown");
    let endless = MasterKey::load(&command("yes".into())).unwrap_err();
    assert!(!matches!(endless, VaultError::Command { .. }), "{endless}");
    let absent = MasterKey::load(&MasterSource::Command(vec!["/no/such/program".into()]));
    assert!(matches!(absent, Err(VaultError::Command { .. })));
    assert!(MasterKey::load(&MasterSource::Command(Vec::new())).is_err());
}

#[test]
fn a_key_does_not_print() {
    let key = MasterKey::random().unwrap();
    let text = hex_of(&key);
    let shown = format!("{key:?} {:?}", key.id());
    assert!(!shown.contains(&text) && !text.contains(key.id().as_str()), "{shown}");
}
