//! The text that Prometheus reads (format 0.0.4).

use std::fmt::Write;

use super::names::Name;
use super::series::{BOUNDS, Counters, Histogram};

/// The media type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A text of metrics that is being written, a family at a time.
#[derive(Debug, Default)]
pub struct Exposition {
    text: String,
}

#[derive(Clone, Copy)]
enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

impl Exposition {
    pub fn into_text(self) -> String {
        self.text
    }

    pub(super) fn gauge(&mut self, name: Name, value: f64) {
        self.family(name, MetricKind::Gauge);
        self.sample(name.0, &[], value);
    }

    /// A gauge that differs in the value of one label.
    pub(super) fn gauges(&mut self, name: Name, label: &str, values: &[(&str, f64)]) {
        self.family(name, MetricKind::Gauge);
        for (text, value) in values {
            self.sample(name.0, &[(label, text)], *value);
        }
    }

    /// A gauge that differs in the values of several labels.
    pub(super) fn gauges_by<const N: usize>(
        &mut self,
        name: Name,
        labels: [&str; N],
        values: &[([&str; N], f64)],
    ) {
        self.family(name, MetricKind::Gauge);
        for (texts, value) in values {
            let pairs: Vec<(&str, &str)> = labels.into_iter().zip(texts.iter().copied()).collect();
            self.sample(name.0, &pairs, *value);
        }
    }

    pub(super) fn counter(&mut self, name: Name, value: f64) {
        self.family(name, MetricKind::Counter);
        self.sample(name.0, &[], value);
    }

    /// Counters by label; `per_unit` of what was counted is one of the unit of the name. Divided by, because the
    /// fraction that one of them is can't be written exactly.
    pub(super) fn counters<const N: usize>(
        &mut self,
        name: Name,
        labels: [&str; N],
        counters: &Counters<N>,
        per_unit: f64,
    ) {
        self.family(name, MetricKind::Counter);
        for (values, count) in counters.all() {
            let pairs: Vec<(&str, &str)> =
                labels.iter().copied().zip(values.iter().map(String::as_str)).collect();
            self.sample(name.0, &pairs, float(count) / per_unit);
        }
    }

    pub(super) fn histogram(&mut self, name: Name, histogram: &Histogram) {
        self.family(name, MetricKind::Histogram);
        let (name, _) = name;
        let observed = histogram.observed();
        let bounds = BOUNDS.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
        let mut below = 0;
        for (bound, count) in bounds.zip(observed.buckets) {
            below += count;
            self.sample(&format!("{name}_bucket"), &[("le", &bound)], float(below));
        }
        self.sample(&format!("{name}_sum"), &[], observed.sum_s);
        self.sample(&format!("{name}_count"), &[], float(below));
    }

    fn family(&mut self, (name, help): Name, kind: MetricKind) {
        let kind = match kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        if labels.is_empty() {
            return self.line(format_args!("{name} {value}"));
        }
        let pairs: Vec<String> =
            labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
        self.line(format_args!("{name}{{{}}} {value}", pairs.join(",")));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string can't fail.
        writeln!(self.text, "{line}").ok();
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[expect(clippy::cast_precision_loss, reason = "counts beyond 2^53 need not be exact")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}
