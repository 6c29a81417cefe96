use std::fs;
use std::path::PathBuf;

use super::*;
use crate::Store;

/// A database that was in use, closed; its directory goes when dropped.
async fn used() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cloister.db");
    Store::open(&path).await.unwrap().close().await.unwrap();
    (dir, path)
}

#[tokio::test]
async fn a_damaged_database_is_told_from_one_that_can_not_be_written() {
    let (_dir, path) = used().await;
    let whole = fs::read(&path).unwrap();

    fs::write(&path, "this was written over").unwrap();
    let error = Store::open(&path).await.unwrap_err();
    assert_eq!(Trouble::of(&error), Some(Trouble::Damaged), "{error:?}");

    let mut torn = whole.clone();
    torn.get_mut(4096..8 * 4096).unwrap().fill(0xa5);
    fs::write(&path, torn).unwrap();
    let error = Store::open(&path).await.unwrap_err();
    assert_eq!(Trouble::of(&error), Some(Trouble::Damaged), "{error:?}");

    fs::write(&path, whole).unwrap();
    assert!(Store::check_file(&path).await.is_ok());
}

#[tokio::test]
async fn a_file_is_looked_at_without_being_changed() {
    let (_dir, path) = used().await;
    let before = fs::read(&path).unwrap();
    assert!(Store::check_file(&path).await.is_ok());
    assert_eq!(fs::read(&path).unwrap(), before);
    let mut torn = before;
    let end = torn.len();
    torn.get_mut(4096..end).unwrap().fill(0xa5);
    fs::write(&path, torn).unwrap();
    assert_eq!(Trouble::of(&Store::check_file(&path).await.unwrap_err()), Some(Trouble::Damaged));
}

#[test]
fn files_say_it_too_and_other_errors_say_nothing() {
    let full = io::Error::from(io::ErrorKind::StorageFull);
    assert_eq!(Trouble::of(&full), Some(Trouble::Full));
    assert_eq!(Trouble::of(&io::Error::from_raw_os_error(30)), Some(Trouble::ReadOnly));
    assert_eq!(Trouble::of(&io::Error::from_raw_os_error(5)), Some(Trouble::Disk));
    assert_eq!(Trouble::of(&io::Error::from(io::ErrorKind::NotFound)), None);
    assert_eq!(Trouble::of(&sqlx::Error::RowNotFound), None);
}
