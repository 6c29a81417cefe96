use super::{Refusal, forgets_the_session};

/// A bot that may not read messages says what to switch on, and where.
#[test]
fn each_refusal_says_what_to_do() {
    let intents = Refusal::of(4014).expect("disallowed intents").problem();
    assert!(intents.contains("Message Content Intent"), "{intents}");
    assert!(intents.contains("discord.com/developers/applications"), "{intents}");
    let token = Refusal::of(4004).expect("a bad token").problem();
    assert!(token.contains("Reset Token") && token.contains("cloister discord add"), "{token}");
    assert!(Refusal::of(4013).expect("invalid intents").problem().contains("4013"));
    assert_eq!(Refusal::of(4011), Some(Refusal::Shards));
}

#[test]
fn what_passes_is_no_refusal() {
    for code in [1000, 1001, 1006, 4000, 4001, 4002, 4003, 4005, 4007, 4008, 4009, 4999] {
        assert_eq!(Refusal::of(code), None, "{code}");
    }
    assert!(forgets_the_session(4007) && forgets_the_session(4009));
    for code in [1000, 1001, 1006, 4000] {
        assert!(!forgets_the_session(code), "{code}");
    }
}
