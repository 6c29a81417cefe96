//! The one place that asks what time it is.

use jiff::Timestamp;

/// The wall clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock;

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn now(self) -> Timestamp {
        Timestamp::now()
    }

    /// Milliseconds since 1970, as the database keeps times.
    pub fn now_ms(self) -> i64 {
        self.now().as_millisecond()
    }

    /// The day that budgets count in: UTC.
    pub fn today(self) -> String {
        self.now().strftime("%Y-%m-%d").to_string()
    }

    /// The day so many days ago.
    pub fn days_ago(self, days: u32) -> String {
        let then = self.now() - jiff::SignedDuration::from_hours(24 * i64::from(days));
        then.strftime("%Y-%m-%d").to_string()
    }
}
