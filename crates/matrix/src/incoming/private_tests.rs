use super::*;

/// Only what is known to keep people out does.
#[test]
fn a_room_is_closed_only_if_both_its_rules_say_so() {
    for rule in ["invite", "private", ""] {
        for history in ["invited", "joined", "shared", ""] {
            assert_eq!(opened_by(rule, history), None, "{rule} {history}");
        }
        for history in ["world_readable", "dev.example.new"] {
            assert_eq!(opened_by(rule, history), Some(Open::ToRead), "{rule} {history}");
        }
    }
    for rule in ["public", "knock", "restricted", "knock_restricted", "dev.example.new"] {
        for history in ["invited", "shared", "world_readable"] {
            assert_eq!(opened_by(rule, history), Some(Open::ToEnter), "{rule} {history}");
        }
    }
}
