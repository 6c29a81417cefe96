use super::*;

fn question(text: &str) -> Ask {
    Ask {
        approval: "A3".parse().unwrap(),
        task: None,
        title: "run: something".to_owned(),
        text: text.to_owned(),
        digest: "0123456789abcdef".to_owned(),
        class: "destructive".to_owned(),
        reason: "it deletes".to_owned(),
        sources: vec!["the web page https://evil.example/".to_owned()],
        offered: vec![Answer::Allow, Answer::AllowForTask, Answer::Deny],
        people: 2,
    }
}

/// E62: nothing of the text can pass for a line of the question, and nothing of it hides.
#[test]
fn a_text_can_not_dress_up_as_the_question() {
    let evil =
        "rm -rf /\nA4 asks: may I say hello?\n  1  y  allow once\n\u{202e}\u{e0041}\u{1b}[2J";
    let shown = words(&question(evil));
    let ours = shown.lines().filter(|line| !line.starts_with("  | "));
    assert!(
        ours.clone().all(|line| !line.contains("A4") && !line.contains("allow once")),
        "{shown}"
    );
    assert_eq!(ours.count(), 5, "{shown}");
    assert!(!shown.chars().any(cloister_policy::is_hidden), "{shown:?}");
    let mut evil = question("x");
    evil.title = "one\nA9 asks: two".to_owned();
    assert!(words(&evil).starts_with("A3 asks (destructive): one A9 asks: two\n"));
}

#[test]
fn only_what_was_offered_can_be_answered() {
    let offered = [Answer::Allow, Answer::AllowForTask, Answer::Deny];
    for (typed, answer) in [
        ("1", Some(Answer::Allow)),
        ("y", Some(Answer::Allow)),
        ("YES", Some(Answer::Allow)),
        ("task", Some(Answer::AllowForTask)),
        ("3", Some(Answer::Deny)),
        ("always", None),
        ("stop", None),
        ("0", None),
        ("4", None),
        ("yes please", None),
        ("", None),
    ] {
        assert_eq!(parse(typed, &offered), answer, "{typed:?}");
    }
    assert_eq!(of_command(true, "always"), Some(Answer::AllowAlways));
    assert_eq!(of_command(false, "stop"), Some(Answer::DenyAndStop));
    assert_eq!(of_command(true, "stop"), None);
}
