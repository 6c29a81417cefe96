//! The worker of one conversation: tells its rows in order, shows what is being written, and that something
//! is being written. It ends when there is nothing to do.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cloister_protocol::{ApprovalId, Language, with_causes};
use cloister_store::conversations::{Conversation, ConversationId};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::Pace;
use super::backoff::Backoff;
use super::desk::Desk;
use super::posting::Halt;
use super::sending::Sending;
use super::streaming::Streams;
use crate::control::Control;
use crate::ports::{Recipient, SendError, Surface};

/// How long a surface may take to show that something is being written.
const TYPING_PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Worker {
    pub(super) control: Control,
    pub(super) surface: Arc<dyn Surface>,
    pub(super) sending: Sending,
    pub(super) conversation: ConversationId,
    pub(super) desk: Arc<watch::Sender<Desk>>,
    pub(super) stop: CancellationToken,
    pub(super) pace: Pace,
    /// The surface shows that something is being written.
    pub(super) typing: AtomicBool,
    /// How many messages got there.
    pub(super) sent: AtomicU64,
    /// What was announced as a repetition and is in doubt again, and how often.
    pub(super) in_vain: Mutex<Option<(String, usize)>>,
}

/// What is to be done next.
enum Next {
    Rows,
    Settle(ApprovalId),
    Show(i64),
    Rest(Instant),
    Nothing,
}

impl Worker {
    pub(super) async fn run(self) {
        tokio::select! {
            () = self.work() => {}
            () = self.show_typing() => {}
        }
        if self.typing.load(Ordering::Relaxed)
            && let Some(place) = self.place().await
        {
            self.set_typing(&place, false).await;
        }
    }

    async fn work(&self) {
        let mut changes = self.desk.subscribe();
        let mut streams = Streams::default();
        let mut backoff = Backoff::default();
        while !self.stop.is_cancelled() {
            changes.mark_unchanged();
            let next = self.next(&mut streams);
            let rest_until = match next {
                Next::Nothing => return,
                Next::Rest(until) => {
                    tokio::select! {
                        () = self.stop.cancelled() => {}
                        _ = changes.changed() => {}
                        () = sleep_until(until) => {}
                    }
                    continue;
                }
                Next::Rows | Next::Settle(_) | Next::Show(_) => {
                    self.take_up(next, &mut streams, &mut backoff).await
                }
            };
            if let Some(until) = rest_until {
                tokio::select! {
                    () = self.stop.cancelled() => {}
                    () = sleep_until(until) => {}
                }
            }
        }
    }

    fn next(&self, streams: &mut Streams) -> Next {
        let now = Instant::now();
        let mut next = Next::Nothing;
        self.desk.send_if_modified(|desk| {
            // Only what others have to see is a change.
            let expired = desk.expire(now, &self.pace);
            next = self.next_of(desk, streams, now);
            expired
        });
        next
    }

    fn next_of(&self, desk: &mut Desk, streams: &mut Streams, now: Instant) -> Next {
        if desk.take_rows() {
            return Next::Rows;
        }
        if let Some(approval) = desk.take_settled() {
            return Next::Settle(approval);
        }
        let show = streams.next(desk, self.pace.first_after);
        match (show, desk.busy_until(&self.pace)) {
            (Some((row, at)), _) if at <= now => Next::Show(row),
            (Some((_, at)), Some(until)) => Next::Rest(at.min(until)),
            (Some((_, at)), None) => Next::Rest(at),
            (None, Some(until)) => Next::Rest(until),
            (None, None) => Next::Nothing,
        }
    }

    /// Does the next thing; until when to rest if it could not be done.
    async fn take_up(
        &self,
        next: Next,
        streams: &mut Streams,
        backoff: &mut Backoff,
    ) -> Option<Instant> {
        let Some(place) = self.place().await else {
            self.desk.send_modify(Desk::clear);
            return None;
        };
        let sent = self.sent.load(Ordering::Relaxed);
        let done = match &next {
            Next::Rows => self.tell_rows(&place).await,
            Next::Settle(approval) => self.show_settled(&place, *approval).await,
            Next::Show(row) => {
                self.show_unfinished(&place, *row, streams).await;
                return None;
            }
            Next::Rest(_) | Next::Nothing => Ok(()),
        };
        let halt = match done {
            Ok(()) => {
                backoff.forget();
                return None;
            }
            Err(halt) => halt,
        };
        if self.sent.load(Ordering::Relaxed) != sent {
            // Something got there: it is asked as often as the surface lets us.
            backoff.forget();
        }
        // What was taken from the desk is not done.
        self.desk.send_if_modified(|desk| {
            match &next {
                Next::Settle(approval) => desk.settle(*approval),
                Next::Rows | Next::Show(_) | Next::Rest(_) | Next::Nothing => desk.look(),
            }
            false
        });
        self.give_way(&place, halt, backoff).await
    }

    /// Until when to rest after something could not be done.
    async fn give_way(
        &self,
        place: &Conversation,
        halt: Halt,
        backoff: &mut Backoff,
    ) -> Option<Instant> {
        let first = backoff.is_first();
        let surface = self.surface.name();
        let conversation = self.conversation.number();
        let why = match halt {
            Halt::Stopped => return None,
            Halt::Gone(why) => {
                match self.break_off(place, &why).await {
                    Ok(()) => {
                        self.desk.send_modify(Desk::clear);
                        return None;
                    }
                    Err(error) => {
                        tracing::error!(
                            error = with_causes(&error),
                            "a conversation could not be marked as gone"
                        )
                    }
                }
                None
            }
            Halt::Refused(why) => Some(SendError::Refused(why)),
            Halt::Later(why) => Some(why),
            Halt::Store(error) => {
                tracing::error!(
                    error = with_causes(&error),
                    surface,
                    conversation,
                    "the outbox could not be told"
                );
                None
            }
        };
        let rest = backoff.rest(why.as_ref(), &self.pace);
        if let Some(why) = why {
            let ms = u64::try_from(rest.as_millis()).unwrap_or(u64::MAX);
            if first {
                tracing::warn!(surface, conversation, %why, ms, "a conversation can't be told now");
            } else {
                tracing::debug!(surface, conversation, %why, ms, "a conversation still can't be told");
            }
        }
        Some(Instant::now() + rest)
    }

    /// The conversation, if something can be sent there.
    async fn place(&self) -> Option<Conversation> {
        match self.control.store().conversations().conversation_by_id(self.conversation).await {
            Ok(place) => {
                place.filter(|place| place.external_id.is_some() && place.broken.is_none())
            }
            Err(error) => {
                // Looked for again with the next look at everything.
                tracing::error!(error = with_causes(&error), "a conversation could not be read");
                None
            }
        }
    }

    /// Shows that something is being written for as long as it is. Never ends by itself.
    async fn show_typing(&self) {
        let mut changes = self.desk.subscribe();
        let again = (self.surface.manners().typing_lasts * 2 / 3).max(Duration::from_millis(100));
        loop {
            changes.mark_unchanged();
            let busy_until = self.desk.borrow().busy_until(&self.pace);
            match busy_until.filter(|until| *until > Instant::now()) {
                Some(until) => {
                    if let Some(place) = self.place().await {
                        self.set_typing(&place, true).await;
                    }
                    tokio::select! {
                        () = sleep_until(until.min(Instant::now() + again)) => {}
                        () = until_quiet(&self.desk, &mut changes) => {}
                    }
                }
                None => {
                    if self.typing.load(Ordering::Relaxed)
                        && let Some(place) = self.place().await
                    {
                        self.set_typing(&place, false).await;
                    }
                    if changes.changed().await.is_err() {
                        return;
                    }
                }
            }
        }
    }

    async fn set_typing(&self, place: &Conversation, typing: bool) {
        self.typing.store(typing, Ordering::Relaxed);
        let to = unworded(place, None);
        if timeout(TYPING_PATIENCE, self.surface.typing(&to, typing)).await.is_err() {
            tracing::debug!(
                conversation = self.conversation.number(),
                "typing could not be shown in time"
            );
        }
    }
}

async fn until_quiet(desk: &watch::Sender<Desk>, changes: &mut watch::Receiver<Desk>) {
    while changes.changed().await.is_ok() {
        if desk.borrow().turns().is_empty() {
            return;
        }
    }
}

/// Where something is shown that has no words of ours.
pub(super) fn unworded(place: &Conversation, origin: Option<String>) -> Recipient {
    Recipient { conversation: place.clone(), origin, language: Language::default() }
}
