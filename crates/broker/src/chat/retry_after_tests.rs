use std::time::Duration;

use reqwest::header::{self, HeaderMap, HeaderValue};

use super::retry_after;

fn headers(after: &str, date: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let value = |text: &str| HeaderValue::from_str(text).unwrap();
    headers.insert(header::RETRY_AFTER, value(after));
    if let Some(date) = date {
        headers.insert(header::DATE, value(date));
    }
    headers
}

#[test]
fn it_is_read_in_seconds_and_as_a_date_of_the_provider_s_clock() {
    let now = Some("Thu, 19 Nov 2026 22:00:00 GMT");
    for (after, date, seconds) in [
        ("7", None, Some(7.0)),
        (" 1.5 ", now, Some(1.5)),
        ("Thu, 19 Nov 2026 22:01:30 GMT", now, Some(90.0)),
        ("Fri, 20 Nov 2026 22:00:00 GMT", now, Some(86_400.0)),
        ("Thu, 19 Nov 2026 21:00:00 GMT", now, Some(0.0)),
        // Without a clock of its own, ours.
        ("Sun, 06 Nov 1994 08:49:37 GMT", None, Some(0.0)),
        ("soon", now, None),
        ("-3", now, None),
        ("inf", now, None),
        ("", now, None),
    ] {
        let read = retry_after(&headers(after, date));
        assert_eq!(read, seconds.map(Duration::from_secs_f64), "{after:?}");
    }
    let far = retry_after(&headers("Thu, 19 Nov 2099 22:00:00 GMT", None)).unwrap();
    assert!(far > Duration::from_secs(86_400 * 365), "{far:?}");
    assert_eq!(retry_after(&HeaderMap::new()), None);
}
