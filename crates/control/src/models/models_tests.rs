use super::*;

#[test]
fn a_base_url_is_taken_as_people_paste_it() {
    for (given, kept) in [
        ("https://openrouter.ai/api/v1", "https://openrouter.ai/api/v1"),
        (" https://api.openai.com/v1/ ", "https://api.openai.com/v1"),
        ("https://api.openai.com/v1/chat/completions", "https://api.openai.com/v1"),
        ("http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1"),
    ] {
        assert_eq!(base_url(given).unwrap(), kept);
    }
    for given in ["", "openai.com", "https://", "http://:80", "ftp://x", "https://x/v1?key=1"] {
        assert!(base_url(given).is_err(), "{given:?}");
    }
    let error = base_url("https://sk-secret@host/v1").unwrap_err();
    assert!(!error.to_string().contains("sk-secret"), "{error}");
}
