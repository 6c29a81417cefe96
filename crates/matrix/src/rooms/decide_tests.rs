use cloister_protocol::surface::{ConnectorId, ConversationId};
use cloister_protocol::{ChatId, WorkspaceId};
use matrix_sdk::ruma::OwnedUserId;
use proptest::prelude::*;

use super::*;
use crate::rooms::graph::KnownChat;

const W1: WorkspaceId = WorkspaceId::from_number(1);
const W2: WorkspaceId = WorkspaceId::from_number(2);
const ADA: UserId = UserId::from_number(1);
const BOB: UserId = UserId::from_number(2);

fn account(name: &str) -> OwnedUserId {
    format!("@{name}:example.org").parse().unwrap()
}

fn chat_claim(name: &str, workspace: WorkspaceId, chat: u32) -> Claim {
    Claim::Chat(ChatClaim::new(workspace, ChatId::from_number(chat), account(name)))
}

fn seen(room: &str, claim: Claim, members: &[&str]) -> Seen {
    let space = matches!(claim, Claim::Home(_));
    let members = members.iter().map(|name| account(name).to_string()).collect();
    let (room, name) = (room.to_owned(), String::new());
    Seen { room, claim, created_at: 1, name, named_by_us: false, space, members, open: None }
}

fn world() -> Known {
    let person = |user, workspace| Person { user, workspace };
    let people = [("ada", person(ADA, W1)), ("bob", person(BOB, W2))];
    Known {
        people: people.map(|(name, person)| (account(name).to_string(), person)).into(),
        workspaces: [W1, W2].into(),
        ..Known::default()
    }
}

fn row(id: i64, room: Option<&str>, chat: ChatKey, user: UserId) -> Conversation {
    Conversation {
        id: ConversationId::from_number(id),
        connector: ConnectorId::from_number(1),
        external_id: room.map(str::to_owned),
        workspace: chat.0,
        chat: chat.1,
        kind: ConversationKind::Room,
        user: Some(user),
        shown_title: Some(String::new()),
        shown_archived: false,
        broken: None,
    }
}

fn whole(seen: &[Seen], known: &Known) -> Plan {
    let joined = seen.iter().map(|room| room.room.clone()).collect();
    decide(seen, &joined, known, Scope::Everything)
}

/// What the control plane does with a plan.
fn apply(known: &mut Known, plan: &Plan) {
    for change in &plan.changes {
        match change {
            Change::Forget(id) => known.conversations.retain(|row| row.id != *id),
            Change::RestoreChat { chat, title } => {
                let chat = known.chats.entry(*chat);
                chat.or_insert(KnownChat { title: title.clone() });
            }
            Change::Place { room, chat, kind, user } => place(known, room, *chat, *kind, *user),
            Change::Show { room, title, archived } => {
                for row in rows_in(known, room) {
                    row.shown_title = Some(title.clone());
                    row.shown_archived = *archived;
                }
            }
            Change::Retitle { room, title } => {
                let row = rows_in(known, room).next().unwrap();
                let (chat, shown) = ((row.workspace, row.chat), row.shown_title.clone());
                let known = known.chats.get_mut(&chat).unwrap();
                if shown.is_none_or(|shown| shown == known.title) {
                    known.title.clone_from(title);
                }
            }
            Change::Mark { room, broken } => {
                for row in rows_in(known, room) {
                    row.broken = broken.map(str::to_owned);
                }
            }
            Change::Home { user, room: Some(room) } => {
                known.homes.insert(*user, room.clone());
            }
            Change::Home { user, room: None } => {
                known.homes.remove(user);
            }
        }
    }
}

fn rows_in<'k>(known: &'k mut Known, room: &str) -> impl Iterator<Item = &'k mut Conversation> {
    let room = Some(room.to_owned());
    known.conversations.iter_mut().filter(move |row| row.external_id == room)
}

fn place(
    known: &mut Known,
    room: &str,
    chat: ChatKey,
    kind: ConversationKind,
    user: Option<UserId>,
) {
    let there = |row: &&mut Conversation| {
        let same_chat = row.kind == ConversationKind::Room && (row.workspace, row.chat) == chat;
        row.external_id.as_deref() == Some(room) || kind == ConversationKind::Room && same_chat
    };
    if let Some(row) = known.conversations.iter_mut().find(there) {
        row.external_id.get_or_insert(room.to_owned());
        row.broken = None;
        return;
    }
    let id = known.conversations.iter().map(|row| row.id.number()).max().unwrap_or(0) + 1000;
    let mut new = row(id, Some(room), chat, ADA);
    new.kind = kind;
    new.user = user;
    new.shown_title = None;
    known.conversations.push(new);
}

/// X4: everything lost here is found again, once.
#[test]
fn rooms_and_spaces_that_are_lost_here_are_restored() {
    let home = Claim::Home(HomeClaim::new(account("ada")));
    let mut taxes = seen("!c2", chat_claim("ada", W1, 2), &["ada"]);
    taxes.name = "C2 · Taxes".to_owned();
    let rooms = [
        seen("!space", home, &["ada"]),
        seen("!c1", chat_claim("ada", W1, 1), &["ada"]),
        taxes,
        seen("!lobby", Claim::None, &["bob"]),
    ];
    let mut known = world();
    let plan = whole(&rooms, &known);
    assert_eq!(plan.restored.len(), 4);
    assert!(plan.repaired.is_empty() && plan.skipped.is_empty() && plan.conflicts.is_empty());
    apply(&mut known, &plan);
    assert_eq!(known.homes.get(&ADA).unwrap(), "!space");
    assert_eq!(known.chats.get(&(W1, ChatId::from_number(2))).unwrap().title, "Taxes");
    let lobby = known.in_room("!lobby").unwrap();
    assert_eq!(
        (lobby.kind, lobby.user, lobby.chat),
        (ConversationKind::Lobby, Some(BOB), FIRST_CHAT)
    );
    let again = whole(&rooms, &known);
    assert!(again.changes.is_empty(), "{again:?}");
    assert!(again.restored.is_empty() && again.repaired.is_empty());
}

/// X4: a mark that somebody else wrote moves nothing, whatever it says.
#[test]
fn a_forged_mark_is_skipped() {
    let sender = account("mallory").to_string();
    let forged = seen("!evil", Claim::Foreign { sender }, &["mallory", "bob"]);
    let plan = whole(&[forged], &world());
    assert!(plan.changes.is_empty());
    assert!(plan.skipped[0].why.contains("@mallory:example.org"), "{plan:?}");
}

#[test]
fn a_room_for_somebody_elses_chat_is_a_conflict() {
    let plan = whole(&[seen("!x", chat_claim("bob", W1, 1), &["bob"])], &world());
    assert!(plan.changes.is_empty());
    assert!(plan.conflicts[0].why.contains("whose workspace is w2"), "{plan:?}");
}

#[test]
fn of_two_rooms_for_a_chat_the_known_one_stays_or_else_the_older() {
    let mut young = seen("!young", chat_claim("ada", W1, 1), &["ada"]);
    young.created_at = 9;
    let rooms = [young, seen("!old", chat_claim("ada", W1, 1), &["ada"])];
    let mut known = world();
    let plan = whole(&rooms, &known);
    assert_eq!(plan.restored, ["!old"]);
    assert_eq!(plan.conflicts[0].room, "!young");

    known.chats.insert((W1, FIRST_CHAT), KnownChat { title: String::new() });
    known.conversations.push(row(1, Some("!young"), (W1, FIRST_CHAT), ADA));
    let plan = whole(&rooms, &known);
    assert!(plan.changes.is_empty(), "{plan:?}");
    assert_eq!(plan.conflicts[0].room, "!old");
}

#[test]
fn who_is_not_linked_is_named_with_what_to_do() {
    let plan = whole(&[seen("!x", chat_claim("eve", W1, 1), &["eve"])], &world());
    assert!(plan.changes.is_empty());
    assert!(plan.skipped[0].why.contains("link that account to its user first"), "{plan:?}");
}

/// X4: what the person renamed while nobody looked is the title from now on; a rename that was about to be
/// shown is not undone.
#[test]
fn a_title_that_changed_there_is_taken_unless_it_changed_here_too() {
    let mut room = seen("!c1", chat_claim("ada", W1, 1), &["ada"]);
    room.name = "Garden".to_owned();
    let mut known = world();
    let chat = (W1, FIRST_CHAT);
    known.chats.insert(chat, KnownChat { title: String::new() });
    known.conversations.push(row(1, Some("!c1"), chat, ADA));
    let mut here_too = known.clone();
    let plan = whole(std::slice::from_ref(&room), &known);
    apply(&mut known, &plan);
    assert_eq!(known.chats[&chat].title, "Garden");

    here_too.chats.get_mut(&chat).unwrap().title = "Kitchen".to_owned();
    let plan = whole(&[room], &here_too);
    apply(&mut here_too, &plan);
    assert_eq!(here_too.chats[&chat].title, "Kitchen");
    assert_eq!(here_too.conversations[0].shown_title.as_deref(), Some("Garden"));
}

/// What we called a room ourselves is what was wanted then, and never a newer title than the one we
/// have; the room is to be called that.
#[test]
fn our_own_name_for_a_room_takes_no_title_back() {
    let mut room = seen("!c1", chat_claim("ada", W1, 1), &["ada"]);
    (room.name, room.named_by_us) = ("C1 · Old".to_owned(), true);
    let mut known = world();
    let chat = (W1, FIRST_CHAT);
    known.chats.insert(chat, KnownChat { title: "New".to_owned() });
    let mut shown = row(1, Some("!c1"), chat, ADA);
    shown.shown_title = Some("New".to_owned());
    known.conversations.push(shown);
    let plan = whole(&[room], &known);
    apply(&mut known, &plan);
    assert_eq!(known.chats[&chat].title, "New");
    assert_eq!(known.conversations[0].shown_title.as_deref(), Some("Old"), "it is to be mended");
}

/// A direct room that is open to others is no lobby.
#[test]
fn a_room_that_is_open_to_others_is_not_placed() {
    let mut room = seen("!open", Claim::None, &["ada"]);
    assert_eq!(whole(std::slice::from_ref(&room), &world()).restored, ["!open"]);
    room.open = Some(crate::incoming::Open::ToEnter);
    let plan = whole(&[room], &world());
    assert!(plan.changes.is_empty() && plan.skipped.len() == 1, "{plan:?}");
}

#[test]
fn who_left_is_noticed_and_who_came_back_too() {
    let chat = (W1, FIRST_CHAT);
    let mut known = world();
    known.chats.insert(chat, KnownChat { title: String::new() });
    known.conversations.push(row(1, Some("!c1"), chat, ADA));
    let gone = [seen("!c1", chat_claim("ada", W1, 1), &[])];
    let plan = whole(&gone, &known);
    apply(&mut known, &plan);
    assert_eq!(known.conversations[0].broken.as_deref(), Some(PERSON_LEFT));
    let back = [seen("!c1", chat_claim("ada", W1, 1), &["ada"])];
    let plan = whole(&back, &known);
    apply(&mut known, &plan);
    assert_eq!(known.conversations[0].broken, None);
}

/// X4: a room that a kill left half made is taken up, and whoever is still to be invited has not left it.
#[test]
fn a_room_that_was_being_made_is_gone_on_with() {
    let chat = (W1, FIRST_CHAT);
    let mut known = world();
    known.chats.insert(chat, KnownChat { title: String::new() });
    let mut wanted = row(1, None, chat, ADA);
    wanted.shown_title = None;
    known.conversations.push(wanted);
    let rooms = [seen("!c1", chat_claim("ada", W1, 1), &[])];
    let plan = whole(&rooms, &known);
    apply(&mut known, &plan);
    let taken = &known.conversations[0];
    assert_eq!((taken.external_id.as_deref(), &taken.broken), (Some("!c1"), &None));
    assert_eq!(taken.shown_title, None, "it is still to be shown");
    assert!(whole(&rooms, &known).changes.is_empty());
}

/// One room that was looked at alone says nothing about the others.
#[test]
fn one_room_moves_nothing_else() {
    let chat = (W1, FIRST_CHAT);
    let mut known = world();
    known.chats.insert(chat, KnownChat { title: String::new() });
    known.conversations.push(row(1, Some("!c1"), chat, ADA));
    let joined = ["!c1".to_owned(), "!x".to_owned()].into();
    let other = seen("!x", chat_claim("ada", W1, 1), &["ada"]);
    let plan = decide(&[other], &joined, &known, Scope::OneRoom);
    assert!(plan.changes.is_empty(), "{plan:?}");
    assert_eq!(plan.conflicts.len(), 1);
}

const NAMES: [&str; 3] = ["ada", "bob", "eve"];

fn any_claim() -> impl Strategy<Value = Claim> {
    let name = prop::sample::select(&NAMES[..]);
    prop_oneof![
        Just(Claim::None),
        Just(Claim::Unreadable),
        name.clone().prop_map(|name| Claim::Foreign { sender: account(name).to_string() }),
        name.clone().prop_map(|name| Claim::Home(HomeClaim::new(account(name)))),
        (name, 1u32..4, 1u32..4).prop_map(|(name, workspace, chat)| chat_claim(
            name,
            WorkspaceId::from_number(workspace),
            chat
        )),
    ]
}

prop_compose! {
    fn any_seen(number: usize)(
        claim in any_claim(),
        members in prop::sample::subsequence(&NAMES[..], 0..=3),
        created_at in 0i64..3,
        name in prop::sample::select(&["", "C1", "C2 · a", "b", "C1 · c (archived)"][..]),
    ) -> Seen {
        Seen { created_at, name: name.to_owned(), ..seen(&format!("!r{number}"), claim, &members) }
    }
}

prop_compose! {
    fn any_row(number: usize)(
        room in prop::option::of(0usize..6),
        workspace in 1u32..3,
        chat in 1u32..4,
        kind in prop::sample::select(&[
            ConversationKind::Room, ConversationKind::Room, ConversationKind::Lobby,
        ][..]),
        user in 1u32..3,
        shown in prop::option::of(prop::sample::select(&["", "a", "b", "z"][..])),
        shown_archived: bool,
        broken: bool,
    ) -> Conversation {
        let chat = (WorkspaceId::from_number(workspace), ChatId::from_number(chat));
        let room = room.map(|room| format!("!r{room}"));
        let mut row = row(number as i64 + 1, room.as_deref(), chat, UserId::from_number(user));
        row.kind = kind;
        row.shown_title = shown.map(str::to_owned);
        row.shown_archived = shown_archived;
        row.broken = broken.then(|| "somehow".to_owned());
        row
    }
}

fn rows() -> impl Strategy<Value = Vec<Conversation>> {
    (any_row(0), any_row(1), any_row(2), any_row(3)).prop_map(|(a, b, c, d)| {
        let mut kept: Vec<Conversation> = Vec::new();
        for row in [a, b, c, d] {
            let room = |kept: &Conversation| kept.kind == ConversationKind::Room;
            let taken = kept.iter().any(|other| {
                other.external_id.is_some() && other.external_id == row.external_id
                    || room(other)
                        && room(&row)
                        && (other.workspace, other.chat) == (row.workspace, row.chat)
            });
            if !taken {
                kept.push(row);
            }
        }
        kept
    })
}

proptest! {
    /// X4: comparing twice is comparing once; no chat gets a second room; nobody's mark but ours is believed.
    #[test]
    fn comparing_is_idempotent_and_never_doubles_a_room(
        rooms in (any_seen(0), any_seen(1), any_seen(2), any_seen(3)),
        conversations in rows(),
        homes in prop::collection::hash_map((1u32..3).prop_map(UserId::from_number), 0usize..6, 0..2),
        chats in prop::collection::hash_map((1u32..3, 1u32..4), prop::sample::select(&["", "a", "z"][..]), 0..4),
    ) {
        let rooms = [rooms.0, rooms.1, rooms.2, rooms.3];
        let mut known = world();
        known.conversations = conversations;
        known.homes = homes.into_iter().map(|(user, room)| (user, format!("!r{room}"))).collect();
        for ((workspace, chat), title) in chats {
            let key = (WorkspaceId::from_number(workspace), ChatId::from_number(chat));
            known.chats.insert(key, KnownChat { title: title.to_owned() });
        }
        let before = known.clone();
        let plan = whole(&rooms, &known);
        apply(&mut known, &plan);
        let again = whole(&rooms, &known);
        prop_assert!(again.changes.is_empty(), "{:?}\nthen {:?}", plan, again);
        prop_assert!(again.restored.is_empty() && again.repaired.is_empty());

        let mut chats = HashSet::new();
        for row in known.conversations.iter().filter(|row| row.kind == ConversationKind::Room) {
            prop_assert!(chats.insert((row.workspace, row.chat)), "two rooms for a chat");
        }
        for room in &rooms {
            if matches!(room.claim, Claim::Foreign { .. } | Claim::Unreadable) {
                let known_before = before.in_room(&room.room).map(|row| row.id);
                let known_after = known.in_room(&room.room).map(|row| row.id);
                prop_assert!(known_after.is_none() || known_after == known_before);
            }
        }
    }
}
