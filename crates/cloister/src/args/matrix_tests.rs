use super::*;

#[test]
fn an_account_is_a_full_matrix_id() {
    for right in ["@bot:example.org", "@cloister.bot/2:localhost:8448", "@b:[::1]:8008"] {
        assert_eq!(account(right), Ok(right.to_owned()));
    }
    for wrong in ["", "bot", "@bot", "@:example.org", "@bot:", "bot:example.org", "@a b:c", "@a?:c"]
    {
        let said = account(wrong).unwrap_err();
        assert!(said.contains("@cloister:example.org"), "{wrong:?}: {said}");
    }
}

#[test]
fn a_homeserver_is_an_address_without_a_secret_in_it() {
    for (given, kept) in [
        ("https://matrix.example.org/", "https://matrix.example.org"),
        ("http://127.0.0.1:8008", "http://127.0.0.1:8008"),
        ("http://[::1]:8008", "http://[::1]:8008"),
        ("https://example.org/base", "https://example.org/base"),
    ] {
        assert_eq!(homeserver(given), Ok(kept.to_owned()));
    }
    for wrong in [
        "",
        "matrix.example.org",
        "ftp://example.org",
        "https://",
        "https://bot:password@example.org",
        "https://example.org/?access_token=x",
        "https://exa mple.org",
    ] {
        let said = homeserver(wrong).unwrap_err();
        assert!(said.contains("https://matrix.example.org"), "{wrong:?}: {said}");
        assert!(!said.contains("password"), "{said}");
    }
}
