use cloister_policy::egress::Host;
use cloister_policy::engine::Engine;
use cloister_policy::provenance::{Address, Asked, Flow, Labels, Mark, Sink, TaskContext};
use cloister_protocol::UserId;
use cloister_protocol::link::Lasting;
use cloister_store::{BudgetKind, OverBudget};

use super::*;

const OTHERS: [Language; 2] = [Language::De, Language::Ru];

/// What is said in no other language than English.
fn english(reasons: &[String]) -> Vec<&String> {
    let stays = |reason: &&String| OTHERS.iter().any(|to| reason_in(*to, reason) == **reason);
    reasons.iter().filter(stays).collect()
}

#[test]
fn every_default_policy_that_asks_says_why_in_every_language() {
    let policies = Engine::new(&[]).unwrap().policies();
    let asks = policies.into_iter().filter(|policy| policy.kind == "ask");
    let reasons: Vec<String> = asks.map(|policy| policy.reason).collect();
    assert!(reasons.len() > 5, "{reasons:?}");
    assert_eq!(english(&reasons), Vec::<&String>::new());
}

#[test]
fn whatever_provenance_asks_about_is_said_in_every_language() {
    let person = UserId::from_number(1);
    let page = Labels::of(Mark::web("https://evil.example/"));
    let words = Asked::from_words("look at https://example.org/a");
    let task = TaskContext::start(person, &page, words, &Labels::default());
    let address = |text| Address::parse(text).unwrap();
    let (named, new) = (address("https://example.org/zzz"), address("https://new.example/"));
    let host: Host = "new.example".parse().unwrap();
    let to = ["bob@example.org".to_owned()];
    let mut sinks = vec![
        Sink::Read { to: &named },
        Sink::Read { to: &new },
        Sink::Submit { to: &new },
        Sink::Search { words: "zebra" },
        Sink::Send { to: &to },
        Sink::Post { place: "#all; it deletes files" },
        Sink::UseSecret { name: "TOKEN", host: &host },
        Sink::Spend { payee: "x", amount: "1 EUR" },
    ];
    for what in [Lasting::Memory, Lasting::Skill, Lasting::Schedule, Lasting::Config, Lasting::Tool]
    {
        sinks.push(Sink::Write { what, text: "x" });
        sinks.push(Sink::Rewrite { what });
        let said =
            [&sinks[sinks.len() - 2], &sinks[sinks.len() - 1]].map(|sink| reason(&task, sink));
        for said in said.map(|said| reason_in(Language::De, &said)) {
            assert!(!said.contains(what.as_str()), "{said}");
        }
    }
    let reasons: Vec<String> = sinks.iter().map(|sink| reason(&task, sink)).collect();
    assert_eq!(english(&reasons), Vec::<&String>::new());
}

fn reason(task: &TaskContext, sink: &Sink<'_>) -> String {
    match task.decide(sink) {
        Flow::Ask { reason, .. } => reason,
        Flow::Run => panic!("{sink:?} asks nobody"),
    }
}

#[test]
fn what_a_budget_does_not_allow_is_said_in_every_language() {
    let kinds = [BudgetKind::Day, BudgetKind::Task("T7".parse().unwrap())];
    let over = |kind, reserved| {
        OverBudget { kind, limit: 1_000_000_000, spent: 900_000_000, reserved, wanted: 200_000_000 }
            .to_string()
    };
    let reasons: Vec<String> =
        kinds.into_iter().flat_map(|kind| [over(kind, 0), over(kind, 50_000_000)]).collect();
    assert_eq!(english(&reasons), Vec::<&String>::new());
    for reason in reasons {
        assert!(reason_in(Language::Ru, &reason).contains("$1"), "{reason}");
    }
}

/// Several reasons are each said, and an operator's own stays as its operator wrote it.
#[test]
fn reasons_that_come_together_are_said_one_by_one() {
    let both = "it sends data to a host outside; you did not name new.example, and it is a new destination";
    for to in OTHERS {
        let said = reason_in(to, both);
        let (first, second) = said.split_once("; ").unwrap();
        assert_ne!(first, "it sends data to a host outside");
        assert!(second.contains("new.example") && !second.contains("you did not"), "{second}");
        let own = reason_in(to, "two of us look at it; it sends something out");
        assert!(own.starts_with("two of us look at it; "), "{own}");
        assert!(!own.ends_with("it sends something out"), "{own}");
        assert_eq!(reason_in(to, "anything else"), "anything else");
    }
    assert_eq!(reason_in(Language::En, both), both);
}
