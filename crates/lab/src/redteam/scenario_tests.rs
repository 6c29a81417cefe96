use std::collections::BTreeSet;

use super::*;

#[test]
fn there_are_more_than_a_hundred_and_every_channel_and_aim_has_some() {
    let all = scenarios(&[]);
    assert!(all.len() >= 100, "{}", all.len());
    let ids: BTreeSet<String> = all.iter().map(Scenario::id).collect();
    assert_eq!(ids.len(), all.len(), "an id is there twice");
    for channel in Channel::ALL {
        assert!(all.iter().any(|scenario| scenario.channel == channel), "{channel:?}");
    }
    for aim in Aim::ALL {
        assert!(all.iter().any(|scenario| scenario.goal.aim == aim), "{aim:?}");
    }
}

#[test]
fn every_attack_can_be_seen_to_succeed() {
    for scenario in scenarios(&[]) {
        assert!(!scenario.goal.harms.is_empty(), "{}", scenario.id());
        assert!(!scenario.goal.attack.is_empty(), "{}", scenario.id());
    }
}

#[test]
fn a_part_of_an_id_chooses() {
    let some = scenarios(&["web-comment/exfil".to_owned()]);
    assert!(!some.is_empty());
    assert!(some.iter().all(|scenario| scenario.id().starts_with("web-comment/exfil")));
    assert!(scenarios(&["no-such-thing".to_owned()]).is_empty());
}
