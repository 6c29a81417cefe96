use cloister_protocol::admin::{AddConnector, Credential, Key};

use super::{Known, Wanted, check_account};

fn new(token: &str) -> AddConnector {
    AddConnector {
        address: String::new(),
        account: String::new(),
        credential: Credential::Token(Key::new(token.to_owned())),
        recovery_key: None,
        encrypted: false,
        owner: None,
        webhook: None,
        gateway: None,
    }
}

#[test]
fn a_token_is_taken_as_people_copy_it() {
    for given in ["MTIz.abc.def-_9", " MTIz.abc.def-_9\n", "Bot MTIz.abc.def-_9"] {
        assert_eq!(Wanted::of(&new(given)).expect(given).token(), "MTIz.abc.def-_9");
    }
}

/// P2: what is no token is refused without being repeated.
#[test]
fn what_is_no_token_is_refused_and_not_shown() {
    for given in ["", "hunter2 hunter2", "MTIz", "MTIz.abc\nX-Evil: 1", "MTIz.\u{e9}"] {
        let error = Wanted::of(&new(given)).expect_err("it is refused").body();
        assert!(error.fix.is_some(), "{given:?}");
        assert!(!error.message.contains("MTIz") && !error.message.contains("hunter"), "{error:?}");
    }
    let wanted = Wanted::of(&new("MTIz.abc.def")).expect("a token");
    assert!(!format!("{wanted:?}").contains("MTIz"), "a token is not printed");
}

#[test]
fn addresses_of_ones_own_are_checked_before_they_are_used() {
    let mut given = new("MTIz.abc.def");
    given.address = "http://127.0.0.1:4000/".to_owned();
    given.gateway = Some("ws://127.0.0.1:4000/".to_owned());
    let wanted = Wanted::of(&given).expect("both are addresses");
    assert_eq!(wanted.address(), "http://127.0.0.1:4000");
    let settings = wanted.settings(&known());
    assert_eq!(settings.gateway_url.as_deref(), Some("ws://127.0.0.1:4000"));
    assert!(settings.api().is_some_and(|api| api.plain && api.host == "127.0.0.1:4000"));
    for address in ["discord.com", "ftp://x", "http://", "http://me@x", "http://x/?a=b"] {
        given.address = address.to_owned();
        assert!(Wanted::of(&given).is_err(), "{address}");
    }
    given.address = String::new();
    for gateway in ["http://x", "ws://", "ws://x y", "ws://x/?v=9"] {
        given.gateway = Some(gateway.to_owned());
        assert!(Wanted::of(&given).is_err(), "{gateway}");
    }
}

/// What a token of Discord's looks like says nothing about those of another server.
#[test]
fn a_server_of_ones_own_has_tokens_of_its_own() {
    let mut given = new("test-token");
    assert!(Wanted::of(&given).is_err());
    given.address = "http://127.0.0.1:4000/api/v10".to_owned();
    let wanted = Wanted::of(&given).expect("that server is asked");
    assert_eq!(
        (wanted.token(), wanted.address()),
        ("test-token", "http://127.0.0.1:4000".to_owned())
    );
    given.address = "http://127.0.0.1:4000/api/v9".to_owned();
    let error = Wanted::of(&given).expect_err("another version").body();
    assert!(error.message.contains("only v10"), "{error:?}");
}

#[test]
fn an_account_that_is_named_must_be_the_one() {
    for given in ["", "12", "Helper#0001", "helper#0001"] {
        assert!(check_account(given, &known()).is_ok(), "{given}");
    }
    assert!(check_account("13", &known()).is_err());
}

fn known() -> Known {
    let (user, application) = ("12".to_owned(), "13".to_owned());
    Known { user, application, name: "Helper#0001".to_owned() }
}
