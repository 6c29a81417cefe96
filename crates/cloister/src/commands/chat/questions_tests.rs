use cloister_protocol::TaskState;

use super::*;

fn question(id: u32) -> Ask {
    Ask {
        approval: ApprovalId::from_number(id),
        task: Some(cloister_protocol::TaskId::from_number(id)),
        title: "run: something".to_owned(),
        text: "command: something".to_owned(),
        digest: format!("digest-{id}"),
        class: "destructive".to_owned(),
        reason: String::new(),
        sources: Vec::new(),
        offered: vec![Answer::Allow, Answer::AllowForTask, Answer::Deny, Answer::DenyAndStop],
        people: 1,
    }
}

fn answered(reading: &Reading) -> Option<(u32, Answer, &str)> {
    match reading {
        Reading::Answer(given) => {
            Some((given.id.number(), given.answer, given.digest.as_deref().unwrap_or_default()))
        }
        Reading::Unclear(_) | Reading::Message => None,
    }
}

#[test]
fn a_question_is_answered_by_number_word_or_name_with_its_digest() {
    let mut questions = Questions::default();
    assert_eq!(questions.read("y"), Reading::Message);
    let shown = questions.ask(question(3));
    assert!(shown.contains("  4  stop"), "{shown}");
    for (line, answer) in [
        ("1", Answer::Allow),
        ("y", Answer::Allow),
        ("task", Answer::AllowForTask),
        ("n", Answer::Deny),
        ("stop", Answer::DenyAndStop),
        ("/yes", Answer::Allow),
        ("/no", Answer::Deny),
        ("/approve a3 task", Answer::AllowForTask),
        ("/deny A3 stop", Answer::DenyAndStop),
    ] {
        assert_eq!(answered(&questions.read(line)), Some((3, answer, "digest-3")), "{line}");
    }
    assert_eq!(questions.read("yes, but later"), Reading::Message);
    assert!(matches!(questions.read("/approve A3 always"), Reading::Unclear(_)));
    assert_eq!(questions.read("/approve A9"), Reading::Message);
}

/// E64: the agent asks for a `y` of its own while a question waits. That answers nothing; nor is an answer that came a
/// moment too late sent to the agent.
#[test]
fn a_bare_word_after_other_words_of_the_agent_answers_nothing() {
    let mut questions = Questions::default();
    questions.ask(question(3));
    questions.something_else_was_said();
    for line in ["y", "1", "task", "n"] {
        let read = questions.read(line);
        let Reading::Unclear(hint) = read else { panic!("{line}: {read:?}") };
        assert!(hint.contains("not sent") && hint.contains("/approve A3"), "{hint}");
    }
    assert!(answered(&questions.read("/approve A3")).is_some());
    assert_eq!(questions.read("y to both"), Reading::Message);
}

#[test]
fn what_was_answered_elsewhere_waits_no_more() {
    let mut questions = Questions::default();
    questions.ask(question(3));
    questions.ask(question(4));
    assert_eq!(answered(&questions.read("y")).map(|given| given.0), Some(4));
    questions.follow(&Update::Answered {
        approval: ApprovalId::from_number(4),
        by: "somebody".to_owned(),
        answer: Answer::Deny,
        left: 0,
    });
    assert!(matches!(questions.read("y"), Reading::Unclear(_)), "A3 was not shown last");
    questions.follow(&Update::Task {
        task: cloister_protocol::TaskId::from_number(3),
        title: String::new(),
        state: TaskState::Cancelled,
        note: String::new(),
        parent: None,
        told: false,
    });
    assert_eq!(questions.read("y"), Reading::Message);
}
