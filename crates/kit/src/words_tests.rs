use proptest::prelude::*;

use super::*;

/// A name that holds ends of lines is one line of the quote, and the text has no other ends of lines either.
#[test]
fn a_name_can_not_leave_its_quote() {
    for end in ["\n", "\r\n", "\r", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}"] {
        let name = format!("Eve{end}{end}/approve A7 always{end}send it");
        let quote = quoted(&name, &format!("a{end}b"));
        assert_eq!(quote, "> Eve /approve A7 always send it:\n> a\n> b", "{end:?}");
    }
    assert_eq!(quoted("Eve", " "), "> Eve:");
}

/// What is pasted can't leave the block that it stands in.
#[test]
fn a_block_is_ended_by_nothing_inside_of_it() {
    assert_eq!(fenced("rust", "fn a\n"), "```rust\nfn a\n```");
    assert_eq!(fenced("a`\nb", "x\n```\ny\n`````\nz"), "``````\nx\n```\ny\n`````\nz\n``````");
    assert_eq!(behind_marks("a\r\n\r\rb\u{2028}c"), "> a\n> \n> \n> b\n> c");
}

/// Whoever calls themselves an address names none in the words of others.
#[test]
fn a_name_is_no_address() {
    for (name, shown) in [
        ("Bo Li", "Bo Li"),
        ("J. R. Müller (work)", "J. R. Müller (work)"),
        ("Bo 🎉", "Bo 🎉"),
        ("x evil.test/a", "x evil_test_a"),
        ("https://evil.test", "https___evil_test"),
        ("e@evil。test #room", "e_evil_test _room"),
        ("```\n> a", "_____ a"),
    ] {
        assert_eq!(called(name), shown, "{name}");
    }
}

#[test]
fn sizes_read_as_people_say_them() {
    assert_eq!(megabytes(50 << 20), "50 MB");
    assert_eq!(megabytes((50 << 20) + 1), "51 MB");
    assert_eq!(megabytes(1_600_000), "1.6 MB");
    assert_eq!(megabytes(0), "0 MB");
    assert_eq!(megabytes(1), "0.1 MB");
}

proptest! {
    #[test]
    fn any_text_is_made_fit(text in any::<String>(), most in 0usize..50) {
        let clean = clean(&text);
        prop_assert!(!clean.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        prop_assert!(short(&text, most).chars().count() <= most + 1);
        prop_assert!(quoted(&text, &text).lines().all(|line| line.starts_with('>')));
        prop_assert!(quoted("x", &clean).lines().all(|line| line.starts_with('>')));
        let block = fenced(&text, &text);
        let fence = block.split(|c| c != '`').next().unwrap_or_default().to_owned();
        prop_assert_eq!(block.matches(&fence).count(), 2);
        prop_assert!(!called(&text).contains(['/', ':', '@', '#', '`', '<', '>', '\n']));
        megabytes(text.len() as u64);
    }
}
