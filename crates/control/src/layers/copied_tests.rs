//! The same promises where tasks work on copies.

use std::os::unix::fs::PermissionsExt as _;

use cloister_store::layers::LayerFolder;

use super::super::copied::{self, CopyError};
use super::super::place::LayerPlace;
use super::*;

const FOLDER: LayerFolder = LayerFolder { task: TaskId::from_number(7), number: 1 };

impl Bench {
    fn layers(&self) -> LayerPlace {
        let layout = crate::layout::Layout::new(self.0.path());
        LayerPlace::of(&layout, cloister_protocol::WorkspaceId::from_number(1))
    }

    fn copy_at_most(&self, most: u64) -> Result<Sheet, CopyError> {
        copied::make(&self.layers(), FOLDER, (self.opened(), most), &|_file| Ok(()))?;
        Ok(self.layers().sheet(FOLDER))
    }

    fn copy(&self) -> Sheet {
        self.copy_at_most(1 << 30).unwrap()
    }

    fn land(&self, copy: &Sheet, begun_ns: i64) -> Plan {
        let plan = self.plan_sheets(std::slice::from_ref(copy), begun_ns);
        self.carry_out_of(vec![copy.files().to_owned()], &plan.steps);
        plan
    }
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

/// What lands from an overlay lands from a copy.
#[test]
fn what_a_task_did_to_a_copy_lands_as_it_did_it() {
    let bench = Bench::new(&[
        ("gone", "1"),
        ("changed", "old"),
        ("folder/x", "x"),
        ("folder/deep/y", "y"),
        ("emptied/z", "z"),
        ("was-file", "f"),
        ("was-folder/inside", "i"),
        ("same", "same"),
        ("moved", "moved"),
        ("run", "#!"),
    ]);
    symlink("gone", bench.at("files/stays")).unwrap();
    fs::set_permissions(bench.at("files/run"), fs::Permissions::from_mode(0o755)).unwrap();
    let begun = bench.now();
    let copy = bench.copy();
    let at = |path: &str| copy.files().join(path);
    assert_eq!(mode(&at("run")), 0o755);
    fs::remove_file(at("gone")).unwrap();
    fs::write(at("changed"), "new").unwrap();
    fs::remove_dir_all(at("folder")).unwrap();
    fs::remove_dir_all(at("emptied")).unwrap();
    fs::create_dir(at("emptied")).unwrap();
    fs::write(at("emptied/fresh"), "fresh").unwrap();
    fs::remove_file(at("was-file")).unwrap();
    fs::create_dir(at("was-file")).unwrap();
    fs::write(at("was-file/inside"), "now a folder").unwrap();
    fs::remove_dir_all(at("was-folder")).unwrap();
    fs::write(at("was-folder"), "now a file").unwrap();
    fs::write(at("same"), "same").unwrap();
    fs::rename(at("moved"), at("there")).unwrap();
    fs::create_dir(at("one")).unwrap();
    symlink("../changed", at("one/link")).unwrap();
    symlink("/etc/passwd", at("one/out")).unwrap();
    fs::create_dir(at("incoming")).unwrap();
    let plan = bench.land(&copy, begun);
    let landed = pairs(&[
        ("changed", "new"),
        ("emptied/fresh", "fresh"),
        ("one/link", "-> ../changed"),
        ("run", "#!"),
        ("same", "same"),
        ("stays", "-> gone"),
        ("there", "moved"),
        ("was-file/inside", "now a folder"),
        ("was-folder", "now a file"),
    ]);
    assert_eq!(bench.files(), landed);
    assert!(!bench.tree("files").iter().any(|(path, _)| path.starts_with("folder")), "gone whole");
    assert!(plan.stayed.is_empty(), "{plan:?}");
    let left_out: Vec<_> = plan.left_out.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(left_out, ["one/out"]);
    let untouched = ["same", "run", "stays"];
    assert!(!plan.changes.iter().any(|one| untouched.contains(&one.path.as_str())), "{plan:?}");
    let kept: Vec<_> = bench.tree("before").into_iter().map(|(path, _)| path).collect();
    for path in ["gone", "changed", "folder/x", "emptied/z", "was-file", "was-folder/inside"] {
        assert!(kept.contains(&path.to_owned()), "{path} is kept in {kept:?}");
    }
}

#[test]
fn what_others_changed_while_a_copy_was_worked_on_is_not_overwritten() {
    let bench = Bench::new(&[("notes.md", "old"), ("removed", "old"), ("theirs", "old")]);
    let begun = bench.now();
    let copy = bench.copy();
    fs::write(copy.files().join("notes.md"), "the task's").unwrap();
    fs::remove_file(copy.files().join("removed")).unwrap();
    bench.write("files", "notes.md", "the person's");
    bench.write("files", "removed", "needed again");
    bench.write("files", "theirs", "changed");
    bench.write("files", "new", "the person's new");
    let plan = bench.land(&copy, begun);
    let both = pairs(&[
        ("new", "the person's new"),
        ("notes-T7.md", "the task's"),
        ("notes.md", "the person's"),
        ("removed", "needed again"),
        ("theirs", "changed"),
    ]);
    assert_eq!(bench.files(), both);
    assert_eq!(plan.stayed, ["removed"]);
}

/// Size and time of a file are its task's to set; that it was changed is not.
#[test]
fn a_change_that_is_hidden_lands_all_the_same() {
    let bench = Bench::new(&[("a", "1234")]);
    let begun = bench.now();
    let copy = bench.copy();
    let at = copy.files().join("a");
    let when = fs::metadata(&at).unwrap().modified().unwrap();
    fs::write(&at, "evil").unwrap();
    fs::File::options().write(true).open(&at).unwrap().set_modified(when).unwrap();
    // What means something in an overlay means nothing here.
    fs::create_dir(copy.files().join("d")).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(copy.files().join("d"), c"user.overlay.opaque", b"y", flags).unwrap();
    bench.write("files", "d/theirs", "theirs");
    bench.land(&copy, begun);
    assert_eq!(bench.files(), pairs(&[("a", "evil"), ("d/theirs", "theirs")]));
}

#[test]
fn a_copy_takes_no_more_room_than_there_is_and_one_that_is_half_is_made_anew() {
    let bench = Bench::new(&[("a", "1234"), ("b", "1234")]);
    let sparse = fs::File::create(bench.at("files/sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    // Where the file system shares what is copied, a copy takes none.
    let shared = fs::File::create(bench.at("shared")).unwrap();
    let shares = rustix::fs::ioctl_ficlone(&shared, fs::File::open(bench.at("files/a")).unwrap());
    let refused = bench.copy_at_most(6);
    assert!(shares.is_ok() || matches!(refused, Err(CopyError::NoRoom)), "{refused:?}");
    fs::create_dir_all(bench.layers().copy(FOLDER)).unwrap();
    fs::remove_file(bench.layers().seen(FOLDER)).ok();
    fs::write(bench.layers().copy(FOLDER).join("left"), "by a kill").unwrap();
    let copy = bench.copy_at_most(1 << 20).unwrap();
    assert!(!copy.files().join("left").exists());
    assert_eq!(fs::metadata(copy.files().join("sparse")).unwrap().len(), 1 << 40);
    // It is there: what the task has done to it stays.
    fs::write(copy.files().join("mine"), "mine").unwrap();
    assert!(bench.copy().files().join("mine").exists());
}
