use crate::outgoing::html::tests::{ATTACKS, wrong};
use crate::outgoing::messages::{Previews, Written};

use super::*;

/// What a client that looks for addresses finds in HTML: in links and in text, but not in code.
fn found(html: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut code = 0;
    let mut rest = html;
    while !rest.is_empty() {
        let (text, tagged) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
        if code == 0 {
            found.extend(text.split_whitespace().filter(|word| is_found(word)).map(str::to_owned));
        }
        let (tag, after) = tagged.split_at(tagged.find('>').map_or(tagged.len(), |at| at + 1));
        match tag {
            "<code>" | "<pre>" => code += 1,
            "</code>" | "</pre>" => code -= 1,
            _ if tag.starts_with("<code ") => code += 1,
            _ if tag.starts_with("<a ") && code == 0 => found.push(tag.to_owned()),
            _ => {}
        }
        rest = after;
    }
    found
}

/// As the widely used finders do: a scheme, or labels of letters with dots between and a known ending.
fn is_found(word: &str) -> bool {
    let known = |host: &str| {
        ["example", "test", "com", "org", "dev", "io"].iter().any(|end| {
            host.strip_suffix(end)
                .and_then(|name| name.strip_suffix('.'))
                .is_some_and(|name| name.chars().next_back().is_some_and(char::is_alphanumeric))
        })
    };
    word.contains("://")
        || word.split(['/', '?', '#', ':', ',', ')', '(', '"', '\'', ';', '&']).any(known)
}

fn in_the_clear(markdown: &str) -> (String, Option<String>) {
    let kind = Written::from_markdown(markdown).text(Previews::Unasked);
    let json = serde_json::to_value(&kind).expect("JSON");
    let part = |name: &str| json[name].as_str().map(str::to_owned);
    (part("body").expect("a body"), part("formatted_body"))
}

/// E69: an address that an agent made up was fetched by the homeserver, for a preview, as soon as it was shown.
#[test]
fn in_a_room_without_encryption_no_client_finds_an_address() {
    let more = [
        "see https://evil.example/leak?q=secret",
        "see evil.example/leak?q=secret.",
        "secret.evil.example",
        "[here](https://evil.example/x)",
        "<https://evil.example/x>",
        "**evil.example/x** and *evil.example* or ~~a.evil.example/b~~",
        "> evil.example/x",
        "- evil.example/x\n- HTTPS://EVIL.EXAMPLE",
        "# evil.example/x",
        "(evil.example/x), \"evil.example/y\"",
        "www.evil.example\nwww.evil.example/2",
        "evil\u{3002}example/x",
        "plain\nevil.example",
        "| evil.example/a |\n|---|\n| https://evil.example/b |",
    ];
    for text in more.iter().chain(ATTACKS) {
        let (body, html) = in_the_clear(text);
        assert!(!body.contains("://"), "{text:?} became {body:?}");
        match html {
            Some(html) => {
                assert_eq!(found(&html), Vec::<String>::new(), "{text:?} became {html:?}");
                assert_eq!(wrong(&html), None, "{text:?} became {html:?}");
            }
            None => assert!(!body.split_whitespace().any(is_found), "{text:?} became {body:?}"),
        }
    }
}

#[test]
fn a_link_can_still_be_followed_and_ordinary_words_stay_as_they_are() {
    let (body, html) = in_the_clear("see [this](https://e.example/x)");
    assert_eq!(body, "see [this](https[:]//e.example/x)");
    let link =
        "<p>see <code><a href=\"https://e.example/x\">this</a></code> <code>(e.example)</code></p>";
    assert_eq!(html.as_deref(), Some(link));
    for words in ["Done. And 3.14, e.g. this... 12.5 %", "v1.2.3", "a . b", ".hidden"] {
        assert_eq!(in_the_clear(words), (words.to_owned(), None), "{words}");
    }
    let (_, html) = in_the_clear("I wrote fib.py.\n`https://e.example`");
    let code = "<p>I wrote <code>fib.py.</code><br><code>https://e.example</code></p>";
    assert_eq!(html.as_deref(), Some(code));
}

/// The finder of these tests finds something.
#[test]
fn where_it_is_encrypted_links_are_links() {
    let kind =
        Written::from_markdown("see <https://e.example/x> or e.example").text(Previews::Never);
    let json = serde_json::to_value(&kind).expect("JSON");
    assert_eq!(json["body"], "see <https://e.example/x> or e.example");
    let html = json["formatted_body"].as_str().expect("HTML");
    assert_eq!(
        found(html),
        ["<a href=\"https://e.example/x\">", "https://e.example/x", "e.example"]
    );
}

/// What stands alone is broken up where HTML would be too long.
#[test]
fn a_text_without_html_has_no_whole_address() {
    assert_eq!(
        inert_text("| POST https://evil.example/x v1.2"),
        "| POST https[:]//evil[.]example/x v1.2"
    );
    assert_eq!(inert_text("Done."), "Done.");
}
