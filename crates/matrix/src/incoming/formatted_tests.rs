use proptest::prelude::*;

use super::*;

/// A5: a client that leaves the marks out of the plain words has them put in again.
#[test]
fn what_is_quoted_in_html_is_quoted_in_words() {
    for (body, html, marked) in [
        (
            "see\nhttps://evil.test\nthanks",
            "see<blockquote><p>https://evil.test</p></blockquote>thanks",
            "see\n> https://evil.test\n\nthanks",
        ),
        (
            "see\na & b\n\nmine",
            "see<pre><code>a &amp; b\n</code></pre>mine",
            "see\n> a & b\n\nmine",
        ),
        ("a\nb\nmine", "<blockquote>a<br/>b</blockquote>mine", "> a\n> b\n\nmine"),
        // Joined with what is their own, nothing tells it apart.
        (
            "see https://evil.test",
            "see <blockquote>https://evil.test</blockquote>",
            "> see https://evil.test",
        ),
        // Marked already.
        ("> a **b**\n\nmine", "<blockquote>a <b>b</b></blockquote>mine", "> a **b**\n\nmine"),
        ("```\nls\n```\nmine", "<pre><code>ls\n</code></pre>mine", "```\nls\n```\nmine"),
        ("> a\nb", "<blockquote>a</blockquote><blockquote>b</blockquote>", "> a\n> b"),
        ("mine", "<mx-reply><blockquote>theirs</blockquote></mx-reply>mine", "mine"),
        ("plain *words*", "plain <em>words</em>", "plain *words*"),
        ("a < b", "a &lt; b", "a < b"),
    ] {
        assert_eq!(with_marks(body, html), marked, "{html}");
    }
    assert_eq!(with_marks("a", &" ".repeat(200 << 10)), "> a");
}

/// A5: whoever is mentioned puts no address into the words of who mentions them.
#[test]
fn a_name_in_a_mention_is_no_address() {
    let html = "<a href=\"https://matrix.to/#/@bo:x\">Bo evil.test/a</a>: hi";
    assert_eq!(with_marks("Bo evil.test/a: hi", html), "Bo evil_test_a: hi");
    let plain = "<a href=\"https://matrix.to/#/@bo:x\">Bo Li</a>: see a.test";
    assert_eq!(with_marks("Bo Li: see a.test", plain), "Bo Li: see a.test");
}

proptest! {
    #[test]
    fn any_html_is_read(
        body in "([a-c\n>`~ ]|```\n|> ){0,12}",
        html in "(<blockquote>|</blockquote>|<pre>|</pre>|<br>|<|>|&|&lt;|&#x|;|[a-c\n ]|<a href=\"matrix:u/x\">|</a>){0,16}",
    ) {
        let marked = with_marks(&body, &html);
        let kept = |text: &str| text.chars().filter(|c| c.is_alphabetic()).collect::<String>();
        prop_assert_eq!(kept(&marked), kept(&body));
    }
}
