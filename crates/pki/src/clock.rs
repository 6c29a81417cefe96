//! Times of certificates. The caller says what time it is; nothing here asks the machine.

use std::time::Duration;

/// Milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(i64);

impl Moment {
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    pub const fn ms(self) -> i64 {
        self.0
    }

    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(millis(time)))
    }

    pub fn before(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(millis(time)))
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Where a certificate begins and ends, as rcgen wants it.
pub(crate) fn validity(params: &mut rcgen::CertificateParams, from: Moment, until: Moment) {
    let since = |moment: Moment| Duration::from_millis(u64::try_from(moment.0).unwrap_or(0));
    let start = rcgen::date_time_ymd(1970, 1, 1);
    params.not_before = start + since(from);
    params.not_after = start + since(until);
}
