use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

use cloister_protocol::TaskId;
use rustix::fs::{AtFlags, CWD, FileType, Mode};

use super::held::Holding;
use super::moving::{Elsewhere, MoveStep, Mover, Root, Roots};
use super::place::Sheet;
use super::plan::{ChangeKind, Plan, Planning, nanoseconds, plan};
use super::print::FilePrint;
use super::scan::Closed;
use super::{scan, told};

/// A chat's files, a layer over them, and what a landing takes away.
struct Bench(tempfile::TempDir);

impl Bench {
    /// With these files, from before the layer was begun.
    fn new(files: &[(&str, &str)]) -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        for place in ["files", "upper", "before", "undone", "held"] {
            fs::create_dir(bench.at(place)).unwrap();
        }
        for (path, text) in files {
            bench.write("files", path, text);
        }
        bench
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, place: &str, path: &str, text: &str) {
        let at = self.at(place).join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        // As a program would that keeps nobody waiting for the clock: in a new file's place.
        let fresh = self.at(".fresh");
        fs::write(&fresh, text).unwrap();
        fs::rename(fresh, at).unwrap();
    }

    /// What a removed file leaves in a layer.
    fn white_out(&self, path: &str) {
        let at = self.at("upper").join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        rustix::fs::mknodat(CWD, at, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
    }

    /// A folder that shows nothing of before.
    fn opaque(&self, path: &str) {
        let at = self.at("upper").join(path);
        fs::create_dir_all(&at).unwrap();
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(&at, c"user.overlay.opaque", b"y", flags).unwrap();
    }

    /// A time that everything so far is before.
    fn now(&self) -> i64 {
        let ctime = |path: &Path| {
            fs::write(path, "now").unwrap();
            nanoseconds(&rustix::fs::statat(CWD, path, AtFlags::empty()).unwrap())
        };
        let first = ctime(&self.at("first"));
        loop {
            let later = ctime(&self.at("later"));
            if later > first {
                return later;
            }
        }
    }

    fn plan(&self, begun_ns: i64) -> Plan {
        self.plan_holding(begun_ns, &Holding::Words(String::new()))
    }

    fn plan_holding(&self, begun_ns: i64, holding: &Holding) -> Plan {
        self.plan_all(&[Sheet::Overlay(self.at("upper"))], begun_ns, holding)
    }

    fn plan_of(&self, layers: &[PathBuf], begun_ns: i64) -> Plan {
        let layers: Vec<Sheet> = layers.iter().cloned().map(Sheet::Overlay).collect();
        self.plan_sheets(&layers, begun_ns)
    }

    fn plan_sheets(&self, layers: &[Sheet], begun_ns: i64) -> Plan {
        self.plan_all(layers, begun_ns, &Holding::Words(String::new()))
    }

    fn plan_all(&self, layers: &[Sheet], begun_ns: i64, holding: &Holding) -> Plan {
        let scan = scan::scan(layers, Closed::Open).unwrap();
        let (task, files) = (TaskId::from_number(7), self.opened());
        plan(Planning { task, scan, layers, files, begun_ns, holding }).unwrap()
    }

    fn opened(&self) -> OwnedFd {
        fs::File::open(self.at("files")).unwrap().into()
    }

    fn carry_out(&self, steps: &[MoveStep]) -> Elsewhere {
        self.carry_out_of(vec![self.at("upper")], steps)
    }

    /// What is noted survives a kill.
    fn carry_out_of(&self, layers: Vec<PathBuf>, steps: &[MoveStep]) -> Elsewhere {
        let noted = self.at("elsewhere.json");
        let known = fs::read(&noted).map(|json| serde_json::from_slice(&json).unwrap());
        let roots = Roots {
            task: TaskId::from_number(7),
            files: self.opened(),
            layers,
            before: self.at("before"),
            undone: self.at("undone"),
            held: self.at("held"),
            give: &|_file| Ok(()),
            note: &|elsewhere| fs::write(&noted, serde_json::to_vec(elsewhere).unwrap()),
        };
        Mover::new(roots, known.unwrap_or_default()).carry_out(steps).unwrap()
    }

    /// All files and links with what they say, in order.
    fn tree(&self, place: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let mut open = vec![self.at(place)];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let shown =
                    path.strip_prefix(self.at(place)).unwrap().to_string_lossy().into_owned();
                if path.is_symlink() {
                    let to = fs::read_link(&path).unwrap();
                    found.push((shown, format!("-> {}", to.display())));
                } else if path.is_dir() {
                    found.push((format!("{shown}/"), String::new()));
                    open.push(path);
                } else {
                    found.push((shown, fs::read_to_string(&path).unwrap()));
                }
            }
        }
        found.sort();
        found
    }

    fn files(&self) -> Vec<(String, String)> {
        self.tree("files").into_iter().filter(|(path, _)| !path.ends_with('/')).collect()
    }
}

fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
    all.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

fn busy() -> Bench {
    let bench = Bench::new(&[
        ("gone", "1"),
        ("changed", "old"),
        ("folder/x", "x"),
        ("folder/deep/y", "y"),
        ("emptied/z", "z"),
        ("was-file", "f"),
        ("was-folder/inside", "i"),
        ("same", "same"),
    ]);
    bench.white_out("gone");
    bench.write("upper", "changed", "new");
    bench.white_out("folder");
    bench.opaque("emptied");
    bench.write("upper", "emptied/fresh", "fresh");
    bench.opaque("was-file");
    bench.write("upper", "was-file/inside", "now a folder");
    bench.write("upper", "was-folder", "now a file");
    bench.write("upper", "same", "same");
    bench.write("upper", "one/two/three", "3");
    fs::hard_link(bench.at("upper/one/two/three"), bench.at("upper/second-name")).unwrap();
    symlink("one/two", bench.at("upper/link")).unwrap();
    bench
}

#[test]
fn what_a_task_did_lands_as_it_did_it() {
    let bench = busy();
    let plan = bench.plan(bench.now());
    assert!(plan.stayed.is_empty() && plan.left_out.is_empty(), "{plan:?}");
    bench.carry_out(&plan.steps);
    let landed = pairs(&[
        ("changed", "new"),
        ("emptied/fresh", "fresh"),
        ("link", "-> one/two"),
        ("one/two/three", "3"),
        ("same", "same"),
        ("second-name", "3"),
        ("was-file/inside", "now a folder"),
        ("was-folder", "now a file"),
    ]);
    assert_eq!(bench.files(), landed);
    assert!(!bench.tree("files").iter().any(|(path, _)| path.starts_with("folder")), "gone whole");
    let links = |path: &str| fs::metadata(bench.at("files").join(path)).unwrap().nlink();
    assert_eq!((links("second-name"), links("one/two/three")), (1, 1), "no file has two names");
    let same = plan.changes.iter().any(|change| change.path == "same");
    assert!(!same, "what says the same is no change");
    let kept: Vec<_> = bench.tree("before").into_iter().map(|(path, _)| path).collect();
    for path in ["gone", "changed", "folder/x", "folder/deep/y", "emptied/z", "was-file"] {
        assert!(kept.contains(&path.to_owned()), "{path} is kept in {kept:?}");
    }
    assert!(
        told::told(TaskId::from_number(7), &plan).unwrap().contains("removed emptied/z"),
        "{:?}",
        told::told(TaskId::from_number(7), &plan)
    );
}

/// Killed after any number of steps, and once more after any number of the same: the end is the same.
#[test]
fn a_landing_that_is_killed_anywhere_ends_as_if_it_had_not_been() {
    let (whole, begun) = {
        let bench = busy();
        let begun = bench.now();
        let plan = bench.plan(begun);
        bench.carry_out(&plan.steps);
        ((bench.tree("files"), bench.tree("before")), plan.steps.len())
    };
    for killed_after in 0..=begun {
        let bench = busy();
        let steps = bench.plan(bench.now()).steps;
        assert_eq!(steps.len(), begun);
        bench.carry_out(&steps[..killed_after]);
        bench.carry_out(&steps[..killed_after / 2]);
        bench.carry_out(&steps);
        bench.carry_out(&steps);
        assert_eq!((bench.tree("files"), bench.tree("before")), whole, "after {killed_after}");
    }
}

#[test]
fn what_others_changed_meanwhile_is_never_overwritten() {
    let bench = Bench::new(&[
        ("notes.md", "old"),
        ("removed", "old"),
        ("folder/mine", "m"),
        ("folder/theirs", "t"),
    ]);
    let begun = bench.now();
    bench.write("upper", "notes.md", "the task's");
    bench.write("upper", "new", "the task's new");
    bench.white_out("removed");
    bench.white_out("folder");
    bench.write("files", "notes.md", "the person's");
    bench.write("files", "new", "the person's new");
    bench.write("files", "removed", "needed again");
    bench.write("files", "folder/theirs", "changed");
    let plan = bench.plan(begun);
    bench.carry_out(&plan.steps);
    let both = pairs(&[
        ("folder/theirs", "changed"),
        ("new", "the person's new"),
        ("new-T7", "the task's new"),
        ("notes-T7.md", "the task's"),
        ("notes.md", "the person's"),
        ("removed", "needed again"),
    ]);
    assert_eq!(bench.files(), both);
    assert_eq!(plan.stayed, ["folder/theirs", "removed"]);
    let said = told::told(TaskId::from_number(7), &plan).unwrap();
    for words in ["this task's is notes-T7.md", "Not removed", "removed folder/mine"] {
        assert!(said.contains(words), "{words} in {said}");
    }
}

#[test]
fn what_can_not_land_is_left_out_by_itself() {
    let bench = Bench::new(&[]);
    bench.write("upper", "good", "good");
    let upper = bench.at("upper");
    for (name, to) in [
        ("absolute", "/etc/passwd"),
        ("out", "../../secret"),
        ("sly", "good/../../secret"),
        ("up/fine", "../good"),
        ("up/out", "../../secret"),
    ] {
        let at = upper.join(name);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(to, at).unwrap();
    }
    rustix::fs::mknodat(CWD, upper.join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(upper.join("socket")).unwrap();
    fs::write(upper.join(std::ffi::OsStr::from_bytes(b"bad\xff")), "x").unwrap();
    fs::write(upper.join("turned\u{202e}txt.exe"), "x").unwrap();
    fs::write(upper.join("two\nlines"), "x").unwrap();
    bench.write("upper", "incoming/forged", "x");
    let mut deep = upper.clone();
    for _ in 0..70 {
        deep.push("d");
    }
    fs::create_dir_all(deep).unwrap();
    let plan = bench.plan(bench.now());
    bench.carry_out(&plan.steps);
    assert_eq!(bench.files(), pairs(&[("good", "good"), ("up/fine", "-> ../good")]));
    let left_out: Vec<&str> = plan.left_out.iter().map(|one| one.path.as_str()).collect();
    for part in
        ["absolute", "out", "sly", "up/out", "pipe", "socket", "bad", "turned", "two", "d/d/d"]
    {
        assert!(left_out.iter().any(|path| path.contains(part)), "{part} in {left_out:?}");
    }
}

/// Of several folders over one another the newest counts.
#[test]
fn folders_over_one_another_count_as_one() {
    let bench = Bench::new(&[("a", "1"), ("b", "1"), ("d/old", "1")]);
    bench.write("upper", "a", "2");
    bench.white_out("b");
    bench.write("upper", "c", "2");
    bench.white_out("d");
    let second = bench.at("second");
    fs::create_dir_all(second.join("d")).unwrap();
    fs::write(second.join("b"), "3").unwrap();
    fs::write(second.join("d/new"), "3").unwrap();
    rustix::fs::mknodat(CWD, second.join("c"), FileType::CharacterDevice, Mode::empty(), 0)
        .unwrap();
    let layers = [bench.at("upper"), second];
    let plan = bench.plan_of(&layers, bench.now());
    bench.carry_out_of(layers.to_vec(), &plan.steps);
    assert_eq!(bench.files(), pairs(&[("a", "2"), ("b", "3"), ("d/new", "3")]));
    let kinds: Vec<_> = plan.changes.iter().map(|one| (one.path.as_str(), one.kind)).collect();
    let all = [
        ("a", ChangeKind::Changed),
        ("b", ChangeKind::Changed),
        ("d/old", ChangeKind::Removed),
        ("d/new", ChangeKind::Added),
    ];
    assert_eq!(kinds, all);
}

#[path = "copied_tests.rs"]
mod copied;
#[path = "hostile_tests.rs"]
mod hostile;
/// Killed after any number of steps as well: what programs run is aside, the rest has landed, and what was there stays.
#[test]
fn what_programs_run_does_not_land_with_the_rest() {
    let bench = || {
        let bench = Bench::new(&[("Makefile", "mine"), ("notes", "old")]);
        bench.write("upper", "Makefile", "theirs");
        bench.write("upper", ".envrc", "theirs");
        bench.write("upper", "notes", "new");
        symlink("nice", bench.at("upper/.husky")).unwrap();
        bench
    };
    let count = bench().plan_holding(i64::MAX, &Holding::All).steps.len();
    for killed_after in 0..=count {
        let bench = bench();
        let plan = bench.plan_holding(bench.now(), &Holding::All);
        bench.carry_out(&plan.steps[..killed_after]);
        bench.carry_out(&plan.steps);
        assert_eq!(bench.files(), pairs(&[("Makefile", "mine"), ("notes", "new")]));
        let held = pairs(&[(".envrc", "theirs"), (".husky", "-> nice"), ("Makefile", "theirs")]);
        assert_eq!(bench.tree("held"), held, "after {killed_after}");
        assert_eq!(plan.held.len(), 3);
    }
    // In the person's own words they asked for what builds, and named nothing that runs by itself.
    let bench = bench();
    let plan = bench.plan(bench.now());
    let runs: Vec<_> =
        plan.changes.iter().map(|one| (one.path.as_str(), one.runs.is_some())).collect();
    assert_eq!(runs, [("Makefile", true), ("notes", false)]);
    assert_eq!(plan.held.len(), 2);
}
