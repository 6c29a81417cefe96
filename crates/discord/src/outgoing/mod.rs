//! From what is to be told to messages of Discord.
//!
//! Promises: a key is one message, also after a kill, as far as Discord can tell; nothing that an agent writes
//! rings a bell, loads anything or passes for something else; what is for one person is shown to one person; every
//! request ends within a bounded time.

mod answers;
mod buttons;
mod files;
mod frames;
mod links;
mod lookback;
mod markdown;
mod message;
mod pace;
mod questions;
mod send;
mod tables;
mod text;

use std::time::Duration;

use cloister_kit::{Surface, part};
use cloister_protocol::surface::{
    Button, ConnectorId, ConversationKind, Manners, Measure, Posting, Recipient, SendError,
    Streaming, StreamingBy,
};
use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::time::Instant;

pub(crate) use answers::{Answers, AnswersState, Origin};
pub(super) use send::meaning;
pub(super) use text::one_line;

use super::bot::{self, Bot};
use super::rest::{Request, at};
use answers::{Otherwise, not_shown};
use frames::Frames;
use markdown::render;
use message::{Attached, Frame, Message, Put};
use pace::Pace;
use send::{MessagePlace, meaning_of_edit, meaning_of_file, nonce};

const TYPING_LASTS: Duration = Duration::from_secs(10);
/// As long as an indicator that helps nobody may hold something up.
const TYPING_WAITS: Duration = Duration::from_secs(5);
/// The least time between two edits, whatever the settings say.
const FASTEST_EDIT: Duration = Duration::from_secs(1);
/// How many files are in memory at once.
const FILES_AT_ONCE: usize = 2;
/// The colour of what is only to be known.
const NOTICE: u32 = 0x5A_7D_9A;

/// What is remembered of what is sent while the bot runs.
#[derive(Debug)]
pub(crate) struct SendingState {
    files: Semaphore,
    frames: Frames,
    pace: Pace,
}

impl Default for SendingState {
    fn default() -> Self {
        Self {
            files: Semaphore::new(FILES_AT_ONCE),
            frames: Frames::default(),
            pace: Pace::default(),
        }
    }
}

impl Surface for Bot {
    fn connector(&self) -> ConnectorId {
        self.id()
    }

    fn manners(&self) -> Manners {
        Manners {
            longest: message::LONGEST,
            measure: Measure::Asked,
            typing_lasts: TYPING_LASTS,
            largest_file: self.sending().largest_sent(),
            remembers_keys: true,
        }
    }

    fn streaming(&self) -> StreamingBy {
        let every = Duration::from_millis(self.options.edit_every_ms).max(FASTEST_EDIT);
        let edits = Streaming::Edits { every };
        StreamingBy { own: edits, shared: edits }
    }

    fn measure(&self, markdown: &str) -> usize {
        markdown::measure(markdown)
    }

    fn post<'a>(
        &'a self,
        to: &'a Recipient,
        key: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<String, SendError>> {
        Box::pin(async move {
            let channel = self.sending().channel_of(to)?;
            if is_unfinished(post) {
                self.sending().must_not_rest(channel)?;
            }
            // A file is read only when it is its turn.
            let _permit = match post {
                Posting::File(_) => Some(self.sending().file_permit().await?),
                Posting::Answer { .. } | Posting::Notice { .. } | Posting::Question { .. } => None,
            };
            let file = match post {
                Posting::File(file) => Some(self.sending().attach(file).await?),
                Posting::Answer { .. } | Posting::Notice { .. } | Posting::Question { .. } => None,
            };
            let message = self.sending().message(to, post).await?;
            if let Some(id) =
                self.sending().post_as_answer(to, key, (post, &message, file.as_ref())).await?
            {
                return Ok(id);
            }
            let name = file.as_ref().map(|file| file.name.as_str());
            if let Some(id) = self.sending().posted_long_ago(to, key, (&message, name)).await? {
                return Ok(id);
            }
            let origin = Origin::of(to);
            let answers = match to.conversation.kind {
                // Where several people write, an answer says to whom.
                ConversationKind::Shared => origin.message.as_deref(),
                ConversationKind::Room | ConversationKind::Lobby => None,
            };
            let nonce = self.sending().nonce(to, key);
            let put = Put::New { nonce: &nonce, answers };
            self.sending()
                .put_there((channel, to.conversation.kind), &message, put, file.as_ref())
                .await
                .map_err(
                    |fault| if file.is_some() { meaning_of_file(fault) } else { meaning(fault) },
                )
        })
    }

    fn edit<'a>(
        &'a self,
        to: &'a Recipient,
        _key: &'a str,
        message: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async move {
            let channel = self.sending().channel_of(to)?;
            if matches!(post, Posting::File(_)) {
                let why = "a file can't take a message's place";
                return Err(SendError::Refused(why.to_owned()));
            }
            if is_unfinished(post) {
                self.sending().must_not_rest(channel)?;
            }
            let said = self.sending().message(to, post).await?;
            let origin = Origin::of(to);
            if let Some(interaction) = &origin.interaction
                && self.answers().edit_answer(interaction, message, &said).await?
            {
                return Ok(());
            }
            match Otherwise::of(&origin, to.conversation.kind, post) {
                Otherwise::Ordinary => {}
                Otherwise::TooLate | Otherwise::Nothing => return Err(not_shown()),
            }
            let Ok(message) = message.parse() else {
                return Err(meaning(send::no_message(message)));
            };
            self.sending().put_instead((channel, message), &said).await.map_err(meaning_of_edit)
        })
    }

    fn typing<'a>(&'a self, to: &'a Recipient, typing: bool) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let channel = to.conversation.external_id.as_deref().and_then(bot::channel);
            // It ends by itself, and with the next message.
            let Some(channel) = channel.filter(|_| typing) else { return };
            let showing = self.done(Request::post(at::typing(channel)));
            match tokio::time::timeout(TYPING_WAITS, showing).await {
                Ok(Ok(())) | Err(_) => {}
                Ok(Err(fault)) => tracing::debug!(%fault, "typing could not be shown"),
            }
        })
    }
}

part! {
    /// What is sent: texts, files, questions.
    pub(crate) struct Sending of Bot;
}

impl Sending {
    /// Says a sentence in a channel, once per key.
    pub(crate) async fn say(
        &self,
        channel: &str,
        key: &str,
        markdown: &str,
    ) -> Result<(), SendError> {
        let Some(id) = bot::channel(channel) else {
            return Err(SendError::Gone(format!("{channel} is no channel of Discord")));
        };
        let nonce = nonce(&[&self.bot.id().number().to_string(), channel, "say", key]);
        let put = Put::New { nonce: &nonce, answers: None };
        let message = Message::words(render(markdown));
        let said = self.put(MessagePlace::Channel(id), &message, put, None).await;
        said.map(drop).map_err(meaning)
    }

    /// What a posting is as a message, with its buttons.
    async fn message(&self, to: &Recipient, post: &Posting) -> Result<Message, SendError> {
        let (mut message, buttons): (Message, Vec<Button>) = match post {
            Posting::Answer { markdown, unfinished: true, .. } => {
                (Message::words(render(markdown)), Vec::new())
            }
            Posting::Answer { markdown, unfinished: false, buttons } => {
                (Message::words(render(markdown)), buttons.clone())
            }
            Posting::Notice { markdown, buttons } => (notice(markdown), buttons.clone()),
            Posting::Question { ask, settled } => {
                questions::write(to.language, ask, settled.as_ref())
            }
            Posting::File(_) => (Message::default(), Vec::new()),
        };
        message.rows = self.rows(&to.conversation, &buttons).await?;
        Ok(message)
    }

    /// Answers the command that led to a posting with it. None: it is an ordinary message.
    async fn post_as_answer(
        &self,
        to: &Recipient,
        key: &str,
        (post, message, file): (&Posting, &Message, Option<&Attached>),
    ) -> Result<Option<String>, SendError> {
        let origin = Origin::of(to);
        let Some(interaction) = &origin.interaction else { return Ok(None) };
        // A question is for whoever may answer it, for as long as it waits.
        if matches!(post, Posting::Question { .. }) {
            return Ok(None);
        }
        let answered =
            self.bot.answers().answer(interaction, (key, origin.private), message, file).await?;
        if answered.is_some() {
            return Ok(answered);
        }
        match Otherwise::of(&origin, to.conversation.kind, post) {
            Otherwise::Ordinary => Ok(None),
            Otherwise::Nothing => Err(not_shown()),
            Otherwise::TooLate => self.bot.answers().too_late(to, interaction).await.map(Some),
        }
    }

    /// What is shown of an answer before its end gives way to everything else.
    fn must_not_rest(&self, channel: u64) -> Result<(), SendError> {
        match self.bot.sending.pace.rest(channel, Instant::now()) {
            Some(rest) => Err(SendError::Wait(rest)),
            None => Ok(()),
        }
    }

    async fn file_permit(&self) -> Result<tokio::sync::SemaphorePermit<'_>, SendError> {
        let permit = self.bot.sending.files.acquire().await;
        permit
            .map_err(|closed| SendError::Unreachable(format!("no file can be sent now: {closed}")))
    }
}

fn notice(markdown: &str) -> Message {
    let frame = Frame { text: render(markdown), colour: NOTICE, ..Frame::default() };
    Message { frame: Some(frame), ..Message::default() }
}

const fn is_unfinished(post: &Posting) -> bool {
    matches!(post, Posting::Answer { unfinished: true, .. })
}

#[cfg(test)]
#[path = "outgoing_tests.rs"]
mod tests;
