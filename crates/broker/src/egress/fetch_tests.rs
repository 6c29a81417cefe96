use super::*;

#[test]
fn an_address_means_one_thing_or_nothing() {
    let good = Address::parse("HTTPS://Example.com:443/a/../b?q=1#part").unwrap();
    assert_eq!(good.to.host.as_str(), "example.com");
    assert_eq!(good.path_and_query(), "/b?q=1");
    let bare = Address::parse("http://example.com?q").unwrap();
    assert_eq!((bare.to.port, bare.path_and_query()), (80, "/?q"));
    for bad in [
        "example.com",
        "ftp://example.com/",
        "https:/example.com/",
        "https:///example.com/",
        "https://user@example.com/",
        "https://example.com\\@evil.test/",
        "https://exa\tmple.com/",
        "https://example.com\r\n/",
        "https://example.com%00.evil.test/",
        "https://example.com./",
        "https://127.1/",
        "https://[::1]/",
        "https://0x7f000001/",
        "https://example.com:0/",
        "https://example.com:99999/",
    ] {
        assert!(Address::parse(bad).is_err(), "{bad:?}");
    }
}

#[test]
fn a_redirect_is_read_as_strictly() {
    let from = Address::parse("https://a.test/dir/page").unwrap();
    let to = |location: &str| Address::join(&from, location).map(|next| next.url.to_string());
    assert_eq!(to("other").unwrap(), "https://a.test/dir/other");
    assert_eq!(to("/top?x=http://b.test/").unwrap(), "https://a.test/top?x=http://b.test/");
    assert_eq!(to("//b.test/x").unwrap(), "https://b.test/x");
    assert_eq!(to("http://b.test/").unwrap(), "http://b.test/");
    for bad in
        ["//127.1/", "https://[::1]/", "//user@b.test/", "\\\\b.test/", "javascript:alert(1)"]
    {
        assert!(to(bad).is_err(), "{bad:?}: {:?}", to(bad));
    }
}
