//! Rows of the outbox, told in order, each once.

use cloister_protocol::{AgentFrame, ChatId, Language, TaskId, WorkspaceId};
use cloister_store::StoreError;
use cloister_store::conversations::{Conversation, ConversationKind};
use cloister_store::inbox::InboxItem;
use cloister_store::outbox::OutboxItem;
use cloister_words::say;

use super::posting::{Halt, Telling};
use super::render::{self, Heading, Part, Says};
use super::settling::in_their_words;
use super::split::Limit;
use super::worker::Worker;
use crate::commands;
use crate::control::Control;
use crate::ports::{Posting, Recipient};
use crate::surfaces::Button;

impl Worker {
    /// Tells everything that is to be told here.
    pub(super) async fn tell_rows(&self, place: &Conversation) -> Result<(), Halt> {
        loop {
            let rows = self.control.store().outbox().to_tell(self.conversation).await?;
            if rows.is_empty() {
                return Ok(());
            }
            for row in rows {
                if self.stop.is_cancelled() {
                    return Err(Halt::Stopped);
                }
                // Those after the first may have waited for long.
                if !self.control.store().outbox().is_to_tell(self.conversation, row.id).await? {
                    continue;
                }
                self.tell_row(place, &row).await?;
                if let AgentFrame::End(_) = row.frame
                    && let Some(turn) = row.turn.message()
                {
                    self.desk.send_modify(|desk| desk.ended(turn));
                }
            }
        }
    }

    async fn tell_row(&self, place: &Conversation, row: &OutboxItem) -> Result<(), Halt> {
        let language = language_at(&self.control, place).await?;
        let parts = self.parts_of(place, row, language).await?;
        if let Some(first) = parts.first() {
            let origin = self.origin(row).await?;
            let to = Recipient { conversation: place.clone(), origin, language };
            let telling = Telling { to, row };
            let started = first.key.clone();
            for part in parts {
                match self.tell_part(&telling, &part).await {
                    Ok(()) => {}
                    Err(Halt::Refused(why)) => {
                        self.tell_instead(&telling, &started, &part, &why).await?;
                        break;
                    }
                    Err(halt) => return Err(halt),
                }
            }
        }
        Ok(self.control.store().outbox().mark_delivered(&[row.id]).await?)
    }

    /// The messages of a row, as things are now.
    async fn parts_of(
        &self,
        place: &Conversation,
        row: &OutboxItem,
        to: Language,
    ) -> Result<Vec<Part>, Halt> {
        if render::is_stale(row, self.control.store().clock.now_ms()) {
            return Ok(Vec::new());
        }
        let commanded = self.commanded(row).await?;
        let heading = match commanded {
            // What a command did is said where it was typed, whatever is shown there since.
            Some(_) => None,
            None => self.heading(place, (row.workspace, row.chat)).await?,
        };
        let largest = self.surface.manners().largest_file;
        let row = &*in_their_words(&self.control, row).await?;
        let parts =
            |limit: &Limit<'_>| render::parts_of(row, (limit, largest), heading.as_ref(), to);
        let mut parts = self.with_lengths(parts).await?;
        if let (Some(command), Some(last)) = (&commanded, parts.last_mut()) {
            last.offer(self.offered(command).await);
        }
        if matches!(row.frame, AgentFrame::End(_)) {
            self.take_back_rest(row, &mut parts, to).await?;
        }
        Ok(parts)
    }

    /// What was shown of an answer and is no part of it must not look unfinished for ever.
    async fn take_back_rest(
        &self,
        row: &OutboxItem,
        parts: &mut Vec<Part>,
        to: Language,
    ) -> Result<(), Halt> {
        loop {
            let key = render::answer_key(&row.turn, parts.len());
            if self.control.store().outbox().post(self.conversation, &key).await?.is_none() {
                return Ok(());
            }
            parts.push(match parts.len() {
                0 => render::no_answer(key, to),
                _ => render::taken_back(key, to),
            });
        }
    }

    /// The command that a row answers, if it does.
    async fn commanded(&self, row: &OutboxItem) -> Result<Option<InboxItem>, Halt> {
        let (AgentFrame::End(_), Some(turn)) = (&row.frame, row.turn.message()) else {
            return Ok(None);
        };
        let message = self.control.store().inbox().inbox_item(turn).await?;
        Ok(message.filter(|item| commands::of(item).is_some()))
    }

    /// What can be pressed below the answer to a command. It is told without, if that can't be found out.
    async fn offered(&self, command: &InboxItem) -> Vec<Button> {
        self.control.commands().buttons_below(command).await.unwrap_or_else(|error| {
            let conversation = self.conversation.number();
            tracing::warn!(
                conversation,
                error = error.chain(),
                "an answer is told without buttons"
            );
            Vec::new()
        })
    }

    /// What is said before something of a chat that is not the one shown here.
    pub(super) async fn heading(
        &self,
        place: &Conversation,
        (workspace, chat): (WorkspaceId, ChatId),
    ) -> Result<Option<Heading>, Halt> {
        let shown = place.workspace == workspace && place.chat == chat;
        if shown || place.kind != ConversationKind::Lobby {
            return Ok(None);
        }
        Ok(match self.control.store().chats().chat(workspace, chat).await {
            Ok(found) => {
                let title = self.control.chats().agents().title_of(workspace, &found).await?;
                Some(Heading::of(chat, &title))
            }
            Err(StoreError::NotFound { .. }) => Some(Heading::of(chat, "")),
            Err(error) => return Err(error.into()),
        })
    }

    async fn tell_part(&self, telling: &Telling<'_>, part: &Part) -> Result<(), Halt> {
        match &part.says {
            Says::Answer { .. } => self.tell_answer(telling, part).await,
            Says::Question(_) => self.ask(telling, part).await,
            Says::Notice { .. } | Says::File { .. } => {
                self.post_once(telling, &part.key, &part.says).await.map(drop)
            }
        }
    }

    /// A part of an answer: in the place of what was shown of it while it was being written.
    async fn tell_answer(&self, telling: &Telling<'_>, part: &Part) -> Result<(), Halt> {
        let (store, here) = (self.control.store(), self.conversation);
        let end_key = format!("{}/end", part.key);
        // That it was shown unfinished is kept under the key of the edit, before the post says of which row
        // it is: afterwards that could not be told from a post that never was unfinished.
        let edit = match store.outbox().post(here, &part.key).await? {
            None => None,
            Some(shown) if shown.outbox_id.is_none() => {
                store.outbox().begin_post(here, &end_key, Some(telling.row.id)).await?;
                store.outbox().post(here, &end_key).await?
            }
            Some(_) => store.outbox().post(here, &end_key).await?,
        };
        let Some(edit) = edit else {
            return self.post_once(telling, &part.key, &part.says).await.map(drop);
        };
        if edit.external_id.is_some() {
            return Ok(());
        }
        let there = self.post_once(telling, &part.key, &part.says).await?;
        let Says::Answer { markdown, buttons, .. } = &part.says else { return Ok(()) };
        let (markdown, buttons) = (markdown.clone(), buttons.clone());
        let posting = Posting::Answer { markdown, unfinished: false, buttons };
        let message = match self.sending.edit(&telling.to, &end_key, &there.message, &posting).await
        {
            Ok(()) => there.message,
            Err(Halt::Refused(why)) => {
                tracing::warn!(
                    surface = self.surface.name(),
                    conversation = here.number(),
                    reason = why,
                    "an unfinished answer could not be replaced; it is posted anew"
                );
                self.post_once(telling, &format!("{}/anew", part.key), &part.says).await?.message
            }
            Err(halt) => return Err(halt),
        };
        Ok(store.outbox().finish_post(here, &end_key, &message).await?)
    }

    /// Says that something can't be shown, in the place of what is left of a row.
    async fn tell_instead(
        &self,
        telling: &Telling<'_>,
        started: &str,
        part: &Part,
        why: &str,
    ) -> Result<(), Halt> {
        tracing::warn!(
            surface = self.surface.name(),
            conversation = self.conversation.number(),
            row = telling.row.id,
            reason = why,
            "something could not be shown on a surface"
        );
        let to = telling.to.language;
        let text = say!(
            to,
            "{what} could not be shown here ({why}). It is in {chat} on the web page.",
            what = part.noun(to),
            why = render::code(&why.chars().take(200).collect::<String>()),
            chat = telling.row.chat
        );
        let key = format!("{started}/instead");
        match self.post_once(telling, &key, &Says::notice(text)).await {
            // Nothing more can be done; the row must not hold up the others.
            Ok(_) | Err(Halt::Refused(_)) => Ok(()),
            Err(halt) => Err(halt),
        }
    }

    /// What the surface wanted to know again of the message that led to a row.
    async fn origin(&self, row: &OutboxItem) -> Result<Option<String>, Halt> {
        let turn = match (row.turn.message(), &row.frame) {
            (Some(turn), _) => Some(turn),
            (None, AgentFrame::Ask(ask)) => turn_of_task(&self.control, ask.task).await?,
            (None, _) => None,
        };
        match turn {
            Some(turn) => self.origin_of(turn).await,
            None => Ok(None),
        }
    }

    pub(super) async fn origin_of(&self, turn: i64) -> Result<Option<String>, Halt> {
        let found = self.control.store().outbox().origin_of_turn(turn).await?;
        Ok(found.and_then(|(place, origin)| origin.filter(|_| place == Some(self.conversation))))
    }
}

/// The language of the person whose conversation it is; where others read along, that of this installation.
pub(super) async fn language_at(control: &Control, place: &Conversation) -> Result<Language, Halt> {
    let default = control.people().languages().default_language();
    let theirs = place.user.filter(|_| place.kind != ConversationKind::Shared);
    let Some(user) = theirs else { return Ok(default) };
    match control.store().users().language(user).await {
        Ok(read) => Ok(read.best().unwrap_or(default)),
        Err(StoreError::NotFound { .. }) => Ok(default),
        Err(error) => Err(error.into()),
    }
}

async fn turn_of_task(control: &Control, task: Option<TaskId>) -> Result<Option<i64>, Halt> {
    let Some(task) = task else { return Ok(None) };
    match control.store().tasks().task(task).await {
        Ok(task) => Ok(task.turn.message()),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
