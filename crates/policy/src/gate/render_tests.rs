use proptest::prelude::*;

use super::*;

#[test]
fn what_the_eye_would_miss_is_shown() {
    for (text, shown) in [
        ("ls -la", "ls -la"),
        ("a\u{202e}txt.exe", "a⟨U+202E⟩txt.exe"),
        ("pay\u{200b}pal", "pay⟨U+200B⟩pal"),
        ("\u{1b}[2J", "⟨U+001B⟩[2J"),
        ("a\tb\rc", "a⟨U+0009⟩b⟨U+000D⟩c"),
        ("p\u{430}ypal", "p⟨U+0430 а⟩ypal"),
        ("\u{ff52}\u{ff4d}", "⟨U+FF52⟩⟨U+FF4D⟩"),
        ("\u{e0041}", "⟨U+E0041⟩"),
        ("⟨U+202E⟩", "⟨U+27E8⟩U+202E⟨U+27E9⟩"),
        ("a\u{a0}b", "a⟨U+00A0⟩b"),
        ("удали файл", "удали файл"),
        ("naïve café", "naïve café"),
    ] {
        assert_eq!(visible(text, Reading::Prose), shown, "{text:?}");
    }
    assert_eq!(visible("сор", Reading::Machine), "⟨U+0441 с⟩⟨U+043E о⟩⟨U+0440 р⟩");
    let padded = format!("ls{}; rm -rf /", " ".repeat(5000));
    assert_eq!(visible(&padded, Reading::Machine), "ls⟨5000 spaces⟩; rm -rf /");
    let pushed_down = format!("ls{}rm", "\n".repeat(300));
    assert_eq!(visible(&pushed_down, Reading::Machine), "ls⟨300 line ends⟩rm");
}

proptest! {
    #[test]
    fn nothing_invisible_is_left(text in any::<String>(), machine in any::<bool>()) {
        let reading = if machine { Reading::Machine } else { Reading::Prose };
        let shown = visible(&text, reading);
        prop_assert!(shown.chars().all(|c| c == '\n' || (!c.is_control() && has_own_shape(c))));
    }

    /// Bytes that are no text are all shown, however many there are: others never look the same.
    #[test]
    fn different_bytes_look_different(
        a in proptest::collection::vec(prop_oneof![Just(0xFF_u8), Just(0x80), Just(b'a'), Just(b'\\')], 0..40),
        b in proptest::collection::vec(prop_oneof![Just(0xFF_u8), Just(0x80), Just(b'a'), Just(b'\\')], 0..40),
        long in 200_usize..600,
    ) {
        prop_assert_eq!(visible_bytes(&a) == visible_bytes(&b), a == b);
        let (mut one, mut two) = (vec![0xFE; long], vec![0xFE; long]);
        one.extend(&a);
        two.extend(&b);
        prop_assert_eq!(visible_bytes(&one) == visible_bytes(&two), a == b);
    }

    #[test]
    fn different_texts_look_different(
        a in "[a-bа ⟨⟩U+0-2\u{200b}\u{202e}]{0,12}", b in "[a-bа ⟨⟩U+0-2\u{200b}\u{202e}]{0,12}",
    ) {
        for reading in [Reading::Machine, Reading::Prose] {
            prop_assert_eq!(visible(&a, reading) == visible(&b, reading), a == b);
        }
    }
}
