//! What to make of the server's rooms: pure decisions, given what was seen there and what is known here.
//!
//! Promises: a chat never gets a second room and a person never a second Space; what is known here stays where
//! claims contradict each other; nothing is decided on a mark that this account did not write; deciding again
//! on the outcome changes nothing.

use std::collections::{BTreeMap, HashSet};

use cloister_protocol::UserId;
use cloister_protocol::admin::Skipped;
use cloister_protocol::surface::{Conversation, ConversationKind};

use super::graph::{
    Change, ChatKey, FIRST_CHAT, Known, NOT_IN_IT, PERSON_LEFT, Person, Plan, Scope, Seen,
};
use super::naming::{room_name, title_in};
use super::ownership::{ChatClaim, Claim, HomeClaim};
use crate::incoming::is_closed;

/// Decides what to make of what was seen. `joined` is every room that this account is in, seen or not.
pub(crate) fn decide(seen: &[Seen], joined: &HashSet<String>, known: &Known, scope: Scope) -> Plan {
    let mut decider = Decider { known, joined, plan: Plan::default() };
    let mut seen: Vec<&Seen> = seen.iter().collect();
    seen.sort_by(|a, b| (a.created_at, &a.room).cmp(&(b.created_at, &b.room)));
    let claims = decider.sort_out(&seen);
    for (chat, rooms) in &claims.chats {
        decider.chat(*chat, rooms, &claims);
    }
    for (user, spaces) in &claims.homes {
        decider.home(*user, spaces, &claims);
    }
    for room in &claims.unclaimed {
        decider.unclaimed(room, &claims);
    }
    if scope == Scope::Everything {
        decider.gone(&claims);
    }
    decider.plan.changes.sort_by_key(Change::order);
    decider.plan
}

/// What was seen, by what it claims to be; each list has the oldest first.
#[derive(Default)]
struct Claims<'a> {
    /// With whose each is.
    chats: BTreeMap<ChatKey, Vec<(&'a Seen, UserId)>>,
    homes: BTreeMap<UserId, Vec<&'a Seen>>,
    unclaimed: Vec<&'a Seen>,
    /// The rooms with a claim that is believed.
    believed: HashSet<&'a str>,
}

struct Decider<'a> {
    known: &'a Known,
    joined: &'a HashSet<String>,
    plan: Plan,
}

/// Why a claim leads nowhere.
enum Refusal {
    Skip(String),
    Conflict(String),
}

impl<'a> Decider<'a> {
    fn sort_out(&mut self, seen: &[&'a Seen]) -> Claims<'a> {
        let mut claims = Claims::default();
        for room in seen {
            match &room.claim {
                Claim::None => claims.unclaimed.push(room),
                Claim::Foreign { sender } => self.foreign(room, sender),
                Claim::Unreadable => {
                    if self.known.in_room(&room.room).is_none() {
                        self.skip(room, "the mark in it was redacted or is of another version");
                    }
                }
                Claim::Chat(claim) => match self.owner(room, claim) {
                    Ok(user) => {
                        let rooms = claims.chats.entry((claim.workspace, claim.chat));
                        rooms.or_default().push((room, user));
                        claims.believed.insert(&room.room);
                    }
                    Err(refusal) => self.refuse(room, refusal),
                },
                Claim::Home(claim) => match self.resident(claim) {
                    Ok(user) => {
                        claims.homes.entry(user).or_default().push(room);
                        claims.believed.insert(&room.room);
                    }
                    Err(refusal) => self.refuse(room, refusal),
                },
            }
        }
        claims
    }

    fn foreign(&mut self, room: &Seen, sender: &str) {
        let why = format!("the mark in it was written by {sender}, not by this account");
        if self.known.in_room(&room.room).is_some() {
            self.conflict(room, why);
        } else {
            self.skip(room, why);
        }
    }

    fn unlinked(account: &str) -> Refusal {
        Refusal::Skip(format!(
            "it was made for {account}, who is linked to nobody here: link that account to its user \
             first (`cloister user link`, or pairing), then reconcile again"
        ))
    }

    /// Whose chat a room shows, if what it claims fits what is known.
    fn owner(&self, room: &Seen, claim: &ChatClaim) -> Result<UserId, Refusal> {
        let ChatClaim { workspace, chat, user, .. } = claim;
        let person = self.known.people.get(user.as_str());
        let person = person.ok_or_else(|| Self::unlinked(user.as_str()))?;
        let known = self
            .known
            .in_room(&room.room)
            .is_some_and(|row| is_right(row, (*workspace, *chat), person.user));
        if person.workspace == *workspace || known {
            return Ok(person.user);
        }
        Err(if self.known.workspaces.contains(workspace) {
            Refusal::Conflict(format!(
                "it claims {chat} of {workspace} for {user}, whose workspace is {}",
                person.workspace
            ))
        } else {
            Refusal::Skip(format!(
                "it shows {chat} of {workspace}, which does not exist here; {user} has {}",
                person.workspace
            ))
        })
    }

    fn resident(&self, claim: &HomeClaim) -> Result<UserId, Refusal> {
        let person = self.known.people.get(claim.user.as_str());
        person.map(|person| person.user).ok_or_else(|| Self::unlinked(claim.user.as_str()))
    }

    fn chat(&mut self, chat: ChatKey, rooms: &[(&Seen, UserId)], claims: &Claims<'_>) {
        let row = self.known.room_of(chat);
        let place = row.and_then(|row| row.external_id.as_deref());
        if let Some(place) = self.held(place, claims) {
            for (room, _) in rooms {
                self.conflict(room, format!("{} of {} is shown in {place}", chat.1, chat.0));
            }
            return;
        }
        let known = rooms.iter().find(|(room, _)| Some(room.room.as_str()) == place);
        let Some((first, user)) = known.or(rooms.first()) else { return };
        for (other, _) in rooms.iter().filter(|(other, _)| other.room != first.room) {
            let why =
                format!("a second room for {} of {}; {} shows it", chat.1, chat.0, first.room);
            self.conflict(other, why);
        }
        let here = self.known.in_room(&first.room);
        let right = here.filter(|row| is_right(row, chat, *user));
        match right {
            Some(row) => self.check(row, first),
            None => self.place(first, chat, *user, here),
        }
        let there = self.known.has(&first.members, Some(*user));
        let being_made = right.or(self.wanted(chat, *user)).is_some_and(is_being_made);
        let marked = right.is_some_and(|row| row.broken.is_some());
        // Whoever is still to be invited has not left.
        if there == marked && (there || !being_made) && !right.is_some_and(is_closed) {
            let broken = (!there).then_some(PERSON_LEFT);
            self.plan.changes.push(Change::Mark { room: first.room.clone(), broken });
            self.repaired(first);
        }
    }

    /// The place that is known and stays: this account is in it, and it does not claim to be another.
    fn held<'p>(&self, place: Option<&'p str>, claims: &Claims<'_>) -> Option<&'p str> {
        place.filter(|place| self.joined.contains(*place) && !claims.believed.contains(place))
    }

    /// A room that is unknown, or known for something else.
    fn place(&mut self, room: &Seen, chat: ChatKey, user: UserId, here: Option<&Conversation>) {
        let of_chat = self.known.room_of(chat).filter(|row| {
            Some(row.id) != here.map(|here| here.id)
                && (row.external_id.is_some() || row.user != Some(user))
        });
        for row in here.into_iter().chain(of_chat) {
            self.plan.changes.push(Change::Forget(row.id));
        }
        let (title, archived) = title_in(&room.name, chat.1);
        self.restore_chat(chat, &title);
        self.plan.changes.push(Change::Place {
            room: room.room.clone(),
            chat,
            kind: ConversationKind::Room,
            user: Some(user),
        });
        if !self.wanted(chat, user).is_some_and(is_being_made) {
            self.plan.changes.push(Change::Show { room: room.room.clone(), title, archived });
        }
        if here.is_some() || of_chat.is_some_and(|row| row.external_id.is_some()) {
            self.repaired(room);
        } else {
            self.restored(room);
        }
    }

    /// The room that a chat is to get and has not yet.
    fn wanted(&self, chat: ChatKey, user: UserId) -> Option<&'a Conversation> {
        let row = self.known.room_of(chat)?;
        (row.external_id.is_none() && row.user == Some(user)).then_some(row)
    }

    fn restore_chat(&mut self, chat: ChatKey, title: &str) {
        if !self.known.chats.contains_key(&chat) {
            let title = title.to_owned();
            self.plan.changes.push(Change::RestoreChat { chat, title });
        }
    }

    /// A room that is known for what it is; its title may have changed there.
    fn check(&mut self, row: &Conversation, room: &Seen) {
        let chat = (row.workspace, row.chat);
        let (title, archived) = title_in(&room.name, row.chat);
        let known = self.known.chats.get(&chat).map_or(&title, |known| &known.title).clone();
        if !self.known.chats.contains_key(&chat) {
            self.restore_chat(chat, &title);
            self.repaired(room);
        }
        // Not shown yet: whoever makes rooms is about to.
        let Some(shown) = row.shown_title.as_ref().filter(|_| !is_called_as_shown(row, &room.name))
        else {
            return;
        };
        // Nothing was changed here since it was shown: the change on the server is the newer one, if it is the
        // person's. What we called it ourselves is what was wanted then.
        if known == *shown && known != title && !room.named_by_us {
            let room = room.room.clone();
            self.plan.changes.push(Change::Retitle { room, title: title.clone() });
        }
        self.plan.changes.push(Change::Show { room: room.room.clone(), title, archived });
        self.repaired(room);
    }

    fn home(&mut self, user: UserId, spaces: &[&Seen], claims: &Claims<'_>) {
        let place = self.known.homes.get(&user).map(String::as_str);
        if let Some(place) = self.held(place, claims) {
            for space in spaces {
                self.conflict(space, format!("{place} is the Space of {user}"));
            }
            return;
        }
        let known = spaces.iter().find(|space| Some(space.room.as_str()) == place);
        let Some(first) = known.or(spaces.first()) else { return };
        for other in spaces.iter().filter(|other| other.room != first.room) {
            self.conflict(other, format!("a second Space for {user}; {} is theirs", first.room));
        }
        if known.is_none() {
            let room = Some(first.room.clone());
            self.plan.changes.push(Change::Home { user, room });
            if place.is_some() { self.repaired(first) } else { self.restored(first) }
        }
    }

    /// A room that somebody else made.
    fn unclaimed(&mut self, room: &Seen, claims: &Claims<'_>) {
        if let Some(row) = self.known.in_room(&room.room) {
            self.check_unclaimed(row, room);
            return;
        }
        if room.space {
            return self.skip(room, "a Space that somebody else made");
        }
        if let Some(chat) = self.known.contexts.get(&room.room) {
            let kind = ConversationKind::Shared;
            let room_id = room.room.clone();
            self.plan.changes.push(Change::Place { room: room_id, chat: *chat, kind, user: None });
            return self.restored(room);
        }
        let [other] = room.members.as_slice() else {
            return self.skip(room, "not ours: no mark of this account in it");
        };
        let Some(person) = self.known.people.get(other) else {
            return self.skip(room, "not ours: it is with somebody who is linked to nobody here");
        };
        if let Some(open) = room.open {
            return self.skip(room, open.mark());
        }
        self.place_lobby(room, *person, claims);
    }

    /// A direct room of a person we know is where they found us.
    fn place_lobby(&mut self, room: &Seen, person: Person, claims: &Claims<'_>) {
        let chat = (person.workspace, FIRST_CHAT);
        self.restore_chat(chat, "");
        self.plan.changes.push(Change::Place {
            room: room.room.clone(),
            chat,
            kind: ConversationKind::Lobby,
            user: Some(person.user),
        });
        let at_home = claims.chats.contains_key(&chat) || self.known.room_of(chat).is_some();
        if at_home {
            // They were shown the way before.
            let title = String::new();
            self.plan.changes.push(Change::Show {
                room: room.room.clone(),
                title,
                archived: false,
            });
        }
        self.restored(room);
    }

    fn check_unclaimed(&mut self, row: &Conversation, room: &Seen) {
        let there = match row.kind {
            ConversationKind::Room => {
                let why = format!(
                    "it is known for {} of {}, and has no mark of this account",
                    row.chat, row.workspace
                );
                return self.conflict(room, why);
            }
            ConversationKind::Lobby => self.known.has(&room.members, row.user),
            ConversationKind::Shared => true,
        };
        if there == row.broken.is_some() && !is_closed(row) {
            let broken = (!there).then_some(PERSON_LEFT);
            self.plan.changes.push(Change::Mark { room: room.room.clone(), broken });
            self.repaired(room);
        }
    }

    /// What is known and no longer there.
    fn gone(&mut self, claims: &Claims<'_>) {
        let known = self.known;
        for row in &known.conversations {
            let Some(room) = &row.external_id else { continue };
            let forgotten = self.plan.changes.contains(&Change::Forget(row.id));
            if !self.joined.contains(room) && row.broken.is_none() && !forgotten {
                let broken = Some(NOT_IN_IT);
                self.plan.changes.push(Change::Mark { room: room.clone(), broken });
                self.plan.repaired.push(room.clone());
            }
        }
        for (user, room) in &known.homes {
            let another = claims.believed.contains(room.as_str());
            let gone = another || !self.joined.contains(room);
            if gone && !claims.homes.contains_key(user) {
                self.plan.changes.push(Change::Home { user: *user, room: None });
                self.plan.repaired.push(room.clone());
            }
        }
    }

    fn refuse(&mut self, room: &Seen, refusal: Refusal) {
        match refusal {
            Refusal::Skip(why) => self.skip(room, why),
            Refusal::Conflict(why) => self.conflict(room, why),
        }
    }

    fn skip(&mut self, room: &Seen, why: impl Into<String>) {
        self.plan.skipped.push(Skipped { room: room.room.clone(), why: why.into() });
    }

    fn conflict(&mut self, room: &Seen, why: String) {
        self.plan.conflicts.push(Skipped { room: room.room.clone(), why });
    }

    fn restored(&mut self, room: &Seen) {
        self.plan.restored.push(room.room.clone());
    }

    fn repaired(&mut self, room: &Seen) {
        let reported = self.plan.repaired.contains(&room.room);
        if !reported && !self.plan.restored.contains(&room.room) {
            self.plan.repaired.push(room.room.clone());
        }
    }
}

/// Whether a room is called what it is known to show.
pub(crate) fn is_called_as_shown(row: &Conversation, name: &str) -> bool {
    let Some(shown) = &row.shown_title else { return false };
    name == room_name(row.chat, shown, row.shown_archived)
        || title_in(name, row.chat) == (shown.clone(), row.shown_archived)
}

/// Whether it was never shown: whoever makes rooms goes on with it, down to the invitation.
fn is_being_made(row: &Conversation) -> bool {
    row.shown_title.is_none()
}

fn is_right(row: &Conversation, (workspace, chat): ChatKey, user: UserId) -> bool {
    row.kind == ConversationKind::Room
        && (row.workspace, row.chat, row.user) == (workspace, chat, Some(user))
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
