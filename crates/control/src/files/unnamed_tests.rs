use std::io::Write;

use super::*;

fn tree() -> (tempfile::TempDir, Tree, RelPath) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("incoming")).unwrap();
    let tree = Tree::open(dir.path()).unwrap();
    (dir, tree, RelPath::parse("incoming").unwrap())
}

fn names(dir: &tempfile::TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(dir.path().join("incoming")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// X10: a file has its name when it is whole, and not before; one that was not finished is not there.
#[test]
fn a_file_has_a_name_only_when_it_is_whole() {
    let (dir, tree, incoming) = tree();
    let mut first = tree.create_unnamed(&incoming).unwrap();
    first.file.write_all(b"half").unwrap();
    assert!(!names(&dir).contains(&"a.txt".to_owned()), "{:?}", names(&dir));
    let mut second = tree.create_unnamed(&incoming).unwrap();
    second.file.write_all(b"whole").unwrap();
    assert_eq!(second.name("a.txt").unwrap().as_str(), "incoming/a.txt");
    drop(second);
    drop(first);
    assert_eq!(names(&dir), ["a.txt"]);
    assert_eq!(std::fs::read(dir.path().join("incoming/a.txt")).unwrap(), b"whole");
}

/// Where every file has a name from the start, it is another one until the file is whole.
#[test]
fn a_file_with_a_hidden_name_loses_it() {
    let (dir, tree, incoming) = tree();
    let mut file = tree.create_unnamed(&incoming).unwrap();
    std::fs::write(dir.path().join("incoming/.0.part"), b"hidden").unwrap();
    file.hidden = Some(".0.part".to_owned());
    file.name("b.txt").unwrap();
    assert_eq!(names(&dir), ["b.txt"]);
    let mut dropped = tree.create_unnamed(&incoming).unwrap();
    std::fs::write(dir.path().join("incoming/.1.part"), b"hidden").unwrap();
    dropped.hidden = Some(".1.part".to_owned());
    drop(dropped);
    assert_eq!(names(&dir), ["b.txt"]);
}

/// X10: nothing that is there is replaced, whatever it is.
#[test]
fn a_name_that_is_taken_stays_what_it_is() {
    let (dir, tree, incoming) = tree();
    std::os::unix::fs::symlink("/etc/passwd", dir.path().join("incoming/a.txt")).unwrap();
    std::fs::create_dir(dir.path().join("incoming/a-2.txt")).unwrap();
    let mut file = tree.create_unnamed(&incoming).unwrap();
    file.file.write_all(b"mine").unwrap();
    assert_eq!(file.name("../../a.txt").unwrap().as_str(), "incoming/a-3.txt");
    let kept = tree.read(&RelPath::parse("incoming/a-3.txt").unwrap()).unwrap();
    assert_eq!(kept.metadata().unwrap().len(), 4);
    assert!(std::fs::read_link(dir.path().join("incoming/a.txt")).is_ok());
}
