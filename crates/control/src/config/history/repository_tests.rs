use super::*;

fn repository() -> (tempfile::TempDir, Repository) {
    let dir = tempfile::tempdir().unwrap();
    let repository = Repository::open(dir.path().join("history")).unwrap();
    (dir, repository)
}

fn version(repository: &Repository, files: &[(&str, &str)], why: &str) -> Id {
    let files: Files = files
        .iter()
        .map(|(path, text)| {
            ((*path).to_owned(), repository.put(ObjectKind::Blob, text.as_bytes()).unwrap())
        })
        .collect();
    let (tree, _) = objects::encode(ObjectKind::Tree, b"");
    let parent = repository.head().unwrap();
    let (author, why) = ("anna".to_owned(), why.to_owned());
    let id =
        repository.record(&files, Commit { tree, parent, author, at: 1_700_000_000, why }).unwrap();
    repository.set_head(id).unwrap();
    id
}

#[test]
fn versions_are_found_again_with_their_files() {
    let (_dir, repository) = repository();
    let first = version(&repository, &[("w1/SOUL.md", "a"), ("cloister.toml", "x")], "one");
    let second = version(&repository, &[("w1/SOUL.md", "b"), ("w1/skills/x/SKILL.md", "s")], "two");
    assert_eq!(repository.find(&first.short()).unwrap(), first);
    assert_eq!(repository.find(&second.to_string().to_uppercase()).unwrap(), second);
    for missing in ["00000000", "zz", "../../etc/passwd", ""] {
        assert!(
            matches!(repository.find(missing), Err(HistoryError::Version(VersionError::None(_)))),
            "{missing}"
        );
    }
    let (from, to) = (repository.commit(first).unwrap(), repository.commit(second).unwrap());
    let changed = repository.changed(Some(from.tree), to.tree).unwrap();
    assert_eq!(changed, ["cloister.toml", "w1/SOUL.md", "w1/skills/x/SKILL.md"]);
    let files = repository.files(first).unwrap();
    assert_eq!(repository.blob(files["w1/SOUL.md"]).unwrap(), b"a");
}

#[test]
fn an_object_that_was_changed_on_disk_is_not_believed() {
    let (_dir, repository) = repository();
    let id = version(&repository, &[("cloister.toml", "x = 1")], "one");
    let blob = repository.files(id).unwrap()["cloister.toml"];
    let (other, whole) = objects::encode(ObjectKind::Blob, b"x = 2");
    assert_ne!(blob, other);
    std::fs::write(repository.object_path(blob), objects::stored(&whole)).unwrap();
    assert!(matches!(repository.blob(blob), Err(HistoryError::Damaged { .. })));
}

/// Any git reads it: the format is git's own.
#[test]
#[expect(clippy::disallowed_methods, reason = "git is asked what it makes of the repository")]
fn git_finds_nothing_wrong_with_it() {
    let (dir, repository) = repository();
    version(&repository, &[("w1/SOUL.md", "a\n"), ("policies/a.cedar", "x\n"), ("a", "")], "one");
    version(&repository, &[("w1/SOUL.md", "b\n"), ("w10/SOUL.md", "c\n"), ("w1.x", "d")], "two");
    let git = |arguments: &[&str]| {
        let output = std::process::Command::new("git")
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .arg("--git-dir")
            .arg(dir.path().join("history"))
            .args(arguments)
            .output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        said
    };
    git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(git(&["log", "--format=%an %s", "main"]), "anna two\nanna one\n");
    assert_eq!(git(&["show", "main~1:w1/SOUL.md"]), "a\n");
}
