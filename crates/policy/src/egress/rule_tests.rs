use proptest::prelude::*;

use super::*;

fn rule(text: &str) -> Rule {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn destination(url: &str) -> Destination {
    let (scheme, rest) = url.split_once("://").unwrap();
    let scheme = if scheme == "http" { Scheme::Http } else { Scheme::Https };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let authority: Authority = authority.parse().unwrap();
    let port = authority.port.unwrap_or(scheme.default_port());
    Destination { scheme, host: authority.host, port, path: path.to_owned() }
}

#[test]
fn a_rule_allows_what_it_says() {
    for (text, allowed, denied) in [
        (
            "example.com",
            &["https://example.com", "https://example.com/any/../path"][..],
            &[
                "http://example.com",
                "https://www.example.com",
                "https://example.com:8443",
                "https://notexample.com",
                "https://example.com.evil.test",
            ][..],
        ),
        (
            "*.example.com",
            &["https://a.example.com", "https://b.a.example.com/x"],
            &["https://example.com", "https://notexample.com", "https://a.example.com.evil.test"],
        ),
        (
            "http://example.com",
            &["http://example.com", "https://example.com"],
            &["http://example.com:8080", "https://example.com:80"],
        ),
        (
            "example.com:8443",
            &["https://example.com:8443/x"],
            &["https://example.com", "http://example.com:8443"],
        ),
        (
            "http://example.com:8080/api",
            &["http://example.com:8080/api", "https://example.com:8080/api/x"],
            &["http://example.com/api", "http://example.com:8080/"],
        ),
        (
            "example.com/owner/repo",
            &[
                "https://example.com/owner/repo",
                "https://example.com/owner/repo/",
                "https://example.com/owner/repo/info/refs",
                "https://example.com/%6fwner/repo",
            ],
            &[
                "https://example.com/",
                "https://example.com/owner",
                "https://example.com/owner/repository",
                "https://example.com/owner/repo.git",
                "https://example.com/owner/repo/../other",
                "https://example.com/owner/repo/%2e%2e/other",
                "https://example.com/owner/repo/.%2E/other",
                "https://example.com/owner/repo/%252e%252e/other",
                "https://example.com/owner/repo/..;/other",
                "https://example.com/owner/repo/..%3b/other",
                "https://example.com/owner/repo/..%2fother",
                "https://example.com/owner/repo/..\\other",
                "https://example.com/owner/repo/%5c..%5cother",
                "https://example.com//owner/repo",
                "https://example.com/owner//repo",
                "https://example.com/owner/repo/%00",
                "https://example.com/owner/repo/%zz",
                "https://example.com/owner/repo/%2",
                "https://example.com/OWNER/repo",
            ],
        ),
    ] {
        for url in allowed {
            assert!(rule(text).allows(&destination(url)), "{text} should allow {url}");
        }
        for url in denied {
            assert!(!rule(text).allows(&destination(url)), "{text} should not allow {url}");
        }
    }
}

#[test]
fn a_rule_that_allows_too_much_is_none() {
    for text in [
        "*",
        "*.*",
        "*.com",
        "*.co.uk",
        "*.github.io",
        "*.test",
        "http://*",
        "https://*.com",
        "*example.com",
        "a.*.com",
        "example.*",
        "example.com:*",
        "127.0.0.1",
        "*.127.0.0.1",
        "8.8.8.8",
        "[::1]",
        "0x7f.1",
        "localhost",
        "db",
        "*.internal",
        "*.corp.internal",
        "metadata.google.internal",
        "user@example.com",
        "example.com:0",
        "example.com:99999",
        "example.com:+80",
        "example.com:",
        "example.com?x",
        "example.com/#x",
        "example.com/../x",
        "example.com//x",
        "ftp://example.com",
        "//example.com",
        "example.com.",
        "",
        " ",
    ] {
        assert!(text.parse::<Rule>().is_err(), "{text:?} is a rule");
    }
    let why = |text: &str| text.parse::<Rule>().unwrap_err().to_string();
    assert!(why("*.github.io").contains("nothing to do with each other"));
    assert!(why("10.0.0.1").contains("only names"));
    assert!(why("localhost").contains("inside of a network"));
}

#[test]
fn a_rule_prints_in_its_shortest_form() {
    for (text, shown) in [
        (" HTTPS://x.test", None),
        ("https://Example.com:443/", Some("example.com")),
        ("http://example.com:80", Some("http://example.com:80")),
        ("example.com/a/%62/", Some("example.com/a/b")),
        ("*.bücher.example", Some("*.xn--bcher-kva.example")),
    ] {
        let printed = text.parse::<Rule>().ok().map(|rule| rule.to_string());
        assert_eq!(printed.as_deref(), shown, "{text}");
    }
}

proptest! {
    #[test]
    fn a_rule_reads_as_it_prints(
        scheme in "(http://|https://)?",
        star in "(\\*\\.)?",
        host in "[a-z][a-z0-9-]{0,8}(\\.[a-z][a-z0-9]{0,8}){1,3}",
        port in "(:[1-9][0-9]{0,3})?",
        path in "(/[a-zA-Z0-9%._~;@-]{1,6}){0,3}/?",
    ) {
        if let Ok(rule) = format!("{scheme}{star}{host}{port}{path}").parse::<Rule>() {
            prop_assert_eq!(rule.to_string().parse::<Rule>(), Ok(rule));
        }
    }

    #[test]
    fn reading_a_rule_never_panics(text in "\\PC{0,60}") {
        if let Ok(rule) = text.parse::<Rule>() {
            prop_assert_eq!(rule.to_string().parse::<Rule>(), Ok(rule));
        }
    }
}
