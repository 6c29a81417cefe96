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

/// Verbs that destroy or reach other people. Matched as whole words, in the forms people use.
const RISKY_WORDS: &[&str] = &[
    "delete",
    "deleting",
    "destroy",
    "drop",
    "erase",
    "format",
    "overwrite",
    "purge",
    "reset",
    "rm",
    "shred",
    "truncate",
    "uninstall",
    "wipe",
    "buy",
    "deploy",
    "pay",
    "publish",
    "purchase",
    "transfer",
    "удали",
    "удалить",
    "сотри",
    "стереть",
    "очисти",
    "перезапиши",
    "оплати",
    "опубликуй",
];

/// Words that soften: the person speaks of the thing, not of doing it.
const HARMLESS_AFTER: &[&str] = &["drop-down", "dropdown", "format as", "formatted"];

/// Judges the person's own words.
pub fn of_request(words: &str) -> Risk {
    let lower = words.to_lowercase();
    if lower.contains("plan first") || lower.contains("сначала план") {
        return Risk::Risky { word: "plan first" };
    }
    let harmless = HARMLESS_AFTER.iter().any(|phrase| lower.contains(phrase));
    let tokens = lower.split(|c: char| !c.is_alphanumeric());
    for token in tokens {
        let found = RISKY_WORDS.iter().find(|word| **word == token);
        match found {
            Some(&("drop" | "format")) if harmless => {}
            Some(word) => return Risk::Risky { word },
            None => {}
        }
    }
    Risk::Plain
}

#[cfg(test)]
#[path = "risk_tests.rs"]
mod tests;
