use cloister_protocol::admin::{Credential, Key};

use super::*;

const TOKEN: &str = "123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";

fn new(token: &str) -> AddConnector {
    AddConnector {
        address: String::new(),
        account: String::new(),
        credential: Credential::Token(Key::new(token.to_owned())),
        recovery_key: None,
        encrypted: true,
        owner: None,
        webhook: None,
        gateway: None,
    }
}

#[test]
fn a_token_is_looked_at_before_it_is_used() {
    let wanted = Wanted::of(&new(&format!(" {TOKEN}\n"))).unwrap();
    assert_eq!((wanted.token(), wanted.address.as_str()), (TOKEN, "https://api.telegram.org"));
    assert!(!format!("{wanted:?}").contains("AAHdq"));
    for wrong in
        ["", "123456789", "x:AAHdqTcvCH1v", "123:short", "1:../../getMe?x=", "1:AAA BBB CCC"]
    {
        let error = Wanted::of(&new(wrong)).unwrap_err().body();
        assert!(error.message.contains("no bot token"), "{wrong}: {error:?}");
        assert!(error.fix.unwrap().contains("BotFather"));
    }
    let elsewhere = |token| {
        let address = "http://127.0.0.1:8081".to_owned();
        Wanted::of(&AddConnector { address, ..new(token) })
    };
    assert_eq!(elsewhere("42:TOKEN").unwrap().token(), "42:TOKEN", "a server of one's own says");
    for wrong in ["42:", ":TOKEN", "42:a/b", "42"] {
        assert!(elsewhere(wrong).is_err(), "{wrong}");
    }
    let password = Credential::Password(Key::new("x".to_owned()));
    assert!(Wanted::of(&AddConnector { credential: password, ..new(TOKEN) }).is_err());
}

#[test]
fn addresses_are_looked_at_too() {
    let at = |address: &str| Wanted::of(&AddConnector { address: address.into(), ..new(TOKEN) });
    assert_eq!(at("http://127.0.0.1:8081/").unwrap().address, "http://127.0.0.1:8081");
    for wrong in ["localhost", "ftp://x", "http://u:p@x", "http://x/?token=1"] {
        assert!(at(wrong).is_err(), "{wrong}");
    }
    let hook = |url: &str| Wanted::of(&AddConnector { webhook: Some(url.into()), ..new(TOKEN) });
    assert_eq!(hook("https://c.test/").unwrap().webhook.as_deref(), Some("https://c.test"));
    assert!(hook("http://c.test").unwrap_err().body().message.contains("https"));
}

#[test]
fn the_account_is_the_bots() {
    let mut me = Me { id: 5, ..Me::default() };
    assert_eq!(account_of(&me), "5");
    me.username = Some("clo_bot".to_owned());
    assert_eq!(account_of(&me), "@clo_bot");
    for fine in ["", "@clo_bot", "Clo_Bot"] {
        assert!(check_account(fine, "@clo_bot").is_ok(), "{fine}");
    }
    assert!(check_account("@other", "@clo_bot").unwrap_err().body().message.contains("@clo_bot"));
}
