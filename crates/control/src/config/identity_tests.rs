use super::*;

fn tree() -> (tempfile::TempDir, Tree) {
    let dir = tempfile::tempdir().unwrap();
    let tree = Tree::open(dir.path()).unwrap();
    (dir, tree)
}

#[test]
fn a_name_is_read_back_and_the_rest_is_kept() {
    for (soul, name, manner) in [
        ("# Who the agent is\n\nYour name is Ada.\n\nBe brief.\n", "Ada", "Be brief."),
        ("# Who the agent is\n\nBe brief.\n", "", "Be brief."),
        ("Something of my own.\n\n## More", "", "Something of my own.\n\n## More"),
        ("Your name is Dr. No.\nBe kind.", "Dr. No", "Be kind."),
        ("Your name is <script>.\nBe kind.", "", "Your name is <script>.\nBe kind."),
        ("", "", ""),
    ] {
        assert_eq!(split_soul(soul), (name.to_owned(), manner.to_owned()), "{soul:?}");
    }
}

#[test]
fn a_link_that_the_cell_planted_is_not_read_and_not_followed() {
    let (dir, tree) = tree();
    let outside = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(outside.path(), "SECRET_CANARY").unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join(SOUL)).unwrap();
    assert!(read(&tree, SOUL).is_err());
    let path = RelPath::parse(SOUL).unwrap();
    tree.replace(&path, b"new").unwrap();
    assert_eq!(std::fs::read_to_string(outside.path()).unwrap(), "SECRET_CANARY");
    assert_eq!(read(&tree, SOUL).unwrap(), "new");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left over");
}

#[test]
fn what_could_not_be_shown_whole_is_not_offered_for_change() {
    let (dir, tree) = tree();
    std::fs::write(dir.path().join(USER), "x".repeat(100_000)).unwrap();
    assert!(read(&tree, USER).unwrap_err().to_string().contains("too long"));
    std::fs::write(dir.path().join(USER), [0xff, 0xfe]).unwrap();
    assert!(read(&tree, USER).unwrap_err().to_string().contains("UTF-8"));
    assert!(document(USER, &"x".repeat(MAX_BYTES)).is_err());
    assert!(read(&tree, SOUL).unwrap().contains("helpful, honest"));
}

#[test]
fn names_are_one_plain_line() {
    assert_eq!(checked_name(" Ada Lovelace ").unwrap(), "Ada Lovelace");
    for bad in ["a\nb", "\u{202e}abc", "<b>", &"x".repeat(41), "\u{1b}[31m"] {
        assert!(checked_name(bad).is_err(), "{bad:?}");
    }
}
