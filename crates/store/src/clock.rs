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
}
