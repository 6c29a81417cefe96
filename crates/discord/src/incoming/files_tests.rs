use super::may_fetch;
use crate::rest::ApiUrl;

/// Files come from Discord's servers alone: an event can't send us anywhere else.
#[test]
fn only_discords_own_addresses_are_fetched() {
    assert!(may_fetch("https://cdn.discordapp.com/attachments/1/2/a.png?ex=1", None).is_some());
    assert!(may_fetch("https://media.discordapp.net/attachments/1/2/a.png", None).is_some());
    for elsewhere in [
        "http://cdn.discordapp.com/a",
        "https://cdn.discordapp.com.example.org/a",
        "https://cdn.discordapp.com@example.org/a",
        "https://me@cdn.discordapp.com/a",
        "https://cdn.discordapp.com:8443/a",
        "https://169.254.169.254/latest",
        "http://127.0.0.1:5432/",
        "file:///etc/passwd",
        "not an address",
    ] {
        assert!(may_fetch(elsewhere, None).is_none(), "{elsewhere}");
    }
}

#[test]
fn an_api_of_ones_own_keeps_its_own_files() {
    let api = ApiUrl::parse("http://127.0.0.1:4000/").expect("an address");
    assert!(may_fetch("http://127.0.0.1:4000/attachments/1", Some(&api)).is_some());
    assert!(may_fetch("http://127.0.0.1:4001/attachments/1", Some(&api)).is_none());
    assert!(may_fetch("https://127.0.0.1:4000/attachments/1", Some(&api)).is_none());
}
