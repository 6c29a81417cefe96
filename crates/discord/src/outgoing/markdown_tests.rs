use cloister_policy::is_hidden;
use cloister_testkit::Fuzz;
use proptest::prelude::*;

use super::*;

#[track_caller]
fn renders(markdown: &str, sent: &str) {
    assert_eq!(render(markdown), sent, "{markdown:?}");
}

#[test]
fn what_discord_has_markup_for_keeps_it() {
    renders("**bold** *em* ~~gone~~ `code`", "**bold** *em* ~~gone~~ `code`");
    renders("__bold__ and _em_", "**bold** and *em*");
    renders("# A\n## B\n### C\n#### D", "# A\n\n## B\n\n### C\n\n**D**");
    renders("one\ntwo\n\nthree", "one\ntwo\n\nthree");
    renders("> a\n> b\n\nc", "> a\n> b\n\nc");
    renders("> a\n>\n> b", "> a\n> \n> b");
    renders("- a\n- b\n  - c\n- d", "- a\n- b\n  - c\n- d");
    renders("3. a\n4. b", "3. a\n4. b");
    renders("- [x] done\n- [ ] open", "- ☑ done\n- ☐ open");
    renders("a\n\n---\n\nb", "a\n\n———\n\nb");
    renders("**a *b* c**", "**a _b_ c**");
}

#[test]
fn loose_lists_keep_their_words_beside_their_marks() {
    renders("- a\n\n- b\n\n  more of b\n\nafter", "- a\n- b\n  more of b\n\nafter");
    renders("1. a\n   line\n2. b", "1. a\n  line\n2. b");
    renders("-\n- b", "- \n- b");
    renders("- ```\n  x\n  ```\n- b", "- \n```\nx\n```\n- b");
    renders("- > q", "- \n> q".replace("\n> ", "\n\n>   ").as_str());
}

#[test]
fn code_blocks_are_fenced_and_closed() {
    renders("```rust\nlet x = 1;\n```\nafter", "```rust\nlet x = 1;\n```\n\nafter");
    renders("~~~\na ``` b\n~~~", "```\na ˋˋˋ b\n```");
    renders("    indented\n", "```\nindented\n```");
    renders("```\n@everyone *x* <@1>\n```", "```\n@everyone *x* <@1>\n```");
    // Still being written.
    renders("text\n```py\nprint(1)", "text\n\n```py\nprint(1)\n```");
    renders("```<script>\nx\n```", "```\nx\n```");
    renders("> ```\n> x\n> ```", "> ```\n> x\n> ```");
}

#[test]
fn tables_are_lined_up() {
    renders(
        "| name | n |\n|---|--:|\n| a | 1 |\n| **long** `x` | 100 |\n\nafter",
        "```\nname   │   n\n───────┼────\na      │   1\nlong x │ 100\n```\n\nafter",
    );
    renders(
        "| a |\n|---|\n| [x](https://e.example) |",
        "```\na\n───────────────────────\nx <https://e.example>\n```"
            .replace("───────────────────────", &"─".repeat(21))
            .as_str(),
    );
}

/// E69: a link says where it leads, and leads nowhere else.
#[test]
fn links_say_where_they_lead() {
    renders("[here](https://e.example/a_(b))", "[here](<https://e.example/a_%28b%29>) (e.example)");
    renders("<https://e.example/x>", "<https://e.example/x>");
    renders("https://e.example/x_y, ok", "<https://e.example/x_y>, ok");
    renders(
        "![a picture](https://e.example/p.png)",
        "Image: [a picture](<https://e.example/p.png>) (e.example)",
    );
    renders("[x](javascript:alert(1))", "x");
    renders("[x](https://bank.example@evil.example)", "x");
    // Words that are an address are not laid over another.
    renders(
        "[https://bank.example](https://evil.example)",
        "<https://bank.example> (<https://evil.example>)",
    );
    renders("[a\\]b](https://e.example)", "[a)b](<https://e.example>) (e.example)");
    renders("[mail](mailto:a@e.example)", "mail (a@e.example)");
}

#[test]
fn html_is_text_and_nothing_is_empty() {
    renders("<b>x</b>", "\\<b>x\\</b>");
    renders("<script>\nalert(1)\n</script>", "\\<script>\nalert(1)\n\\</script>");
    renders("<!-- hidden -->", "\\<!-- hidden -->");
    renders("", "…");
    renders(" \n\n ", "…");
    renders("```\n```", "…");
    renders("[r]: https://e.example", "…");
}

/// X6: whatever an agent writes, nobody is called by it.
#[test]
fn nothing_is_a_mention() {
    renders("@everyone <@1> <@&2> <#3>", "\\@everyone \\<@1> \\<@&2> \\<#3>");
    renders("||spoiler||", "\\|\\|spoiler\\|\\|");
    renders("**@here**", "**\\@here**");
}

/// The length is never less than what is sent, nor than what there is.
#[test]
fn the_measure_is_what_is_sent() {
    assert_eq!(measure("abc"), 3);
    assert_eq!(measure("a*b"), 4);
    assert_eq!(measure("\n\n\n\n"), 4);
    assert_eq!(measure("😀"), 2);
    assert!(measure(&"x".repeat(50_000)) >= 50_000);
}

/// What must hold of whatever is sent. The fences are ours: an even number of them, each at the start of a line.
fn check(markdown: &str) -> Result<(usize, bool), String> {
    let sent = render(markdown);
    if sent.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    if let Some(hidden) = sent.chars().find(|c| is_hidden(*c)) {
        return Err(format!("hides {hidden:?} in {sent}"));
    }
    let mut in_code = false;
    let mut fences = 0;
    for line in sent.split('\n') {
        let line = line.strip_prefix("> ").unwrap_or(line);
        if line.contains("```") {
            if !line.starts_with("```") || line.matches("```").count() != 1 {
                return Err(format!("a fence within a line: {sent}"));
            }
            in_code = !in_code;
            fences += 1;
        } else if !in_code {
            outside(line).map_err(|problem| format!("{problem}: {sent}"))?;
        }
    }
    if in_code {
        Err(format!("a block does not end: {sent}"))
    } else {
        Ok((fences, sent.contains("](<")))
    }
}

/// What must hold outside of blocks of code: nothing is a mention or a spoiler, no address is bare.
fn outside(line: &str) -> Result<(), String> {
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("``") || c == '`' {
            let marks = if rest.starts_with("``") { "``" } else { "`" };
            let inner = rest.get(marks.len()..).unwrap_or_default();
            let Some(end) = inner.find(marks) else { return Err("code does not end".to_owned()) };
            rest = inner.get(end + marks.len()..).unwrap_or_default();
            continue;
        }
        if c == '\\' {
            let mut after = rest.chars();
            after.nth(1);
            rest = after.as_str();
            continue;
        }
        let low: String = rest.chars().take(10).collect::<String>().to_lowercase();
        if let Some(address) = rest.strip_prefix('<').filter(|_| low.starts_with("<http")) {
            let end = address.find('>').ok_or("an address does not end")?;
            rest = address.get(end + 1..).unwrap_or_default();
            continue;
        }
        let mention = ["@everyone", "@here", "<@", "<#", "<:", "<t:", "</", "||"];
        if mention.iter().any(|mark| low.starts_with(mark)) {
            return Err(format!("{low:?} means something"));
        }
        if low.starts_with("http://") || low.starts_with("https://") {
            return Err(format!("a bare address {low:?}"));
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    Ok(())
}

const SEEDS: &[&str] = &[
    "# Title\n\n**bold** and `code`, _em_ ~~gone~~\n\n- one\n  - two\n\n1. x\n\n| a | b |\n|--:|---|\n| 1 | 2 |\n",
    "[link](https://example.com/a?b=1&c=(2) \"title\") ![image](https://evil.example/x.png) <https://auto.example>",
    "See https://example.com/a_(b). Or mailto:a@b.example and [ref][r] ![r]\n\n[r]: https://evil.example 'x'",
    "<script>alert(1)</script> <img src=x onerror=alert(1)>\n\n<!-- comment -->\n\n<b>raw</b> <@1> @everyone",
    "```rust\nlet x = 1 < 2;\n```\n\n    indented\n\n> quote\n>> deep\n> ```\n> code\n> ```\n\n---\n\n- [ ] open",
    "||spoiler|| \\|\\| \\@everyone \\<@1> :smile: <t:1> </a:1> `` a`b `` `x` ``` y ```",
    "photo\u{202e}gpj.exe pay\u{200b}pal \u{e0041}\u{e0042} 👩‍💻 https://аpple.example",
];

const WORDS: &[&str] = &[
    "```",
    "``",
    "`",
    "~~~",
    "\n```\n",
    "\n> ",
    "\n- ",
    "\n1. ",
    "\n\n",
    "    ",
    "**",
    "__",
    "*",
    "_",
    "~~",
    "||",
    "|",
    "\n|-|\n",
    "<@1>",
    "<@&1>",
    "<#1>",
    "@everyone",
    "@here",
    "<:a:1>",
    "<t:1:R>",
    "</x:1>",
    "https://",
    "http://a.example",
    "](",
    "![",
    "[",
    "]",
    "](<",
    ">)",
    "\\",
    "# ",
    "-# ",
    ">>> ",
    "<b>",
    "-->",
    "<!--",
    "&lt;",
    "&#64;everyone",
    "&#x60;&#x60;&#x60;",
    "\u{200b}",
    "\u{202e}",
    "😀",
    "\t",
    "\r\n",
    "https://a@b.example",
];

/// X6, E69, E70: whatever an agent writes becomes a message that calls nobody, fetches nothing and hides nothing.
#[test]
fn fuzz_discord_markdown() {
    Fuzz::new("discord_markdown").seeds(SEEDS).words(WORDS).run_text(check).unwrap();
}

proptest! {
    #[test]
    fn whatever_is_written_is_safe(pieces in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        let text = pieces.concat();
        prop_assert_eq!(check(&text).err(), None, "{:?}", text);
        prop_assert!(measure(&text) >= length(&render(&text)));
    }
}
