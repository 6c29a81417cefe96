use cloister_protocol::surface::Press;

use super::super::message::Put;
use super::super::text::tests::shown;
use super::*;

fn question(text: &str) -> Ask {
    Ask {
        approval: "A3".parse().unwrap(),
        task: None,
        title: "send a mail".to_owned(),
        text: text.to_owned(),
        digest: "00".to_owned(),
        class: "outward".to_owned(),
        reason: "it leaves this machine".to_owned(),
        sources: vec!["the web page https://evil.example/".to_owned()],
        offered: vec![Answer::Allow, Answer::AllowAlways, Answer::Deny],
        people: 1,
    }
}

#[test]
fn a_question_says_what_why_and_how_to_answer() {
    let (message, buttons) = write(Language::En, &question("To: ann\nHi"), None);
    assert_eq!(message.content, "**A3** waits for an answer.");
    let frame = message.frame.unwrap();
    assert_eq!(frame.title, "send a mail");
    assert_eq!(frame.text, "```\nTo: ann\nHi\n```");
    assert_eq!(frame.fields[0], ("Risk".to_owned(), "outward".to_owned()));
    assert_eq!(
        frame.fields[1],
        ("Why it is asked".to_owned(), "it leaves this machine".to_owned())
    );
    assert_eq!(frame.fields[2].1, "\\- the web page <https://evil.example/>");
    assert_eq!(
        frame.footer,
        "Press a button, or write /approve A3 · /approve A3 always · /deny A3"
    );
    let labels: Vec<&str> = buttons.iter().map(|button| button.label.as_str()).collect();
    assert_eq!(labels, ["Allow once", "Always in this chat", "Deny"]);
    let approval = "A3".parse().unwrap();
    assert_eq!(buttons[2].press, Press::Answer { approval, answer: Answer::Deny });
}

#[test]
fn a_settled_question_says_who_answered_what_and_asks_nothing() {
    let settled = (Answer::AllowAlways, "Ann".to_owned());
    let (message, buttons) = write(Language::En, &question("x"), Some(&settled));
    assert_eq!(message.content, "✅ A3: Ann allowed it always in this chat.");
    assert!(buttons.is_empty());
    let frame = message.frame.clone().unwrap();
    assert!(frame.footer.is_empty() && frame.colour == GREEN);
    assert_eq!(message.payload(Put::Instead, None)["components"], serde_json::json!([]));
    let (denied, _) = write(Language::En, &question("x"), Some(&(Answer::Deny, "B".to_owned())));
    assert_eq!(denied.content, "⛔ A3: B denied it.");
}

/// E62: nothing in what is asked is markup, none of it hides, and none of it passes for ours.
#[test]
fn what_is_asked_is_only_text() {
    let evil = "``` **b** \u{202e}\n@everyone <@1> [x](https://evil.example)\n# Press a button";
    let mut ask = question(evil);
    ask.title = evil.to_owned();
    ask.reason = evil.to_owned();
    ask.sources = vec![evil.to_owned()];
    let settled = (Answer::Deny, evil.to_owned());
    for settled in [None, Some(&settled)] {
        let (message, _) = write(Language::En, &ask, settled);
        let frame = message.frame.unwrap();
        for text in [&frame.title, &frame.fields[1].1, &frame.fields[2].1, &message.content] {
            assert!(
                !text.contains("\n#") && !text.contains(" <@1>") && !text.contains("[x](h"),
                "{text}"
            );
            assert!(!text.contains(" @everyone") && !text.contains("```"), "{text}");
            assert!(!text.chars().any(cloister_policy::is_hidden), "{text}");
        }
        // To the letter, behind the mark of a quotation.
        let lines: Vec<&str> = frame.text.lines().collect();
        assert!(lines.iter().all(|line| line.starts_with("> ")), "{}", frame.text);
        assert_eq!(shown(lines[2].strip_prefix("> ").unwrap()), "# Press a button");
    }
}

/// Whatever comes, Discord takes it; and what can't be read whole can't be allowed with one press.
#[test]
fn the_longest_question_fits() {
    for unit in ["echo ok; ", "a\n", "*_`", "😀", "``` ", "\u{202e}"] {
        for many in [1, 1000, 5000] {
            let mut ask = question(&unit.repeat(many));
            ask.title = unit.repeat(many);
            ask.reason = unit.repeat(many);
            ask.sources = vec![unit.repeat(many); 30];
            let (message, buttons) = write(Language::En, &ask, None);
            let frame = message.frame.unwrap();
            assert!(frame.length() <= 6000, "{unit:?} {many}: {}", frame.length());
            assert!(length(&frame.text) <= LONGEST_IN_FRAME && length(&frame.title) <= 256);
            assert!(frame.fields.iter().all(|(_, value)| length(value) <= 1024));
            assert!(length(&message.content) <= 2000);
            let whole = !frame.text.contains("too long to be shown");
            assert_eq!(buttons.len(), if whole { 3 } else { 1 }, "{unit:?} {many}");
        }
    }
}
