//! One message: written down, sent under its key, and then written down as sent.
//!
//! Killed between any two of these, the same key is sent again; a platform that remembers keys answers with
//! the message that is there. Where the platform does not remember keys, nobody can know whether it arrived:
//! it is sent again after a notice that says so, for a person can ignore a repetition but not miss an answer
//! that they never saw.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use cloister_store::Actor;
use cloister_store::StoreError;
use cloister_store::audit::Entry;
use cloister_store::conversations::Conversation;
use cloister_store::outbox::OutboxItem;
use cloister_store::posts::Post;
use cloister_words::say;

use super::render::{self, Says};
use super::worker::Worker;
use crate::error::Fault;
use crate::ports::{Posting, Recipient, SendError};

/// How long is rested each time something was announced and is in doubt again, in first pauses: with those of a
/// second, a quarter of an hour in all. Then it is given up, for the platform takes other things.
const RESTS_IN_VAIN: [u32; 5] = [1, 10, 60, 240, 600];

/// Why telling stopped.
#[derive(Debug)]
pub(super) enum Halt {
    /// It may work later.
    Later(SendError),
    Store(StoreError),
    /// The conversation is gone.
    Gone(String),
    /// This will never be taken.
    Refused(String),
    /// The courier stops.
    Stopped,
}

impl From<StoreError> for Halt {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<SendError> for Halt {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Wait(_) | SendError::Unreachable(_) => Self::Later(error),
            SendError::Gone(why) => Self::Gone(why),
            SendError::Refused(why) => Self::Refused(why),
        }
    }
}

/// Whether something certainly did not get there.
fn surely_not(sent: &Result<String, Halt>) -> bool {
    match sent {
        Ok(_) | Err(Halt::Later(SendError::Unreachable(_)) | Halt::Store(_)) => false,
        Err(Halt::Later(_) | Halt::Gone(_) | Halt::Refused(_) | Halt::Stopped) => true,
    }
}

/// Where something is told, and which row it is.
#[derive(Debug)]
pub(super) struct Telling<'a> {
    pub(super) to: Recipient,
    pub(super) row: &'a OutboxItem,
}

/// A message that is there.
#[derive(Debug)]
pub(super) struct There {
    pub(super) message: String,
    /// It was posted just now for the first time, so it says what was meant.
    pub(super) fresh: bool,
}

impl Worker {
    /// Posts a message once, whatever was killed before.
    pub(super) async fn post_once(
        &self,
        telling: &Telling<'_>,
        key: &str,
        says: &Says,
    ) -> Result<There, Halt> {
        let conversation = self.conversation;
        let store = self.control.store();
        let posting = self.posting(telling, says).await?;
        let before = store.outbox().begin_post(conversation, key, Some(telling.row.id)).await?;
        if let Some(Post { external_id: Some(message), .. }) = before {
            return Ok(There { message, fresh: false });
        }
        let announced = match &before {
            Some(_) if !self.surface.manners().remembers_keys => {
                let announced = self.announce_repetition(&telling.to, key).await;
                Some(self.not_for_ever(key, announced)?)
            }
            Some(_) | None => None,
        };
        let sent = self.sending.post(&telling.to, key, &posting).await;
        if let (Some(notice), true) = (&announced, surely_not(&sent)) {
            self.stays_announced(key, notice).await?;
        }
        if before.is_none() {
            self.take_back(key, &sent).await?;
        }
        let message = match announced {
            Some(_) => self.not_for_ever(key, sent)?,
            None => sent?,
        };
        store.outbox().finish_post(conversation, key, &message).await?;
        self.sent.fetch_add(1, Ordering::Relaxed);
        Ok(There { message, fresh: before.is_none() })
    }

    /// Forgets a post that certainly did not get there.
    pub(super) async fn take_back(
        &self,
        key: &str,
        sent: &Result<String, Halt>,
    ) -> Result<(), StoreError> {
        if surely_not(sent) {
            self.control.store().outbox().forget_post(self.conversation, key).await?;
        }
        Ok(())
    }

    /// Says that what follows may have been sent before, unless that was said and nothing sent since; the message
    /// that says so. Where nobody knows whether it was said it is said again: twice said harms less than an
    /// answer that is there twice without a word.
    async fn announce_repetition(&self, to: &Recipient, key: &str) -> Result<String, Halt> {
        let key = format!("{key}/again");
        let store = self.control.store();
        let before = store.outbox().begin_post(self.conversation, &key, None).await?;
        let said = match before.and_then(|post| post.external_id) {
            Some(said) => said,
            None => {
                let markdown = say!(
                    to.language,
                    "I was interrupted while sending what follows. If you have it already, ignore it."
                );
                let posting = Posting::Notice { markdown, buttons: Vec::new() };
                self.sending.post(to, &key, &posting).await?
            }
        };
        // Killed from here on, it may have been sent once more, and that is to be said then.
        store.outbox().forget_post(self.conversation, &key).await?;
        Ok(said)
    }

    /// What is in doubt again, or whose announcement is, is tried less and less often and then given up.
    fn not_for_ever(&self, key: &str, sent: Result<String, Halt>) -> Result<String, Halt> {
        let mut in_vain = self.in_vain.lock().unwrap_or_else(PoisonError::into_inner);
        let why = match sent {
            Err(Halt::Later(SendError::Unreachable(why))) => why,
            sent => return sent,
        };
        let before = match in_vain.take() {
            Some((of, times)) if of == key => times,
            Some(_) | None => 0,
        };
        let Some(rest) = RESTS_IN_VAIN.get(before) else { return Err(Halt::Refused(why)) };
        *in_vain = Some((key.to_owned(), before + 1));
        tracing::debug!(conversation = self.conversation.number(), why, "in doubt once more");
        Err(Halt::Later(SendError::Wait(self.pace.first_retry * *rest)))
    }

    /// What was announced was not sent: it need not be announced again.
    async fn stays_announced(&self, key: &str, notice: &str) -> Result<(), StoreError> {
        let key = format!("{key}/again");
        let store = self.control.store();
        store.outbox().begin_post(self.conversation, &key, None).await?;
        store.outbox().finish_post(self.conversation, &key, notice).await
    }

    /// What a part is for the surface. A file is opened each time it is tried.
    async fn posting(&self, telling: &Telling<'_>, says: &Says) -> Result<Posting, Halt> {
        Ok(match says {
            Says::Answer { markdown, buttons, .. } => Posting::Answer {
                markdown: markdown.clone(),
                unfinished: false,
                buttons: buttons.clone(),
            },
            Says::Notice { markdown, buttons } => {
                Posting::Notice { markdown: markdown.clone(), buttons: buttons.clone() }
            }
            Says::Question(ask) => self.question(ask, telling.to.language).await?,
            Says::File { artifact, file } => {
                match self.control.inbox().artifact(telling.row.workspace, artifact).await {
                    Ok(download) => Posting::File(download),
                    Err(Fault::Store(
                        error @ (StoreError::Query { .. } | StoreError::Busy { .. }),
                    )) => {
                        return Err(error.into());
                    }
                    Err(error) => {
                        let conversation = self.conversation.number();
                        let error = error.chain();
                        tracing::warn!(
                            conversation,
                            error,
                            "a file to be sent could not be opened"
                        );
                        let markdown = render::file_is_gone(file, telling.to.language);
                        Posting::Notice { markdown, buttons: Vec::new() }
                    }
                }
            }
        })
    }

    /// Keeps that nothing can be sent to a conversation any more.
    pub(super) async fn break_off(
        &self,
        place: &Conversation,
        why: &str,
    ) -> Result<(), StoreError> {
        self.control.store().conversations().set_broken(self.conversation, Some(why)).await?;
        let name = place.external_id.as_deref().unwrap_or_default();
        let entry = Entry::new(&Actor::connector(self.surface.name()), "conversation.broken", name);
        self.control.store().audit().record(entry.with(why).of_workspace(place.workspace)).await?;
        tracing::warn!(
            surface = self.surface.name(),
            connector = place.connector.number(),
            conversation = self.conversation.number(),
            chat = %place.chat,
            reason = why,
            "a conversation is gone; what is to be told there waits until it is back"
        );
        self.control.surfaces().chats_changed();
        Ok(())
    }
}
