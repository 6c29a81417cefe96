use cloister_protocol::{ApprovalId, ChatId, End, TurnId, Usage, WorkspaceId};

use super::*;

const LARGEST_FILE: u64 = 5 << 20;

fn parts(row: &OutboxItem, heading: Option<&Heading>) -> Vec<Part> {
    let limit = Limit { longest: 1000, measure: &str::len };
    parts_of(row, (&limit, LARGEST_FILE), heading, Language::En)
}

fn row(frame: AgentFrame) -> OutboxItem {
    OutboxItem {
        id: 55,
        workspace: WorkspaceId::from_number(1),
        chat: ChatId::from_number(3),
        turn: TurnId::of_message(12),
        frame,
        created_at: 0,
        conversation: None,
    }
}

fn told(frame: AgentFrame) -> Vec<(String, String)> {
    let said = |part: Part| {
        let text = match part.says {
            Says::Answer { markdown, .. } => format!("answer {markdown}"),
            Says::Notice { markdown, .. } => format!("notice {markdown}"),
            Says::Question(ask) => format!("question {} {}", ask.title, ask.text),
            Says::File { artifact, .. } => format!("file {artifact}"),
        };
        (part.key, text)
    };
    parts(&row(frame), None).into_iter().map(said).collect()
}

fn end(text: &str) -> AgentFrame {
    AgentFrame::End(End {
        turn: TurnId::of_trigger(&"m12".parse().unwrap()),
        message: None,
        text: text.to_owned(),
        usage: Usage::default(),
        error: None,
    })
}

/// What was stopped says so, outside of any block of code; who was stopped before a word says
/// nothing twice.
#[test]
fn an_answer_that_was_stopped_says_so() {
    let stopped = |text: &str| {
        let AgentFrame::End(end) = end(text) else { unreachable!() };
        told(AgentFrame::End(End { error: Some(ErrorCode::Cancelled), ..end }))
    };
    let of = |text: &str| vec![("t-m12/0".to_owned(), format!("answer {text}"))];
    assert_eq!(stopped("one two "), of("one two\n\n⏹ Stopped."));
    assert_eq!(stopped("```rust\nlet"), of("```rust\nlet\n```\n\n⏹ Stopped."));
    assert_eq!(stopped("Stopped."), of("Stopped."));
    assert_eq!(stopped(""), []);
    assert_eq!(told(end("one two")), of("one two"));
}

/// Its person wrote again: what was shown of it breaks off, and looks like any other answer.
#[test]
fn an_answer_that_the_next_one_goes_on_from_says_so() {
    let taken_over = |text: &str| {
        let AgentFrame::End(end) = end(text) else { unreachable!() };
        told(AgentFrame::End(End { error: Some(ErrorCode::Continued), ..end }))
    };
    let of = |text: &str| vec![("t-m12/0".to_owned(), format!("answer {text}"))];
    let mark = "⏭ The next answer is to both messages.";
    assert_eq!(taken_over("Point number 7 with"), of(&format!("Point number 7 with\n\n{mark}")));
    assert_eq!(taken_over(""), []);
}

fn ask(text: &str) -> Ask {
    Ask {
        approval: ApprovalId::from_number(7),
        task: None,
        title: "Send a mail".to_owned(),
        text: text.to_owned(),
        digest: "d".to_owned(),
        class: "outward".to_owned(),
        reason: "it goes out".to_owned(),
        sources: vec!["example.org".to_owned()],
        offered: Vec::new(),
        people: 1,
    }
}

fn file(size: u64) -> AgentFrame {
    AgentFrame::SendFile(SendFile {
        turn: None,
        task: None,
        path: "a".to_owned(),
        name: "re`port\u{202E}.pdf".to_owned(),
        mime: "application/pdf".to_owned(),
        size,
        url: Some("/cells/w1/v1/artifacts/0abc".to_owned()),
    })
}

#[test]
fn an_answer_is_as_many_messages_as_it_needs_and_an_empty_one_none() {
    assert_eq!(told(end("hello")), [("t-m12/0".to_owned(), "answer hello".to_owned())]);
    assert!(told(end(" \n")).is_empty());
    let long = told(end(&"A sentence. ".repeat(200)));
    assert_eq!(long.len(), 3);
    assert_eq!(long.last().map(|(key, _)| key.as_str()), Some("t-m12/2"));
}

#[test]
fn progress_makes_no_noise() {
    let task = "T1".parse().unwrap();
    for update in [
        Update::Progress { task: Some(task), text: "busy".to_owned(), doing: None, attempt: None },
        Update::Todos { task, todos: Vec::new() },
        Update::Task {
            task,
            title: String::new(),
            state: cloister_protocol::TaskState::Failed,
            note: String::new(),
            parent: None,
            told: false,
        },
    ] {
        assert!(told(AgentFrame::Update(update)).is_empty());
    }
}

#[test]
fn a_file_that_is_too_large_is_named_with_where_to_get_it() {
    assert_eq!(told(file(5 << 20)), [("o55/0".to_owned(), "file 0abc".to_owned())]);
    let notice = &told(file((5 << 20) + 200_000))[0].1;
    for part in ["re'port", "5.1 MB", "5.0 MB", "C3"] {
        assert!(notice.contains(part), "{notice}");
    }
    assert!(!notice.contains('\u{202E}'), "{notice}");
}

#[test]
fn a_short_question_is_one_message() {
    let told = told(AgentFrame::Ask(ask("to: ada")));
    assert_eq!(told, [("o55/q".to_owned(), "question Send a mail to: ada".to_owned())]);
}

/// Nothing of what a person is asked to allow is left out, and it can't pass for something else.
#[test]
fn a_long_question_is_told_whole_before_it_is_asked() {
    let text: String = (0..400).map(|n| format!("line {n} ``` **x**\n")).collect();
    let parts = parts(&row(AgentFrame::Ask(ask(&text))), None);
    let (last, before) = parts.split_last().unwrap();
    let Says::Question(asked) = &last.says else { panic!("{last:?}") };
    let mut whole = String::new();
    for part in before {
        let Says::Notice { markdown, .. } = &part.says else { panic!("{part:?}") };
        assert!(markdown.len() <= 1000, "{}", markdown.len());
        assert!(markdown.contains("A7") && markdown.contains("\n````\n"), "{markdown}");
        let verbatim = markdown.split("````").nth(1).unwrap();
        whole.push_str(verbatim.strip_prefix('\n').unwrap());
    }
    whole.push_str(&asked.text);
    assert_eq!(whole, text);
    assert!(asked.text.len() + asked.title.len() + asked.reason.len() < 900);
    let keys: std::collections::BTreeSet<_> = parts.iter().map(|part| &part.key).collect();
    assert_eq!(keys.len(), parts.len(), "keys name one message each");
}

#[test]
fn a_question_with_endless_sources_fits() {
    let mut ask = ask("do it");
    ask.sources = (0..100).map(|n| format!("https://example.org/{n}")).collect();
    let parts = parts(&row(AgentFrame::Ask(ask)), None);
    let text: String = parts.iter().map(|part| format!("{:?}", part.says)).collect();
    assert!((0..100).all(|n| text.contains(&format!("https://example.org/{n}"))));
}

/// What a task wanted to reach can't pass for words of ours.
#[test]
fn what_was_blocked_is_named_with_how_to_allow_it() {
    let blocked = AgentFrame::Update(Update::Blocked {
        task: None,
        host: "evil`**.example".to_owned(),
        reason: "it is not allowed".to_owned(),
        allow: Some("/allow evil.example".to_owned()),
    });
    let expected = "notice `evil'**.example` was not reached: it is not allowed\n\n\
                    To allow it, write `!allow evil.example`.";
    assert_eq!(told(blocked), [("o55/0".to_owned(), expected.to_owned())]);
}

#[test]
fn old_notices_are_not_told_but_old_answers_and_questions_are() {
    let notice = row(AgentFrame::Update(Update::Notice { text: "budget".to_owned() }));
    let day = 24 * 60 * 60 * 1000;
    assert!(!is_stale(&notice, 7 * day));
    assert!(is_stale(&notice, 7 * day + 1));
    for frame in [end("hello"), AgentFrame::Ask(ask("x")), file(1)] {
        assert!(!is_stale(&row(frame), 365 * day));
    }
}

/// X5: what belongs to another chat than the one shown says so first, in whatever way it is told.
#[test]
fn a_heading_is_before_whatever_is_told() {
    let heading = Heading::of(ChatId::from_number(2), "Taxes\n2026");
    let under = |frame: AgentFrame| parts(&row(frame), Some(&heading));
    let notice = AgentFrame::Update(Update::Notice { text: "done".into() });
    let told = under(notice);
    let [Part { says: Says::Notice { markdown, .. }, .. }] = told.as_slice() else {
        panic!("{told:?}")
    };
    assert_eq!(markdown, "**C2 · Taxes 2026**\n\ndone");
    let asked = under(AgentFrame::Ask(ask("send it?")));
    let [Part { says: Says::Question(asked), .. }] = asked.as_slice() else { panic!("{asked:?}") };
    assert!(asked.title.starts_with("C2 · Taxes 2026: "), "{}", asked.title);
    assert_eq!(asked.text, "send it?", "what is asked is asked as it is");
    let nothing = AgentFrame::Update(Update::Notice { text: " ".into() });
    assert!(under(nothing).is_empty(), "a heading alone is nothing");
}
