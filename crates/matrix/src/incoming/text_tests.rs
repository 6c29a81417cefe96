use matrix_sdk::ruma::OwnedEventId;
use proptest::prelude::*;

use super::*;

fn id(event: &str) -> String {
    let event: OwnedEventId = event.parse().unwrap();
    message_id(&event).unwrap().to_string()
}

/// X1: the same event is the same message, whatever kind of room it is from, and no two are one.
#[test]
fn an_event_has_one_name() {
    assert_eq!(
        id("$Rqnc-F-dvnEYJTyHq_iKxU2bZ1CI92-kuZq3a5lr5Zg"),
        "Rqnc-F-dvnEYJTyHq_iKxU2bZ1CI92-kuZq3a5lr5Zg"
    );
    assert_eq!(id("$143273582443PhrSn:example.org"), "143273582443PhrSn:example.org");
    let old = id("$acR1l0raoZnm60CBwAVgqbZqoO/mYU81xysh1u7XcJk");
    assert!(old.starts_with("sha256:"), "{old}");
    assert_eq!(old, id("$acR1l0raoZnm60CBwAVgqbZqoO/mYU81xysh1u7XcJk"));
    assert_ne!(old, id("$acR1l0raoZnm60CBwAVgqbZqoO/mYU81xysh1u7XcJl"));
}

#[test]
fn what_a_client_quotes_before_a_reply_is_left_out() {
    assert_eq!(without_fallback("> <@a:b> one\n> two\n\nmy words"), "my words");
    assert_eq!(without_fallback("> * <@a:b> waves\n\nmy words"), "my words");
    assert_eq!(
        without_fallback("> a quote of my own\nand words"),
        "> a quote of my own\nand words"
    );
    assert_eq!(without_fallback("> <@a:b> nothing else"), "");
}

proptest! {
    #[test]
    fn any_text_loses_nothing_but_a_quotation_before_it(text in any::<String>()) {
        prop_assert!(text.ends_with(without_fallback(&text)));
    }
}
