//! The languages that people are spoken to in.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A language that the product speaks. What agents write is their own.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    #[default]
    En,
    De,
    Ru,
}

impl Language {
    pub const ALL: [Self; 3] = [Self::En, Self::De, Self::Ru];

    /// As it is stored, and as pages declare it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
            Self::Ru => "ru",
        }
    }

    /// What its speakers call it.
    pub const fn own_name(self) -> &'static str {
        match self {
            Self::En => "English",
            Self::De => "Deutsch",
            Self::Ru => "Русский",
        }
    }

    /// What it is called in English.
    pub const fn english_name(self) -> &'static str {
        match self {
            Self::En => "English",
            Self::De => "German",
            Self::Ru => "Russian",
        }
    }

    /// The language of a tag such as `de-AT` or `ru_RU`, if it is one of ours.
    pub fn of_tag(tag: &str) -> Option<Self> {
        let primary = tag.trim().split(['-', '_']).next().unwrap_or_default();
        Self::ALL.into_iter().find(|language| language.as_str().eq_ignore_ascii_case(primary))
    }

    /// The first of ours that somebody's list of languages names, as browsers send it: `fr, de;q=0.8`.
    pub fn of_list(list: &str) -> Option<Self> {
        let mut wanted: Vec<(u16, Self)> = Vec::new();
        for entry in list.split(',').take(32) {
            let (tag, quality) = entry.split_once(';').unwrap_or((entry, ""));
            let weight = thousandths(quality);
            if let Some(language) = Self::of_tag(tag).filter(|_| weight > 0) {
                wanted.push((weight, language));
            }
        }
        // Among equals the one that is named first.
        wanted.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
        wanted.first().map(|(_, language)| *language)
    }
}

/// `q=0.8` as 800; what can't be read counts as fully wanted.
fn thousandths(quality: &str) -> u16 {
    let value =
        quality.trim().strip_prefix("q=").and_then(|value| value.trim().parse::<f32>().ok());
    match value {
        Some(value) if (0.0..=1.0).contains(&value) => {
            let steps = (1..=1000_u16).rev().find(|step| f32::from(*step) <= value * 1000.0 + 0.5);
            steps.unwrap_or(0)
        }
        _ => 1000,
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no language of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{value:?} is not a language that is spoken here: en, de or ru")]
pub struct ParseLanguageError {
    pub value: String,
}

impl FromStr for Language {
    type Err = ParseLanguageError;

    /// A tag, or the language's own or English name.
    fn from_str(text: &str) -> Result<Self, ParseLanguageError> {
        let text = text.trim();
        let lower = text.to_lowercase();
        let named = |language: &Self| {
            language.own_name().to_lowercase() == lower
                || language.english_name().to_lowercase() == lower
        };
        let language = Self::ALL.into_iter().find(named).or_else(|| Self::of_tag(text));
        language.ok_or_else(|| ParseLanguageError { value: text.chars().take(40).collect() })
    }
}

#[cfg(test)]
#[path = "language_tests.rs"]
mod tests;
