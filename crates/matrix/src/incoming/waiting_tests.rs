use super::*;

/// X3: whoever writes what can't be read is told what to do, in words that fit why.
#[test]
fn what_to_do_depends_on_why() {
    let withheld = |code| UnableToDecryptReason::MissingMegolmSession { withheld_code: Some(code) };
    assert!(what_to_do(&withheld(WithheldCode::Unverified)).contains("Verify"));
    assert!(what_to_do(&withheld(WithheldCode::Blacklisted)).contains("Unblock"));
    assert_eq!(what_to_do(&withheld(WithheldCode::NoOlm)), NO_KEY);
    assert_eq!(what_to_do(&UnableToDecryptReason::UnknownMegolmMessageIndex), NO_KEY);
}
