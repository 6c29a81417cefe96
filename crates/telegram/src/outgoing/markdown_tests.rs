use cloister_policy::link_place;
use cloister_testkit::fuzz::Fuzz;
use proptest::prelude::*;

use super::super::text::Mark;
use super::super::text::tests::wrong;
use super::*;

/// A text with its marks spelled out, to be read by people.
fn spelled(markdown: &str) -> String {
    let text = render(markdown);
    assert_eq!(wrong(&text), None, "{markdown:?}");
    let mut marks: Vec<&Mark> = text.marks.iter().collect();
    marks.sort_by_key(|mark| (mark.at.start, usize::MAX - mark.at.end, mark.kind.rank()));
    let mut out = String::new();
    for (at, c) in text.text.char_indices().chain([(text.text.len(), '\0')]) {
        for mark in marks.iter().rev().filter(|mark| mark.at.end == at) {
            out.push_str(&format!("</{}>", name(&mark.kind).split(' ').next().unwrap_or_default()));
        }
        for mark in marks.iter().filter(|mark| mark.at.start == at) {
            out.push_str(&format!("<{}>", name(&mark.kind)));
        }
        if c != '\0' {
            out.push(c);
        }
    }
    out
}

fn name(kind: &Kind) -> String {
    match kind {
        Kind::Bold => "b".to_owned(),
        Kind::Italic => "i".to_owned(),
        Kind::Strike => "s".to_owned(),
        Kind::Code => "code".to_owned(),
        Kind::Pre(None) => "pre".to_owned(),
        Kind::Pre(Some(language)) => format!("pre {language}"),
        Kind::Link(url) => format!("a {url}"),
        Kind::Quote { long: false } => "quote".to_owned(),
        Kind::Quote { long: true } => "fold".to_owned(),
    }
}

/// X5: what an agent writes is shown as it was meant.
#[test]
fn ordinary_markdown_keeps_its_form() {
    assert_eq!(
        spelled("# Title\n\nA **b** *c* ~~d~~ `e`\nf\n\n---\n\nEnd"),
        "<b>Title</b>\n\nA <b>b</b> <i>c</i> <s>d</s> <code>e</code>\nf\n\n———\n\nEnd"
    );
    assert_eq!(spelled("**a *b* c**"), "<b>a <i>b</i> c</b>");
    assert_eq!(spelled("# **x** y"), "<b>x y</b>", "bold is not bold twice");
    assert_eq!(spelled("a<br>b"), "a\nb");
    assert_eq!(spelled("5 < 6 & 7"), "5 < 6 & 7");
}

#[test]
fn lists_have_bullets_and_numbers() {
    assert_eq!(
        spelled("Do:\n\n- one\n- two\n  - deep\n    more\n- three\n\n3. x\n4. y\n\nEnd"),
        "Do:\n\n• one\n• two\n  ◦ deep\n    more\n• three\n\n3. x\n4. y\n\nEnd"
    );
    assert_eq!(spelled("- [x] done\n- [ ] open"), "☑ done\n☐ open");
    assert_eq!(spelled("1. a\n\n   second\n\n2. b"), "1. a\n  second\n2. b");
    assert_eq!(spelled("- a\n-\n- c"), "• a\n• \n• c");
    assert_eq!(spelled("- **a** b"), "• <b>a</b> b");
}

/// X5: code blocks are kept to the letter, with their language.
#[test]
fn code_blocks_are_kept() {
    assert_eq!(
        spelled("Look:\n\n```rust,ignore\nlet a = b < c && *d;\n\n  x\n```\n\nEnd"),
        "Look:\n\n<pre rust>let a = b < c && *d;\n\n  x</pre>\n\nEnd"
    );
    assert_eq!(spelled("```\nx\n```"), "<pre>x</pre>");
    assert_eq!(spelled("```\"><b>\nx\n```"), "<pre>x</pre>");
    assert_eq!(spelled("- a\n\n  ```\n  x\n  ```"), "• a\n<pre>x</pre>");
    assert_eq!(spelled("```rust\nfn unclosed() {"), "<pre rust>fn unclosed() {</pre>");
}

/// Code lies in no style: Telegram takes none there.
#[test]
fn code_ends_a_style_and_begins_it_again() {
    assert_eq!(spelled("**a `b` c**"), "<b>a </b><code>b</code><b> c</b>");
    assert_eq!(spelled("# use `x` *now*"), "<b>use </b><code>x</code><b> <i>now</i></b>");
    assert_eq!(
        spelled("[the `x` page](https://example.org/p)"),
        "<a https://example.org/p>the x page</a> (example.org)"
    );
}

#[test]
fn quotes_are_quotes_and_long_ones_are_folded() {
    assert_eq!(spelled("> a\n> b\n\nc"), "<quote>a\nb</quote>\n\nc");
    assert_eq!(spelled("> a\n>\n> > b"), "<quote>a\n\nb</quote>", "one in another is not taken");
    assert_eq!(spelled("> `x` **y**"), "<quote><code>x</code> <b>y</b></quote>");
    let long = format!("> {}", "word ".repeat(200));
    assert!(spelled(&long).starts_with("<fold>"));
    assert!(spelled(&"> line  \n".repeat(12)).starts_with("<fold>"));
}

#[test]
fn a_table_is_aligned_or_told_row_by_row() {
    assert_eq!(
        spelled("| Name | Qty |\n|---|--:|\n| Apple | 3 |\n| Fig | 12 |"),
        "<pre>Name  | Qty\n------+----\nApple | 3\nFig   | 12</pre>"
    );
    let wide = "| City | What is known about it |\n|---|---|\n| Köln | a long story that no phone shows on a line |\n| Ulm | `short` |";
    assert_eq!(
        spelled(wide),
        "<b>Köln</b>\nWhat is known about it: a long story that no phone shows on a line\n\n\
         <b>Ulm</b>\nWhat is known about it: <code>short</code>"
    );
    let links = "| A | B |\n|---|---|\n| x | [y](https://example.org/) |";
    assert_eq!(spelled(links), "<b>x</b>\nB: <a https://example.org/>y</a> (example.org)");
    assert_eq!(spelled("> | a |\n> |---|\n> | **b** |"), "<quote><pre>a\n-\nb</pre></quote>");
}

/// A link says where it leads, and leads nowhere but to the web.
#[test]
fn a_link_says_where_it_leads() {
    assert_eq!(
        spelled("[Your bank](https://evil.example/x)"),
        "<a https://evil.example/x>Your bank</a> (evil.example)"
    );
    assert_eq!(
        spelled("[example.org](https://example.org/x)"),
        "<a https://example.org/x>example.org</a>"
    );
    assert_eq!(
        spelled("![cat](https://evil.example/c.png)"),
        "Image: <a https://evil.example/c.png>cat</a> (evil.example)"
    );
    assert_eq!(spelled("<https://example.org/>"), "https://example.org/");
    assert_eq!(spelled("[write](mailto:a@example.org)"), "write (a@example.org)");
    assert_eq!(spelled("[here](http://localhost:8080/x)"), "here (localhost:8080)");
    for nowhere in [
        "javascript:alert(1)",
        "tg://user?id=1",
        "tg://resolve?domain=x",
        "file:///etc/passwd",
        "//x",
    ] {
        assert_eq!(spelled(&format!("[x]({nowhere})")), "x", "{nowhere}");
    }
}

/// X2: HTML is text, and nothing hides.
#[test]
fn html_is_text_and_nothing_hides() {
    assert_eq!(spelled("a <b>x</b> <script>y</script>"), "a <b>x</b> <script>y</script>");
    let text = render("safe \u{202e}gpj.exe\u{202c} \u{200b}x").text;
    assert!(!text.chars().any(cloister_policy::is_hidden), "{text}");
}

#[test]
fn what_has_no_form_that_can_be_seen_is_shown_as_it_was_written() {
    assert_eq!(render("[a]: https://example.org/").text, "[a]: https://example.org/");
    assert_eq!(render("   \n ").text, "");
    let wide = format!("{}\n{}\n{}", "|a".repeat(500), "|-".repeat(500), "|x\n".repeat(5000));
    assert!(render(&wide).marks.is_empty());
    let long = "x ".repeat(MAX_BYTES);
    assert_eq!(render(&long).text.len(), long.trim().len());
}

#[test]
fn deep_nesting_is_flattened_and_its_text_kept() {
    for opening in [">", "- ", "> - ", "1. > "] {
        let text = render(&format!("{}the end | x", opening.repeat(300)));
        assert_eq!(wrong(&text), None, "{opening:?}");
        assert!(text.text.contains("the end"), "{}", text.text);
    }
    assert_eq!(wrong(&render(&format!("{}x{}", "*a **b ".repeat(200), "** *".repeat(200)))), None);
}

/// What the courier lets through as one message is one for Telegram, with all of its marks.
#[test]
fn what_is_measured_fits() {
    assert_eq!(measure("**bold** 😀"), 7);
    assert_eq!(measure(&"x".repeat(LONGEST)), LONGEST);
    assert!(measure(&"**b** ".repeat(MAX_MARKS + 1)) > LONGEST, "the marks count, too");
    assert!(measure(&"**b** ".repeat(MAX_MARKS)) <= LONGEST);
    assert!(measure(&"x".repeat(LONGEST * 5)) > LONGEST);
    let linked = format!("[a](https://example.org/{})", "y".repeat(900)).repeat(5);
    assert!(measure(&linked) < 200, "where a link leads takes no room");
}

const PIECES: &[&str] = &[
    "\n",
    "\n\n",
    "    ",
    "> ",
    "- ",
    "1. ",
    "# ",
    "```",
    "~~~",
    "`",
    "**",
    "*",
    "_",
    "~~",
    "[",
    "](",
    ")",
    "![",
    "|",
    "|-|",
    "\n|---|---|\n",
    "<",
    ">",
    "&",
    "\\",
    "---",
    "===",
    "- [x] ",
    "<br>",
    "https://example.org/",
    "[x](https://example.org/)",
    "`code`",
    "**bold**",
    "😀",
    "👨‍👩‍👧",
    "\u{202e}",
    "```rust\nlet x;\n```\n",
    "| a | b |\n|---|---|\n| `c` | **d** |\n",
    "mailto:a@b.example",
];

/// Whatever is written: it can be sent, what it becomes can be cut, and nothing hides in it.
fn sendable(markdown: &str) -> Result<(usize, bool), String> {
    let text = render(markdown);
    if let Some(problem) = wrong(&text) {
        return Err(format!("{problem} in {:?}", text.text));
    }
    if let Some(hidden) = text.text.chars().find(|c| cloister_policy::is_hidden(*c)) {
        return Err(format!("hides {hidden:?} in {:?}", text.text));
    }
    for mark in &text.marks {
        if let Kind::Link(url) = &mark.kind
            && link_place(url).is_none_or(|_| !is_web(url))
        {
            return Err(format!("leads to {url}"));
        }
    }
    if text.is_blank() && !markdown.trim().is_empty() && !legible(markdown.trim()).trim().is_empty()
    {
        return Err("what was written is not shown".to_owned());
    }
    for longest in [40, LONGEST] {
        let pieces = text.split(longest);
        let again: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        if again != text.text {
            return Err("the pieces are another text".to_owned());
        }
        for piece in pieces.iter().map(Text::trimmed) {
            if let Some(problem) = wrong(&piece) {
                return Err(format!("{problem} in the piece {:?}", piece.text));
            }
            // A single character may be longer than a very short message.
            if piece.units() > longest && longest == LONGEST {
                return Err(format!("a piece has {} units", piece.units()));
            }
        }
    }
    Ok((text.marks.len().min(40), text.is_blank()))
}

/// X5: the renderer takes anything.
#[test]
fn fuzz_telegram_text() {
    let seeds = [
        "# T\n\nA **b** *c* ~~d~~ `e`\nf\n\n3. x\n4. y\n\n- [x] z",
        "> quote\n> more\n\n```rust\nfn main() {}\n```\n\n| a | b |\n|---|---|\n| 1 | [2](https://x.example/) |",
        "[x](javascript:alert(1)) ![a](https://evil.example/) <b>raw</b>",
        "- a\n  - b\n    1. c\n\n       > d\n       > ```\n       > e",
    ];
    Fuzz::new("telegram_text").seeds(seeds).words(PIECES).run_text(sendable).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    /// X5: offsets lie between characters, entities inside the text and properly in one another, whatever is
    /// written.
    #[test]
    fn whatever_is_written_can_be_sent(
        pieces in prop::collection::vec(
            prop_oneof![
                prop::sample::select(PIECES).prop_map(str::to_owned),
                "\\PC{0,8}",
            ],
            0..40,
        )
    ) {
        let markdown = pieces.concat();
        prop_assert_eq!(sendable(&markdown).err(), None, "{:?}", markdown);
    }
}
