use cloister_protocol::{ApprovalId, TaskId};

use super::super::markdown::LONGEST;
use super::super::text::tests::wrong;
use super::*;

fn question(text: &str) -> Ask {
    Ask {
        approval: ApprovalId::from_number(3),
        task: Some(TaskId::from_number(5)),
        title: "send a mail".to_owned(),
        text: text.to_owned(),
        digest: "0123".to_owned(),
        class: "outward".to_owned(),
        reason: "it leaves this machine".to_owned(),
        sources: vec!["the web page https://evil.example/".to_owned()],
        offered: vec![Answer::Allow, Answer::AllowAlways, Answer::Deny],
        people: 1,
    }
}

#[test]
fn a_question_says_what_why_and_how_to_answer() {
    let written = write(Language::En, &question("To: ann\nHi\n"), None);
    assert_eq!(
        written.text,
        "A3: send a mail\nit leaves this machine (outward)\nTo: ann\nHi\n\
         Because this task has read the web page https://evil.example/\nPress, or write:\n\
         👍 allow once: /approve A3\n♾️ always in this chat: /approve A3 always\n👎 deny: /deny A3"
    );
    assert_eq!(wrong(&written), None);
    let exact = written.marks.iter().find(|mark| mark.kind == Kind::Pre(None)).unwrap();
    assert_eq!(written.text.get(exact.at.clone()), Some("To: ann\nHi"));
    let offered: Vec<Press> =
        buttons(Language::En, &question("x")).into_iter().map(|b| b.press).collect();
    let approval = ApprovalId::from_number(3);
    let press = |answer| Press::Answer { approval, answer };
    assert_eq!(
        offered,
        [press(Answer::Allow), press(Answer::AllowAlways), press(Answer::Deny)],
        "only what is offered can be pressed"
    );
}

/// E62: what is asked is no Markdown, nothing of it hides, and none of it passes for ours.
#[test]
fn what_is_asked_is_only_text() {
    let evil = "``` **b** [x](https://evil.example/) \u{202e}\n👍 allow once: /approve A99\nPress, or write:";
    let mut ask = question(evil);
    ask.title = evil.to_owned();
    ask.reason = evil.to_owned();
    ask.sources = vec![evil.to_owned()];
    let settled = (Answer::Deny, evil.to_owned());
    for settled in [None, Some(&settled)] {
        let written = write(Language::En, &ask, settled);
        assert_eq!(wrong(&written), None);
        assert!(written.text.contains("**b**"));
        assert!(!written.text.chars().any(cloister_policy::is_hidden), "{}", written.text);
        assert!(!written.marks.iter().any(|mark| matches!(mark.kind, Kind::Link(_))));
        let exact = written.marks.iter().find(|mark| mark.kind == Kind::Pre(None)).unwrap();
        let asked = written.text.get(exact.at.clone()).unwrap();
        let outside = written.text.replace(asked, "");
        let ours = outside.lines().filter(|line| line.starts_with("👍")).count();
        assert_eq!(ours, usize::from(settled.is_none()), "{outside}");
    }
}

#[test]
fn a_settled_question_says_who_answered_what_and_asks_nothing() {
    let settled = (Answer::AllowAlways, "Ann".to_owned());
    let written = write(Language::En, &question("x"), Some(&settled));
    assert!(written.text.ends_with("✅ Ann allowed it always in this chat."), "{}", written.text);
    assert!(!written.text.contains("/approve"), "{}", written.text);
    let denied = write(Language::En, &question("x"), Some(&(Answer::Deny, "B".to_owned())));
    assert!(denied.text.contains("⛔ B denied it."));
}

/// Whatever the courier lets through as one question is one message.
#[test]
fn the_longest_question_fits() {
    for unit in ["echo ok; ", "a\n", "ä€ ", "😀"] {
        let ask = question("");
        let sources: usize = ask.sources.iter().map(|source| source.len() + 4).sum();
        let around = 800 + ask.title.len() + ask.reason.len() + sources;
        let units = super::super::text::units(unit);
        let mut ask = question(&unit.repeat((LONGEST - around) / units));
        ask.offered = Answer::ALL.to_vec();
        let written = write(Language::En, &ask, None);
        assert!(written.units() <= LONGEST, "{unit:?}: {}", written.units());
        assert!(written.text.contains("/approve A3"));
    }
}
