use super::super::Asked;
use super::super::own::own;
use super::*;

const EVIL: &str = "https://evil.test/a";

/// A5: nobody sees where a link leads, and so nobody has said it.
#[test]
fn what_a_link_hides_is_not_said() {
    for (line, kept) in [
        ("see [this](https://evil.test/a) and b", "see [this] and b"),
        ("[a](https://evil.test/a), [b](mailto:e@evil.test)", "[a], [b]"),
        ("[https://a.test](https://evil.test)", "[https://a.test]"),
        ("[a](https://evil.test \"https://evil.test/b\") c", "[a]"),
        ("[a](", "[a]"),
    ] {
        assert_eq!(shown(line), kept, "{line}");
        assert!(Asked::quotes_others(line), "{line}");
    }
    for line in ["[https://a.test](https://a.test)", "f(x)[0] (see https://a.test)", "[a] (b)", ""]
    {
        assert_eq!(shown(line), line);
        assert!(!Asked::quotes_others(line), "{line}");
    }
}

/// G4: an address that a message has in a tag, or where a link is defined, counted as one that its person named.
#[test]
fn what_a_tag_or_a_definition_hides_is_not_said() {
    for text in [
        "see <a href=\"EVIL\">this</a> please",
        "see <A HREF='EVIL'>this</A>",
        "see <a href=EVIL>this</a>",
        "see <a title=\">\" href=\"EVIL\">this</a>",
        "see <a title='x' href=\"EVIL",
        "a <img src=\"EVIL\" alt=x> b",
        "a <b title=\"EVIL\">b</b>",
        "a <!-- EVIL --> b",
        "see <a\nhref=\"EVIL\">this</a>",
        "see <a class=x\n\thref=\"EVIL\"\n>this</a>",
        "see [this][1]\n\n[1]: EVIL",
        "[1]: EVIL \"a title\"",
        "[1]:\nEVIL",
        "[a\nb]: EVIL",
        "[^1]: EVIL",
        "- [1]: EVIL",
        "see [this](\nEVIL)",
        "see [this](a \"b\nEVIL\")",
        "[a](https://a.test/x_(y) \"EVIL\")",
        "[a](<https://a.test/x)y> \"EVIL\")",
        "[a](https://a.test\\) \"EVIL\")",
        "![](EVIL)",
    ] {
        let text = text.replace("EVIL", EVIL);
        let said: Vec<_> = own(&text).lines.iter().map(|line| shown(line).into_owned()).collect();
        assert!(!said.iter().any(|line| line.contains("evil.test")), "{text}: {said:?}");
        assert!(Asked::quotes_others(&text), "{text}");
    }
    for text in [
        "use Vec<String> and HashMap<K, V> here",
        "a <b and c> d, i <3 you",
        "see <https://a.test/> and <bob@a.test>",
        "x[0]: https://a.test",
        "is a <b then go to https://a.test",
        "f(x) = [1, 2](3)? no",
    ] {
        assert!(!text.contains("](") || Asked::quotes_others(text), "{text}");
        assert!(text.contains("](") || !Asked::quotes_others(text), "{text}");
        assert_eq!(own(text).lines.len(), 1, "{text}");
    }
}
