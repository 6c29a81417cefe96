use super::*;

fn health(state: ConnectorState) -> Health {
    Health { surface: "telegram", state, problem: None, last_heard_at: None, reconciled: None }
}

/// What lasts for a moment is not told; what lasts is, and a moment of quiet begins it anew.
#[test]
fn only_what_lasts_is_trouble() {
    let id = ConnectorId::from_number(1);
    let mut unwell = HashMap::new();
    let start = Instant::now();
    let mut at =
        |state, after: Duration| trouble_of(id, &health(state), &mut unwell, start + after);
    let (retrying, connected) = (ConnectorState::Retrying, ConnectorState::Connected);
    assert_eq!(at(retrying, Duration::ZERO), None);
    assert_eq!(at(ConnectorState::Starting, LASTS / 2), None);
    assert_eq!(at(retrying, LASTS), Some(Some("retrying")));
    assert_eq!(at(connected, LASTS * 2), Some(None));
    assert_eq!(at(retrying, LASTS * 3), None);
    assert_eq!(at(ConnectorState::LoggedOut, LASTS * 3), Some(Some("logged_out")));
}
