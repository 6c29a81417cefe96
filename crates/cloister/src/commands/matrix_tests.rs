use cloister_protocol::admin::{
    AddedConnector, ConnectorState, ConnectorView, Key, ReconcileReport, ResetReport, Skipped,
};

use super::*;
use crate::commands::connectors::report as shared;

fn view(state: ConnectorState) -> ConnectorView {
    ConnectorView {
        surface: "matrix".to_owned(),
        account: "@bot:example.org".to_owned(),
        address: "https://matrix.example.org".to_owned(),
        state,
        problem: None,
        last_heard_at: Some(0),
        conversations: 3,
        waiting: 1,
        facts: vec![("device".to_owned(), "ABCDEF".to_owned())],
        reconciled: Some(ReconcileReport {
            looked_at: 4,
            restored: vec!["C2 in !b:example.org".to_owned()],
            skipped: vec![Skipped { room: "!x:example.org".into(), why: "not ours".into() }],
            took_ms: 12,
            ..ReconcileReport::default()
        }),
    }
}

#[test]
fn status_says_state_facts_and_the_last_comparison() {
    let words = shared::status(MATRIX, &[view(ConnectorState::Connected)], true);
    assert_eq!(
        words,
        "@bot:example.org on https://matrix.example.org: connected\n  \
         device             ABCDEF\n  \
         rooms              3\n  \
         waiting to be sent 1\n  \
         last heard         1970-01-01T00:00:00Z\n  \
         last comparison    4 rooms looked at in 12 ms: 1 restored, 0 repaired, 1 skipped, 0 in conflict\n  \
         restored: C2 in !b:example.org\n  \
         skipped: !x:example.org: not ours\n"
    );
    let out = shared::status(MATRIX, &[view(ConnectorState::LoggedOut)], true);
    assert!(out.contains("logged out") && out.contains("cloister matrix add"), "{out}");
}

#[test]
fn a_recovery_key_is_said_with_what_to_do_and_not_shown_by_debug() {
    let key = Key::new("EsTc 1234");
    let added = AddedConnector { view: view(ConnectorState::Connected), recovery_key: Some(key) };
    let words = report::added(&added);
    assert!(words.contains("EsTc 1234") && words.contains("--recovery-key-file"), "{words}");
    assert!(!format!("{added:?}").contains("EsTc"));
}

#[test]
fn a_dry_run_says_that_nothing_was_changed() {
    let report = ResetReport {
        dry_run: true,
        left: (0..30).map(|n| format!("!{n}:example.org")).collect(),
        by_hand: vec!["leave the Space".to_owned()],
        ..ResetReport::default()
    };
    let words = report::reset(&report);
    assert!(words.starts_with("Nothing was changed."), "{words}");
    assert!(words.contains("and 10 more"), "{words}");
    assert!(words.contains("- leave the Space"), "{words}");
}
