//! What a sync response has for each room, whether the SDK has processed the response or we asked for it again.

use cloister_protocol::with_causes;
use matrix_sdk::deserialized_responses::TimelineEvent;
use matrix_sdk::ruma::api::client::sync::sync_events::v3::{self, State as RawState};
use matrix_sdk::ruma::events::{AnySyncStateEvent, AnySyncTimelineEvent};
use matrix_sdk::ruma::serde::Raw;
use matrix_sdk::ruma::{RoomId, UserId};
use matrix_sdk::sync::{State, SyncResponse, Timeline};
use matrix_sdk::{Client, Room, RoomState};
use serde::Deserialize;

/// Up to where events that are missing from a timeline are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Where we had read to.
    Position(String),
    /// The last thing that was heard there, in Unix milliseconds: the server no longer knows our position.
    HeardAt(i64),
}

/// Events that the server left out before the first one of a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    /// None: the end of the room.
    pub(crate) from: Option<String>,
    pub(crate) until: Until,
}

/// What is new in a room.
pub(crate) struct RoomNews {
    pub(crate) room: Room,
    pub(crate) gap: Option<Gap>,
    pub(crate) events: Vec<TimelineEvent>,
    /// Somebody else left, as far as the state says; the events may say it too.
    pub(crate) someone_left: bool,
    pub(crate) membership: Membership,
}

/// How the account itself stands to the room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Membership {
    Invited,
    Joined,
    /// Why it is out.
    Out(String),
}

impl RoomNews {
    pub(crate) fn invitation(room: Room) -> Self {
        let membership = Membership::Invited;
        Self { room, gap: None, events: Vec::new(), someone_left: false, membership }
    }

    fn joined(room: Room) -> Self {
        Self { membership: Membership::Joined, ..Self::invitation(room) }
    }

    /// A room that something may have been missed in.
    pub(crate) fn missed(room: Room, gap: Gap) -> Self {
        Self { gap: Some(gap), ..Self::joined(room) }
    }

    /// Nothing that anybody has to be told.
    fn is_empty(&self) -> bool {
        self.membership == Membership::Joined
            && self.gap.is_none()
            && self.events.is_empty()
            && !self.someone_left
    }
}

/// The news of a response that the SDK processed; `since`: where it began.
pub(crate) fn of_response(
    client: &Client,
    response: SyncResponse,
    since: Option<&str>,
) -> Vec<RoomNews> {
    let Some(me) = client.user_id() else { return Vec::new() };
    let mut news = Vec::new();
    for id in response.rooms.invited.keys() {
        news.extend(client.get_room(id).map(RoomNews::invitation));
    }
    for (id, update) in response.rooms.joined {
        let Some(room) = client.get_room(&id) else { continue };
        let mut joined = RoomNews::joined(room);
        joined.gap = gap(update.timeline.limited, update.timeline.prev_batch.as_deref(), since);
        joined.someone_left = states(&update.state).iter().any(|state| someone_left(state, me));
        joined.events = update.timeline.events;
        news.push(joined);
    }
    for (id, update) in response.rooms.left {
        let Some(room) = client.get_room(&id) else { continue };
        let why = why_out(&update.timeline, &update.state, me);
        let mut left = RoomNews::joined(room);
        left.membership = Membership::Out(why);
        left.events = update.timeline.events;
        news.push(left);
    }
    news.retain(|news| !news.is_empty());
    news
}

fn gap(limited: bool, from: Option<&str>, since: Option<&str>) -> Option<Gap> {
    let (from, since) = (from.filter(|_| limited)?, since?);
    Some(Gap { from: Some(from.to_owned()), until: Until::Position(since.to_owned()) })
}

const fn states(state: &State) -> &Vec<Raw<AnySyncStateEvent>> {
    match state {
        State::Before(states) | State::After(states) => states,
    }
}

/// The news of a response that we asked for ourselves, decrypted with the keys that are here by now.
pub(crate) async fn of_raw(client: &Client, response: v3::Response, since: &str) -> Vec<RoomNews> {
    let Some(me) = client.user_id() else { return Vec::new() };
    let mut news = Vec::new();
    for (id, update) in response.rooms.join {
        // The SDK is further by now: who has left since hears nothing of this any more.
        let Some(room) = room_in(client, &id, RoomState::Joined) else { continue };
        let mut joined = RoomNews::joined(room);
        let timeline = update.timeline;
        joined.gap = gap(timeline.limited, timeline.prev_batch.as_deref(), Some(since));
        let states = raw_states(&update.state);
        joined.someone_left = states.iter().any(|state| someone_left(state, me));
        joined.events = opened(&joined.room, timeline.events).await;
        news.push(joined);
    }
    for (id, update) in response.rooms.leave {
        let Some(room) = room_in(client, &id, RoomState::Left) else { continue };
        let mut left = RoomNews::joined(room);
        left.events = opened(&left.room, update.timeline.events).await;
        let own = left.events.iter().rev().find_map(|event| own_exit(event.raw(), me));
        let own = own.or_else(|| raw_states(&update.state).iter().find_map(|s| own_exit(s, me)));
        left.membership = Membership::Out(own.unwrap_or_else(out));
        news.push(left);
    }
    news.retain(|news| !news.is_empty());
    news
}

fn room_in(client: &Client, id: &RoomId, state: RoomState) -> Option<Room> {
    let room = client.get_room(id)?;
    let as_it_is_now =
        room.state() == state || state == RoomState::Left && room.state() == RoomState::Banned;
    as_it_is_now.then_some(room)
}

fn raw_states(state: &RawState) -> &[Raw<AnySyncStateEvent>] {
    match state {
        RawState::Before(state) => &state.events,
        RawState::After(state) => &state.events,
        _ => &[],
    }
}

/// Opens what is encrypted, as the SDK does with a response of its own.
pub(crate) async fn opened(
    room: &Room,
    events: Vec<Raw<AnySyncTimelineEvent>>,
) -> Vec<TimelineEvent> {
    let mut opened = Vec::with_capacity(events.len());
    for raw in events {
        let kind = raw.get_field::<String>("type").ok().flatten();
        let plain = kind.as_deref() != Some("m.room.encrypted");
        let redacted = !matches!(raw.get_field::<Encrypted>("content"), Ok(Some(_)));
        if plain || redacted {
            opened.push(TimelineEvent::from_plaintext(raw));
            continue;
        }
        let decrypted = room.decrypt_event(raw.cast_ref_unchecked::<EncryptedEvent>(), None).await;
        opened.push(decrypted.unwrap_or_else(|error| {
            tracing::warn!(
                error = with_causes(&error),
                "an event could not be looked at as an encrypted one"
            );
            TimelineEvent::from_plaintext(raw)
        }));
    }
    opened
}

type EncryptedEvent = matrix_sdk::ruma::events::room::encrypted::OriginalSyncRoomEncryptedEvent;

#[derive(Deserialize)]
struct Encrypted {
    #[serde(rename = "algorithm")]
    _algorithm: String,
}

#[derive(Deserialize)]
struct Member {
    membership: String,
    #[serde(default)]
    reason: Option<String>,
}

/// Who a membership event says is out, and how.
fn exit<T>(event: &Raw<T>) -> Option<(String, Member)> {
    let kind = event.get_field::<String>("type").ok().flatten()?;
    if kind != "m.room.member" {
        return None;
    }
    let who = event.get_field::<String>("state_key").ok().flatten()?;
    let member = event.get_field::<Member>("content").ok().flatten()?;
    matches!(member.membership.as_str(), "leave" | "ban").then_some((who, member))
}

pub(crate) fn someone_left<T>(event: &Raw<T>, me: &UserId) -> bool {
    exit(event).is_some_and(|(who, _)| who != me.as_str())
}

fn own_exit<T>(event: &Raw<T>, me: &UserId) -> Option<String> {
    let (_, member) = exit(event).filter(|(who, _)| who == me.as_str())?;
    let sender = event.get_field::<String>("sender").ok().flatten().unwrap_or_default();
    let reason = member.reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let what = match member.membership.as_str() {
        "ban" => format!("{sender} banned the account from the room{reason}"),
        _ if sender == me.as_str() => "the account left the room".to_owned(),
        _ => format!("{sender} removed the account from the room{reason}"),
    };
    Some(what.chars().take(300).collect())
}

fn out() -> String {
    "the account is no longer in the room".to_owned()
}

fn why_out(timeline: &Timeline, state: &State, me: &UserId) -> String {
    let told = timeline.events.iter().rev().find_map(|event| own_exit(event.raw(), me));
    told.or_else(|| states(state).iter().find_map(|state| own_exit(state, me))).unwrap_or_else(out)
}
