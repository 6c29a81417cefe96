use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

/// Folders in each other, made as a program does that has no limit on paths.
fn nest(top: &Path, depth: usize) {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut at = rustix::fs::open(top, flags, Mode::empty()).unwrap();
    for _ in 0..depth {
        rustix::fs::mkdirat(&at, c"d", Mode::RWXU).unwrap();
        at = rustix::fs::openat(&at, c"d", flags, Mode::empty()).unwrap();
    }
    rustix::fs::openat(&at, c"f", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR).unwrap();
}

/// E56, U3: what a cell nested must not end the control plane when it is cleared away.
#[test]
fn any_depth_is_removed_on_a_small_stack() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().join("top");
    std::fs::create_dir(&top).unwrap();
    nest(&top, 30_000);
    let done = std::thread::Builder::new().stack_size(128 << 10).spawn({
        let top = top.clone();
        move || remove_tree(&top)
    });
    done.unwrap().join().unwrap().unwrap();
    assert!(!top.exists());
}

#[test]
fn links_are_removed_and_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (top, kept) = (dir.path().join("top"), dir.path().join("kept"));
    std::fs::create_dir_all(top.join("a/b")).unwrap();
    std::fs::create_dir(&kept).unwrap();
    std::fs::write(kept.join("file"), "kept").unwrap();
    symlink(&kept, top.join("a/b/link")).unwrap();
    symlink(&kept, dir.path().join("itself")).unwrap();
    remove_tree(&top).unwrap();
    remove_tree(&dir.path().join("itself")).unwrap();
    assert!(!top.exists());
    assert_eq!(std::fs::read_to_string(kept.join("file")).unwrap(), "kept");
}

#[test]
fn what_is_closed_and_what_has_taken_names_goes_too() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().join("top");
    std::fs::create_dir(&top).unwrap();
    nest(&top, 3 * MAX_DEPTH);
    std::fs::create_dir(top.join(".removed-1")).unwrap();
    std::fs::write(top.join(".removed-2"), "").unwrap();
    let closed = top.join("closed");
    std::fs::create_dir_all(closed.join("inside")).unwrap();
    std::fs::set_permissions(&closed, PermissionsExt::from_mode(0o000)).unwrap();
    remove_tree(&top).unwrap();
    assert!(!top.exists());
}

#[test]
fn what_is_not_there_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let gone = remove_tree(&dir.path().join("gone")).unwrap_err();
    assert_eq!(gone.kind(), io::ErrorKind::NotFound);
}
