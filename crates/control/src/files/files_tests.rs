use super::*;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;

fn tree() -> (tempfile::TempDir, Tree) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("ws")).unwrap();
    std::fs::write(dir.path().join("outside"), "SECRET_CANARY").unwrap();
    let tree = Tree::open(&dir.path().join("ws")).unwrap();
    (dir, tree)
}

fn rel(path: &str) -> RelPath {
    RelPath::parse(path).unwrap()
}

#[test]
fn paths_that_leave_are_refused_by_their_words() {
    for path in [
        "../outside",
        "/etc/passwd",
        "a/../../outside",
        "",
        ".",
        "a\0b",
        &"x/".repeat(600),
        &"y".repeat(300),
    ] {
        assert!(RelPath::parse(path).is_err(), "{path:?}");
    }
}

#[test]
fn a_symlink_is_refused_wherever_it_stands() {
    let (dir, tree) = tree();
    let ws = dir.path().join("ws");
    symlink(dir.path().join("outside"), ws.join("file")).unwrap();
    symlink("..", ws.join("up")).unwrap();
    symlink("/proc/self/root", ws.join("magic")).unwrap();
    for path in ["file", "up/outside", "magic/etc/passwd"] {
        assert!(matches!(tree.read(&rel(path)), Err(FileError::Refused { .. })), "{path}");
    }
}

#[test]
fn a_dangling_symlink_is_not_written_through() {
    let (dir, tree) = tree();
    let target = dir.path().join("made-by-attack");
    std::fs::create_dir(dir.path().join("ws/incoming")).unwrap();
    symlink(&target, dir.path().join("ws/incoming/a.txt")).unwrap();
    let (mut file, path) = tree.create_unique(&rel("incoming"), "a.txt").unwrap();
    file.write_all(b"x").unwrap();
    assert_eq!(path.as_str(), "incoming/a-2.txt");
    assert!(!target.exists());
}

#[test]
fn a_linked_directory_is_not_entered_to_write() {
    let (dir, tree) = tree();
    symlink(dir.path(), dir.path().join("ws/incoming")).unwrap();
    assert!(tree.create_unique(&rel("incoming"), "a.txt").is_err());
    assert!(!dir.path().join("a.txt").exists());
}

#[test]
fn a_hard_link_a_pipe_and_a_directory_are_refused() {
    let (dir, tree) = tree();
    let ws = dir.path().join("ws");
    std::fs::hard_link(dir.path().join("outside"), ws.join("hard")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        ws.join("pipe"),
        rustix::fs::FileType::Fifo,
        Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    std::fs::create_dir(ws.join("dir")).unwrap();
    for path in ["hard", "pipe", "dir"] {
        assert!(matches!(tree.read(&rel(path)), Err(FileError::Refused { .. })), "{path}");
    }
}

#[test]
fn names_are_unique_and_safe() {
    let (_dir, tree) = tree();
    tree.make_dir(&rel("incoming")).unwrap();
    let mut made = Vec::new();
    for _ in 0..3 {
        made.push(
            tree.create_unique(&rel("incoming"), "../../etc/my report.pdf")
                .unwrap()
                .1
                .as_str()
                .to_owned(),
        );
    }
    assert_eq!(
        made,
        ["incoming/my report.pdf", "incoming/my report-2.pdf", "incoming/my report-3.pdf"]
    );
}

#[test]
fn a_safe_name_has_no_tricks_left() {
    for (wanted, safe) in [
        ("a.txt", "a.txt"),
        ("..", "file"),
        ("", "file"),
        (".bashrc", "bashrc"),
        ("a\0b\n.txt", "ab.txt"),
        ("x\u{202E}fdp.exe", "xfdp.exe"),
        ("a\u{2215}b\u{FF0F}c.md", "a_b_c.md"),
        ("\u{2024}\u{2024}/x", "x"),
        ("$(rm -rf ~).sh", "_(rm -rf _).sh"),
        ("-rf", "rf"),
    ] {
        assert_eq!(safe_name(wanted), safe, "{wanted:?}");
    }
    let long = safe_name(&format!("{}.tar", "ж".repeat(400)));
    assert!(long.len() <= 200 && long.ends_with(".tar"));
}

#[test]
fn reading_races_with_swapping_and_never_leaves() {
    let (dir, tree) = tree();
    let ws = dir.path().join("ws");
    std::fs::create_dir(ws.join("a")).unwrap();
    std::fs::write(ws.join("a/outside"), "inside").unwrap();
    symlink(dir.path(), ws.join("b")).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    ws.join("a"),
                    rustix::fs::CWD,
                    ws.join("b"),
                    exchange,
                )
                .unwrap();
            }
        });
        let mut read = 0;
        for _ in 0..20_000 {
            if let Ok(mut file) = tree.read(&rel("a/outside")) {
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                assert_eq!(text, "inside");
                read += 1;
            }
            if let Ok((_, path)) = tree.create_unique(&rel("a"), "w") {
                drop(tree.remove(&path));
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(read > 0, "the race was never won by a plain read: the test shows nothing");
    });
    assert!(!dir.path().join("w").exists());
}

#[test]
fn usage_counts_blocks_once() {
    let (dir, tree) = tree();
    std::fs::write(dir.path().join("ws/a"), vec![1u8; 100_000]).unwrap();
    std::fs::hard_link(dir.path().join("ws/a"), dir.path().join("ws/b")).unwrap();
    symlink(dir.path().join("outside"), dir.path().join("ws/c")).unwrap();
    let usage = tree.usage().unwrap();
    assert!((100_000..120_000).contains(&usage.bytes), "{usage:?}");
}

/// P4: a workspace can't be larger than it is counted: what lies deep is counted too, what is closed to us counts as all.
#[test]
fn usage_counts_what_is_deep_and_notices_what_is_closed() {
    let (dir, tree) = tree();
    let mut deep = dir.path().join("ws");
    for _ in 0..400 {
        deep.push("d");
    }
    std::fs::create_dir_all(&deep).unwrap();
    std::fs::write(deep.join("f"), vec![1u8; 1_000_000]).unwrap();
    let usage = tree.usage().unwrap();
    assert!(usage.bytes > 1_000_000 && !usage.hidden, "{usage:?}");
    for n in 0..300 {
        let way: std::path::PathBuf = std::iter::repeat_n("w", 127).collect();
        std::fs::create_dir_all(dir.path().join("ws").join(way).join(format!("{n}/x"))).unwrap();
    }
    assert!(tree.usage().unwrap().hidden, "more folders lie deep than are counted");
}

#[test]
fn an_inventory_opens_one_way_down_at_a_time() {
    let (dir, tree) = tree();
    for n in 0..3_000 {
        std::fs::create_dir(dir.path().join(format!("ws/{n}"))).unwrap();
        std::fs::write(dir.path().join(format!("ws/{n}/f")), "").unwrap();
    }
    let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = open();
    let (done, heard) = std::sync::mpsc::sync_channel(1);
    let listing = std::thread::spawn(move || {
        let found = tree.inventory().unwrap();
        done.send(()).unwrap();
        found
    });
    let mut most = before;
    while heard.try_recv().is_err() && !listing.is_finished() {
        most = most.max(open());
    }
    let found = listing.join().unwrap();
    assert_eq!(found.files.iter().filter(|path| path.ends_with("/f")).count(), 3_000);
    assert!(most < before + 1_000, "{before} before, {most} meanwhile");
}
