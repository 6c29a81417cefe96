//! When a provider wants to be asked again: its `retry-after`, in seconds or as the date that HTTP knows too.

use std::time::Duration;

use cloister_control::Clock;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{self, HeaderMap, HeaderName};

/// How long from now; none: it does not say so. A date is one of its clock, which may not be ours.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let said = text(headers, &header::RETRY_AFTER)?;
    if let Ok(seconds) = said.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = date(said)?;
    let now = text(headers, &header::DATE).and_then(date).unwrap_or_else(|| Clock.now());
    // What is over is not waited for.
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

fn date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
#[path = "retry_after_tests.rs"]
mod tests;
