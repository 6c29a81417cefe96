use super::*;

fn file(path: &str, change: &str, diff: Option<&str>) -> FileChangeView {
    FileChangeView {
        path: path.into(),
        change: change.into(),
        size: 2048,
        diff: diff.map(str::to_owned),
        ..FileChangeView::default()
    }
}

fn landed(files: Vec<FileChangeView>) -> TaskFiles {
    TaskFiles { state: "landed".into(), files, ..TaskFiles::default() }
}

#[test]
fn what_changed_is_shown_line_by_line_and_what_is_no_text_as_a_fact() {
    let seen = landed(vec![
        file("a.txt", "changed", Some("@@ -1 +1 @@\n-old <b>\n+new \u{202e}\n same\n")),
        file("picture.png", "added", None),
        file("gone", "removed", Some("-it\n")),
    ]);
    let page = listed(Language::En, &seen).into_string();
    assert!(page.contains("<span class=\"del\">-old &lt;b&gt;\n</span>"), "{page}");
    assert!(page.contains("+new ⟨U+202E⟩"), "{page}");
    assert!(
        page.contains("<code translate=\"no\">picture.png</code> <small>added, 2.0 kB"),
        "{page}"
    );
    assert!(page.contains("removed, 2.0 kB"), "{page}");
    assert!(listed(Language::En, &landed(vec![])).into_string().contains("It changed nothing."));
}

#[test]
fn what_an_undo_leaves_is_said_beside_it() {
    let mut since = file("mine.txt", "changed", None);
    since.changed_since = true;
    let mut seen = landed(vec![since]);
    seen.outward = vec!["POST https://shop.test/<order>".into()];
    let page = listed(Language::En, &seen).into_string();
    assert!(page.contains("changed by somebody since, so it stays"), "{page}");
    assert!(page.contains("can&#39;t be undone") || page.contains("can't be undone"), "{page}");
    assert!(page.contains("/&lt;order&gt;"), "{page}");
    let mut back = file("a", "added", None);
    back.undone = true;
    let seen = TaskFiles { state: "undone".into(), ..landed(vec![back, file("b", "added", None)]) };
    let page = listed(Language::En, &seen).into_string();
    assert_eq!(page.matches("taken back").count(), 1, "{page}");
    assert_eq!(page.matches("so it stays").count(), 1, "{page}");
}

#[test]
fn there_is_one_button_for_what_can_be_done() {
    let at = (ChatId::from_number(1), TaskId::from_number(5), "tidy");
    for (standing, way) in [
        (TaskStanding::Landed, "undo"),
        (TaskStanding::Undone, "redo"),
        (TaskStanding::Kept, "keep"),
    ] {
        let page = button(Language::En, at, standing).into_string();
        assert!(page.contains(&format!("action=\"/chats/C1/tasks/T5/{way}\"")), "{page}");
    }
    assert!(button(Language::En, at, TaskStanding::Open).into_string().is_empty());
}
