use cloister_protocol::Language;
use cloister_store::telling::{Deed, Teller as _};

use super::{SILENT, ToOwners};
use crate::hub::Hub;

fn told(action: &'static str, is_newcomer: bool) -> Option<String> {
    let teller = ToOwners { hub: Hub::default(), language: Language::En };
    let deed =
        Deed { by: Some("mallory"), action, subject: "it", detail: "w2/SOUL.md", is_newcomer };
    teller.words(&deed, None)
}

/// U1: what nobody thought of is told, too; silence is what is listed, with a reason.
#[test]
fn what_is_not_listed_as_silent_is_told() {
    for (action, reason) in SILENT {
        assert!(!reason.is_empty() && told(action, false).is_none(), "{action}");
    }
    let new = told("something.new", false).unwrap();
    assert!(new.starts_with("mallory did this to what is yours: something.new it."), "{new}");
    assert!(new.ends_with("tell whoever runs this."), "{new}");
}

/// Whoever makes ready what somebody invited will find tells nobody; whoever ends all that they had here does.
#[test]
fn a_newcomer_is_told_of_what_ends_and_of_nothing_else() {
    assert!(told("egress.allow", true).is_none() && told("egress.allow", false).is_some());
    for action in ["identity.unlink", "session.end_all"] {
        assert!(told(action, true).is_some(), "{action}");
    }
}
