//! The language of a page: what its person chose, else what their browser asks for, else what is known of them elsewhere.
//! A page for nobody in particular goes by the browser alone.

use axum::http::{HeaderMap, header};
use cloister_control::Control;
use cloister_protocol::{Language, UserId};

/// A sentence with markup in it: like [`say!`](cloister_words::say), with pieces of pages for what it names. The sentence
/// itself stands in the code and the catalogues, where a test finds no character that means something in HTML.
macro_rules! phrase {
    ($to:expr, $text:literal $(, $name:ident = $value:expr)+ $(,)?) => {{
        const { assert!(cloister_words::names_all($text, &[$(stringify!($name)),+]), "the sentence names other things than are given") };
        let pieces: &[(&'static str, ::maud::Markup)] = &[$((stringify!($name), $value)),+];
        let given: Vec<(&str, &dyn ::core::fmt::Display)> =
            pieces.iter().map(|(name, piece)| (*name, &piece.0 as &dyn ::core::fmt::Display)).collect();
        ::maud::PreEscaped(cloister_words::sentence($to, $text, &given))
    }};
}
pub(crate) use phrase;

/// What a browser asks for, if it is a language of ours.
pub(crate) fn asked_by(headers: &HeaderMap) -> Option<Language> {
    Language::of_list(headers.get(header::ACCEPT_LANGUAGE)?.to_str().ok()?)
}

/// For whoever is not logged in.
pub(crate) fn of_browser(control: &Control, headers: &HeaderMap) -> Language {
    asked_by(headers).unwrap_or(control.people().languages().default_language())
}

/// For a person who looks through a browser: a page is shown also where what they chose can't be read.
pub(crate) async fn of_person(control: &Control, user: UserId, headers: &HeaderMap) -> Language {
    match control.people().languages().read_language(user).await {
        Ok(read) => {
            let known = read.chosen.or(asked_by(headers)).or(read.heard);
            known.unwrap_or(control.people().languages().default_language())
        }
        Err(error) => {
            tracing::error!(error = error.chain(), "the language of a person could not be read");
            of_browser(control, headers)
        }
    }
}

#[cfg(test)]
#[path = "language_tests.rs"]
mod tests;
