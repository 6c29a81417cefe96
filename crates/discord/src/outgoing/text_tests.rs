use proptest::prelude::*;

use super::*;

/// What a client shows of a text that has no markup in it: what was escaped, and addresses without their marks.
pub(in crate::outgoing) fn shown(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.peek() {
                Some(next) if next.is_ascii_punctuation() => out.extend(rest.next()),
                Some(_) | None => out.push('\\'),
            },
            '<' => {
                let address: String = rest.clone().take_while(|c| *c != '>').collect();
                if address.starts_with("http") {
                    out.push_str(&address);
                    rest.nth(address.chars().count());
                } else {
                    out.push('<');
                }
            }
            c => out.push(c),
        }
    }
    out
}

#[test]
fn text_shows_as_it_is() {
    for (text, sent) in [
        ("plain words, 3.5 GB (ok) - fine!", "plain words, 3.5 GB (ok) - fine!"),
        ("*a* _b_ `c` [d](e)", "\\*a\\* \\_b\\_ \\`c\\` \\[d](e)"),
        ("a || b ~~c~~ ~5", "a \\|\\| b \\~\\~c\\~\\~ ~5"),
        ("# no heading", "\\# no heading"),
        ("-# small", "\\-# small"),
        ("> no quote\n- no item", "\\> no quote\n\\- no item"),
        ("1. no item\n1986 was", "1\\. no item\n1986 was"),
        ("a < b <= c", "a < b <= c"),
        ("12:30:45 :smile:", "12\\:30:45 \\:smile:"),
        ("a\\b", "a\\\\b"),
    ] {
        assert_eq!(escaped(text), sent);
        assert_eq!(shown(sent), text);
    }
}

/// X6: nobody is called by what an agent writes, and nothing in it passes for a mention.
#[test]
fn nothing_is_a_mention() {
    for text in ["@everyone", "@here now", "<@123>", "<@&9>", "<#5>", "<t:1:R>", "</x:1>", "<:a:1>"]
    {
        let sent = escaped(text);
        assert!(sent.starts_with('\\'), "{sent}");
        assert_eq!(shown(&sent), text);
    }
    assert_eq!(escaped("ann@example.org and @ann"), "ann@example.org and @ann");
}

#[test]
fn addresses_lead_where_they_say_and_are_not_fetched() {
    for (text, sent) in [
        ("see https://a.example/x_y.", "see <https://a.example/x_y>."),
        ("(https://a.example/a_(b))", "(<https://a.example/a_(b)>)"),
        ("HTTPS://A.example", "<HTTPS://A.example>"),
        // A name before the host serves only to deceive.
        ("https://bank.example@evil.example/", "https:\\//bank.example@evil.example/"),
        ("steam://run/1", "steam:\\//run/1"),
        ("xhttps://a.example", "xhttps:\\//a.example"),
        ("https://аpple.example", "<https://аpple.example> (xn--pple-43d.example)"),
    ] {
        assert_eq!(escaped(text), sent);
    }
}

#[test]
fn code_ends_where_it_ends() {
    let code = |text: &str| {
        let mut out = String::new();
        push_code(&mut out, text);
        out
    };
    assert_eq!(code("ls -l"), "`ls -l`");
    assert_eq!(code("a`b"), "``a`b``");
    assert_eq!(code("`a`"), "`` `a` ``");
    assert_eq!(code("a``b"), "`aˋˋb`");
    assert_eq!(code("@everyone <@1>"), "`@everyone <@1>`");
    let mut two = "`a`".to_owned();
    push_code(&mut two, "b");
    assert_eq!(two, "`a` `b`");
    assert_eq!(in_block("a ``` b ` c"), "a ˋˋˋ b ` c");
    assert_eq!(verbatim("rm -rf *\n"), "```\nrm -rf *\n```");
    // To the letter, also where code can't be.
    assert_eq!(verbatim("a```b *"), "> a\\`\\`\\`b \\*");
}

#[test]
fn what_is_too_long_is_cut_between_characters() {
    assert_eq!(cut("abc", 3), "abc");
    assert_eq!(cut("abcd", 3), "ab…");
    assert_eq!(cut("😀😀😀", 4), "😀…");
    assert_eq!(cut("abc\\\\def", 5), "abc…");
    assert_eq!(length("aä😀"), 4);
}

#[test]
fn what_hides_is_shown() {
    assert_eq!(escaped("a\u{202e}b"), "a⟨U+202E⟩b");
    assert_eq!(one_line(" a\n\tb\u{200b} "), "a b⟨U+200B⟩");
}

proptest! {
    /// Whatever is escaped is shown as it was.
    #[test]
    fn escaping_loses_nothing(text in "[ -~äü😀\n]{0,80}") {
        // Addresses are shown with where they lead, and spaces before a line are kept.
        prop_assume!(!text.contains("//"));
        prop_assert_eq!(shown(&escaped(&text)), text);
    }

    #[test]
    fn a_cut_fits(text in "\\PC{0,60}", most in 1usize..50) {
        prop_assert!(length(&cut(&text, most)) <= most.max(length(&text).min(most)));
    }

    #[test]
    fn code_is_balanced(text in "[a`\n ]{0,30}") {
        let mut out = String::new();
        push_code(&mut out, &text);
        prop_assert!(!out.contains("```") || text.is_empty(), "{}", out);
    }
}
