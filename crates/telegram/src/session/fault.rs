//! What a failed request means: wait, try again, go elsewhere, or give up.

use std::time::Duration;

use cloister_protocol::last_cause;
use serde::Deserialize;

/// The longest that Telegram may ask to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// What a wait lasts if Telegram does not say.
const USUAL_WAIT: Duration = Duration::from_secs(5);
/// The most of what an answer says that is kept.
const MOST_WORDS: usize = 300;

/// Why a request was not done. Nothing in here holds the token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// Too fast.
    #[error("Telegram asks to wait {} s", .0.as_secs())]
    Wait(Duration),
    /// It may work later. Whether it got there is not known.
    #[error("{0}")]
    Unreachable(String),
    /// The group has another id now.
    #[error("the group is chat {0} now")]
    Migrated(i64),
    /// The message says that already.
    #[error("it says that already")]
    NotModified,
    /// The marks in a text are not taken.
    #[error("the text's marks are not taken: {0}")]
    CantParse(String),
    /// The topic is deleted, or never was.
    #[error("the topic is gone")]
    ThreadGone,
    /// Nothing reaches that chat: blocked, removed, deleted.
    #[error("the chat is gone: {0}")]
    Gone(String),
    /// The token is not taken.
    #[error("Telegram does not take the bot's token")]
    Unauthorized,
    /// Somebody else reads this bot's updates.
    #[error("another program reads this bot's updates, or a webhook is set elsewhere")]
    Conflict,
    /// Anything else that will not be done.
    #[error("Telegram refuses it ({code}): {description}")]
    Refused { code: u64, description: String },
}

/// An answer that something was not done, as far as it is looked at.
#[derive(Deserialize)]
struct Told {
    error_code: u64,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Option<Parameters>,
}

#[derive(Deserialize)]
struct Parameters {
    #[serde(default)]
    migrate_to_chat_id: Option<i64>,
    /// In seconds, and of any length.
    #[serde(default)]
    retry_after: Option<f64>,
}

impl Fault {
    /// What an answer means that says why something was not done.
    pub(crate) fn of_answer(input: &str) -> Self {
        match serde_json::from_str::<Told>(input) {
            Ok(told) => Self::of_told(&told),
            Err(error) => unread(&error),
        }
    }

    /// What an answer means whose result could not be read.
    pub(crate) fn of_unread(input: &str, error: &serde_json::Error) -> Self {
        match serde_json::from_str::<Told>(input) {
            Ok(told) => Self::of_told(&told),
            Err(_) => unread(error),
        }
    }

    /// What a failed request of the client itself means.
    pub(crate) fn of_http(error: reqwest::Error) -> Self {
        // The address holds the token.
        let error = error.without_url();
        if error.is_timeout() {
            return Self::late();
        }
        let what = if error.is_connect() { "no connection" } else { "the request failed" };
        Self::Unreachable(short(&format!("{what}: {}", last_cause(&error))))
    }

    pub(crate) fn late() -> Self {
        Self::Unreachable("no answer in time".to_owned())
    }

    fn of_told(told: &Told) -> Self {
        let (code, words) = (told.error_code, told.description.as_str());
        let parameters = told.parameters.as_ref();
        if let Some(to) = parameters.and_then(|told| told.migrate_to_chat_id) {
            return Self::Migrated(to);
        }
        let said = words.to_lowercase();
        let says = |any: &[&str]| any.iter().any(|part| said.contains(part));
        match code {
            429 => Self::Wait(wait(parameters.and_then(|told| told.retry_after))),
            401 => Self::Unauthorized,
            // What is no token at all is answered so; a method that it does not know, with more words.
            404 if said.trim() == "not found" => Self::Unauthorized,
            409 => Self::Conflict,
            // It may speak there, and not do this.
            403 if says(&["_create_forbidden", "not enough rights to", "topic"]) => {
                Self::Refused { code, description: short(words) }
            }
            403 => Self::Gone(short(words)),
            400 if says(&["is not modified", "topic_not_modified"]) => Self::NotModified,
            400 if says(&["can't parse", "can't find end", "unsupported start tag"]) => {
                Self::CantParse(short(words))
            }
            400 if says(THREAD_GONE) => Self::ThreadGone,
            400 if says(CHAT_GONE) => Self::Gone(short(words)),
            500..=599 => Self::Unreachable(short(&format!("it answered {code}: {words}"))),
            _ => Self::Refused { code, description: short(words) },
        }
    }

    /// What went wrong, as the metrics count it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Wait(_) => "rate_limited",
            Self::Unreachable(why) if why == "no answer in time" => "timeout",
            Self::Unreachable(why) if why.starts_with("it answered") => "server_error",
            Self::Unreachable(_) => "unreachable",
            _ => "other",
        }
    }

    /// Whether the same request may be taken later.
    pub(crate) const fn passes(&self) -> bool {
        matches!(self, Self::Wait(_) | Self::Unreachable(_) | Self::Conflict)
    }
}

/// The answer itself is left out: it may be a page of HTML, or somebody's words.
fn unread(error: &serde_json::Error) -> Fault {
    Fault::Unreachable(format!("its answer could not be read: {error}"))
}

const THREAD_GONE: &[&str] = &[
    "message thread not found",
    "topic_deleted",
    "topic_id_invalid",
    "thread_id_invalid",
    "topic not found",
];

const CHAT_GONE: &[&str] = &[
    "chat not found",
    "chat_write_forbidden",
    "group chat was deactivated",
    "group chat was deleted",
    "peer_id_invalid",
    "user is deactivated",
    "user_is_deactivated",
    "have no rights to send",
    "not enough rights to send",
    "need administrator rights in the channel",
    "bot is not a member",
    "bot was kicked",
    "bot was blocked",
];

fn wait(seconds: Option<f64>) -> Duration {
    seconds.map_or(USUAL_WAIT, |seconds| {
        let asked = Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(LONGEST_WAIT);
        asked.clamp(Duration::from_secs(1), LONGEST_WAIT)
    })
}

fn short(words: &str) -> String {
    words.chars().take(MOST_WORDS).collect()
}

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
