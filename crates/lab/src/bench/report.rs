//! What was found: rows with their spread, beside what was aimed at.

use std::time::Duration;

use serde::Serialize;

use super::Plan;
use super::machine::load_average;
use cloister::table;

/// How much dearer than its reference a row may be and still be called flat.
const FLAT: f64 = 1.25;

#[derive(Clone, Copy, Debug)]
pub(super) enum Aim {
    /// The median is at most this, in the row's unit.
    AtMost(f64),
    /// It is at least this.
    AtLeast(f64),
    /// The 99th percentile is at most this.
    TailAtMost(f64),
    /// The median is about that of the row it is compared with.
    Flat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) enum Unit {
    #[serde(rename = "ms")]
    Milliseconds,
    #[serde(rename = "µs")]
    Microseconds,
    #[serde(rename = "MiB")]
    Mebibytes,
    #[serde(rename = "kB")]
    Kilobytes,
    #[serde(rename = "/s")]
    PerSecond,
    #[serde(rename = "%")]
    Percent,
    #[serde(rename = "cores")]
    Cores,
    #[serde(rename = "")]
    Count,
}

impl Unit {
    fn as_str(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::Microseconds => "µs",
            Self::Mebibytes => "MiB",
            Self::Kilobytes => "kB",
            Self::PerSecond => "/s",
            Self::Percent => "%",
            Self::Cores => "cores",
            Self::Count => "",
        }
    }
}

/// One measurement.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    id: String,
    what: String,
    unit: Unit,
    n: usize,
    p50: f64,
    p95: f64,
    p99: f64,
    max: f64,
    /// The row's aim, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    aim: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    met: Option<bool>,
    /// The row it is compared with, and how many times its median this one's is.
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_with: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
}

impl Row {
    pub(super) fn times(id: &str, what: &str, times: Vec<Duration>) -> Self {
        let ms = times.into_iter().map(|time| time.as_secs_f64() * 1e3).collect();
        Self::new(id, what, Unit::Milliseconds, ms)
    }

    /// What is too short to be told in milliseconds.
    pub(super) fn micros(id: &str, what: &str, times: Vec<Duration>) -> Self {
        let us = times.into_iter().map(|time| time.as_secs_f64() * 1e6).collect();
        Self::new(id, what, Unit::Microseconds, us)
    }

    pub(super) fn sizes(id: &str, what: &str, bytes: &[u64]) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "shown to people, rounded anyway")]
        let mib = bytes.iter().map(|bytes| *bytes as f64 / f64::from(1 << 20)).collect();
        Self::new(id, what, Unit::Mebibytes, mib)
    }

    /// Something that is measured once, over a time.
    pub(super) fn single(id: &str, what: &str, unit: Unit, value: f64) -> Self {
        Self::new(id, what, unit, vec![value])
    }

    pub(super) fn p50(&self) -> f64 {
        self.p50
    }

    pub(super) fn p95(&self) -> f64 {
        self.p95
    }

    fn new(id: &str, what: &str, unit: Unit, mut values: Vec<f64>) -> Self {
        values.sort_unstable_by(f64::total_cmp);
        // The nearest rank: the smallest value that so many percent do not pass.
        let at = |percent: usize| {
            let rank = (values.len() * percent).div_ceil(100).max(1);
            values.get(rank - 1).copied().unwrap_or(f64::NAN)
        };
        Self {
            id: id.to_owned(),
            what: what.to_owned(),
            unit,
            n: values.len(),
            p50: at(50),
            p95: at(95),
            p99: at(99),
            max: at(100),
            aim: None,
            met: None,
            compared_with: None,
            ratio: None,
        }
    }

    pub(super) fn over(mut self, other: &Self) -> Self {
        self.compared_with = Some(other.id.clone());
        self.ratio = Some(self.p50 / other.p50);
        self
    }

    pub(super) fn aim(mut self, aim: Aim) -> Self {
        let (words, met) = match aim {
            Aim::AtMost(most) => (format!("≤ {most:.1}"), self.p50 <= most),
            Aim::AtLeast(least) => (format!("≥ {least:.1}"), self.p50 >= least),
            Aim::TailAtMost(most) => (format!("p99 ≤ {most:.1}"), self.p99 <= most),
            Aim::Flat => {
                let most = self.p50 / self.ratio.unwrap_or(1.0) * FLAT;
                (format!("≤ {most:.1}"), self.p50 <= most)
            }
        };
        let before = self.aim.take().map(|before| format!("{before}, ")).unwrap_or_default();
        self.aim = Some(before + words.as_str());
        self.met = Some(self.met.unwrap_or(true) && met);
        self
    }

    fn cells(&self) -> Vec<String> {
        let number = |value: f64| format!("{value:.2}");
        let aim = match (&self.aim, self.met) {
            (Some(aim), Some(true)) => format!("{aim} met"),
            (Some(aim), _) => format!("{aim} MISSED"),
            (None, _) => String::new(),
        };
        let spread = |value: f64| if self.n == 1 { String::new() } else { number(value) };
        let ratio = match (&self.compared_with, self.ratio) {
            (Some(other), Some(ratio)) => format!("{ratio:.2} × {other}"),
            _ => String::new(),
        };
        vec![
            self.id.clone(),
            self.what.clone(),
            self.unit.as_str().to_owned(),
            aim,
            number(self.p50),
            spread(self.p95),
            spread(self.p99),
            spread(self.max),
            self.n.to_string(),
            ratio,
        ]
    }
}

/// How busy the machine was: on a busy one the rows say more about that than about the product.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Machine {
    cores: usize,
    /// Processes that ran or wanted to, on average over the minute before.
    load_before: f64,
    load_after: f64,
}

impl Machine {
    pub(super) fn now() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
        let load = load_average();
        Self { cores, load_before: load, load_after: load }
    }
}

#[derive(Debug, Serialize)]
pub(super) struct Report {
    version: &'static str,
    /// How this program was built; only `release` says anything about the product.
    build: &'static str,
    machine: Machine,
    plan: Plan,
    rows: Vec<Row>,
}

impl Report {
    /// `machine` as it was before the measurements.
    pub(super) fn new(machine: Machine, plan: Plan, rows: Vec<Row>) -> Self {
        let build = if cfg!(debug_assertions) { "debug" } else { "release" };
        let machine = Machine { load_after: load_average(), ..machine };
        Self { version: env!("CARGO_PKG_VERSION"), build, machine, plan, rows }
    }

    pub(super) fn words(&self) -> String {
        let head = ["row", "what", "unit", "aim", "p50", "p95", "p99", "max", "n", "compared"];
        let rows: Vec<_> = self.rows.iter().map(Row::cells).collect();
        let Machine { cores, load_before, load_after } = self.machine;
        let build = self.build;
        let advice = if cfg!(debug_assertions) {
            " Build with --release for numbers that mean something."
        } else {
            ""
        };
        format!(
            "{}\n{build} build, {cores} cores, load {load_before:.1} before and {load_after:.1} after.{advice}",
            table(&head, &rows)
        )
    }
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
