use cloister_protocol::admin::{AddedConnector, ReconcileReport, ResetReport, Skipped};

use super::*;

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
fn an_account_becomes_one_part_of_a_path() {
    let path = path("@cloister/../models?x=#1 %:example.org");
    assert_eq!(
        path,
        "/admin/v1/surfaces/matrix/connectors/@cloister%2F..%2Fmodels%3Fx%3D%231%20%25:example.org"
    );
}

#[test]
fn only_what_leaves_this_machine_in_the_clear_is_warned_of() {
    for safe in
        ["https://example.org", "http://127.0.0.1:8008", "http://localhost", "http://[::1]:1/"]
    {
        assert!(!is_open_to_listeners(safe), "{safe}");
    }
    for open in ["http://example.org", "http://10.0.0.1:8008", "http://localhost.example.org"] {
        assert!(is_open_to_listeners(open), "{open}");
    }
}

#[test]
fn status_says_state_facts_and_the_last_comparison() {
    let words = report::status(&[view(ConnectorState::Connected)], true);
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
    let out = report::status(&[view(ConnectorState::LoggedOut)], true);
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
