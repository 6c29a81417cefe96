use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Result<String, HostError> {
    text.parse::<Host>().map(|host| host.to_string())
}

#[test]
fn a_name_has_one_spelling() {
    assert_eq!(parse("Example.COM").unwrap(), "example.com");
    assert_eq!(parse("bücher.example").unwrap(), "xn--bcher-kva.example");
    assert_eq!(parse("my_bucket.s3.example").unwrap(), "my_bucket.s3.example");
    assert_eq!(parse("r3---sn-x.example").unwrap(), "r3---sn-x.example");
}

#[test]
fn a_lookalike_is_another_host() {
    // The first letter is Cyrillic.
    let lookalike = parse("аllowed.test").unwrap();
    assert!(lookalike.starts_with("xn--"), "{lookalike}");
}

#[test]
fn what_could_be_read_as_another_host_is_no_host() {
    for (text, why) in [
        ("", HostError::Empty),
        ("evil.test\0.allowed.test", HostError::Forbidden('\0')),
        ("evil.test\r\n.allowed.test", HostError::Forbidden('\r')),
        ("evil.test allowed.test", HostError::Forbidden(' ')),
        ("evil.test%00.allowed.test", HostError::Forbidden('%')),
        ("allowed.test@evil.test", HostError::Forbidden('@')),
        ("evil.test\\.allowed.test", HostError::Forbidden('\\')),
        ("evil.test/allowed.test", HostError::Forbidden('/')),
        ("evil.test\u{a0}.allowed.test", HostError::Forbidden('\u{a0}')),
        ("allowed.test.", HostError::TrailingDot),
        ("allowed.test。", HostError::TrailingDot),
        ("allowed..test", HostError::EmptyLabel),
        (".allowed.test", HostError::EmptyLabel),
        ("-a.test", HostError::Hyphen),
        ("xn--\u{0}.test", HostError::Forbidden('\0')),
        ("xn--a-.test", HostError::NotAName),
    ] {
        assert_eq!(parse(text), Err(why), "{text:?}");
    }
    assert_eq!(parse("a.".repeat(150).trim_end_matches('.')), Err(HostError::TooLong));
    assert_eq!(parse(&format!("{}.test", "a".repeat(64))), Err(HostError::LabelTooLong));
}

#[test]
fn every_spelling_of_an_address_is_an_address() {
    for text in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0177.0.0.1",
        "0x7f.1",
        "0x7F000001",
        "0x",
        "１２７.0.0.1",
        "①.1",
        "8.8.8.8",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "::1",
        "name.123",
    ] {
        assert_eq!(parse(text), Err(HostError::AddressLiteral), "{text}");
    }
}

#[test]
fn local_names_and_public_suffixes_are_known() {
    let host = |text: &str| text.parse::<Host>().unwrap();
    for local in ["localhost", "db", "a.localhost", "metadata.google.internal", "nas.local"] {
        assert!(host(local).is_local(), "{local}");
    }
    assert!(!host("example.com").is_local());
    for suffix in ["com", "co.uk", "github.io", "test", "s3.amazonaws.com"] {
        assert!(host(suffix).is_public_suffix(), "{suffix}");
    }
    assert!(!host("example.co.uk").is_public_suffix());
    assert!(!host("allowed.test").is_public_suffix());
}

proptest! {
    #[test]
    fn a_host_that_parses_holds_nothing_else(text in "\\PC{0,80}|[a-z0-9.%@:\\\\ \\x00-\\x1f-]{0,60}") {
        if let Ok(host) = text.parse::<Host>() {
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
            prop_assert!(host.as_str().bytes().all(plain), "{host}");
            prop_assert!(host.as_str().len() <= 253);
            prop_assert!(!host.as_str().ends_with('.') && !host.as_str().contains(".."));
            prop_assert!(host.as_str().parse::<std::net::IpAddr>().is_err());
            prop_assert_eq!(host.as_str().parse::<Host>(), Ok(host.clone()));
        }
    }
}
