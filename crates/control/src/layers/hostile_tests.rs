//! Layers that a hostile program has written, and what others do to the chat's files at the worst moment.

use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::time::Duration;

use super::*;

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Somebody makes a file where one lands, or changes one that is taken away, after it was decided what moves.
#[test]
fn what_others_do_after_the_plan_is_not_overwritten_either() {
    let bench = Bench::new(&[("notes.md", "old"), ("removed", "old"), ("blocked/x", "old")]);
    bench.write("upper", "notes.md", "the task's");
    bench.write("upper", "new", "the task's new");
    bench.write("upper", "blocked/x", "the task's x");
    bench.white_out("removed");
    let plan = bench.plan(bench.now());
    bench.write("files", "notes.md", "the person's");
    bench.write("files", "new", "the person's new");
    bench.write("files", "removed", "needed again");
    fs::remove_dir_all(bench.at("files/blocked")).unwrap();
    bench.write("files", "blocked", "a file by now");
    let elsewhere = bench.carry_out(&plan.steps);
    let both = pairs(&[
        ("blocked", "a file by now"),
        ("new", "the person's new"),
        ("new-T7", "the task's new"),
        ("notes-T7.md", "the task's"),
        ("notes.md", "the person's"),
        ("removed", "needed again"),
        ("x-T7", "the task's x"),
    ]);
    assert_eq!(bench.files(), both);
    assert_eq!(elsewhere.get("new").map(String::as_str), Some("new-T7"));
    // Killed and carried out again: the same.
    assert_eq!(bench.carry_out(&plan.steps), elsewhere);
    assert_eq!(bench.files(), both);
}

/// A copy that was whole before the kill is not made twice; somebody's file that says the same is no copy to be lost.
#[test]
fn a_file_with_two_names_that_is_there_already_is_not_doubled() {
    let bench = Bench::new(&[]);
    bench.write("upper", "one", "shared");
    fs::hard_link(bench.at("upper/one"), bench.at("upper/two")).unwrap();
    let plan = bench.plan(bench.now());
    assert!(plan.steps.iter().all(|step| matches!(step, MoveStep::Copy { .. })), "{plan:?}");
    // As a kill leaves it: there, and not gone from the layer.
    bench.write("files", "one", "shared");
    bench.write("files", "two", "the person's");
    bench.carry_out(&plan.steps);
    let all = pairs(&[("one", "shared"), ("two", "the person's"), ("two-T7", "shared")]);
    assert_eq!(bench.files(), all);
    assert!(bench.tree("upper").is_empty());
}

#[test]
fn holes_are_not_filled_and_copies_count() {
    let bench = Bench::new(&[]);
    let huge = fs::File::create(bench.at("upper/huge")).unwrap();
    huge.set_len(1 << 40).unwrap();
    huge.write_all_at(b"in the middle", 1 << 39).unwrap();
    for name in ["second", "third"] {
        fs::hard_link(bench.at("upper/huge"), bench.at("upper").join(name)).unwrap();
    }
    let plan = bench.plan(bench.now());
    assert!(plan.copied > 0 && plan.copied < 1 << 20, "two of three are room more: {plan:?}");
    bench.carry_out(&plan.steps);
    let landed = fs::metadata(bench.at("files/third")).unwrap();
    assert_eq!((landed.len(), landed.nlink()), (1 << 40, 1));
    assert!(landed.blocks() * 512 < 1 << 20, "{} blocks", landed.blocks());
    let mut middle = [0; 13];
    fs::File::open(bench.at("files/third")).unwrap().read_exact_at(&mut middle, 1 << 39).unwrap();
    assert_eq!(&middle, b"in the middle");
}

#[test]
fn rights_and_marks_of_a_layer_do_not_land() {
    let bench = Bench::new(&[("same", "same")]);
    for (name, bits) in [("setuid", 0o6755), ("closed", 0o000), ("plain", 0o640), ("same", 0o4644)]
    {
        bench.write("upper", name, if name == "same" { "same" } else { name });
        set_mode(&bench.at("upper").join(name), bits);
    }
    bench.write("upper", "shut/inside", "inside");
    set_mode(&bench.at("upper/shut"), 0o000);
    let flags = rustix::fs::XattrFlags::empty();
    let marked = bench.at("upper/plain");
    for name in [c"user.overlay.whiteout", c"user.overlay.metacopy", c"user.overlay.redirect"] {
        rustix::fs::setxattr(&marked, name, b"/etc", flags).unwrap();
    }
    rustix::fs::setxattr(&marked, c"user.mine", b"kept", flags).unwrap();
    // A file that only claims to be a whiteout is a file.
    bench.write("upper", "claims", "");
    rustix::fs::setxattr(bench.at("upper/claims"), c"user.overlay.whiteout", b"y", flags).unwrap();
    let plan = bench.plan(bench.now());
    bench.carry_out(&plan.steps);
    let landed = bench.at("files");
    assert_eq!(mode(&landed.join("setuid")), 0o755);
    assert_eq!(mode(&landed.join("closed")), 0o400, "its owner can read it");
    assert_eq!(mode(&landed.join("plain")), 0o640);
    assert_eq!(mode(&landed.join("same")) & 0o7000, 0);
    assert_eq!(mode(&landed.join("shut")) & 0o700, 0o700);
    assert_eq!(fs::read_to_string(landed.join("shut/inside")).unwrap(), "inside");
    assert_eq!(fs::read_to_string(landed.join("claims")).unwrap(), "");
    let mut names = vec![0; 1000];
    let length = rustix::fs::listxattr(landed.join("plain"), names.as_mut_slice()).unwrap();
    assert_eq!(&names[..length], b"user.mine\0");
}

/// The name under which a copy is made is nobody's: no file of the chat is written over by it.
#[test]
fn no_task_has_a_file_where_copies_are_made() {
    let bench = Bench::new(&[]);
    bench.write("upper", ".cloister-landing-T7-0", "in the way");
    bench.write("upper", "one.landing", "mine");
    bench.write("upper", "one", "shared");
    fs::hard_link(bench.at("upper/one"), bench.at("upper/two")).unwrap();
    let plan = bench.plan(bench.now());
    assert_eq!(plan.left_out.len(), 1, "{plan:?}");
    bench.carry_out(&plan.steps);
    let all = pairs(&[("one", "shared"), ("one.landing", "mine"), ("two", "shared")]);
    assert_eq!(bench.files(), all);
}

#[test]
fn what_takes_a_place_of_another_kind_in_a_later_folder_counts() {
    let bench = Bench::new(&[("f", "file"), ("d/x", "x")]);
    bench.write("upper", "d/y", "y");
    bench.write("upper", "new/a", "a");
    let second = bench.at("second");
    fs::create_dir_all(&second).unwrap();
    fs::write(second.join("d"), "a file now").unwrap();
    rustix::fs::mknodat(CWD, second.join("new"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    fs::create_dir(second.join("f")).unwrap();
    fs::write(second.join("f/inside"), "i").unwrap();
    let layers = [bench.at("upper"), second];
    let plan = bench.plan_of(&layers, bench.now());
    bench.carry_out_of(layers.to_vec(), &plan.steps);
    assert_eq!(bench.files(), pairs(&[("d", "a file now"), ("f/inside", "i")]));
    assert_eq!(plan.left_out.len(), 1, "the pipe, with what was below it: {plan:?}");
    let kept: Vec<_> = bench.tree("before").into_iter().map(|(path, _)| path).collect();
    for path in ["d/x", "f"] {
        assert!(kept.contains(&path.to_owned()), "{path} in {kept:?}");
    }
}

/// As many names as there may be of the longest paths would fill the memory: they are refused before.
#[test]
fn more_names_than_can_be_held_are_refused() {
    let bench = Bench::new(&[]);
    let mut deep = bench.at("upper");
    for _ in 0..4 {
        deep.push("d".repeat(250));
    }
    fs::create_dir_all(&deep).unwrap();
    for number in 0..34_000 {
        rustix::fs::mknodat(CWD, deep.join(format!("{number}")), FileType::Fifo, Mode::RUSR, 0)
            .unwrap();
    }
    let refused = scan::scan(&[Sheet::Overlay(bench.at("upper"))], Closed::Open).unwrap_err();
    assert!(refused.to_string().contains("more than can land at once"), "{refused}");
}

/// A later file of the same number, size and time is another one: when it was made can't be set.
#[test]
fn a_file_that_is_made_to_look_like_another_is_told_from_it() {
    let bench = Bench::new(&[("a", "1234")]);
    let files = bench.opened();
    let print = FilePrint::beneath(&files, "a").unwrap().unwrap();
    let when = fs::metadata(bench.at("files/a")).unwrap().modified().unwrap();
    let number = fs::metadata(bench.at("files/a")).unwrap().ino();
    let mut forged = false;
    for _ in 0..300 {
        fs::remove_file(bench.at("files/a")).unwrap();
        fs::write(bench.at("files/a"), "evil").unwrap();
        let file = fs::File::options().write(true).open(bench.at("files/a")).unwrap();
        file.set_modified(when).unwrap();
        forged |= file.metadata().unwrap().ino() == number;
        assert_ne!(FilePrint::beneath(&files, "a").unwrap(), Some(print));
    }
    // Where numbers don't come again the forgery fails for that.
    let _where_they_come_again = forged;
    let later = when + Duration::from_secs(5);
    fs::File::options().write(true).open(bench.at("files/a")).unwrap().set_modified(later).unwrap();
    assert_ne!(FilePrint::beneath(&files, "a").unwrap(), Some(print));
}

/// Killed before a folder was given to the cell, it is given to it afterwards: under its name it always is the cell's.
#[test]
fn a_folder_that_a_kill_left_unfinished_is_given_before_it_has_its_name() {
    let bench = Bench::new(&[]);
    bench.write("upper", "one/two/file", "x");
    let plan = bench.plan(bench.now());
    // As a kill leaves it.
    fs::create_dir(bench.at("files/.cloister-landing-T7")).unwrap();
    let named = std::cell::Cell::new(0);
    let given = std::cell::Cell::new(0);
    let roots = Roots {
        task: TaskId::from_number(7),
        files: bench.opened(),
        layers: vec![bench.at("upper")],
        before: bench.at("before"),
        undone: bench.at("undone"),
        held: bench.at("held"),
        give: &|file| {
            let path = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
            let is_half = path.to_string_lossy().contains(".cloister-landing-");
            named.set(named.get() + usize::from(!is_half));
            given.set(given.get() + 1);
            Ok(())
        },
        note: &|_elsewhere| Ok(()),
    };
    Mover::new(roots, Elsewhere::new()).carry_out(&plan.steps).unwrap();
    assert_eq!((given.get(), named.get()), (2, 0));
    let all = pairs(&[("one/", ""), ("one/two/", ""), ("one/two/file", "x")]);
    assert_eq!(bench.tree("files"), all);
}

/// Links on the way, which a task may have put there, are not followed to see what a file is.
#[test]
fn prints_follow_no_links() {
    let bench = Bench::new(&[("d/a", "1")]);
    fs::create_dir(bench.at("outside")).unwrap();
    fs::write(bench.at("outside/a"), "secret").unwrap();
    symlink("../outside", bench.at("files/l")).unwrap();
    symlink("d", bench.at("files/inner")).unwrap();
    let files = bench.opened();
    assert!(FilePrint::beneath(&files, "d/a").unwrap().is_some());
    for path in ["l/a", "inner/a", "../outside/a", "d"] {
        assert_eq!(FilePrint::beneath(&files, path).unwrap(), None, "{path}");
    }
    assert!(FilePrint::beneath(&files, "l").unwrap().is_some(), "the link itself");
}

/// Steps that lead through a link move nothing: neither out, nor in.
#[test]
fn nothing_moves_through_a_link() {
    let bench = Bench::new(&[("d/a", "1")]);
    fs::create_dir(bench.at("outside")).unwrap();
    fs::write(bench.at("outside/secret"), "secret").unwrap();
    bench.write("upper", "d/b", "task");
    let begun = bench.now();
    let mut steps = bench.plan(begun).steps;
    fs::remove_dir_all(bench.at("files/d")).unwrap();
    symlink("../outside", bench.at("files/d")).unwrap();
    let (from, to) = ((Root::Files, "d/secret".to_owned()), (Root::Before, "d/secret".to_owned()));
    steps.push(MoveStep::Move { from, to, was: None });
    steps.push(MoveStep::NoFolder { path: "d/x".to_owned() });
    steps.push(MoveStep::Folder { path: "d/made".to_owned(), mode: 0o755 });
    bench.carry_out(&steps);
    assert_eq!(bench.tree("outside"), pairs(&[("secret", "secret")]));
    assert_eq!(fs::read_to_string(bench.at("files/b-T7")).unwrap(), "task", "it is kept");
}

/// A folder and a link out of the chat's files are exchanged without pause while files land in it.
#[test]
fn exchanging_a_folder_and_a_link_while_files_land_never_leads_out() {
    let bench = Bench::new(&[("a/first", "1")]);
    fs::create_dir(bench.at("outside")).unwrap();
    symlink("../outside", bench.at("files/b")).unwrap();
    let (a, b) = (bench.at("files/a"), bench.at("files/b"));
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut landed = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(CWD, &a, CWD, &b, exchange).unwrap();
            }
        });
        for number in 0..300 {
            let path = format!("a/{number}");
            bench.write("upper", &path, "task");
            let (from, to) = ((Root::Layer(0), path.clone()), (Root::Files, path));
            let elsewhere = bench.carry_out(&[MoveStep::Move { from, to, was: None }]);
            landed += usize::from(elsewhere.is_empty());
            let _none = fs::remove_file(bench.at("elsewhere.json"));
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(landed > 0, "none landed in the folder: the race was never met");
    assert!(bench.tree("outside").is_empty());
    let all = bench.files().into_iter().filter(|(_, text)| text == "task").count();
    assert_eq!(all, 300, "each landed, in the folder or beside it");
}
