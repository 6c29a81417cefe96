//! An error is logged with all its causes: `error = with_causes(&error)`, or its `chain()`.
//!
//! `%error` writes the outermost words alone, and "the query failed" hides that the disk is full. So no error goes
//! into the log by itself, whatever its type is today.

use std::collections::BTreeSet;

use super::source::{bracketed, is_word, line_of, product};

/// What writes to a log. The agent's is for whoever reads the log of a sandbox.
const LOGS: &[&str] = &[
    "tracing::error!(",
    "tracing::warn!(",
    "tracing::info!(",
    "tracing::debug!(",
    "tracing::trace!(",
    "log::line(",
];

/// Names of errors that have nothing behind them.
const WITHOUT_CAUSES: &[(&str, &str)] = &[
    ("fault", "why a platform did not take something: made of words, with the cause in them"),
    ("full", "tokio's TryAcquireError: there is no place, or no semaphore"),
    ("halt", "why the courier stopped: no error, and shown with all that is in it"),
];

/// How the name of an error begins where it is bound.
const BINDS: &[&str] = &["Err(", "Err(ref ", "_err(|"];

fn word(text: &str) -> &str {
    text.split(|character| !is_word(character)).next().unwrap_or_default()
}

/// What errors are called in this file.
fn errors(text: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::from(["error", "err"]);
    for bind in BINDS {
        let bound = text.match_indices(bind).filter_map(|(at, _)| text.get(at + bind.len()..));
        // `Err(Halt::…)` names no error.
        names.extend(bound.map(word).filter(|name| name.starts_with(char::is_lowercase)));
    }
    // `|name: reqwest::Error|`, `name: &dyn std::error::Error`
    for (at, _) in text.match_indices(": ") {
        let kind = text.get(at + 2..).unwrap_or_default();
        let kind = kind.trim_start_matches("&dyn ").trim_start_matches('&');
        let kind = kind.split([',', '|', ')', ' ', '\n', '=', ';']).next().unwrap_or_default();
        if kind.ends_with("Error") {
            let name = text.get(..at).unwrap_or_default();
            names.insert(name.rsplit(|character| !is_word(character)).next().unwrap_or_default());
        }
    }
    names.retain(|name| !name.is_empty() && *name != "self");
    names
}

/// How `said`, the inside of a call, has the words of the error `name` and nothing behind them.
fn alone(said: &str, name: &str) -> Option<String> {
    let forms = [
        format!("%{name}"),
        format!("?{name}"),
        format!("{{{name}"),
        format!(" {name}.to_string("),
        format!("&{name}.to_string("),
    ];
    let is_there = |form: &String| {
        let mut ends = said.match_indices(form.as_str()).map(|(at, found)| at + found.len());
        ends.any(|end| !said.get(end..).unwrap_or_default().starts_with(is_word))
    };
    forms.into_iter().find(is_there)
}

fn offences(name: &str, text: &str) -> Vec<String> {
    let mut errors = errors(text);
    errors.retain(|error| !WITHOUT_CAUSES.iter().any(|(fine, _)| fine == error));
    let mut found = Vec::new();
    for log in LOGS {
        for (at, _) in text.match_indices(log) {
            let said = bracketed(text, at + log.len());
            if let Some(form) = errors.iter().find_map(|error| alone(said, error)) {
                found.push(format!("{name}:{}: {}", line_of(text, at), form.trim()));
            }
        }
    }
    found
}

/// Where an error that is made into a text goes on as one: what logs that later has no causes left to write.
const FLATTENING: &[&str] = &["control/", "kit/", "broker/"];

/// Errors that become texts without their causes.
fn flattened(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, bind) in text.match_indices("_err(|") {
        let rest = text.get(at + bind.len()..).unwrap_or_default();
        let error = word(rest);
        let said = rest.get(error.len()..).unwrap_or_default().trim_start_matches(['|', ' ', '\n']);
        if said.starts_with(&format!("{error}.to_string()")) {
            found.push(format!("{name}:{}: {error}.to_string()", line_of(text, at)));
        }
    }
    for (at, call) in text.match_indices("format!(") {
        let said = bracketed(text, at + call.len());
        for error in ["error", "err"] {
            let is_whole = [format!("{error} = with_causes("), format!("{error} = {error}.chain(")];
            let form =
                alone(said, error).filter(|_| !is_whole.iter().any(|whole| said.contains(whole)));
            found.extend(form.map(|form| format!("{name}:{}: {form}", line_of(text, at))));
        }
    }
    found
}

#[test]
fn an_error_becomes_a_text_with_its_causes() {
    let files = product();
    let ours =
        files.iter().filter(|(name, _)| FLATTENING.iter().any(|part| name.starts_with(part)));
    let found: Vec<String> = ours.flat_map(|(name, text)| flattened(name, text)).collect();
    let count = found.len();
    assert!(
        found.is_empty(),
        "{count} places make a text of an error without its causes (write `with_causes(&error)`; what is a text \
         already is no `error`):\n{}",
        found.join("\n")
    );
    for lost in
        ["x.map_err(|late| late.to_string())?", "Err(error) => format!(\"it failed: {error}\"),"]
    {
        assert_eq!(flattened("it.rs", lost).len(), 1, "{lost}");
    }
    for whole in [
        "x.map_err(|late| with_causes(&late))?",
        "Err(error) => format!(\"it failed: {error}\", error = with_causes(&error)),",
    ] {
        assert_eq!(flattened("it.rs", whole), Vec::<String>::new(), "{whole}");
    }
}

#[test]
fn an_error_is_logged_with_its_causes() {
    let files = product();
    let found: Vec<String> = files.iter().flat_map(|(name, text)| offences(name, text)).collect();
    let count = found.len();
    assert!(
        found.is_empty(),
        "{count} places log an error without its causes (write `error = with_causes(&error)`):\n{}",
        found.join("\n")
    );
}

#[test]
fn every_way_to_lose_a_cause_is_seen() {
    let lost = [
        "Err(error) => tracing::warn!(%error, \"it failed\"),",
        "Err(error) => tracing::warn!(user = %name, ?error, \"it failed\"),",
        "Err(broken) => tracing::warn!(error = %broken, \"it failed\"),",
        "x.map_err(|late| tracing::debug!(\"it failed: {late}\"))",
        "Err(error) => tracing::error!(\n    error = error.to_string(),\n    \"it failed\"\n),",
        "let f = |cause: reqwest::Error| tracing::error!(%cause, \"it failed\");",
        "fn f(why: &dyn std::error::Error) { tracing::error!(%why, \"it failed\"); }",
        "Err(error) => log::line(format_args!(\"it failed: {error}\")),",
    ];
    for text in lost {
        assert_eq!(offences("it.rs", text).len(), 1, "{text}");
    }
    let told = [
        "Err(error) => tracing::warn!(error = with_causes(&error), \"it failed\"),",
        "Err(error) => tracing::warn!(error = error.chain(), user = %name, \"it failed\"),",
        "Err(error) => Err(format!(\"{error}\")),",
        "Err(error_code) => tracing::warn!(%error_codes, \"it failed\"),",
    ];
    for text in told {
        assert_eq!(offences("it.rs", text), Vec::<String>::new());
    }
}
