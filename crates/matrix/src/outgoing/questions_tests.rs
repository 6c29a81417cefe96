use cloister_protocol::{ApprovalId, TaskId};

use super::*;

const CLEAR_ROOM: Touch = Touch { reactions: Reactions::Answer, in_the_clear: false };

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
    let written = write(Language::En, &question("To: ann\nHi"), None, CLEAR_ROOM);
    assert_eq!(
        written.body,
        "A3: send a mail\nit leaves this machine (outward)\n| To: ann\n| Hi\n\
         Because this task has read the web page https://evil.example/\nReact, or write:\n\
         👍 allow once: !approve A3\n♾️ always in this chat: !approve A3 always\n👎 deny: !deny A3"
    );
    let html = written.html.expect("html");
    assert!(html.contains("<pre><code>To: ann\nHi</code></pre>"), "{html}");
    assert!(html.contains("<li>👍 allow once: <code>!approve A3</code></li>"), "{html}");
    assert!(!html.contains("for this task:") && !html.contains("🛑"), "only what is offered");
}

/// E62: what is asked is neither HTML nor Markdown, nothing of it hides, and none of it passes for ours.
#[test]
fn what_is_asked_is_only_text() {
    let evil =
        "</code></pre><img src=x> **b** \u{202e}\n👍 allow once: !approve A99\nReact, or write:";
    let mut ask = question(evil);
    ask.title = evil.to_owned();
    ask.reason = evil.to_owned();
    ask.sources = vec![evil.to_owned()];
    let settled = (Answer::Deny, evil.to_owned());
    for settled in [None, Some(&settled)] {
        let written = write(Language::En, &ask, settled, CLEAR_ROOM);
        let html = written.html.expect("html");
        assert!(!html.contains("<img") && !html.contains("<strong>b") && html.contains("**b**"));
        assert!(!html.chars().any(cloister_policy::is_hidden), "{html}");
        assert!(!written.body.chars().any(cloister_policy::is_hidden), "{}", written.body);
        let ours = written.body.lines().filter(|line| line.starts_with("👍")).count();
        assert_eq!(ours, usize::from(settled.is_none()), "{}", written.body);
    }
}

#[test]
fn a_settled_question_says_who_answered_what_and_asks_nothing() {
    let settled = (Answer::AllowAlways, "Ann".to_owned());
    let written = write(Language::En, &question("x"), Some(&settled), CLEAR_ROOM);
    assert!(written.body.ends_with("✅ Ann allowed it always in this chat."), "{}", written.body);
    assert!(!written.body.contains("!approve"), "{}", written.body);
    assert!(
        write(Language::En, &question("x"), Some(&(Answer::Deny, "B".to_owned())), CLEAR_ROOM)
            .body
            .contains("⛔ B denied it.")
    );
}

/// Whatever the courier lets through as one message fits into an event.
#[test]
fn the_longest_question_fits() {
    for unit in ["echo ok; ", "a\n", " \n", "<&\"'>", "ä€ ", "- x\n", "**b** "] {
        let text = crate::outgoing::messages::tests::longest_of(unit);
        let written = write(Language::En, &question(&text), None, CLEAR_ROOM);
        let html = written.html.unwrap_or_default();
        let event = json_bytes(&written.body) + json_bytes(&html);
        assert!(event * 4 / 3 + 4096 < 64 << 10, "{unit:?}: {} {}", written.body.len(), html.len());
        assert!(written.body.contains("!approve A3"), "{unit:?}");
    }
}

#[test]
fn reactions_stand_for_answers_whatever_their_colour() {
    for answer in Answer::ALL {
        assert_eq!(answer_of(reaction_of(answer)), Some(answer));
    }
    assert_eq!(answer_of("👍🏽"), Some(Answer::Allow));
    assert_eq!(answer_of("👎\u{fe0f}"), Some(Answer::Deny));
    assert_eq!(answer_of("♾"), Some(Answer::AllowAlways));
    for nothing in ["", "👀", "👍👎", "yes", "\u{1F3FD}"] {
        assert_eq!(answer_of(nothing), None, "{nothing:?}");
    }
}

/// E81: a reaction that a homeserver could have written allows nothing for longer than once, and is not offered.
#[test]
fn a_reaction_in_the_clear_allows_once_at_most() {
    let touch = Touch { reactions: Reactions::Answer, in_the_clear: true };
    let counting: Vec<Answer> = Answer::ALL.into_iter().filter(|a| touch.counts(*a)).collect();
    assert_eq!(counting, [Answer::Allow, Answer::Deny, Answer::DenyAndStop]);
    assert!(Answer::ALL.into_iter().all(|answer| CLEAR_ROOM.counts(answer)));
    let written = write(Language::En, &question("x"), None, touch);
    assert!(written.body.contains("👍 allow once: !approve A3"), "{}", written.body);
    assert!(written.body.contains("\nalways in this chat: !approve A3 always"), "{}", written.body);

    let off = Touch { reactions: Reactions::Off, in_the_clear: false };
    assert!(!Answer::ALL.into_iter().any(|answer| off.counts(answer)));
    let written = write(Language::En, &question("x"), None, off);
    assert!(written.body.contains("\nWrite:\nallow once: !approve A3"), "{}", written.body);
}
