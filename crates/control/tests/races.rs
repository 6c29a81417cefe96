//! E3 to E6 of the attack list: links planted, and swapped while the host looks. The same attack is
//! shown to succeed against the obvious way of doing it.

#![expect(clippy::unwrap_used, reason = "a test that can't go on says so")]

use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use cloister_control::files::{RelPath, Tree};

const CANARY: &str = "SECRET_CANARY";

/// Tries of the race: a million in the long form (`make escape`).
#[expect(clippy::disallowed_methods, reason = "the long form is asked for by the environment")]
fn tries() -> u32 {
    if std::env::var_os("CLOISTER_ESCAPE_LONG").is_some() { 1_000_000 } else { 30_000 }
}

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    /// A workspace with a directory `a` and a link `b` out of it; outside lies a canary.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let place = Self { dir };
        std::fs::create_dir_all(place.workspace().join("a")).unwrap();
        std::fs::create_dir(place.outside()).unwrap();
        std::fs::write(place.outside().join("file"), CANARY).unwrap();
        std::fs::write(place.workspace().join("a/file"), "inside").unwrap();
        symlink(place.outside(), place.workspace().join("b")).unwrap();
        place
    }

    fn workspace(&self) -> PathBuf {
        self.dir.path().join("ws")
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    /// Runs `look` while another thread exchanges the directory and the link without pause.
    fn while_swapping(&self, look: impl FnOnce()) {
        let stop = AtomicBool::new(false);
        let (a, b) = (self.workspace().join("a"), self.workspace().join("b"));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let exchange = rustix::fs::RenameFlags::EXCHANGE;
                    rustix::fs::renameat_with(rustix::fs::CWD, &a, rustix::fs::CWD, &b, exchange)
                        .unwrap();
                }
            });
            look();
            stop.store(true, Ordering::Relaxed);
        });
    }
}

/// Check the name, then open it: what must not be done.
fn read_naively(workspace: &Path, path: &str) -> Option<String> {
    let real = workspace.join(path).canonicalize().ok()?;
    if !real.starts_with(workspace) {
        return None;
    }
    std::fs::read_to_string(workspace.join(path)).ok()
}

#[test]
fn e6_swapping_links_never_leads_out() {
    let place = Place::new();
    let tree = Tree::open(&place.workspace()).unwrap();
    let (dir, file) = (RelPath::parse("a").unwrap(), RelPath::parse("a/file").unwrap());
    let (mut reads, mut writes) = (0, 0);
    place.while_swapping(|| {
        for _ in 0..tries() {
            if let Ok(mut found) = tree.read(&file) {
                let mut text = String::new();
                found.read_to_string(&mut text).unwrap();
                assert_eq!(text, "inside");
                reads += 1;
            }
            if let Ok((mut made, path)) = tree.create_unique(&dir, "written") {
                made.write_all(b"x").unwrap();
                drop(tree.remove(&path));
                writes += 1;
            }
        }
    });
    assert!(reads > 0 && writes > 0, "the race was never met: {reads} reads, {writes} writes");
    let outside: Vec<_> = std::fs::read_dir(place.outside()).unwrap().flatten().collect();
    assert_eq!(outside.len(), 1, "something was written outside: {outside:?}");
}

#[test]
fn e6_bites_where_names_are_checked_before_they_are_opened() {
    let place = Place::new();
    let workspace = place.workspace().canonicalize().unwrap();
    let mut leaked = 0;
    place.while_swapping(|| {
        for _ in 0..tries() {
            if read_naively(&workspace, "a/file").is_some_and(|text| text == CANARY) {
                leaked += 1;
            }
        }
    });
    assert!(leaked > 0, "the attack does not bite: the test above shows nothing");
}

#[test]
fn e3_e4_planted_links_are_refused() {
    let place = Place::new();
    let tree = Tree::open(&place.workspace()).unwrap();
    symlink(place.outside().join("file"), place.workspace().join("f")).unwrap();
    symlink("..", place.workspace().join("a/up")).unwrap();
    for path in ["f", "b/file", "a/up/f", "a/up/../../outside/file"] {
        let opened = RelPath::parse(path).and_then(|path| tree.read(&path));
        assert!(opened.is_err(), "{path}");
    }
}
