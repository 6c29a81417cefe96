use proptest::prelude::*;

use super::*;

fn begun(markdown: &str) -> Vec<Markup<'_>> {
    let parts = pieces(markdown).filter_map(|piece| match piece {
        Markdown::Begin(part) => Some(part),
        _ => None,
    });
    parts.collect()
}

#[test]
fn a_link_says_where_it_leads_or_leads_nowhere() {
    let link = |markdown: &str| match begun(markdown).into_iter().nth(1) {
        Some(Markup::Link(link) | Markup::Image(link)) => (link.place, link.is_own_text),
        other => panic!("{markdown}: {other:?}"),
    };
    assert_eq!(link("[x](https://example.org/a)"), (Some("example.org".to_owned()), false));
    assert_eq!(link("<https://example.org>"), (Some("example.org".to_owned()), true));
    assert_eq!(link("![x](javascript:alert)"), (None, false));
    assert_eq!(link("[x][1]\n\n[1]: file:///etc"), (None, false));
}

#[test]
fn a_fence_names_a_language_or_nothing() {
    for (fence, named) in [
        ("```rust,ignore", Some("rust")),
        ("```c++ {x}", Some("c++")),
        ("```", None),
        ("```\"><script>", None),
        ("```aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", None),
        ("    indented", None),
    ] {
        let language = named.map(str::to_owned);
        assert_eq!(begun(fence), [Markup::CodeBlock { language }], "{fence}");
    }
}

#[test]
fn html_comes_as_what_it_is() {
    let html = |piece: &Markdown<'_>| matches!(piece, Markdown::Html(_) | Markdown::InlineHtml(_));
    assert_eq!(pieces("<b>x</b>\n\n<div>\n</div>\n").filter(html).count(), 4);
}

proptest! {
    /// X3: whatever is written, what is begun ends.
    #[test]
    fn what_is_begun_ends(markdown in "[-*_`~#>|\\[\\]()<!a \n0-9.]{0,80}") {
        let mut depth = 0_usize;
        for piece in pieces(&markdown) {
            match piece {
                Markdown::Begin(_) => depth += 1,
                Markdown::End => {
                    prop_assert!(depth > 0);
                    depth -= 1;
                }
                _ => {}
            }
        }
        prop_assert_eq!(depth, 0);
    }
}
