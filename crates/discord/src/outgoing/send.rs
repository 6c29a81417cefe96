//! Putting one message there: under a nonce that is the same after a kill, within a bounded time, with what went
//! wrong in the words that the control plane acts on.

use std::time::Duration;

use cloister_protocol::surface::{Recipient, SendError};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::Sending;
use super::message::{Attached, Message, Put};
use crate::bot::{self};
use crate::rest::{Fault, File, Request, at, codes};
use crate::wire::snowflake;

/// How long a nonce may be.
const NONCE_BYTES: usize = 12;
/// The slowest upload that is waited for, in bytes per second.
const SLOWEST: u64 = 50_000;
/// "Request entity too large".
const TOO_LARGE: u64 = 40_005;
/// "Cannot send messages to this user due to having no mutual guilds".
const NO_MUTUAL_GUILDS: u64 = 50_278;

/// "Cannot reply without permission to read message history".
const CANNOT_REPLY: u64 = 160_002;
/// "Invalid Form Body".
const WRONG_FORM: u64 = 50_035;
/// From here on, codes are about what a message says: a server's own rules about words and links.
const ABOUT_WORDS: u64 = 200_000;

/// Where a message is put.
#[derive(Clone, Copy)]
pub(super) enum MessagePlace<'a> {
    Channel(u64),
    Message {
        channel: u64,
        message: u64,
    },
    /// What a command was acknowledged with.
    Original {
        token: &'a str,
    },
    /// After it.
    After {
        token: &'a str,
    },
    /// One of those.
    Answered {
        token: &'a str,
        message: &'a str,
    },
}

/// As much of a message as is wanted of an answer.
#[derive(Deserialize)]
pub(super) struct Known {
    pub(super) id: String,
    #[serde(default)]
    embeds: Option<Vec<serde::de::IgnoredAny>>,
}

impl Known {
    /// Whether a frame was taken off without a word.
    pub(super) fn lost_frame(&self, message: &Message) -> bool {
        message.frame.is_some() && self.embeds.as_ref().is_some_and(Vec::is_empty)
    }
}

impl Sending {
    /// Puts a message there and says which it is.
    pub(super) async fn put(
        &self,
        place: MessagePlace<'_>,
        message: &Message,
        put: Put<'_>,
        file: Option<&Attached>,
    ) -> Result<Known, Fault> {
        let application = self.bot.application();
        let request = match place {
            MessagePlace::Channel(channel) => Request::post(at::messages(channel)),
            MessagePlace::Message { channel, message } => {
                Request::patch(at::message(channel, message))
            }
            MessagePlace::Original { token } => {
                Request::patch(at::answered(application, token, "@original")).by_token()
            }
            MessagePlace::After { token } => {
                Request::post(at::after(application, token)).by_token()
            }
            MessagePlace::Answered { message, .. } if snowflake(message).is_none() => {
                return Err(no_message(message));
            }
            MessagePlace::Answered { token, message } => {
                Request::patch(at::answered(application, token, message)).by_token()
            }
        };
        if let MessagePlace::Channel(channel) | MessagePlace::Message { channel, .. } = place {
            self.bot.sending.pace.note(channel, Instant::now());
        }
        let payload = message.payload(put, file);
        let patience = file.map_or(0, |file| file.data.len() as u64 / SLOWEST);
        let within = self.bot.options.request_timeout() + Duration::from_secs(patience);
        let request = match file {
            Some(Attached { name, data, .. }) => {
                request.with_file(&payload, &File { name, data })?
            }
            None => request.saying(&payload)?,
        };
        self.bot.rest.read(within, request).await
    }

    /// The channel of a conversation.
    pub(super) fn channel_of(&self, to: &Recipient) -> Result<u64, SendError> {
        let Some(id) = &to.conversation.external_id else {
            return Err(SendError::Unreachable("the conversation is not made yet".to_owned()));
        };
        bot::channel(id).ok_or_else(|| SendError::Gone(format!("{id} is no channel of Discord")))
    }

    /// The nonce of one message; the same for the same key, always. Keys count rows, and begin again where an older
    /// database is put back: what is answered tells such a row from the one that had its number before.
    pub(super) fn nonce(&self, to: &Recipient, key: &str) -> String {
        nonce(&[
            &self.bot.id().number().to_string(),
            &to.conversation.id.number().to_string(),
            key,
            to.origin.as_deref().unwrap_or_default(),
        ])
    }
}

pub(super) fn no_message(id: &str) -> Fault {
    Fault::Refused { code: 0, message: format!("{id} is no message of Discord") }
}

/// Of as many characters as Discord takes.
pub(super) fn nonce(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    digest.iter().take(NONCE_BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// What a failure means to who wants to post.
pub(crate) fn meaning(fault: Fault) -> SendError {
    match fault {
        // What stands before Discord does not know the address; Discord itself would say what is unknown.
        Fault::Gone { code: 0, message } => SendError::Unreachable(message),
        Fault::Gone { code: codes::UNKNOWN_CHANNEL, .. } => {
            SendError::Gone("the channel is not there any more".to_owned())
        }
        Fault::Gone { code: codes::UNKNOWN_MESSAGE, .. } => {
            SendError::Refused("the message is not there any more".to_owned())
        }
        Fault::Forbidden { code: codes::MISSING_ACCESS, .. } => {
            SendError::Gone("the bot does not see the channel any more".to_owned())
        }
        Fault::Forbidden { code: codes::MISSING_PERMISSIONS, .. } => {
            SendError::Gone("the bot may not write in the channel".to_owned())
        }
        Fault::Forbidden { code: NO_MUTUAL_GUILDS, .. } => {
            SendError::Gone("the bot and the person have no server in common".to_owned())
        }
        Fault::Refused { code: TOO_LARGE, .. } => SendError::Refused(
            "Discord takes no file as large as this; 10 MB is what it takes from a bot".to_owned(),
        ),
        Fault::Forbidden { code, message } if code >= ABOUT_WORDS => SendError::Refused(message),
        other => other.for_sending(),
    }
}

/// Whether a plainer message might be taken.
pub(super) fn is_too_fancy(fault: &Fault, put: Put<'_>) -> bool {
    match fault.code() {
        Some(codes::MISSING_PERMISSIONS | CANNOT_REPLY) => true,
        Some(WRONG_FORM) => put.answers_nothing() != put,
        Some(_) | None => false,
    }
}

/// What a failure means to who wants to post a file: where there may be none, there may be words.
pub(super) fn meaning_of_file(fault: Fault) -> SendError {
    match fault {
        Fault::Forbidden { code: codes::MISSING_PERMISSIONS, .. } => {
            SendError::Refused("the bot may not send files in this channel".to_owned())
        }
        other => meaning(other),
    }
}

/// What a failure means to who wants to edit: what can't be edited can be posted anew.
pub(super) fn meaning_of_edit(fault: Fault) -> SendError {
    match fault {
        Fault::Refused { code: codes::THREAD_ARCHIVED, .. } => {
            SendError::Refused("the thread is archived".to_owned())
        }
        other => meaning(other),
    }
}

#[cfg(test)]
#[path = "send_tests.rs"]
mod tests;
