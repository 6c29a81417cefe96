//! Answers that are shown while they are being written: posted after a short while, then edited; or as drafts,
//! which are no messages, so that the end is one.
//!
//! Best effort: it is skipped when the connector is busy, gets slower when the surface asks to, gives up when
//! something is refused, and never stands in the way of the end, which replaces all of it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::Duration;

use cloister_protocol::{ChatId, TurnId, WorkspaceId};
use cloister_store::conversations::Conversation;
use cloister_store::inbox::{InboxItem, InboxState};
use cloister_store::posts::Post;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use super::desk::{Desk, Turn};
use super::posting::Halt;
use super::render::{Heading, answer_key};
use super::split::{self, Limit, Piece, Start};
use super::worker::{Worker, unworded};
use crate::ports::{Posting, Recipient, SendError, Streaming};

/// How soon a draft is shown again to which nothing was added: Telegram shows one for half a minute.
const DRAFT_AGAIN: Duration = Duration::from_secs(20);

/// So many of the last messages may still change when more is written.
const GROWING: usize = 2;

/// What a message says that has no words yet.
const NOT_YET: &str = "…";

/// What was shown of the answers that are being written here.
#[derive(Debug, Default)]
pub(super) struct Streams {
    shown: BTreeMap<i64, ShownAnswer>,
}

#[derive(Debug)]
struct ShownAnswer {
    origin: Option<String>,
    /// The chat that the answer belongs to.
    chat: (WorkspaceId, ChatId),
    /// What of it is split and stays so.
    settled: Settled,
    /// Its messages, in order.
    bits: Vec<Bit>,
    /// What the draft says.
    text: String,
    /// Of the text that it shows or was to show; 0: none.
    version: u64,
    next: Instant,
    every: Duration,
    /// When a draft is shown again although nothing was added; none: what is shown stays.
    again: Option<Instant>,
    /// Since when it says what it says.
    since: Instant,
    given_up: bool,
}

/// The messages that do not change any more when more is written. They are not split again each time that something is
/// shown: a long answer would take more and more of everybody's time.
#[derive(Debug, Default)]
struct Settled {
    /// All of the text before where it goes on.
    text: String,
    messages: Vec<String>,
    goes_on: Start,
}

/// One message of an answer that is being written.
#[derive(Debug, Default)]
struct Bit {
    /// None: not there yet.
    message: Option<String>,
    /// What it says.
    text: String,
}

impl ShownAnswer {
    fn nothing(of: &InboxItem, origin: Option<String>, every: Duration) -> Self {
        Self {
            origin,
            chat: (of.workspace, of.chat),
            settled: Settled::default(),
            bits: Vec::new(),
            text: String::new(),
            version: 0,
            next: Instant::now(),
            every,
            again: None,
            since: Instant::now(),
            given_up: false,
        }
    }
}

impl Streams {
    /// The turn whose answer is to be shown next, and when.
    pub(super) fn next(&mut self, desk: &Desk, first_after: Duration) -> Option<(i64, Instant)> {
        self.shown.retain(|row, _| desk.turns().iter().any(|turn| turn.row == *row));
        let due = desk.turns().iter().filter(|turn| turn.is_legible()).filter_map(|turn| {
            let since = turn.text_since? + first_after;
            let at = match self.shown.get(&turn.row) {
                None => since,
                Some(shown) if shown.given_up => return None,
                Some(shown) if shown.version == turn.version => shown.again?.max(shown.next),
                Some(shown) => shown.next,
            };
            Some((turn.row, at))
        });
        due.min_by_key(|(_, at)| *at)
    }
}

impl Worker {
    /// Shows what there is of an answer.
    pub(super) async fn show_unfinished(
        &self,
        place: &Conversation,
        row: i64,
        streams: &mut Streams,
    ) {
        let turn = self.desk.borrow().turns().iter().find(|turn| turn.row == row).cloned();
        let Some(turn) = turn else { return };
        let streaming = self.surface.streaming(place);
        let least = streaming.every().unwrap_or_default();
        let shown = match streams.shown.entry(row) {
            Entry::Occupied(before) => before.into_mut(),
            Entry::Vacant(none) => {
                // Without it the same message could be posted as two.
                let Ok((of, origin)) = self.asked_by(row).await else {
                    return tokio::time::sleep(self.pace.first_retry).await;
                };
                if of.state == InboxState::Answered {
                    // Its end is told from the database, which may be ahead of what is heard.
                    self.desk.send_modify(|desk| desk.ended(row));
                    return;
                }
                none.insert(ShownAnswer::nothing(&of, origin, least))
            }
        };
        if streaming == Streaming::Off {
            shown.given_up = true;
            return;
        }
        if self.sending.sends.available_permits() == 0 {
            shown.next = Instant::now() + shown.every;
            return;
        }
        shown.version = turn.version;
        let done = match streaming {
            Streaming::Drafts { .. } => self.show_draft(place, &turn, shown).await,
            Streaming::Edits { .. } | Streaming::Off => self.show(place, &turn, shown).await,
        };
        match done {
            Ok(()) => shown.every = shown.every.mul_f64(0.9).max(least),
            Err(Halt::Later(why)) => {
                let asked = if let SendError::Wait(asked) = why { asked } else { Duration::ZERO };
                shown.every = (shown.every * 2).min(self.pace.slowest_edit).max(asked);
                // It is tried again even if nothing is added.
                shown.version = 0;
            }
            Err(Halt::Stopped) => {}
            // It may show edits where it shows no drafts.
            Err(Halt::Refused(_)) if self.surface.streaming(place) != streaming => {
                shown.version = 0;
            }
            Err(halt) => {
                let conversation = self.conversation.number();
                tracing::debug!(conversation, ?halt, "an answer is not shown before its end");
                shown.given_up = true;
            }
        }
        shown.next = Instant::now() + shown.every;
    }

    /// The message of a turn, and what the surface wanted to know again of it.
    async fn asked_by(&self, row: i64) -> Result<(InboxItem, Option<String>), Halt> {
        let of = self.control.store().inbox().inbox_item(row).await?;
        let of = of.ok_or_else(|| Halt::Refused("its message is gone".to_owned()))?;
        Ok((of, self.origin_of(row).await?))
    }

    /// What is shown of an answer now: the messages that it has so far, as they will be.
    async fn texts_so_far(
        &self,
        place: &Conversation,
        turn: &Turn,
        shown: &mut ShownAnswer,
    ) -> Result<Vec<String>, Halt> {
        let heading = self.heading(place, shown.chat).await?;
        let text = Heading::over(heading.as_ref(), &turn.text);
        if !text.starts_with(&shown.settled.text) {
            shown.settled = Settled::default();
        }
        let from = &shown.settled.goes_on;
        let texts = |limit: &Limit<'_>| -> Vec<(Start, Option<String>)> {
            let pieces = split::split_from(&text, from, limit).into_iter();
            let message = |piece: Piece<'_>| (!piece.is_blank()).then(|| piece.markdown());
            pieces.map(|(start, piece)| (start, message(piece))).collect()
        };
        let mut open = self.with_lengths(texts).await?;
        // Where one ends depends on what follows, and not on what follows that.
        let settles: Vec<_> = open.drain(..open.len().saturating_sub(GROWING)).collect();
        if let (false, Some((start, _))) = (settles.is_empty(), open.first()) {
            let settled = &mut shown.settled;
            settled.messages.extend(settles.into_iter().filter_map(|(_, message)| message));
            settled.text = text.get(..start.at).unwrap_or_default().to_owned();
            settled.goes_on = start.clone();
        }
        let open = open.into_iter().filter_map(|(_, message)| message);
        Ok(shown.settled.messages.iter().cloned().chain(open).collect())
    }

    /// Shows it as a draft: nothing of that is kept, and the end is posted as if nothing had been shown.
    async fn show_draft(
        &self,
        place: &Conversation,
        turn: &Turn,
        shown: &mut ShownAnswer,
    ) -> Result<(), Halt> {
        // There is one draft: of a long answer it shows what is being written.
        let text = self.texts_so_far(place, turn, shown).await?.pop().unwrap_or_default();
        let now = Instant::now();
        if shown.text != text {
            shown.since = now;
        } else if shown.again.is_none_or(|again| again > now) {
            return Ok(());
        }
        let to = unworded(place, shown.origin.clone());
        let key = answer_key(&TurnId::of_message(turn.row), 0);
        let posting = unfinished(&text);
        self.sending.draft(&to, &key, &posting).await?;
        shown.text = text;
        // As with typing: who gets no answer does not look at its beginning for ever.
        let over = shown.since + self.pace.typing_most;
        shown.again = Some(Instant::now() + DRAFT_AGAIN).filter(|again| *again < over);
        Ok(())
    }

    async fn show(
        &self,
        place: &Conversation,
        turn: &Turn,
        shown: &mut ShownAnswer,
    ) -> Result<(), Halt> {
        // A message stays, unlike what was shown as a draft before.
        shown.again = None;
        let mut texts = self.texts_so_far(place, turn, shown).await?;
        // What began anew is shorter: the messages that it has no words for yet wait for them.
        texts.resize(texts.len().max(shown.bits.len()), NOT_YET.to_owned());
        let to = unworded(place, shown.origin.clone());
        for (number, text) in texts.into_iter().enumerate() {
            if shown.bits.len() <= number {
                shown.bits.push(Bit::default());
            }
            let key = answer_key(&TurnId::of_message(turn.row), number);
            if let Some(bit) = shown.bits.get_mut(number).filter(|bit| bit.text != text) {
                self.show_bit(&to, &key, text, bit).await?;
            }
        }
        Ok(())
    }

    /// Has one message of an unfinished answer say this.
    async fn show_bit(
        &self,
        to: &Recipient,
        key: &str,
        text: String,
        bit: &mut Bit,
    ) -> Result<(), Halt> {
        let posting = unfinished(&text);
        let message = match &bit.message {
            Some(message) => message.clone(),
            None => {
                let (message, fresh) = self.show_first(to, key, &posting).await?;
                bit.message = Some(message.clone());
                if fresh {
                    bit.text = text;
                    return Ok(());
                }
                message
            }
        };
        let key = format!("{key}/{}", fingerprint(&text));
        self.sending.edit(to, &key, &message, &posting).await?;
        bit.text = text;
        Ok(())
    }

    /// The message of an unfinished answer, and whether it says what was meant.
    async fn show_first(
        &self,
        to: &Recipient,
        key: &str,
        posting: &Posting,
    ) -> Result<(String, bool), Halt> {
        let store = self.control.store();
        let before = store.outbox().begin_post(self.conversation, key, None).await?;
        match &before {
            Some(Post { outbox_id: Some(_), .. }) => {
                return Err(Halt::Refused("its end is being told".to_owned()));
            }
            Some(Post { external_id: Some(message), .. }) => return Ok((message.clone(), false)),
            Some(_) if !self.surface.manners().remembers_keys => {
                return Err(Halt::Refused("it is not known what was shown".to_owned()));
            }
            Some(_) | None => {}
        }
        let sent = self.sending.post(to, key, posting).await;
        if before.is_none() {
            self.take_back(key, &sent).await?;
        }
        let message = sent?;
        store.outbox().finish_post(self.conversation, key, &message).await?;
        Ok((message, before.is_none()))
    }
}

fn unfinished(text: &str) -> Posting {
    Posting::Answer { markdown: text.to_owned(), unfinished: true, buttons: Vec::new() }
}

/// Names an edit by what it says.
fn fingerprint(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "streaming_tests.rs"]
mod tests;
