use super::*;

fn plain(text: &str) -> String {
    silent(text, &[], &[])
}

/// P8: whatever stands around a name, it rings nobody.
#[test]
fn a_name_loses_its_sign() {
    for (text, expected) in [
        ("@bob", "＠bob"),
        ("ask @bob and @eve_2.", "ask ＠bob and ＠eve_2."),
        ("(@bob)", "(＠bob)"),
        ("@@bob", "@＠bob"),
        ("🦊@bob", "🦊＠bob"),
        ("Ⓐ@bob é@bob", "Ⓐ＠bob é＠bob"),
        ("/@bob", "/＠bob"),
        ("https://@bob", "https://＠bob"),
        ("https://a/@bob", "https://a/＠bob"),
        ("xhttps://a.com/@bob", "xhttps://a.com/＠bob"),
        ("https://a.com/\"@bob", "https://a.com/\"＠bob"),
        ("https://a.com/«@bob", "https://a.com/«＠bob"),
        ("foo://a.com/@bob", "foo://a.com/＠bob"),
    ] {
        assert_eq!(plain(text), expected);
        let units = |text: &str| text.encode_utf16().count();
        assert_eq!(units(text), units(expected), "no mark moves");
    }
}

#[test]
fn what_rings_nobody_stays_as_it_is() {
    for text in [
        "write to ada@example.org",
        "a @ b, @, @é",
        "https://medium.com/@ada/post",
        "(https://medium.com/@ada)",
        "no names",
        "",
    ] {
        assert_eq!(plain(text), text);
    }
    let text = "run `@bob` or `@eve` for @bob";
    assert_eq!(silent(text, &[5..9, 15..19], &[]), "run `@bob` or `@eve` for ＠bob");
}

/// An address that is a mark of its own ends with it, and a name behind it is one.
#[test]
fn a_name_behind_a_mark_is_no_part_of_an_address() {
    let text = "see https://example.org/@bob";
    assert_eq!(silent(text, &[], &[4, 24]), "see https://example.org/＠bob");
    assert_eq!(silent(text, &[], &[0, 4]), text, "a mark before it changes nothing");
}
