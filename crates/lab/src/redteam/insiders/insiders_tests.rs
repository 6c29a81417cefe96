use std::collections::BTreeSet;

use clap::ValueEnum as _;

use super::*;

#[test]
fn every_kind_of_insider_has_scenarios_of_its_own() {
    let all = insiders(&[], &[]);
    let ids: BTreeSet<String> = all.iter().map(Insider::id).collect();
    assert_eq!(ids.len(), all.len(), "an id is there twice");
    for attacker in Attacker::value_variants().iter().filter(|one| **one != Attacker::Model) {
        let some = insiders(&[], &[*attacker]);
        assert!(some.len() >= 5, "{attacker:?}: {}", some.len());
        assert!(some.iter().all(|one| one.attacker == *attacker));
    }
    assert!(insiders(&[], &[Attacker::Model]).is_empty());
}

#[test]
fn an_attack_that_tried_nothing_is_no_success_of_the_defence() {
    let one = insiders(&["member/".to_owned()], &[]).remove(0);
    assert_eq!(one.judged(Tried::new(0, None)).attack.outcome, AttackOutcome::Broken);
    assert_eq!(one.judged(Tried::new(1, None)).attack.outcome, AttackOutcome::Stopped);
    let seen = Some("it was seen".to_owned());
    assert_eq!(one.judged(Tried::new(1, seen)).attack.outcome, AttackOutcome::SucceededAbsent);
}
