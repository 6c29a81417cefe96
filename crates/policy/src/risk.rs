//! When a request is risky enough that a plan comes first.
//!
//! Judged by what the person wrote and what the coordinator asks for; a coordinator can make a task
//! riskier, never safer.

/// What a request asks for, as far as its words show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    Plain,
    /// The word that made it so.
    Risky {
        word: &'static str,
    },
}

/// Verbs that spend, or reach other people, in the forms people use. Matched as whole words. What is deleted of a
/// chat's files can be brought back, and is no risk.
const RISKY_WORDS: &[&str] =
    &["buy", "deploy", "pay", "publish", "purchase", "transfer", "оплати", "опубликуй"];

/// Judges the person's own words.
pub fn of_request(words: &str) -> Risk {
    let lower = words.to_lowercase();
    if lower.contains("plan first") || lower.contains("сначала план") {
        return Risk::Risky { word: "plan first" };
    }
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let found = words.find_map(|word| RISKY_WORDS.iter().find(|risky| **risky == word));
    found.map_or(Risk::Plain, |word| Risk::Risky { word })
}

#[cfg(test)]
#[path = "risk_tests.rs"]
mod tests;
