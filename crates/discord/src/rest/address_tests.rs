use super::{ApiUrl, NoAddress, base};

#[test]
fn an_address_is_taken_apart() {
    let api = ApiUrl::parse("http://127.0.0.1:4000/").expect("an address");
    assert_eq!((api.host.as_str(), api.plain), ("127.0.0.1:4000", true));
    let api = ApiUrl::parse("https://proxy.example.org/discord/api").expect("an address");
    assert_eq!((api.host.as_str(), api.plain), ("proxy.example.org/discord", false));
    assert_eq!(api.origin(), "https://proxy.example.org");
    for wrong in ["", "discord.com", "http://", "http://a b", "http://x@y", "ws://x"] {
        assert_eq!(ApiUrl::parse(wrong), Err(NoAddress::NoUrl), "{wrong}");
    }
}

/// Discord's own documents give the address with the version in it.
#[test]
fn the_version_may_be_part_of_an_address() {
    for given in ["http://x:1", "http://x:1/api", "http://x:1/api/v10", "http://x:1/api/v10/"] {
        let api = ApiUrl::parse(given).expect(given);
        assert_eq!(base(Some(&api)), "http://x:1/api/v10/", "{given}");
    }
    let other = ApiUrl::parse("https://discord.com/api/v9");
    assert_eq!(other, Err(NoAddress::Version("v9".to_owned())));
    assert_eq!(base(None), "https://discord.com/api/v10/");
}
