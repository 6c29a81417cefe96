use super::*;

fn history() -> (tempfile::TempDir, Layout, History) {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout::new(dir.path().join("data"));
    layout.create().unwrap();
    let history = History::new(layout.clone());
    (dir, layout, history)
}

fn settings(text: &str) -> Change {
    Change {
        scope: ConfigScope::Platform,
        files: Contents::from([("cloister.toml".to_owned(), Some(text.as_bytes().to_vec()))]),
        author: "anna".to_owned(),
        why: "because".to_owned(),
        at: 5,
    }
}

fn put(layout: &Layout) -> impl Fn(&Contents) -> Result<(), Fault> + '_ {
    |contents| {
        for (path, bytes) in contents {
            let path = layout.root().join(path);
            match bytes {
                Some(bytes) => std::fs::write(path, bytes).unwrap(),
                None => std::fs::remove_file(path).unwrap(),
            }
        }
        Ok(())
    }
}

fn logged(history: &History) -> Vec<(String, String)> {
    let log = history.log(&Selection::default(), 50).unwrap();
    log.into_iter().map(|version| (version.author, version.why)).collect()
}

fn only(path: &str) -> Selection {
    Selection { scope: None, path: Some(path.to_owned()) }
}

fn said(author: &str, why: &str) -> (String, String) {
    (author.to_owned(), why.to_owned())
}

#[test]
fn what_was_changed_by_hand_is_a_version_of_its_own_before_the_next_change() {
    let (_dir, layout, history) = history();
    history.change(&settings("log = \"json\"\n"), put(&layout)).unwrap().unwrap();
    std::fs::write(layout.root().join("cloister.toml"), "by = \"hand\"\n").unwrap();
    history.change(&settings("log = \"text\"\n"), put(&layout)).unwrap().unwrap();
    assert_eq!(
        logged(&history),
        [
            said("anna", "because"),
            said("found on disk", "Changed outside of Cloister"),
            said("anna", "because")
        ]
    );
    let (_, _, diff) = history.diff(&Selection::default(), "latest~1", None).unwrap();
    assert!(diff.contains("-by = \"hand\"\n+log = \"text\""), "{diff}");
    // `latest~1` is what was before the newest change of what is asked about, whatever else changed.
    std::fs::write(layout.policies().join("a.cedar"), "x").unwrap();
    history.catch_up(6).unwrap();
    let (_, _, diff) = history.diff(&only("cloister.toml"), "latest~1", None).unwrap();
    assert!(diff.contains("-by = \"hand\"\n+log = \"text\""), "{diff}");
    for wrong in ["latest~9", "latest~", "latest~x", "latestly"] {
        history.diff(&only("cloister.toml"), wrong, None).unwrap_err();
    }
    // The same again is no change.
    assert_eq!(history.change(&settings("log = \"text\"\n"), put(&layout)).unwrap(), None);
    history.catch_up(6).unwrap();
    assert_eq!(logged(&history).len(), 4);
}

#[test]
fn a_change_that_was_interrupted_is_finished_and_one_by_hand_is_left() {
    let (_dir, layout, history) = history();
    history.change(&settings("a = 1\n"), put(&layout)).unwrap();
    // Killed after it was announced: nothing is written yet.
    let announce = |text: &str| {
        history
            .with(|repository| {
                let mut files = repository.files(repository.head()?.unwrap())?;
                files.insert(
                    "cloister.toml".to_owned(),
                    repository.put(ObjectKind::Blob, text.as_bytes())?,
                );
                let id = record(repository, &files, repository.head()?, ("anna", "killed", 6))?;
                Ok(repository.announce(id)?)
            })
            .unwrap();
    };
    announce("a = 2\n");
    let again = History::new(layout.clone());
    again.recover(put(&layout)).unwrap();
    assert_eq!(std::fs::read_to_string(layout.root().join("cloister.toml")).unwrap(), "a = 2\n");
    assert_eq!(logged(&again)[0], said("anna", "killed"));
    // The same, but somebody has edited the file since.
    announce("a = 3\n");
    std::fs::write(layout.root().join("cloister.toml"), "a = 4\n").unwrap();
    again.recover(put(&layout)).unwrap();
    again.catch_up(7).unwrap();
    assert_eq!(std::fs::read_to_string(layout.root().join("cloister.toml")).unwrap(), "a = 4\n");
    assert_eq!(logged(&again)[0].0, "found on disk");
}

#[test]
fn a_write_that_fails_leaves_no_version() {
    let (_dir, layout, history) = history();
    history.change(&settings("a = 1\n"), put(&layout)).unwrap();
    let failed = |_: &Contents| Err(Fault::io("disk full")(std::io::ErrorKind::StorageFull.into()));
    history.change(&settings("a = 2\n"), failed).unwrap_err();
    assert_eq!(logged(&history).len(), 1);
    history.recover(|_| panic!("nothing is left to finish")).unwrap();
}

/// E86, E12: a repository, links and hidden files where a cell or an installed skill put them are
/// neither followed nor kept.
#[test]
fn what_is_planted_in_a_workspace_is_not_read() {
    let (dir, layout, history) = history();
    let secret = dir.path().join("secret");
    std::fs::write(&secret, "canary").unwrap();
    let workspace = layout.workspace(cloister_protocol::WorkspaceId::from_number(1));
    let skill = workspace.join("skills/x");
    std::fs::create_dir_all(skill.join(".git/hooks")).unwrap();
    std::fs::write(skill.join(".git/config"), "[core]\n\tfsmonitor = touch /tmp/ran\n").unwrap();
    std::fs::write(skill.join(".gitattributes"), "* filter=evil\n").unwrap();
    std::fs::write(skill.join("SKILL.md"), "# x\n").unwrap();
    std::os::unix::fs::symlink(&secret, skill.join("link.md")).unwrap();
    std::os::unix::fs::symlink(dir.path(), workspace.join("tools")).unwrap();
    std::os::unix::fs::symlink(&secret, workspace.join("SOUL.md")).unwrap();
    history.catch_up(1).unwrap();
    let log = history.log(&Selection::default(), 5).unwrap();
    assert_eq!(log[0].paths, ["w1/skills/x/SKILL.md"]);
}
