use std::os::unix::fs::PermissionsExt;

use super::*;

fn statement(text: &str) -> Canonical {
    Canonical::new("test").text(text)
}

#[test]
fn the_key_is_made_once_and_is_private() {
    let dir = tempfile::tempdir().unwrap();
    let made = Signer::open(dir.path(), 1).unwrap();
    let again = Signer::open(dir.path(), 2).unwrap();
    assert_eq!(made.public(), again.public());
    let mode = std::fs::metadata(key_path(dir.path())).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    let signature = made.sign(&statement("a"));
    assert!(again.public().verifies(&statement("a"), &signature));
    assert!(!again.public().verifies(&statement("b"), &signature));
}

#[test]
fn a_key_that_takes_over_is_vouched_for_by_the_one_before() {
    let dir = tempfile::tempdir().unwrap();
    let mut signer = Signer::open(dir.path(), 1).unwrap();
    let first = signer.public();
    let second = signer.rotate(2).unwrap();
    assert_ne!(first, second);
    let log = KeyLog::read(dir.path()).unwrap();
    assert_eq!(log.records().len(), 2);
    assert!(log.find(&first.id()).is_some() && log.find(&second.id()).is_some());
    assert_eq!(Signer::open(dir.path(), 3).unwrap().public(), second);

    // A thief's key that nobody vouches for.
    let text = std::fs::read_to_string(log_path(dir.path())).unwrap();
    let other = tempfile::tempdir().unwrap();
    let mut thief = Signer::open(other.path(), 1).unwrap();
    thief.rotate(2).unwrap();
    let forged = std::fs::read_to_string(log_path(other.path())).unwrap();
    let mixed = format!("{}\n{}\n", text.lines().next().unwrap(), forged.lines().nth(1).unwrap());
    let error = KeyLog::parse(&mixed).unwrap_err();
    assert!(matches!(error, VaultError::BadKeyRecord { number: 2, .. }), "{error}");
}

#[test]
fn a_rotation_cut_short_at_any_step_is_finished_or_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let mut signer = Signer::open(dir.path(), 1).unwrap();
    // Killed after the new key was written: it signs nothing yet, and the old one goes on.
    new_key(&next_path(dir.path())).unwrap();
    assert_eq!(Signer::open(dir.path(), 2).unwrap().public(), signer.public());
    // Killed after the log names the new key, before it is in place.
    let old = std::fs::read(key_path(dir.path())).unwrap();
    let second = signer.rotate(3).unwrap();
    std::fs::rename(key_path(dir.path()), next_path(dir.path())).unwrap();
    files::create_private(&key_path(dir.path()), &old).unwrap();
    assert_eq!(Signer::open(dir.path(), 4).unwrap().public(), second);
    assert!(!next_path(dir.path()).exists());
}

#[test]
fn a_log_without_its_key_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    Signer::open(dir.path(), 1).unwrap();
    std::fs::remove_file(key_path(dir.path())).unwrap();
    assert!(matches!(Signer::open(dir.path(), 2), Err(VaultError::BadSigner { .. })));
}
