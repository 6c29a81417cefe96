use super::*;

#[test]
fn a_folder_is_copied_without_what_is_no_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("a/deep")).unwrap();
    std::fs::write(dir.path().join("a/one"), "1").unwrap();
    std::fs::write(dir.path().join("a/deep/run"), "#!").unwrap();
    std::fs::write(dir.path().join("secret"), "s").unwrap();
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir.path().join("a/deep/run"), mode).unwrap();
    std::os::unix::fs::symlink("../secret", dir.path().join("a/link")).unwrap();
    std::fs::hard_link(dir.path().join("secret"), dir.path().join("a/hard")).unwrap();
    let tree = Tree::open(dir.path()).unwrap();
    let (from, to) = (RelPath::parse("a").unwrap(), RelPath::parse("b").unwrap());
    tree.make_dir(&to).unwrap();
    let mut given = 0;
    let copied = tree
        .copy_folder(&from, &to, 100, |_file| {
            given += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(copied, CopiedFolder { bytes: 3, left_out: 1 });
    assert_eq!(given, 3, "two files and a folder");
    assert_eq!(std::fs::read_to_string(dir.path().join("b/one")).unwrap(), "1");
    let mode = std::fs::metadata(dir.path().join("b/deep/run")).unwrap().permissions().mode();
    assert_eq!(mode & 0o700, 0o700);
    assert!(!dir.path().join("b/link").exists() && !dir.path().join("b/hard").exists());
    // The same again is the same; what has no room stays away.
    let again = tree.copy_folder(&from, &to, 2, |_file| Ok(())).unwrap();
    assert_eq!(again.left_out, 2);
}
