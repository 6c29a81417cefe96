use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

const MOST: usize = 100_000;

fn markdown(html: &str) -> String {
    let document = Document {
        url: "https://a.test/dir/page.html?q=1",
        kind: "text/html; charset=utf-8",
        body: html.as_bytes(),
    };
    readable(document, MOST).unwrap().text
}

#[test]
fn a_page_becomes_markdown() {
    let html = "<!DOCTYPE html><html><head><title>A  page\n&amp; more</title><style>p{}</style>\
        <script>if (a < b) alert('<p>no</p>')</script></head><body><h1>Head <a href='#x'>line</a></h1>\
        <p>Some   <b>bold</b> and <em>soft </em>text,<br>a <a href='../up.html#part'>link</a>.</p>\
        <!-- a comment --><ul><li>one<li>two<ol><li>first</li><li>second</li></ol></li></ul>\
        <blockquote><p>said</p><p>he</p></blockquote><pre>\n  keep\n    this &lt;b&gt;\n</pre>\
        <p>Run <code>ls -l</code> now.</p><hr><img src='x.png' alt='A picture'><img src='y.png'>\
        <a href='javascript:alert(1)'>no script</a> <a href=' /top?a=(b) '>top</a> <a href=x><img></a>\
        <h2></h2><dl><dt>word</dt><dd>meaning</dd></dl></body></html>";
    let document =
        Document { url: "https://a.test/dir/page.html", kind: "text/html", body: html.as_bytes() };
    let page = readable(document, MOST).unwrap();
    assert_eq!(page.title, "A page & more");
    assert!(!page.cut);
    assert_eq!(
        page.text,
        "# Head line\n\n\
         Some **bold** and _soft_ text,\na [link](https://a.test/up.html).\n\n\
         - one\n- two\n  1. first\n  2. second\n\n\
         > said\n>\n> he\n\n\
         ```\n  keep\n    this <b>\n```\n\n\
         Run `ls -l` now.\n\n---\n\n\
         [image: A picture](https://a.test/dir/x.png)no script [top](https://a.test/top?a=%28b%29)\n\n\
         word\n: meaning"
    );
}

#[test]
fn tables_keep_their_rows_and_columns() {
    let html = "<table><tr><th>Name<th>Price</tr><tr><td><p>Tea</p><td>3 <b>€</b></tr></table>\
                <table><tr><td><div>layout</div><div>cell</div></td></tr></table>";
    assert_eq!(markdown(html), "Name | Price\n--- | ---\nTea | 3 **€**\n\nlayout\ncell");
}

#[test]
fn what_nobody_sees_is_left_out() {
    let html = "<p>seen</p><div style='DISPLAY: none'>hidden <div>x</div> orders</div><span hidden>h</span>\
                <svg><text>drawn</text></svg><template><p>t</p></template><noscript>plain</noscript>\
                <iframe src=x>frame</iframe><p>a\u{e0041}\u{e0042}b</p>";
    assert_eq!(markdown(html), "seen\n\nplain\n\nab");
}

#[test]
fn links_are_absolute_or_no_links() {
    for (link, address) in [
        ("https://b.test/x", Some("https://b.test/x")),
        ("//b.test/x", Some("https://b.test/x")),
        ("/x/./y/../z", Some("https://a.test/x/z")),
        ("x y", Some("https://a.test/dir/x%20y")),
        ("../../../..", Some("https://a.test/")),
        ("./", Some("https://a.test/dir/")),
        ("?p=2", Some("https://a.test/dir/page.html?p=2")),
        ("mailto:a@b.test", Some("mailto:a@b.test")),
        ("page:2", None),
        ("data:text/html,x", None),
        ("java\nscript:x", None),
        ("#part", None),
        ("", None),
    ] {
        let found = address::absolute("https://a.test/dir/page.html?q=/1/2", link);
        assert_eq!(found.as_deref(), address, "{link:?}");
    }
    assert_eq!(address::absolute("https://a.test", "x").as_deref(), Some("https://a.test/x"));
}

#[test]
fn hostile_pages_are_read_in_time() {
    let deep = 30_000;
    let pages = [
        format!("{}deep{}", "<div>".repeat(200_000), "</div>".repeat(200_000)),
        format!("{}bold", "<b>".repeat(deep)),
        format!("{}deep", "<blockquote><ul><li><b><a href=x>".repeat(deep)),
        format!("<table>{}", "<tr><td>a<td>b<table>".repeat(deep)),
        "<svg>".repeat(deep),
        "<a href=x>y".repeat(deep),
        format!("<p {}>text", "a=b c='d' ".repeat(deep)),
        "&amp;&notanentity;&#x110000;<".repeat(deep),
        format!("<pre>{}", "\n".repeat(deep)),
        format!("<title>{}", "x".repeat(deep * 10)),
        "<!--".repeat(deep),
        "</ul></table></pre></a></b></li></blockquote>".repeat(deep),
        "\u{a0}\0\u{fffd}".repeat(deep),
    ];
    for page in pages {
        let begun = Instant::now();
        let text = markdown(&page);
        let start: String = page.chars().take(40).collect();
        assert!(text.len() <= MOST + 4_000, "{start}: {}", text.len());
        assert!(begun.elapsed() < Duration::from_secs(20), "{start}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_long_page_is_cut_and_says_so() {
    let html = "<p>word</p>".repeat(50_000);
    let document = Document { url: "https://a.test/", kind: "text/html", body: html.as_bytes() };
    let page = readable(document, 1_000).unwrap();
    assert!(page.cut && page.text.len() <= 1_000);
    let plain = Document { kind: "text/plain", ..document };
    let page = readable(plain, 1_000).unwrap();
    assert!(page.cut && page.text.len() == 1_000);
}

#[test]
fn character_sets_are_read_or_named() {
    let read = |kind: &str, body: &[u8]| {
        readable(Document { url: "https://a.test/", kind, body }, MOST).map(|page| page.text)
    };
    let yen = "<meta charset=\"utf-8\"><p>日本 €";
    assert_eq!(read("text/html", yen.as_bytes()).unwrap(), "日本 €");
    assert_eq!(read("text/plain; charset=ISO-8859-1", b"caf\xe9 \x80").unwrap(), "café €");
    assert_eq!(read("text/html", b"<p>caf\xe9s").unwrap(), "cafés");
    assert_eq!(read("text/plain", b"\xff\xfeh\0i\0").unwrap(), "hi");
    // Said by habit, and not true.
    assert_eq!(read("text/html; charset=latin1", "é".as_bytes()).unwrap(), "é");
    let japanese = read("text/html", b"<meta charset=Shift_JIS><p>\x93\xfa\x96\x7b");
    assert_eq!(japanese, Err(Unreadable::Charset("shift_jis".to_owned())));
}

#[test]
fn text_is_passed_as_it_is_and_the_rest_refused() {
    let kind = |kind: &str, body: &[u8]| {
        readable(Document { url: "https://a.test/", kind, body }, MOST).map(|page| page.text)
    };
    assert_eq!(kind("application/json", b"{\"a\":  1}").unwrap(), "{\"a\":  1}");
    assert_eq!(kind("application/ld+json; charset=utf-8", b"{}").unwrap(), "{}");
    assert_eq!(kind("text/markdown", b"# <b>x</b>").unwrap(), "# <b>x</b>");
    assert_eq!(kind("", b"plain").unwrap(), "plain");
    assert_eq!(kind("", b" <!DOCTYPE HTML><p>x").unwrap(), "x");
    for (name, body) in
        [("application/pdf", &b"%PDF"[..]), ("image/png", b"\x89PNG"), ("", b"\0\x01")]
    {
        assert!(matches!(kind(name, body), Err(Unreadable::NotText(_))), "{name}");
    }
}

proptest! {
    #[test]
    fn any_bytes_of_any_kind_are_read_within_bounds(
        body in prop::collection::vec(any::<u8>(), 0..2_000),
        kind in "(text/html|text/plain|)(; charset=[a-z0-9-]{0,8})?",
        most in 0usize..500,
    ) {
        if let Ok(page) = readable(Document { url: "x", kind: &kind, body: &body }, most) {
            prop_assert!(page.text.len() <= most);
        }
    }

    #[test]
    fn any_soup_of_tags_is_read(
        tags in prop::collection::vec(
            "</?(a href=x|b|li|ul|ol|pre|table|tr|td|th|h2|blockquote|div hidden|script|title|dd|code|q)>?| ?[a-z&<]{0,3} ?",
            0..80,
        ),
    ) {
        let text = markdown(&tags.concat());
        prop_assert!(text.len() < 20_000);
    }
}

/// E70: what a page hides from people is not read; what it may hide is marked.
#[test]
fn what_a_page_hides_is_not_read() {
    for hidden in [
        "<!-- evil -->",
        "<p hidden>evil</p>",
        "<p style='display:none'>evil <b>evil</b></p>",
        "<li style='visibility: hidden'>evil<div>evil</div>evil</li>",
        "<font style='color:#FFF; background-color: white'>evil</font>",
        "<h2 style='font-size:0'>evil</h2>",
        "<td style='font-size: 1px'>evil",
        "<a style='position:absolute;left:-9999px' href=/x>evil</a>",
        "<b style='opacity: 0 !important'>evil</b>",
        "<div style='height:0;overflow:hidden'>evil<p>evil</p>evil</div>",
        "<table hidden><tr><td>evil</table>",
    ] {
        let read = markdown(&format!("<div>before {hidden}</div><p>after</p>"));
        assert!(!read.contains("evil"), "{hidden}: {read}");
        assert!(read.contains("before") && read.contains("after"), "{hidden}: {read}");
    }
    let pale = markdown(
        "<p>seen <span style='color:white'>orders</span> <font color=#ffffff>more</font></p>",
    );
    assert_eq!(pale, "seen [in white] orders [in white] more");
    let dark =
        markdown("<p style='background:#000;color:#fff;opacity:0.9;font-size:0.9em'>shown</p>");
    assert_eq!(dark, "shown");
    // A paragraph that was left open hides no more than itself.
    assert_eq!(
        markdown("<p hidden>evil<p>one<ul><li hidden>evil<li>two</ul>three"),
        "one\n\n- two\n\nthree"
    );
}

const FUZZED: &[&str] = &[
    "<!doctype html><html><head><title>A title</title><style>p{}</style></head><body><h1>Head</h1><p>Text <b>bold</b> <a href=\"/x\">link</a></p></body></html>",
    "<ul><li>one<li>two<ol><li>deep</ol></ul><table><tr><th>a<td>b</tr></table><pre>code\n  more</pre>",
    "<meta charset=iso-8859-1><p>caf\u{e9} &amp; &eacute; &#x202e; &#0; &notanentity;",
    "<script>document.write('x')</script><noscript>y</noscript><svg><text>z</text></svg><!-- c --><![CDATA[d]]>",
    "<blockquote><blockquote><p>deep</blockquote></blockquote><img src=x alt=\"words\"><hr><br>",
    "plain text, no tags at all",
];
const FUZZ_WORDS: &[&str] = &[
    "<div>",
    "</div>",
    "<p>",
    "<table>",
    "<tr>",
    "<td>",
    "<li>",
    "<ul>",
    "<a href=",
    "<script>",
    "</script>",
    "<style>",
    "<pre>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "&#",
    "&amp",
    "<meta charset=\"",
    "utf-16",
    "windows-1252",
    "<title>",
    "<template>",
    "<textarea>",
    "</",
    "/>",
    "=\"",
    "'",
    "\0",
];

/// A page becomes text within its bound, whatever it claims to be.
fn within_its_bound(body: &[u8]) -> Result<(bool, usize, bool), String> {
    const MOST: usize = 4096;
    let mut seen = (false, 0, false);
    for kind in ["text/html; charset=utf-8", "text/html", "", "text/plain"] {
        let document = Document { url: "https://example.com/a/b", kind, body };
        let Ok(page) = readable(document, MOST) else { continue };
        if page.text.len() > MOST {
            return Err(format!("{} bytes of text, and {MOST} are allowed", page.text.len()));
        }
        seen = (true, page.text.lines().count().min(20), page.cut);
    }
    Ok(seen)
}

#[test]
fn fuzz_pages() {
    let fuzz = cloister_testkit::Fuzz::new("pages").seeds(FUZZED).words(FUZZ_WORDS);
    fuzz.run(within_its_bound).unwrap();
}
