use super::*;

#[test]
fn the_web_and_mail_addresses_are_places() {
    assert_eq!(link_place("https://Example.ORG/a?b#c").as_deref(), Some("example.org"));
    assert_eq!(link_place("http://example.org:8080").as_deref(), Some("example.org:8080"));
    assert_eq!(link_place("https://[2001:DB8::1]:1/").as_deref(), Some("[2001:db8::1]:1"));
    assert_eq!(link_place("mailto:ann@example.org?subject=x").as_deref(), Some("ann@example.org"));
    assert_eq!(link_place("https://matrix.to/#/@a:b").as_deref(), Some("matrix.to"));
}

#[test]
fn what_runs_or_pretends_is_no_place() {
    let long = format!("https://example.org/{}", "a".repeat(MAX_BYTES));
    for target in [
        "javascript:alert(1)",
        "data:text/html,x",
        "mxc://server/id",
        "file:///etc/passwd",
        "/relative",
        "//example.org",
        "https:example.org",
        "https://good.example@evil.example/",
        "https://good.example\\@evil.example/",
        "https://evil.example/\u{202e}gpj",
        "mailto:",
        "",
        &long,
    ] {
        let place = link_place(target);
        // A backslash ends the host for browsers; what stays is the host they would go to.
        assert!(place.is_none() || place.as_deref() == Some("good.example"), "{target}: {place:?}");
    }
}
