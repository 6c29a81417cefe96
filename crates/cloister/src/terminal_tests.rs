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

/// E70: what carries words past the eye is seen on a terminal too.
#[test]
fn hidden_characters_become_visible() {
    let shown = harmless("pay\u{200b}pal \u{e0041}\u{e0042}\u{feff}end");
    assert_eq!(shown, "pay\u{fffd}pal \u{fffd}\u{fffd}\u{fffd}end");
    let value = serde_json::json!({"text": "\u{e0041}x\u{200b}"});
    let text = value.to_string();
    let safe = harmless_json(&text);
    assert!(safe.is_ascii(), "{safe}");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
}

/// Whatever is said, a terminal only shows it.
fn only_shown(text: &str) -> Result<usize, String> {
    let shown = harmless(text);
    if let Some(bad) = shown.chars().find(|c| !is_harmless(*c)) {
        return Err(format!("{bad:?} is left in {shown:?}"));
    }
    let json = serde_json::Value::from(text).to_string();
    let safe = harmless_json(&json);
    if !safe.chars().all(is_harmless) {
        return Err(format!("{safe:?} is not harmless"));
    }
    if serde_json::from_str::<String>(&safe).ok().as_deref() != Some(text) {
        return Err(format!("{safe:?} is another value"));
    }
    Ok(shown.matches('\u{fffd}').count().min(8))
}

#[test]
fn fuzz_terminal() {
    let seeds =
        ["plain\n\ttext", "\x1b]0;owned\x07\x1b[2J", "a\r\nb", "\u{202e}txt.exe \u{e0041}", "👩‍💻"];
    let words =
        ["\x1b[", "\x1b]", "\u{9b}", "\u{2028}", "\u{e0001}", "\u{200b}", "\\", "\"", "\r", "\x07"];
    cloister_testkit::Fuzz::new("terminal").seeds(seeds).words(words).run_text(only_shown).unwrap();
}
