//! Mutated bytes for the parsers of this crate.

use cloister_policy::is_hidden;
use cloister_testkit::Fuzz;

use crate::client_frames::read_frame;
use crate::markdown::render;

const ANSWERS: &[&str] = &[
    "# Title\n\n**bold** and `code`, _em_ ~~gone~~\n\n- one\n  - two\n\n1. x\n\n| a | b |\n|--:|---|\n| 1 | 2 |\n",
    "[link](https://example.com/a?b=1&c=2 \"title\") ![image](https://evil.example/x.png) <https://auto.example>",
    "See https://example.com/a_(b). Or mailto:a@b.example and [ref][r] ![r]\n\n[r]: https://evil.example 'x'",
    "<script>alert(1)</script> <img src=x onerror=alert(1)>\n\n<!-- comment -->\n\n<b>raw</b>",
    "```rust\nlet x = 1 < 2;\n```\n\n    indented\n\n> quote\n>> deep\n\n---\n\n- [ ] open\n- [x] done",
    "&lt;script&gt; &#x202e; &#106;avascript: \\[x\\](y) [x](javascript:alert(1)) [a [b](c) d](e)",
    "photo\u{202e}gpj.exe pay\u{200b}pal \u{e0041}\u{e0042} 👩‍💻",
];

const WORDS: &[&str] = &[
    "<script>",
    "</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=",
    "<a href=",
    "javascript:",
    "data:text/html,",
    "](",
    "![",
    "[",
    "]",
    "](<",
    ">)",
    "[r]: ",
    "\n\n",
    "\n> ",
    "\n- ",
    "\n    ",
    "```",
    "`",
    "**",
    "__",
    "~~",
    "|",
    "\n|-|\n",
    "https://",
    "http://",
    "mailto:",
    "//evil.example",
    "@",
    "\\",
    "&#x",
    "&quot;",
    "&#0;",
    "\"",
    "'",
    " onmouseover=",
    " style=",
    "title=",
    "\u{200b}",
    "\u{202e}",
    "\u{e0041}",
    "<!--",
    "-->",
    "<![CDATA[",
    "<?",
    "</a>",
    "<span class=\"host\">",
    "</pre>",
    "</code>",
    "$",
    "$$",
    "\\(",
    "\\)",
    "\\frac{",
    "\\left(",
    "\\text{",
    "}",
    "^",
];

/// Tags that an answer may become, none of which runs or loads anything.
pub(crate) const TAGS: &[&str] = &[
    "p",
    "br",
    "pre",
    "code",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "li",
    "blockquote",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "em",
    "strong",
    "del",
    "hr",
    "a",
    "span",
    "math",
    "mrow",
    "mi",
    "mn",
    "mo",
    "mtext",
    "mspace",
    "msub",
    "msup",
    "msubsup",
    "munder",
    "mover",
    "munderover",
    "mfrac",
    "msqrt",
    "mroot",
    "mtable",
    "mtr",
    "mtd",
];

/// One tag of ours: its name is known, and only links and lists have attributes.
fn tag(tag: &str) -> Result<(), String> {
    let inner = tag.trim_start_matches('/').trim_end_matches('/').trim();
    let (name, attributes) = inner.split_once(' ').unwrap_or((inner, ""));
    if !TAGS.contains(&name) {
        return Err(format!("made <{tag}>"));
    }
    match (name, attributes) {
        (_, "") | ("span", "class=\"host\"") | ("pre", "class=\"plain\"") => Ok(()),
        ("code", class) if language(class).is_some() => Ok(()),
        ("mo", "stretchy=\"true\"")
        | ("mfrac", "linethickness=\"0\"")
        | ("mover", "accent=\"true\"")
        | ("munder", "accentunder=\"true\"") => Ok(()),
        ("mspace", width) if width.starts_with("width=\"") && width.ends_with("em\"") => Ok(()),
        ("math", source) if formula(source).is_some() => Ok(()),
        ("ol", start) if start.starts_with("start=\"") => Ok(()),
        ("a", attributes) => link(attributes).ok_or_else(|| format!("made <{tag}>")),
        _ => Err(format!("made <{tag}>")),
    }
}

/// The attributes of a formula: how it stands, and its source.
fn formula(attributes: &str) -> Option<()> {
    let attributes = attributes.strip_prefix("display=\"block\" ").unwrap_or(attributes);
    let source = attributes.strip_prefix("alttext=\"")?.strip_suffix('"')?;
    (!source.contains('"')).then_some(())
}

/// The class of code: the name of its language, a plain word.
pub(crate) fn language(attributes: &str) -> Option<&str> {
    let name = attributes.strip_prefix("class=\"language-")?.strip_suffix('"')?;
    name.bytes().all(|b| b.is_ascii_alphanumeric() || b"+#.-_".contains(&b)).then_some(name)
}

/// The attributes of a link: where it leads, the same for the eye, and nothing else.
fn link(attributes: &str) -> Option<()> {
    let (href, rest) = attributes.strip_prefix("href=\"")?.split_once('"')?;
    let (title, rest) = rest.strip_prefix(" title=\"")?.split_once('"')?;
    let fixed = rest == " target=\"_blank\" rel=\"noopener noreferrer nofollow\"";
    let scheme = href.split(':').next()?.to_ascii_lowercase();
    let known = ["http", "https", "mailto"].contains(&scheme.as_str());
    (fixed && known && href == title).then_some(())
}

/// E69, E70: an answer becomes HTML that runs nothing, loads nothing and hides nothing.
fn answer(text: &str) -> Result<(usize, bool), String> {
    let html = render(text).into_string();
    let mut tags = 0;
    for piece in html.split('<').skip(1) {
        let Some((inner, _)) = piece.split_once('>') else {
            return Err(format!("a tag does not end: {html}"));
        };
        tag(inner).map_err(|problem| format!("{problem} in {html}"))?;
        tags += 1;
    }
    if let Some(hidden) = html.chars().find(|c| is_hidden(*c)) {
        return Err(format!("hides {hidden:?} in {html}"));
    }
    Ok((tags.min(40), html.contains("<a ")))
}

#[test]
fn fuzz_markdown() {
    Fuzz::new("markdown").seeds(ANSWERS).words(WORDS).run_text(answer).unwrap();
}

const FRAMES: &[&str] = &[
    r#"{"type":"message","id":"m1","text":"hello"}"#,
    r#"{"type":"cancel","task":"T1"}"#,
    r#"{"type":"approval","id":"A1","answer":"allow","digest":"00"}"#,
    r#"{"type":"nonsense","id":"x"}"#,
    "[]",
];

/// A frame of a client is taken or answered with an error that names what is wrong.
fn frame(text: &str) -> Result<&'static str, String> {
    match read_frame(text) {
        Ok(_) => Ok("taken"),
        Err(error) if error.message.trim().is_empty() => Err("an error without words".to_owned()),
        Err(error) if error.id.as_ref().is_some_and(|id| id.chars().count() > 128) => {
            Err("the error repeats an id of any length".to_owned())
        }
        Err(error) => Ok(error.code.as_str()),
    }
}

#[test]
fn fuzz_client_frames() {
    let words = [
        "\"type\":",
        "\"id\":",
        "\"answer\":\"allow_always\"",
        "\"digest\":null",
        "\"A0\"",
        "{",
        "}",
        "\\ud800",
    ];
    Fuzz::new("client_frames").seeds(FRAMES).words(words).run_text(frame).unwrap();
}
