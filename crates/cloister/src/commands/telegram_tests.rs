use super::*;

#[test]
fn a_token_looks_as_botfather_gives_it() {
    for right in ["123456789:AAE_x-9", "1:a"] {
        assert!(looks_right(right), "{right}");
    }
    for wrong in ["", "123456789", ":abc", "123:", "abc:def", "12a:def", "1:a:b", "1:a/b", "1:a.b"]
    {
        assert!(!looks_right(wrong), "{wrong}");
    }
}

#[test]
fn telegram_itself_delivers_over_tls_alone() {
    let add = |webhook: &str, api_url: Option<&str>| Add {
        token_file: "f".into(),
        owner: None,
        api_url: api_url.map(str::to_owned),
        webhook: Some(webhook.to_owned()),
    };
    assert!(not_for_telegram(&add("http://example.org", None)).is_some());
    assert!(not_for_telegram(&add("https://example.org", None)).is_none());
    // A server of one's own delivers wherever it is told to.
    assert!(not_for_telegram(&add("http://127.0.0.1:1", Some("http://127.0.0.1:8081"))).is_none());
}
