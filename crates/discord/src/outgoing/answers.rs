//! Answers to slash commands: in the place of "is thinking…" for as long as Discord lets us.
//!
//! Promises: what is for one person alone is never said where others read it; a token of an interaction is in
//! memory and nowhere else.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloister_kit::part;
use cloister_protocol::surface::{ConversationKind, Posting, Recipient, SendError};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::markdown::render;
use super::message::{Attached, Message, Put};
use super::send::{Known, MessagePlace, meaning, nonce};
use crate::bot::Bot;
use crate::rest::{Fault, codes};

/// Discord takes answers for fifteen minutes.
const LIVES: Duration = Duration::from_secs(14 * 60 + 30);
/// How many are remembered; a person gives one command at a time.
const MOST_HELD: usize = 10_000;

const TOO_LATE: &str = "The answer to a command given here is for one person alone, and Discord no longer lets me \
                        show it to them privately. Give the command again, or give it to me in a direct message.";

const MAY_BE_A_REPETITION: &str =
    "I was interrupted while showing you what follows. If you have it already, ignore it.";

/// What is kept with a message of a person, to be known again when it is answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// The message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// The interaction that it was, if it was no message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) interaction: Option<String>,
    /// Its answer is for one person alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) private: bool,
}

impl Origin {
    pub(crate) fn to_json(&self) -> String {
        serde_json::json!(self).to_string()
    }

    pub(super) fn of(to: &Recipient) -> Self {
        let kept = to.origin.as_deref().unwrap_or_default();
        serde_json::from_str(kept).unwrap_or_default()
    }
}

/// Interactions that can still be answered.
#[derive(Debug, Default)]
pub(crate) struct AnswersState {
    held: Mutex<HashMap<String, Held>>,
}

#[derive(Clone)]
struct Held {
    token: String,
    private: bool,
    until: Instant,
    /// The key of what stands in the place of "is thinking…", and which message it is.
    first: Option<String>,
    original: Option<String>,
    /// The keys of what came after it and may be there: Discord does not know it again.
    in_doubt: HashSet<String>,
}

// The token answers in our name.
impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("private", &self.private).finish_non_exhaustive()
    }
}

impl AnswersState {
    fn held(&self) -> MutexGuard<'_, HashMap<String, Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self, id: &str, token: String, private: bool, now: Instant) {
        let mut held = self.held();
        if held.len() >= MOST_HELD {
            held.retain(|_, held| now < held.until);
        }
        if held.len() < MOST_HELD {
            let until = now + LIVES;
            let in_doubt = HashSet::new();
            let new = Held { token, private, until, first: None, original: None, in_doubt };
            held.insert(id.to_owned(), new);
        }
    }

    /// One that can still be answered.
    fn open(&self, id: &str, now: Instant) -> Option<Held> {
        self.held().get(id).filter(|held| now < held.until).cloned()
    }

    /// Whether what is said under a key stands in the place of "is thinking…": the first that asks.
    fn is_first(&self, id: &str, key: &str) -> bool {
        match self.held().get_mut(id) {
            Some(held) => held.first.get_or_insert_with(|| key.to_owned()) == key,
            None => false,
        }
    }

    fn is_there(&self, id: &str, message: &str) {
        if let Some(held) = self.held().get_mut(id) {
            held.original = Some(message.to_owned());
        }
    }

    /// Whether what is said under a key may be there already.
    fn doubt(&self, id: &str, key: &str, in_doubt: bool) {
        if let Some(held) = self.held().get_mut(id) {
            if in_doubt {
                held.in_doubt.insert(key.to_owned());
            } else {
                held.in_doubt.remove(key);
            }
        }
    }

    fn forget(&self, id: &str) {
        self.held().remove(id);
    }
}

/// Whether Discord takes no more answers to an interaction.
fn is_over(fault: &Fault) -> bool {
    let over = [codes::UNKNOWN_WEBHOOK, codes::UNKNOWN_INTERACTION, codes::INVALID_WEBHOOK_TOKEN];
    fault.code().is_some_and(|code| over.contains(&code))
}

part! {
    /// The answers to commands of the menu.
    pub(crate) struct Answers of Bot;
}

impl Answers {
    /// Keeps how a command can be answered that was acknowledged with "is thinking…". `private`: only who gave it
    /// sees the answer.
    pub(crate) fn hold(&self, interaction: &str, token: String, private: bool) {
        self.bot.answers.hold(interaction, token, private, Instant::now());
    }

    /// Answers a command that was acknowledged, at once. One that can't be answered any more is left alone.
    pub(crate) async fn answer_at_once(
        &self,
        interaction: &str,
        markdown: &str,
        private: bool,
    ) -> Result<(), SendError> {
        let message = Message::words(render(markdown));
        let key = format!("{interaction}/at once");
        let done = self.answer(interaction, (&key, private), &message, None).await?;
        if done.is_none() {
            tracing::debug!(interaction, "a command can't be answered any more");
        }
        Ok(())
    }

    /// Says something as the answer to a command: which message it became, or none if it has to be said otherwise.
    pub(super) async fn answer(
        &self,
        interaction: &str,
        (key, private): (&str, bool),
        message: &Message,
        file: Option<&Attached>,
    ) -> Result<Option<String>, SendError> {
        let memory = &self.bot.answers;
        let Some(held) = memory.open(interaction, Instant::now()) else { return Ok(None) };
        let private = private || held.private;
        if memory.is_first(interaction, key) {
            let place = MessagePlace::Original { token: &held.token };
            match self.bot.sending().put(place, message, Put::Instead, file).await {
                Ok(known) => {
                    memory.is_there(interaction, &known.id);
                    return Ok(Some(known.id));
                }
                // Somebody took "is thinking…" away.
                Err(fault) if fault.code() == Some(codes::UNKNOWN_MESSAGE) => {}
                Err(fault) if is_over(&fault) => {
                    memory.forget(interaction);
                    return Ok(None);
                }
                Err(fault) => return Err(meaning(fault)),
            }
        }
        if !private {
            // An ordinary message is not posted twice; an answer to a command might be.
            return Ok(None);
        }
        match self.put_after(interaction, &held, key, (message, file)).await {
            Ok(known) => Ok(Some(known.id)),
            Err(fault) if is_over(&fault) => {
                memory.forget(interaction);
                Ok(None)
            }
            Err(fault) => Err(meaning(fault)),
        }
    }

    /// Says something more to one person alone. Nothing tells Discord that it is the same again: a repetition is
    /// announced.
    async fn put_after(
        &self,
        interaction: &str,
        held: &Held,
        key: &str,
        (message, file): (&Message, Option<&Attached>),
    ) -> Result<Known, Fault> {
        let memory = &self.bot.answers;
        let (place, put) =
            (MessagePlace::After { token: &held.token }, Put::Answer { private: true });
        if held.in_doubt.contains(key) {
            let notice = Message::words(MAY_BE_A_REPETITION.to_owned());
            self.bot.sending().put(place, &notice, put, None).await?;
        }
        // Whoever is stopped now does not say what became of it.
        memory.doubt(interaction, key, true);
        let known = self.bot.sending().put(place, message, put, file).await;
        let in_doubt = matches!(known, Err(Fault::Unreachable(_)));
        memory.doubt(interaction, key, in_doubt || held.in_doubt.contains(key) && known.is_err());
        known
    }

    /// Puts something in the place of what a command was answered with; false if that has to be done otherwise.
    pub(super) async fn edit_answer(
        &self,
        interaction: &str,
        id: &str,
        message: &Message,
    ) -> Result<bool, SendError> {
        let memory = &self.bot.answers;
        let Some(held) = memory.open(interaction, Instant::now()) else { return Ok(false) };
        let place = if held.original.as_deref() == Some(id) {
            MessagePlace::Original { token: &held.token }
        } else if held.private {
            MessagePlace::Answered { token: &held.token, message: id }
        } else {
            return Ok(false);
        };
        match self.bot.sending().put(place, message, Put::Instead, None).await {
            Ok(_known) => Ok(true),
            Err(fault) if is_over(&fault) => {
                memory.forget(interaction);
                Ok(false)
            }
            Err(fault) => Err(meaning(fault)),
        }
    }

    /// Says, once, that there is an answer that can't be shown to its person any more.
    pub(super) async fn too_late(
        &self,
        to: &Recipient,
        interaction: &str,
    ) -> Result<String, SendError> {
        let channel = self.bot.sending().channel_of(to)?;
        let nonce = nonce(&[&self.bot.id().number().to_string(), interaction, "too late"]);
        let put = Put::New { nonce: &nonce, answers: None };
        let message = Message::words(TOO_LATE.to_owned());
        let known =
            self.bot.sending().put(MessagePlace::Channel(channel), &message, put, None).await;
        known.map(|known| known.id).map_err(meaning)
    }
}

/// What becomes of a posting that can't be shown as the answer to a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Otherwise {
    /// It is an ordinary message.
    Ordinary,
    /// Others would read what is for one person: that it came too late is said instead.
    TooLate,
    /// The same, and it need not be said yet.
    Nothing,
}

impl Otherwise {
    pub(super) fn of(origin: &Origin, kind: ConversationKind, post: &Posting) -> Self {
        let for_one = origin.private && kind == ConversationKind::Shared;
        match post {
            // A question is for whoever may answer it, for as long as it waits.
            Posting::Question { .. } => Self::Ordinary,
            Posting::Answer { .. } | Posting::Notice { .. } | Posting::File(_) if !for_one => {
                Self::Ordinary
            }
            Posting::Answer { unfinished: true, .. } => Self::Nothing,
            Posting::Answer { .. } | Posting::Notice { .. } | Posting::File(_) => Self::TooLate,
        }
    }
}

/// Why nothing takes the place of an answer for one person that can't be reached any more.
pub(super) fn not_shown() -> SendError {
    SendError::Refused("Discord no longer lets this answer be shown to its person".to_owned())
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
