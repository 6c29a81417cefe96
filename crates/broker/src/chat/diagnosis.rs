//! What a failed test of a model means for the person who connects it: which of address, key and
//! model id is wrong, and what to do.

use cloister_control::books::Model;
use cloister_protocol::{ErrorBody, ErrorCode};

use super::failure::Failure;

/// What was tried.
#[derive(Clone, Copy)]
pub(super) struct AskedModel<'a> {
    pub(super) model: &'a Model,
    pub(super) has_key: bool,
}

pub(super) fn diagnosis(failure: &Failure, asked: AskedModel<'_>) -> ErrorBody {
    let url = &asked.model.base_url;
    let (message, fix) = match failure {
        Failure::Status { code, said, .. } => status(*code, &said.to_string(), asked),
        Failure::Reported { said } if speaks_of_model(&said.0) => unknown_model(failure, asked),
        Failure::Stopped => (failure.to_string(), "Operators release it: `cloister release`."),
        Failure::Key(_) => (failure.to_string(), "Give the key again."),
        Failure::Connect { .. } => (
            format!("the address is wrong or nothing runs there: {url}: {failure}"),
            "Check the base URL, letter by letter; a model on your own machine must be running.",
        ),
        Failure::FirstByte(_) | Failure::Idle(_) | Failure::OutOfTime(_) => (
            format!("{url} did not answer in time: {failure}"),
            "Try again in a moment; a model on your own machine may still be loading.",
        ),
        Failure::Malformed(_) | Failure::Cut | Failure::Lost => (
            format!(
                "what answers at {url} does not speak the OpenAI-compatible protocol: {failure}"
            ),
            "Check the base URL: most end in /v1.",
        ),
        Failure::Empty | Failure::Endless => (
            format!("{url} took the question, and {failure}"),
            "Try again; a model that never says anything, or never ends, can't be used.",
        ),
        Failure::Reported { .. } => (format!("{url}: {failure}"), "Try again in a moment."),
    };
    let body = ErrorBody::new(ErrorCode::ModelUnavailable, message);
    ErrorBody { fix: Some(fix.to_owned()), ..body }
}

fn status(code: u16, said: &str, asked: AskedModel<'_>) -> (String, &'static str) {
    let url = &asked.model.base_url;
    let answered = format!("it answered {code}{said}");
    match code {
        401 | 403 if asked.has_key => (
            format!("the key was refused by {url}: {answered}"),
            "Paste the key again, and check that it is of this provider and still valid.",
        ),
        401 | 403 => {
            (format!("{url} wants a key: {answered}"), "Give the key of your account there.")
        }
        402 => (
            format!("the account at {url} can't pay: {answered}"),
            "Add credit to the account, then try again.",
        ),
        400 | 404 | 422 if speaks_of_model(said) => unknown_model(&answered, asked),
        404 | 405 => (
            format!("the address is wrong: there is nothing at {url}/chat/completions: {answered}"),
            "Check the base URL: most end in /v1, and it goes without /chat/completions.",
        ),
        300..=399 => (
            format!("{url} only points to another address: {answered}"),
            "Give the address that it points to; often https:// in place of http://.",
        ),
        429 => (
            format!("{url} is busy, or the account has no credit: {answered}"),
            "Try again in a minute, and look at the account's credit.",
        ),
        _ => (format!("{url} failed: {answered}"), "Try again in a moment, or try another model."),
    }
}

fn unknown_model(
    failure: &impl std::fmt::Display,
    asked: AskedModel<'_>,
) -> (String, &'static str) {
    let Model { base_url, model, .. } = asked.model;
    (
        format!("the model {model:?} is not known at {base_url}: {failure}"),
        "Copy the model's id from the provider's list of models.",
    )
}

fn speaks_of_model(said: &str) -> bool {
    said.to_lowercase().contains("model")
}

#[cfg(test)]
#[path = "diagnosis_tests.rs"]
mod tests;
