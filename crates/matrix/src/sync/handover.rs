//! How what is new is handed over to the parts that store it: room by room, each in its order.
//!
//! Promises: what stood in a room before we were invited is not handed over; what can't be handed over for a reason
//! of its own is tried for about a minute, then logged, counted and skipped, and holds nobody else. An invitation
//! that the homeserver will not let us take is given up later; a start finds it again.

use std::sync::Arc;

use cloister_kit::{Attempt, Handed, HandsOver, PlaneError, patiently};
use cloister_protocol::surface::{ChatsChanged, ConversationAt, SetBroken, SetPosition};
use matrix_sdk::Room;
use matrix_sdk::deserialized_responses::TimelineEvent;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::news::{Membership, RoomNews, someone_left};
use super::{backfill, ours};
use crate::bot::Bot;

/// Rooms that are worked on at once.
const ROOMS_AT_ONCE: usize = 8;
/// How often what the homeserver holds up is tried, at pauses of five seconds: about a quarter of an hour.
const INVITATION_TRIES: u32 = 180;

/// Of one account.
pub(crate) struct RoomWork {
    bot: Arc<Bot>,
    stop: CancellationToken,
    rooms: Semaphore,
}

impl HandsOver for RoomWork {
    type Mark = String;
    type Work = RoomNews;

    fn place(news: &RoomNews) -> String {
        news.room.room_id().to_string()
    }

    async fn hand_over(&self, news: RoomNews) -> Handed {
        if news.membership == Membership::Invited {
            return self.patiently(&news.room, What::Invitation).await;
        }
        self.hand_news(news).await
    }

    async fn reached(&self, position: String, _stored: bool) {
        let connector = self.bot.id();
        let kept = self.bot.plane.call(SetPosition { connector, position }).await;
        if let Err(error) = kept {
            // The next one is further; after a restart this much is read again, and dropped as known.
            let error = error.chain();
            tracing::warn!(error, "how far Matrix was read could not be written down");
        }
    }
}

impl RoomWork {
    pub(crate) fn new(bot: Arc<Bot>, stop: CancellationToken) -> Self {
        Self { bot, stop, rooms: Semaphore::new(ROOMS_AT_ONCE) }
    }

    async fn hand_news(&self, news: RoomNews) -> Handed {
        let (bot, room) = (&self.bot, &news.room);
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
            if self.patiently(room, What::Event(event)).await == Handed::Stopped {
                return Handed::Stopped;
            }
        }
        match &news.membership {
            Membership::Out(why) => self.patiently(room, What::OwnExit(why)).await,
            Membership::Joined if left => self.patiently(room, What::Exit).await,
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

    async fn patiently(&self, room: &Room, what: What<'_>) -> Handed {
        let mut taking = Taking { of: self, room, what, held_up: INVITATION_TRIES };
        patiently(&self.rooms, &self.stop, &mut taking).await
    }
}

/// What there is to take of a room.
#[derive(Clone, Copy)]
enum What<'a> {
    Invitation,
    Event(&'a TimelineEvent),
    /// The account is out, and why.
    OwnExit(&'a str),
    /// Somebody else left.
    Exit,
}

/// Something of a room that is being taken.
struct Taking<'a> {
    of: &'a RoomWork,
    room: &'a Room,
    what: What<'a>,
    /// How often an invitation is tried yet while the homeserver holds it up.
    held_up: u32,
}

impl Attempt for Taking<'_> {
    fn what(&self) -> String {
        let what = match self.what {
            What::Invitation => "invitation",
            What::Event(_) => "event",
            What::OwnExit(_) | What::Exit => "exit",
        };
        format!("{what} in {}", self.room.room_id())
    }

    async fn once(&self) -> Result<(), PlaneError> {
        let (bot, room) = (&self.of.bot, self.room);
        match self.what {
            What::Invitation => bot.lobbies().take_invite(room).await,
            What::Event(event) => bot.intake().take_event(room, event).await,
            What::OwnExit(why) => self.of.put_out(room, why).await,
            What::Exit => bot.members().member_left(room).await,
        }
    }

    fn may_pass(&mut self, error: &PlaneError) -> bool {
        match self.what {
            What::Invitation if is_held_up(error) => {
                let left = self.held_up > 0;
                self.held_up = self.held_up.saturating_sub(1);
                left
            }
            What::Invitation | What::Event(_) | What::OwnExit(_) | What::Exit => error.may_pass(),
        }
    }

    async fn pass_over(&self, why: &str) -> Result<(), PlaneError> {
        self.of.bot.plane.count_error("skipped");
        tracing::error!(what = self.what(), why, "skipped after several tries");
        Ok(())
    }
}

/// Whether it is to wait, or the homeserver failed: what it will not do at all looks like that too.
fn is_held_up(error: &PlaneError) -> bool {
    error.is_busy() || std::error::Error::source(error).is_some()
}
