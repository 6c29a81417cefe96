use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::limits::About;
use super::{Limit, TooMany, told};

fn headers(given: &[(&'static str, &'static str)]) -> HeaderMap {
    let pairs = given
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
    pairs.collect()
}

#[test]
fn an_answer_says_what_its_bucket_still_takes() {
    let told = told(&headers(&[
        ("x-ratelimit-bucket", "abcd1234"),
        ("x-ratelimit-limit", "5"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset-after", "1.250"),
    ]));
    assert_eq!(told.bucket.as_deref(), Some("abcd1234"));
    assert_eq!((told.limit, told.remaining), (Some(5), Some(0)));
    assert_eq!(told.reset_after, Some(Duration::from_millis(1250)));
    assert_eq!(super::told(&headers(&[("x-ratelimit-remaining", "many")])).remaining, None);
}

/// X6: Discord says how long to wait; more exactly in words, and in a page of Cloudflare's in a header alone.
#[test]
fn too_fast_says_how_long_to_wait() {
    let words =
        br#"{"message": "You are being rate limited.", "retry_after": 0.3, "global": true}"#;
    let header = Limit::of_headers(&headers(&[("retry-after", "1")]));
    let wait = Some(Duration::from_millis(300));
    assert_eq!(header.with_words(words), TooMany { wait, about: About::Bot });
    let header = Limit::of_headers(&headers(&[("retry-after", "300")]));
    let wait = Some(Duration::from_secs(300));
    assert_eq!(header.with_words(b"<html>"), TooMany { wait, about: About::Everything });
    let header = Limit::of_headers(&headers(&[("x-ratelimit-scope", "global")]));
    assert_eq!(header.with_words(b"{}"), TooMany { wait: None, about: About::Bot });
    for named in [("x-ratelimit-bucket", "abc"), ("x-ratelimit-scope", "shared")] {
        let header = Limit::of_headers(&headers(&[named]));
        assert_eq!(header.with_words(b"{}"), TooMany { wait: None, about: About::Bucket });
    }
    let forever = header.with_words(br#"{"retry_after": 1e300}"#);
    assert_eq!(forever.wait, Some(Duration::MAX), "as long as can be waited");
    assert_eq!(header.with_words(br#"{"retry_after": -1}"#).wait, None);
}
