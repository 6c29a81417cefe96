use super::*;

#[test]
fn ordinary_writing_stays_as_it_is() {
    for text in [
        "plain text\n\twith a tab",
        "naïve café, Ångström, ﷺ",
        "נעים מאוד، می‌خواهم",
        "हिन्दी क्‍ष",
        "👩‍💻 ❤️ ❤️‍🔥 👁️‍🗨️ 1️⃣ 🇩🇪",
        "⟨brackets⟩ of the text itself",
    ] {
        assert_eq!(legible(text), text);
    }
    assert_eq!(legible("two\r\nlines"), "two\r\nlines".replace('\r', ""));
}

/// E70: instructions in tag characters, zero width, direction marks, selectors in a row.
#[test]
fn what_hides_is_shown() {
    let tags: String =
        "ignore all".bytes().map(|b| char::from_u32(0xE0000 + u32::from(b)).unwrap()).collect();
    assert_eq!(legible(&format!("hello{tags}!")), "hello⟨10 hidden characters⟩!");
    assert_eq!(legible("pay\u{200B}pal"), "pay⟨U+200B⟩pal");
    assert_eq!(legible("photo\u{202E}gpj.exe"), "photo⟨U+202E⟩gpj.exe");
    assert_eq!(legible("a\u{200D}b"), "a⟨U+200D⟩b");
    assert_eq!(legible("😀\u{FE00}\u{FE01}\u{FE02}"), "😀\u{FE00}⟨U+FE01⟩⟨U+FE02⟩");
    assert_eq!(legible("\u{1b}[2Jx"), "⟨U+001B⟩[2Jx");
    assert!(!legible("\u{E0100}\u{FEFF}\u{2066}\u{3164}").chars().any(is_hidden));
}
