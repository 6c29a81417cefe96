//! Witnesses of the audit that are reached over the network: a webhook, and a bucket of an S3 store.
//!
//! Promises: a try has a time and tries have a number; a redirect is not followed; no key is in a name, a log or
//! an error.

mod s3;
mod signature;
mod webhook;

use cloister_protocol::with_causes;
use std::sync::Arc;
use std::time::Duration;

use cloister_control::ports::CheckpointWitness;
use cloister_control::{AuditOptions, Books, S3Witness};
use cloister_kit::Backoff;
use cloister_vault::{Owner, SecretName};
use reqwest::StatusCode;

use s3::Bucket;
use webhook::Webhook;

/// How long one try may take.
const TRY_TIME: Duration = Duration::from_secs(8);
const TRIES: u32 = 3;
/// The waits between tries.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub enum WitnessSetupError {
    #[error("[audit] {setting}: {value:?} is not an address: {problem}")]
    Address { setting: &'static str, value: String, problem: String },
    #[error("[audit] witness_s3: set secret_key_env or secret_key_secret, and not both")]
    SecretKey,
    #[error("[audit] witness_s3: {0}")]
    SecretName(#[from] cloister_protocol::ParseIdError),
    #[error("[audit] {variable} holds nothing in the control plane's environment")]
    NoVariable { variable: String },
    #[error("the client for the witnesses of the audit could not be made")]
    Client(#[source] reqwest::Error),
}

/// The witnesses that the settings name.
pub fn witnesses(
    options: &AuditOptions,
    books: &Books,
) -> Result<Vec<Arc<dyn CheckpointWitness>>, WitnessSetupError> {
    let mut all: Vec<Arc<dyn CheckpointWitness>> = Vec::new();
    if options.witness_webhook.is_none() && options.witness_s3.is_none() {
        return Ok(all);
    }
    let client = crate::client::builder()
        .connect_timeout(TRY_TIME)
        .timeout(TRY_TIME)
        .build()
        .map_err(WitnessSetupError::Client)?;
    if let Some(url) = &options.witness_webhook {
        let url = address("witness_webhook", url)?;
        let token = options.witness_webhook_token_env.as_deref().map(variable).transpose()?;
        all.push(Arc::new(Webhook::new(client.clone(), url, token)));
    }
    if let Some(bucket) = &options.witness_s3 {
        let endpoint = address("witness_s3.endpoint", &bucket.endpoint)?;
        let secret = secret_key(bucket, books)?;
        all.push(Arc::new(Bucket::new(client, &endpoint, bucket, secret)));
    }
    Ok(all)
}

fn address(setting: &'static str, value: &str) -> Result<url::Url, WitnessSetupError> {
    let wrong = |problem: &str| WitnessSetupError::Address {
        setting,
        value: value.to_owned(),
        problem: problem.to_owned(),
    };
    let url = url::Url::parse(value).map_err(|error| wrong(&error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() && url.username().is_empty() => Ok(url),
        _ => Err(wrong("it starts with http:// or https://, and has no password in it")),
    }
}

/// Where the secret half of a bucket's key comes from.
enum SecretKey {
    Said(String),
    /// A secret of the platform, opened for each use.
    Kept {
        books: Books,
        name: SecretName,
    },
}

impl SecretKey {
    async fn read(&self) -> Result<String, String> {
        match self {
            Self::Said(key) => Ok(key.clone()),
            Self::Kept { books, name } => {
                let opened = books.open_secret(Owner::Platform, name).await;
                let opened = opened.map_err(|error| with_causes(&error))?;
                let text = std::str::from_utf8(opened.value.expose());
                text.map(str::to_owned).map_err(|error| {
                    format!("the secret {name} is no text: {error}", error = with_causes(&error))
                })
            }
        }
    }
}

fn secret_key(bucket: &S3Witness, books: &Books) -> Result<SecretKey, WitnessSetupError> {
    match (&bucket.secret_key_env, &bucket.secret_key_secret) {
        (Some(name), None) => variable(name).map(SecretKey::Said),
        (None, Some(name)) => Ok(SecretKey::Kept { books: books.clone(), name: name.parse()? }),
        (Some(_), Some(_)) | (None, None) => Err(WitnessSetupError::SecretKey),
    }
}

#[expect(clippy::disallowed_methods, reason = "a variable that the settings name as a key's place")]
fn variable(name: &str) -> Result<String, WitnessSetupError> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty());
    value.ok_or_else(|| WitnessSetupError::NoVariable { variable: name.to_owned() })
}

/// What became of a try.
enum Tried {
    Kept,
    /// It is of no use to try again at once.
    Refused(String),
    Failed(String),
}

/// What an answer says; only the status, for its words may be anybody's.
fn judged(answer: Result<reqwest::Response, reqwest::Error>, also: &[StatusCode]) -> Tried {
    match answer {
        Ok(answer) if answer.status().is_success() || also.contains(&answer.status()) => {
            Tried::Kept
        }
        Ok(answer) => {
            let status = answer.status();
            let said = format!("it answered {status}");
            let again = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
            if again { Tried::Failed(said) } else { Tried::Refused(said) }
        }
        Err(error) => Tried::Failed(error.without_url().to_string()),
    }
}

/// Tries a few times; what fails then is tried again with the next checkpoint.
async fn persist<F: Future<Output = Tried>>(mut attempt: impl FnMut() -> F) -> Result<(), String> {
    let mut wait = Backoff::between(FIRST_WAIT, LONGEST_WAIT);
    for again in (0..TRIES).rev() {
        match attempt().await {
            Tried::Kept => return Ok(()),
            Tried::Refused(why) => return Err(why),
            Tried::Failed(why) if again == 0 => return Err(why),
            Tried::Failed(_) => tokio::time::sleep(wait.pause()).await,
        }
    }
    Err("it was not tried".to_owned())
}

#[cfg(test)]
#[path = "witness_tests.rs"]
mod tests;
