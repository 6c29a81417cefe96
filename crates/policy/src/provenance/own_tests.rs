use proptest::prelude::*;

use super::super::Asked;
use super::*;

pub(in super::super) const EVIL: &str = "https://evil.test/a";

fn lines(text: &str) -> Vec<&str> {
    own(text).lines
}

/// What a fence is, whoever reads it.
#[test]
fn a_fence_ends_only_as_it_began() {
    for passed_on in [
        "look:\n```\n~~~\nEVIL\n```\nthanks",
        "look:\n~~~\n```\nEVIL\n~~~\nthanks",
        "look:\n````\n```\nEVIL\n````\nthanks",
        "look:\n```\n``` not its end\nEVIL\n```\nthanks",
        "look:\n```\n    ```\nEVIL\n```\nthanks",
        "look:\n```\n> ```\nEVIL\n```\nthanks",
        "look:\n```\n- ```\nEVIL\n```\nthanks",
        "look:\n```\n\t```\nEVIL\n```\nthanks",
        "look:\n```\n\u{200b}```\nEVIL\n```\nthanks",
        "look:\n```\n```\nEVIL\n```\n```\nthanks",
        "look:\n   ```mail\nEVIL\n  ```\nthanks",
    ] {
        let text = passed_on.replace("EVIL", EVIL);
        let own = lines(&text);
        assert!(!own.contains(&EVIL), "{text}");
        assert_eq!(own.first(), Some(&"look:"), "{text}");
        assert!(Asked::quotes_others(&text), "{text}");
    }
    let plain = format!("look:\n```\n~~~\n{EVIL}\n```\nthanks");
    assert_eq!(lines(&plain), ["look:", "thanks"]);
}

#[test]
fn what_is_left_open_or_can_be_read_in_two_ways_runs_to_the_end() {
    for text in [
        "look:\n```\nEVIL",
        "look:\n```\na\n```\n```\nEVIL",
        "look:\n- ```\na\n- ```\nEVIL",
        "look:\n```a`b\nx\n```\nEVIL",
        "look:\n```\na\n    ```\nEVIL",
        "look:\n<blockquote>\nEVIL",
        "look:\n<pre>\na\n</pre></pre>\nEVIL",
        "look:\n<!-- x\nEVIL",
    ] {
        let text = text.replace("EVIL", EVIL);
        assert_eq!(lines(&text), ["look:"], "{text}");
        assert!(Asked::quotes_others(&text), "{text}");
    }
}

#[test]
fn a_quotation_goes_on_to_the_end_of_its_paragraph() {
    for quoted in [
        "> a\nEVIL",
        "  > a\nEVIL\nEVIL",
        "- > a\nEVIL",
        "1. > a\nEVIL",
        "\u{200b}> EVIL",
        "\u{a0}> EVIL",
        "&gt; EVIL",
        "hello\u{2028}> EVIL",
        "> a\u{2028}\u{2028}EVIL",
        "    EVIL",
        "\tEVIL",
        "<blockquote>\n\nEVIL\n\n</blockquote>",
        "<div>\nEVIL",
        "a <q>EVIL</q>",
        "> ```\n> EVIL\n> ```",
    ] {
        let text = format!("look:\n\n{}\n\nthanks", quoted.replace("EVIL", EVIL));
        assert_eq!(lines(&text), ["look:", "thanks"], "{text}");
        assert!(Asked::quotes_others(&text), "{text}");
    }
}

#[test]
fn a_persons_own_words_stay_theirs() {
    for text in [
        "summarise https://a.test/post, please",
        "- first https://a.test/1\n- then https://a.test/2\n\n1. a\n2. b",
        "a > b, and b < c; use `ls` and ```ls -l``` as usual".split("; use").next().unwrap(),
        "see <https://a.test/> and mail <bob@a.test>",
        "<https://a.test/>",
        "   three blanks",
        "",
    ] {
        assert_eq!(
            lines(text).len(),
            text.lines().filter(|l| !l.trim().is_empty()).count(),
            "{text}"
        );
        assert!(!Asked::quotes_others(text), "{text}");
    }
}

/// A5: chats end a fence anywhere, and begin one anywhere.
#[test]
fn a_fence_in_the_midst_of_a_line_leaves_nothing_for_certain() {
    for text in [
        "look: ```\nEVIL\n```",
        "look: ```\nEVIL\n```\nEVIL",
        "look:\n```\nfoo```\n```\nEVIL",
        "look: ```\nfoo``` EVIL\nEVIL",
        "look: ````\nEVIL",
        "look:\n~~~\n```\n~~~\nEVIL\nx```y```",
        "look ```x``` and\n```\na\n```\nEVIL ```\nEVIL",
        "- look: ```\nEVIL\n\nEVIL",
        "> a\nfoo ```\n\nEVIL",
        "a\u{2028}> b ```\n\nEVIL",
    ] {
        let text = text.replace("EVIL", EVIL);
        assert!(!lines(&text).iter().any(|line| line.contains(EVIL)), "{text}");
        assert!(Asked::quotes_others(&text), "{text}");
    }
    for text in ["use ```ls -l``` and ```pwd``` as usual", "> a ``` b\n\nmine"] {
        let said = text.replace("> a ``` b\n\n", "");
        assert_eq!(lines(text), [said.as_str()], "{text}");
    }
}

/// A5: what some take for a quotation of all that follows is one.
#[test]
fn three_marks_of_quotation_quote_the_rest() {
    for mark in [">>> ", "  >>> ", ">>>", "\u{200b}>>> "] {
        let text = format!("mine\n\n{mark}a\n\n{EVIL}\n\n{EVIL}");
        assert_eq!(lines(&text), ["mine"], "{text}");
    }
    assert_eq!(lines("a >>> b\n\nmine"), ["a >>> b", "mine"]);
}

#[test]
fn what_others_are_called_is_not_said() {
    for text in
        ["(contact) EVIL, +43 1", "(place) EVIL, Ring 1: latitude 48.2", "(contact) a\nEVIL, +1"]
    {
        let text = text.replace("EVIL", EVIL);
        assert!(lines(&text).is_empty() && Asked::quotes_others(&text), "{text}");
    }
}

/// What a message may be made of.
pub(in super::super) fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("```".to_owned()),
        Just("~~~".to_owned()),
        Just("````".to_owned()),
        Just("> ".to_owned()),
        Just("- ".to_owned()),
        Just("    ".to_owned()),
        Just("\t".to_owned()),
        Just("\n".to_owned()),
        Just("\n\n".to_owned()),
        Just("<blockquote>".to_owned()),
        Just("</blockquote>".to_owned()),
        Just("<!--".to_owned()),
        Just("x```".to_owned()),
        Just(">>> ".to_owned()),
        Just("\u{200b}".to_owned()),
        Just("\u{2028}".to_owned()),
        Just(EVIL.to_owned()),
        "[a-z ]{0,4}",
        told(),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

/// What stands around somebody else's words.
fn told() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("-------- Forwarded Message --------\n".to_owned()),
        Just("-----Original Message-----".to_owned()),
        Just("From: a@b.c\n".to_owned()),
        Just("Von: x\n".to_owned()),
        Just("Subject: x\n".to_owned()),
        Just("Betreff: x\n".to_owned()),
        Just("On 1.1., x@y.z\n".to_owned()),
        Just("wrote:\n".to_owned()),
        Just("[quote".to_owned()),
        Just("[1.1.24, 10:11] x: ".to_owned()),
        Just("\"".to_owned()),
        Just("„x".to_owned()),
        Just("<a href=".to_owned()),
        Just("](".to_owned()),
        Just("[1]: ".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    /// A line that is not taken for the person's own makes the message one that passes something on.
    #[test]
    fn what_is_not_own_is_known_to_be_anothers(text in pieces()) {
        let own = own(&text);
        let said = text.split('\n').filter(|line| !line.trim().is_empty()).count();
        let hides = own.lines.iter().any(|line| matches!(shown(line), std::borrow::Cow::Owned(_)));
        prop_assert_eq!(own.lines.len() < said || hides, own.others);
        prop_assert_eq!(Asked::quotes_others(&text), own.others);
    }

    /// Whatever stands inside of a fence that the person made, it is not theirs.
    #[test]
    fn nothing_inside_of_a_fence_is_own(inside in pieces(), mark in "```|~~~|`````") {
        let text = format!("mine\n{mark}\n{inside}\nXX\n{mark}\nalso mine");
        let own = lines(&text);
        prop_assert!(!own.contains(&"XX"));
        prop_assert!(own.iter().all(|line| matches!(*line, "mine" | "also mine")), "{:?}", own);
    }
}
