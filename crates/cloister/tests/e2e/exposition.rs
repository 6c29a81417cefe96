//! A strict reader of what `/metrics` says: it panics over anything that Prometheus would not take.

use std::collections::{BTreeMap, BTreeSet};

/// What was exposed.
pub(crate) struct Exposed {
    /// The type of each family.
    pub(crate) families: BTreeMap<String, String>,
    /// Each series with its labels as they were written, and its value.
    pub(crate) series: BTreeMap<String, f64>,
}

impl Exposed {
    pub(crate) fn parse(text: &str) -> Self {
        let mut exposed = Self { families: BTreeMap::new(), series: BTreeMap::new() };
        let mut helped = BTreeSet::new();
        let mut current = String::new();
        assert!(text.ends_with('\n'), "the last line has no end");
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, words) = help.split_once(' ').unwrap();
                assert!(!words.is_empty() && helped.insert(name.to_owned()), "{line}");
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
                assert!(helped.contains(name), "{line}");
                let before = exposed.families.insert(name.to_owned(), kind.to_owned());
                assert!(before.is_none(), "{line}");
                name.clone_into(&mut current);
            } else {
                exposed.sample(line, &current);
            }
        }
        exposed.check_histograms();
        exposed
    }

    fn sample(&mut self, line: &str, family: &str) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        let name = series.split_once('{').map_or(series, |(name, _)| name);
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(name.chars().all(word), "{line}");
        let kind = &self.families[family];
        let fits = match kind.as_str() {
            "histogram" => name
                .strip_prefix(family)
                .is_some_and(|part| ["_bucket", "_sum", "_count"].contains(&part)),
            _ => name == family,
        };
        assert!(fits, "{line} is in the family {family}");
        if kind == "counter" {
            assert!(name.ends_with("_total"), "{line}");
        }
        let value: f64 = value.parse().unwrap_or_else(|error| panic!("{line}: {error}"));
        assert!(value.is_finite() && value >= 0.0, "{line}");
        assert!(self.series.insert(series.to_owned(), value).is_none(), "twice: {line}");
    }

    fn check_histograms(&self) {
        for (name, _) in self.families.iter().filter(|(_, kind)| *kind == "histogram") {
            let prefix = format!("{name}_bucket{{le=\"");
            let mut buckets: Vec<(f64, f64)> = Vec::new();
            for (series, value) in &self.series {
                let Some(bound) = series.strip_prefix(&prefix) else { continue };
                let bound = bound.trim_end_matches("\"}").replace("+Inf", "inf");
                buckets.push((bound.parse().unwrap(), *value));
            }
            buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(buckets.is_sorted_by(|a, b| a.1 <= b.1), "{name}: {buckets:?}");
            let last = buckets.last().unwrap();
            assert!(last.0.is_infinite(), "{name}");
            assert!((last.1 - self.value(&format!("{name}_count"))).abs() < 0.5, "{name}");
            assert!(self.series.contains_key(&format!("{name}_sum")), "{name}");
        }
    }

    /// A series as it is written; nothing is as good as zero.
    pub(crate) fn value(&self, series: &str) -> f64 {
        self.series.get(series).copied().unwrap_or(0.0)
    }

    /// All series of a family together.
    pub(crate) fn sum(&self, family: &str) -> f64 {
        let of = |series: &str| series == family || series.starts_with(&format!("{family}{{"));
        self.series.iter().filter(|(series, _)| of(series)).map(|(_, value)| value).sum()
    }
}
