use cloister_store::StoreError;

use super::*;
use crate::cells::CellError;
use crate::gates::GateError;
use crate::people::PeopleError;

#[test]
fn a_refusal_keeps_its_words_through_other_parts() {
    let refused = PeopleError::from(PeopleRefusal::NoContext { name: "work".to_owned() });
    let body = refused.body();
    assert_eq!(body.message, "there is no context work");
    assert_eq!(body.fix.as_deref(), Some("`cloister context add` makes one"));
    let passed_on = CellError::from(GateError::from(refused));
    assert_eq!(passed_on.code(), ErrorCode::NotFound);
    let seen = ControlError::from(passed_on);
    assert!(matches!(seen, ControlError::People(PeopleRefusal::NoContext { .. })), "{seen:?}");
    assert_eq!(seen.body(), body);
}

#[test]
fn too_much_at_once_says_when_to_come_back() {
    let retry_after = Duration::from_millis(1200);
    let refused = GateError::from(PeopleRefusal::TooManyCodes { retry_after });
    assert_eq!(refused.retry_after(), Some(retry_after));
    let body = refused.body();
    assert_eq!(body.message, "busy: codes are asked for faster than they are given");
    assert_eq!(body.fix.as_deref(), Some("try again in 2 s"));
    assert_eq!(body.retry_after_s, Some(2));
}

#[test]
fn what_fails_beneath_is_the_same_for_every_part() {
    let lost = || StoreError::NotFound { what: "task", name: "T1".to_owned() };
    let failed = CellError::from(GateError::from(PeopleError::from(lost())));
    assert!(matches!(failed, CellError::Fault(Fault::Store(_))), "{failed:?}");
    assert_eq!(failed.body(), ControlError::from(lost()).body());
}
