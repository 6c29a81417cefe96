use std::os::unix::fs::PermissionsExt;

use super::*;

const KEY: &str = "sk-very-secret-0123456789";

fn ring_with(mode: u32, content: &str) -> (tempfile::TempDir, KeyRing) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("provider.key");
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    let ring = KeyRing::new(dir.path().to_owned());
    (dir, ring)
}

fn file() -> KeyRef {
    KeyRef::File("provider.key".to_owned())
}

#[test]
fn a_key_never_prints() {
    let (_dir, ring) = ring_with(0o600, KEY);
    let key = ring.read(&file()).unwrap().unwrap();
    for printed in [format!("{key:?}"), format!("{ring:?}"), format!("{:?}", key.bearer())] {
        assert!(!printed.contains("secret"), "{printed}");
    }
    assert_eq!(key.bearer().unwrap().to_str().unwrap(), format!("Bearer {KEY}"));
    assert_eq!(key.strip_from(&format!("bad key {KEY}!")), "bad key [key]!");
}

#[test]
fn a_key_file_that_others_can_read_is_refused() {
    let (_dir, ring) = ring_with(0o644, KEY);
    let error = ring.read(&file()).unwrap_err();
    assert!(error.to_string().contains("chmod 600"), "{error}");
}

#[test]
fn a_missing_or_broken_key_names_its_place_and_not_its_content() {
    let (_dir, ring) = ring_with(0o600, "secret with spaces\nand lines");
    let error = ring.read(&file()).unwrap_err();
    assert!(error.to_string().contains("file:provider.key"), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
    let missing = KeyRef::Env("CLOISTER_TEST_NO_SUCH_VARIABLE".to_owned());
    let error = ring.read(&missing).unwrap_err();
    assert!(error.to_string().contains("CLOISTER_TEST_NO_SUCH_VARIABLE"), "{error}");
}

#[test]
fn the_newline_at_the_end_of_a_file_is_no_part_of_the_key() {
    let (_dir, ring) = ring_with(0o600, &format!("{KEY}\n"));
    let key = ring.read(&file()).unwrap().unwrap();
    assert_eq!(key.bearer().unwrap().to_str().unwrap(), format!("Bearer {KEY}"));
}
