//! Hands what is new over to the parts that store it: rooms side by side, within a room in order.
//!
//! Promises: the position moves only past what was handed over in full; what stood in a room before we were
//! invited is not handed over; what can't be handed over for a reason of its own is tried for about a minute,
//! then logged, counted and skipped, and holds nobody else. An invitation that the homeserver will not let us
//! take is given up later; a start finds it again.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use cloister_kit::PlaneError;
use cloister_protocol::surface::{ChatsChanged, ConversationAt, SetBroken, SetPosition};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use matrix_sdk::Room;
use matrix_sdk::deserialized_responses::TimelineEvent;
use matrix_sdk::ruma::OwnedRoomId;
use tokio::sync::oneshot::error::TryRecvError;
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::backfill;
use super::ledger::{Entry, Ledger};
use super::news::{Membership, RoomNews, someone_left};
use super::ours;
use crate::bot::Bot;

/// Rooms that are worked on at once.
const ROOMS_AT_ONCE: usize = 8;
/// Responses that may be on their way; the next one waits.
const RESPONSES_AT_ONCE: usize = 1024;
/// The pauses between the tries of what fails for a reason of its own.
const PAUSES: [Duration; 4] = [
    Duration::from_secs(2),
    Duration::from_secs(8),
    Duration::from_secs(20),
    Duration::from_secs(30),
];
/// The pause between the tries of what fails because of us, such as a full disk.
const LONG_PAUSE: Duration = Duration::from_secs(5);
/// How often what the homeserver holds up is tried at such pauses: about a quarter of an hour.
const INVITATION_TRIES: u32 = 180;

pub(crate) struct Handover {
    shared: Arc<Shared>,
    tracker: TaskTracker,
    responses: Arc<Semaphore>,
    /// The last job of each room: the next one begins when it ends.
    last: HashMap<OwnedRoomId, oneshot::Receiver<()>>,
}

struct Shared {
    bot: Arc<Bot>,
    stop: CancellationToken,
    rooms: Semaphore,
    ledger: Mutex<Ledger>,
}

/// Whether something was handed over, or the account is to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handed {
    Over,
    Stopped,
}

impl Handover {
    pub(crate) fn new(bot: Arc<Bot>, tracker: TaskTracker, stop: CancellationToken) -> Self {
        let rooms = Semaphore::new(ROOMS_AT_ONCE);
        let shared = Shared { bot, stop, rooms, ledger: Mutex::default() };
        Self {
            shared: Arc::new(shared),
            tracker,
            responses: Arc::new(Semaphore::new(RESPONSES_AT_ONCE)),
            last: HashMap::new(),
        }
    }

    /// Begins to hand a response over; its position is reached when all of it and all before it is.
    pub(crate) async fn begin(&mut self, position: String, news: Vec<RoomNews>) {
        let Ok(permit) = Arc::clone(&self.responses).acquire_owned().await else { return };
        let permit = Arc::new(permit);
        let entry = self.shared.ledger.lock().await.open(position, news.len());
        if news.is_empty() {
            self.shared.move_position().await;
        }
        if self.last.len() > 2 * ROOMS_AT_ONCE {
            self.last.retain(|_, job| matches!(job.try_recv(), Err(TryRecvError::Empty)));
        }
        for news in news {
            let (done, job) = oneshot::channel();
            let before = self.last.insert(news.room.room_id().to_owned(), job);
            let work = work(Arc::clone(&self.shared), news, before, entry);
            let (permit, done): (Arc<OwnedSemaphorePermit>, _) = (Arc::clone(&permit), done);
            self.tracker.spawn(async move {
                work.await;
                drop(permit);
                // Nobody may wait for it.
                done.send(()).ok();
            });
        }
    }
}

fn work(
    shared: Arc<Shared>,
    news: RoomNews,
    before: Option<oneshot::Receiver<()>>,
    entry: Entry,
) -> BoxFuture<'static, ()> {
    async move {
        if let Some(before) = before {
            before.await.ok();
        }
        if shared.hand_over(news).await == Handed::Over {
            shared.ledger.lock().await.done(entry);
            shared.move_position().await;
        }
    }
    .boxed()
}

impl Shared {
    /// Moves the position as far as everything is stored.
    async fn move_position(&self) {
        // Held while it is written down: two who finish at once must not write in the wrong order.
        let mut ledger = self.ledger.lock().await;
        let Some(position) = ledger.reached() else { return };
        let connector = self.bot.id();
        let kept = self.bot.plane.call(SetPosition { connector, position }).await;
        if let Err(error) = kept {
            // The next one is further; after a restart this much is read again, and dropped as known.
            let error = error.chain();
            tracing::warn!(error, "how far Matrix was read could not be written down");
        }
    }

    async fn hand_over(&self, news: RoomNews) -> Handed {
        let bot = &self.bot;
        let room = &news.room;
        if news.membership == Membership::Invited {
            let mut tries = 0..INVITATION_TRIES;
            let passing = |error: &PlaneError| match is_held_up(error) {
                true => tries.next().is_some(),
                false => error.may_pass(),
            };
            let take = || bot.take_invite(room).boxed();
            return self.patiently_while(passing, room, "invitation", take).await;
        }
        let Some(me) = bot.client.user_id() else { return Handed::Stopped };
        let mut left = news.someone_left;
        let new_here = ours::is_first_time(news.events.iter().map(TimelineEvent::raw), me);
        let mut events = match news.gap.as_ref().filter(|_| !new_here) {
            None => Vec::new(),
            Some(gap) => match backfill::missing(bot, room, gap, &self.stop).await {
                Some(events) => events,
                None => return Handed::Stopped,
            },
        };
        events.extend(news.events);
        for event in &ours::for_us(events, me, TimelineEvent::raw) {
            left |= someone_left(event.raw(), me);
            if event.sender().is_none_or(|sender| sender == me) {
                continue;
            }
            let take = || bot.take_event(room, event).boxed();
            if self.patiently(room, "event", take).await == Handed::Stopped {
                return Handed::Stopped;
            }
        }
        match &news.membership {
            Membership::Out(why) => {
                self.patiently(room, "exit", || self.put_out(room, why).boxed()).await
            }
            Membership::Joined if left => {
                self.patiently(room, "exit", || bot.member_left(room).boxed()).await
            }
            Membership::Joined | Membership::Invited => Handed::Over,
        }
    }

    /// Nothing can be said in a room that the account is not in.
    async fn put_out(&self, room: &Room, why: &str) -> Result<(), PlaneError> {
        let plane = &self.bot.plane;
        let place = room.room_id().to_string();
        let known = plane.call(ConversationAt { connector: self.bot.id(), place }).await?;
        if let Some(conversation) = known
            && room.state() != matrix_sdk::RoomState::Joined
        {
            let broken = Some(why.to_owned());
            plane.call(SetBroken { conversation: conversation.id, why: broken }).await?;
            tracing::info!(room = %room.room_id(), why, "a room can no longer be used");
        }
        // It, or a Space, may have to be made again.
        plane.tell(ChatsChanged {});
        Ok(())
    }

    /// Tries until it works, is given up, or the account is to stop.
    async fn patiently<'a>(
        &self,
        room: &Room,
        what: &'static str,
        attempt: impl Fn() -> BoxFuture<'a, Result<(), PlaneError>>,
    ) -> Handed {
        self.patiently_while(PlaneError::may_pass, room, what, attempt).await
    }

    async fn patiently_while<'a>(
        &self,
        mut may_pass: impl FnMut(&PlaneError) -> bool,
        room: &Room,
        what: &'static str,
        attempt: impl Fn() -> BoxFuture<'a, Result<(), PlaneError>>,
    ) -> Handed {
        let mut pauses = PAUSES.into_iter();
        let mut told = false;
        loop {
            let Some(done) = self.once(&attempt).await else { return Handed::Stopped };
            let (why, passing) = match done {
                Ok(()) => return Handed::Over,
                Err(Failed::Error(error)) => (error.chain(), may_pass(&error)),
                Err(Failed::Panic) => ("a panic; the log has it".to_owned(), false),
            };
            let pause = if passing { Some(LONG_PAUSE) } else { pauses.next() };
            let Some(pause) = pause else {
                self.bot.plane.count_error("skipped");
                tracing::error!(room = %room.room_id(), what, why, "skipped after several tries");
                return Handed::Over;
            };
            if !told {
                told = true;
                tracing::warn!(room = %room.room_id(), what, why, "not taken yet; it is tried again");
            }
            tokio::select! {
                () = self.stop.cancelled() => return Handed::Stopped,
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// One try; none: the account is to stop.
    async fn once<'a>(
        &self,
        attempt: &impl Fn() -> BoxFuture<'a, Result<(), PlaneError>>,
    ) -> Option<Result<(), Failed>> {
        let work = async {
            let _turn = self.rooms.acquire().await;
            match AssertUnwindSafe(attempt()).catch_unwind().await {
                Ok(done) => done.map_err(Failed::Error),
                Err(_panic) => Err(Failed::Panic),
            }
        };
        tokio::select! {
            () = self.stop.cancelled() => None,
            done = work => Some(done),
        }
    }
}

enum Failed {
    Error(PlaneError),
    Panic,
}

/// Whether it is to wait, or the homeserver failed: what it will not do at all looks like that too.
fn is_held_up(error: &PlaneError) -> bool {
    error.is_busy() || std::error::Error::source(error).is_some()
}
