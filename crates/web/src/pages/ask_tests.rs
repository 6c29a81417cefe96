use cloister_protocol::{ApprovalId, ChatId, TaskId, UserId, WorkspaceId};
use cloister_store::approvals::{ApprovalKind, GivenAnswer};

use super::*;

pub(crate) fn question(text: &str) -> Approval {
    Approval {
        id: ApprovalId::from_number(3),
        workspace: WorkspaceId::from_number(1),
        chat: ChatId::from_number(1),
        task: Some(TaskId::from_number(5)),
        user: UserId::from_number(1),
        kind: ApprovalKind::Effect,
        digest: "0123456789abcdef0123456789abcdef".to_owned(),
        class: "outward".to_owned(),
        reason: "it leaves this machine".to_owned(),
        sources: vec!["the web page https://evil.example/".to_owned()],
        people: 2,
        offered: vec![Answer::Allow, Answer::Deny],
        title: format!("send {text}"),
        text: text.to_owned(),
        describes: String::new(),
        template: None,
        host: None,
        call: None,
        proposal: None,
        raise: None,
        applied_at: None,
        state: ApprovalState::Pending,
        asked_at: 0,
        answers: Vec::new(),
    }
}

/// The tags of a piece of HTML.
fn tags(html: &str) -> Vec<&str> {
    html.split('<').skip(1).filter_map(|piece| piece.split_once('>')).map(|(tag, _)| tag).collect()
}

/// E62: a text of 100 kB with direction marks, escapes and look-alikes is shown whole, and shown.
#[test]
fn all_of_a_text_is_shown_and_nothing_of_it_hides() {
    let evil = format!("echo ok{}\u{202e}\u{200b}\u{1b}[2Jrm -rf / # end", " ".repeat(100_000));
    let shown = card(Language::En, &question(&evil), Back::Chat).into_string();
    assert!(shown.len() > 200_000, "the title and the text are whole");
    assert!(shown.contains("⟨U+202E⟩⟨U+200B⟩⟨U+001B⟩[2Jrm -rf / # end"));
    assert!(!shown.chars().any(cloister_policy::is_hidden));
    assert!(shown.contains("0123456789abcdef0123456789abcdef"));
    assert!(
        shown.contains("<details class=\"what\" open>"),
        "a title that is not all is not enough"
    );
}

/// E62, E69: what is asked is neither HTML nor Markdown, wherever it stands.
#[test]
fn what_is_asked_is_only_text() {
    let evil = "<img src=x onerror=alert(1)>\" onclick=\"x **bold** ![i](https://evil.example/x) </pre><form>";
    let mut approval = question(evil);
    approval.reason = evil.to_owned();
    approval.class = evil.to_owned();
    approval.digest = evil.to_owned();
    approval.sources = vec![evil.to_owned()];
    approval.answers = vec![GivenAnswer {
        user: UserId::from_number(1),
        by: evil.to_owned(),
        answer: Answer::Allow,
    }];
    let shown = card(Language::En, &approval, Back::Chat).into_string();
    for tag in tags(&shown) {
        let name = tag.split(' ').next().unwrap_or_default();
        assert!(!["img", "strong>bold", "a"].contains(&name), "<{tag}>");
        assert!(!tag.contains("onclick=\""), "<{tag}>");
    }
    assert_eq!(shown.matches("<form").count(), 1, "{shown}");
    assert!(shown.contains("**bold**"), "{shown}");
}

#[test]
fn the_buttons_are_those_that_were_offered_and_send_the_digest() {
    let mut approval = question("x");
    let shown = card(Language::En, &approval, Back::Approvals).into_string();
    let values: Vec<&str> = shown
        .split("name=\"answer\" value=\"")
        .skip(1)
        .filter_map(|piece| Some(piece.split_once('"')?.0))
        .collect();
    assert_eq!(values, ["allow", "deny"]);
    assert!(shown.contains("name=\"digest\" value=\"0123456789abcdef0123456789abcdef\""));
    assert!(!shown.contains("primary"), "nothing is suggested for what leaves the machine");
    assert!(shown.contains("It takes 2 different people; 2 more must answer."), "{shown}");

    approval.answers = vec![GivenAnswer {
        user: UserId::from_number(1),
        by: "alice".to_owned(),
        answer: Answer::DenyAndStop,
    }];
    approval.state = ApprovalState::Denied;
    let shown = card(Language::En, &approval, Back::Approvals).into_string();
    assert!(
        shown.contains("<strong translate=\"no\">alice</strong> denied it and stopped the task."),
        "{shown}"
    );
    assert!(!shown.contains("<button") && !shown.contains("<form"), "{shown}");
}

/// G2: a line that says all is enough; anything more is unfolded, and what is settled is folded.
#[test]
fn details_are_folded_where_the_line_says_all() {
    let mut approval = question(
        "command: rm -r old\nin the folder: a\ndigest: 0123456789abcdef0123456789abcdef\n",
    );
    approval.title = "run: rm -r old".to_owned();
    approval.sources.clear();
    let is_open = |approval: &Approval| {
        card(Language::En, approval, Back::Chat)
            .into_string()
            .contains("<details class=\"what\" open>")
    };
    assert!(!is_open(&approval));
    let shown = card(Language::En, &approval, Back::Chat).into_string();
    assert_eq!(shown.matches(">Digest ").count(), 0, "it stands in the text: {shown}");
    let longer =
        Approval { title: "run: rm -r ol… (about 9 more)".to_owned(), ..approval.clone() };
    assert!(is_open(&longer));
    let read = Approval { sources: vec!["a page".to_owned()], ..approval.clone() };
    assert!(is_open(&read));
    let settled = Approval { state: ApprovalState::Denied, ..read };
    assert!(!is_open(&settled));
    assert!(is_open(&Approval { kind: ApprovalKind::Plan, ..approval }));
}

/// One of our own reasons is said in the reader's language; what is asked stays to the letter.
#[test]
fn a_card_says_why_in_the_language_of_its_reader() {
    let mut approval = question("command: it sends data to a host outside\n");
    approval.reason = "it sends data to a host outside".to_owned();
    let german = card(Language::De, &approval, Back::Chat).into_string();
    assert!(german.contains(">es schickt Daten an einen Host draußen<"), "{german}");
    assert!(german.contains("command: it sends data to a host outside"), "{german}");
    approval.reason = "two of us look at <b>it</b>".to_owned();
    let own = card(Language::De, &approval, Back::Chat).into_string();
    assert!(own.contains(">two of us look at &lt;b&gt;it&lt;/b&gt;<"), "{own}");
}

/// G2: a card asks, in words, and says why before anything is unfolded.
#[test]
fn a_card_asks_a_question_and_says_why() {
    let asked = |title: &str, kind| {
        let title = title.to_owned();
        let approval = Approval { title, kind, ..question("x") };
        let shown = card(Language::En, &approval, Back::Chat).into_string();
        let (above, _) = shown.split_once("<details").unwrap();
        assert!(above.contains("it leaves this machine"), "{shown}");
        let heading = above.split_once("<h2").unwrap().1.split_once("</h2>").unwrap().0;
        let texts =
            heading.split('<').filter_map(|piece| piece.split_once('>')).map(|(_, text)| text);
        texts.collect::<String>()
    };
    assert_eq!(asked("run: rm old", ApprovalKind::Effect), "May T5 run rm old? outward");
    assert_eq!(asked("delete the file a", ApprovalKind::Effect), "May T5 delete a? outward");
    assert_eq!(asked("post to b", ApprovalKind::Effect), "May T5 do this: post to b? outward");
    assert_eq!(asked("Spend $1?", ApprovalKind::Effect), "Spend $1? outward");
    assert_eq!(asked("Plan for T5: x", ApprovalKind::Plan), "Plan for T5: x outward");
}

/// G2: what is sent is read at a glance where it is short, in full and where to; what is longer, has lines, or has untrusted
/// words behind it is shown to the letter at once.
#[test]
fn a_short_request_is_said_on_the_card_and_a_longer_one_unfolded() {
    let asked = |effect: &str| {
        let text = format!("{effect}\nasked by: task T5\nclass: outward: it leaves\ndigest: 01\n");
        let title = "send POST to api.example:443".to_owned();
        Approval { title, sources: Vec::new(), ..question(&text) }
    };
    let shown = |approval: &Approval| card(Language::En, approval, Back::Chat).into_string();
    let is_open = |approval: &Approval| shown(approval).contains("<details class=\"what\" open>");
    let short = asked(
        "method: POST\nhost: api.example\naddress: https://api.example/v1/<b>\nwith the secret: github\nbody: {\"a\": 1}",
    );
    assert!(!is_open(&short));
    for part in [
        "<code>https://api.example/v1/&lt;b&gt;</code>",
        "<code>github</code>",
        "<code>{&quot;a&quot;: 1}</code>",
    ] {
        assert!(shown(&short).contains(part), "{part}: {}", shown(&short));
    }
    assert!(shown(&short).contains(">outward</span>"), "its class stands on it");
    let read =
        Approval { sources: vec!["the web page https://evil.example/".into()], ..short.clone() };
    assert!(is_open(&read) && shown(&read).contains("class=\"sources\""));
    let lines = asked("method: POST\naddress: https://api.example/\nbody:\n    one\n    two");
    let long =
        asked(&format!("method: POST\naddress: https://api.example/\nbody: {}", "x".repeat(300)));
    for approval in [&lines, &long] {
        assert!(is_open(approval) && !shown(approval).contains("class=\"effect\""));
    }
    let settled = Approval { state: ApprovalState::Denied, ..short };
    assert!(!shown(&settled).contains("class=\"effect\""), "one line is left");
}
