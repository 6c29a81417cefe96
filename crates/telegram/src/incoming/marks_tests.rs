use cloister_policy::provenance::Asked;
use proptest::prelude::*;

use super::*;

fn entity(kind: &str, offset: usize, length: usize) -> Entity {
    Entity { kind: kind.to_owned(), offset, length, ..Entity::default() }
}

#[test]
fn links_and_code_are_told() {
    let link = Entity { url: Some("https://x.test".into()), ..entity("text_link", 3, 4) };
    assert_eq!(marked("👋 this one", &[link]), "👋 [this](https://x.test) one");
    assert_eq!(marked("run ls now", &[entity("code", 4, 2)]), "run `ls` now");
    let pre = Entity { language: Some("rust".into()), ..entity("pre", 0, 4) };
    assert_eq!(marked("fn a", &[pre]), "```rust\nfn a\n```");
    let bold = [entity("bold", 0, 3)];
    assert_eq!(marked("run ls", &bold), "run ls", "decoration is left out");
    let nested = [entity("pre", 0, 6), entity("code", 4, 2)];
    assert_eq!(marked("run ls", &nested), "```\nrun ls\n```", "once");
}

/// A5: what a person only passes on stands behind marks, however it was put into the message.
#[test]
fn what_is_passed_on_is_behind_marks() {
    let all =
        |kind: &str, text: &str| marked(text, &[entity(kind, 0, text.encode_utf16().count())]);
    for kind in ["blockquote", "expandable_blockquote"] {
        assert_eq!(all(kind, "a\nhttps://evil.test\n\nb"), "> a\n> https://evil.test\n> \n> b");
        assert_eq!(all(kind, "a\r\rb\u{2028}c"), "> a\n> \n> b\n> c");
        let text = "see:\nquoted\nmore\nmine";
        assert_eq!(marked(text, &[entity(kind, 5, 11)]), "see:\n> quoted\n> more\n\nmine");
        assert_eq!(marked("see quoted mine", &[entity(kind, 4, 6)]), "see \n> quoted\n\n mine");
        let link = Entity { url: Some("https://x.test".into()), ..entity("text_link", 0, 1) };
        assert_eq!(marked("ab", &[entity(kind, 0, 2), link]), "> [a](https://x.test)b");
    }
    let midst = marked("look: https://evil.test bye", &[entity("pre", 6, 17)]);
    assert_eq!(midst, "look: \n```\nhttps://evil.test\n```\n bye");
    assert_eq!(all("pre", "x\n```\nhttps://evil.test"), "````\nx\n```\nhttps://evil.test\n````");
    assert_eq!(
        all("pre", "x\n``\u{7}`\ny"),
        "````\nx\n```\ny\n````",
        "what is left out joins nothing"
    );
    assert_eq!(all("code", "a\nhttps://evil.test"), "```\na\nhttps://evil.test\n```");
    assert_eq!(all("code", "a`b"), "```\na`b\n```");
    let odd = Entity { language: Some("a`\nhttps://evil.test".into()), ..entity("pre", 0, 1) };
    assert_eq!(marked("x", &[odd]), "```\nx\n```");
    let over = [entity("blockquote", 0, 4), entity("pre", 2, 6)];
    assert_eq!(marked("abcdefgh", &over), "> abcd\n\n```\nefgh\n```");
}

/// A5: what a link leads to is told, and ends where it does.
#[test]
fn an_address_can_not_leave_its_link() {
    let link = |url: &str| {
        marked("this", &[Entity { url: Some(url.into()), ..entity("text_link", 0, 4) }])
    };
    assert_eq!(link("https://x.test/a?b=c#d"), "[this](https://x.test/a?b=c#d)");
    assert_eq!(
        link("https://x/a) https://y\n`é"),
        "[this](https://x/a%29%20https://y%0A%60%C3%A9)"
    );
    assert_eq!(link("this"), "this");
}

#[test]
fn a_name_in_a_mention_is_no_address() {
    assert_eq!(marked("hi Bo Li", &[entity("text_mention", 3, 5)]), "hi Bo Li");
    assert_eq!(marked("hi evil.test/a", &[entity("text_mention", 3, 11)]), "hi evil_test_a");
}

proptest! {
    /// A5: an address that stands in a block is none that the person named, whatever is around it and in it.
    #[test]
    fn nothing_in_a_block_is_named(
        before in "(a|b|\n|`|```|~~~|> |- |é|👋| ){0,6}",
        inside in "(a|\n|\n\n|\r|\u{2028}|`|``|```|````|~~~|> |</pre>|\u{7}| ){0,8}",
        behind in "(a|\n|\n\n|\r|`|```|~~~|\u{7}| ){0,6}",
        after in "(a|b|\n|`|```|~~~|> |- ){0,6}",
        kind in "pre|blockquote|expandable_blockquote|code",
    ) {
        // Code within a line is the person's own, as it is where they type the marks.
        prop_assume!(kind != "code" || clean(&format!("{inside}{behind}")).contains(['`', '\n']));
        let block = format!("{inside} https://evil.test/a {behind}");
        let text = format!("{before}{block}{after}");
        let units = |text: &str| text.encode_utf16().count();
        let out = clean(&marked(&text, &[entity(&kind, units(&before), units(&block))]));
        let asked = Asked::from_words(&out);
        prop_assert!(!asked.names_host(&"evil.test".parse().unwrap()), "{:?}", out);
        prop_assert!(Asked::quotes_others(&out), "{:?}", out);
    }

    /// Whatever Telegram says is marked, no text is lost and nothing fails.
    #[test]
    fn any_marks_keep_the_text(
        text in "[a-zé👋\n]{0,20}",
        marks in proptest::collection::vec((0usize..25, 0usize..25, 0usize..5), 0..5),
    ) {
        let kinds = ["text_link", "code", "pre", "blockquote", "expandable_blockquote"];
        let entities: Vec<Entity> = marks
            .into_iter()
            .map(|(offset, length, kind)| entity(kinds.get(kind).unwrap(), offset, length))
            .collect();
        let out = marked(&text, &entities);
        let kept = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<String>();
        prop_assert_eq!(kept(&out), kept(&text));
    }
}
