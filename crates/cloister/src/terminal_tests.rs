use super::*;

#[test]
fn escape_sequences_become_visible() {
    let hostile = "\x1b]0;owned\x07 \u{9b}31m\x7f\u{202e}txt.exe\rok";
    let shown = harmless(hostile);
    assert!(shown.chars().all(is_harmless), "{shown:?}");
    assert!(shown.contains("]0;owned") && shown.contains('␛'), "{shown}");
    assert_eq!(harmless("plain\n\ttext, 👩‍💻 naïve\n"), "plain\n\ttext, 👩‍💻 naïve\n");
    assert_eq!(harmless("a\r\nb"), "a\nb");
}

#[test]
fn json_keeps_its_value() {
    let value = serde_json::json!({"text": "\u{1b}[2J \u{9b}31m \u{7f} \u{202e} ok \"quoted\""});
    let text = value.to_string();
    let safe = harmless_json(&text);
    assert!(safe.chars().all(is_harmless), "{safe:?}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
}
