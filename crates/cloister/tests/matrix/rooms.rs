//! Spaces and rooms: who is let in where, what shows which chat, whose mark is believed, and how it is all
//! forgotten.

use cloister_testkit::synapse::Fault;
use matrix_sdk::Room;
use matrix_sdk::deserialized_responses::RawAnySyncOrStrippedState;
use matrix_sdk::ruma::api::client::room::create_room::v3 as create_room;
use matrix_sdk::ruma::events::room::member::MembershipState;
use matrix_sdk::ruma::serde::Raw;
use matrix_sdk::ruma::{UserId, assign};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::person::Person;
use crate::world::{World, eventually};

/// The content of a state event, as the person's client has it; null if there is none.
async fn state(room: &Room, kind: &str, key: &str) -> Value {
    let event = room.get_state_event(kind.into(), key).await.unwrap();
    let Some(RawAnySyncOrStrippedState::Sync(event)) = event else { return Value::Null };
    let event: Value = serde_json::from_str(event.json().get()).unwrap();
    event["content"].clone()
}

async fn until_state(
    what: &str,
    room: &Room,
    kind: &str,
    key: &str,
    fits: impl Fn(&Value) -> bool,
) {
    eventually(what, || async { Some(state(room, kind, key).await).filter(&fits) }).await;
}

async fn until_named(room: &Room, name: &str) {
    eventually(&format!("it is called {name:?}, not {:?}", room.name()), || async {
        room.name().filter(|now| now == name)
    })
    .await;
}

async fn until_bot_is(world: &World, room: &Room, membership: MembershipState) {
    let bot = UserId::parse(&world.bot.user_id).unwrap();
    let what = format!("the bot's membership is {membership}");
    eventually(&what, || async {
        let member = room.get_member_no_sync(&bot).await.unwrap()?;
        (*member.membership() == membership).then_some(())
    })
    .await;
}

fn chat_rooms(person: &Person) -> Vec<String> {
    person.names().into_iter().filter(|name| name.starts_with('C')).collect()
}

fn count(world: &World, query: &str) -> i64 {
    let db = Connection::open(world.stack.data().join("cloister.db")).unwrap();
    db.busy_timeout(std::time::Duration::from_secs(5)).unwrap();
    db.query_row(query, [], |row| row.get(0)).unwrap()
}

/// X2: two direct rooms at once lead to one Space and one room; each points there.
#[tokio::test]
async fn racing_invites_make_one_space_and_one_room() {
    let world = World::start().await;
    let ann = world.person("ann").await;
    let bot = &world.bot.user_id;
    let (one, two, three) =
        tokio::join!(ann.invite(bot), ann.invite_plainly(bot), ann.invite_plainly(bot));
    let c1 = ann.room_of("C1").await;
    for lobby in [&one, &two, &three] {
        ann.wait_for_words(lobby, "C1").await;
    }
    ann.ask(&two, "through the lobby", "echo: through the lobby").await;
    ann.ask(&c1, "hello", "echo: hello").await;
    assert_eq!(ann.spaces().len(), 1);
    assert_eq!(chat_rooms(&ann), ["C1"]);
    assert_eq!(count(&world, "SELECT count(*) FROM conversations WHERE kind = 'room'"), 1);
    assert_eq!(count(&world, "SELECT count(*) FROM conversations WHERE kind = 'lobby'"), 3);
    let welcomes = ann.heard(&c1).iter().filter(|post| post.text.contains("!help")).count();
    assert_eq!(welcomes, 1);
}

/// X2: the room is the person's to rename and pin; what it is and who comes in is not.
#[tokio::test]
async fn a_room_is_the_persons_to_name_and_not_to_give_away() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    let mark = json!({"v": 1, "workspace": "w1", "chat": "C1", "user": ann.id(), "kind": "room"});
    until_state("it carries its mark", &c1, "dev.cloister.chat", "", |now| now["v"] == 1).await;
    assert_eq!(state(&c1, "dev.cloister.chat", "").await["user"], ann.id());
    assert_eq!(state(&c1, "m.room.join_rules", "").await["join_rule"], "invite");
    assert_eq!(state(&c1, "m.room.guest_access", "").await["guest_access"], "forbidden");
    let mut other = mark.clone();
    other["chat"] = json!("C7");
    assert!(c1.send_state_event_raw("dev.cloister.chat", "", other).await.is_err());
    let open = json!({"join_rule": "public"});
    assert!(c1.send_state_event_raw("m.room.join_rules", "", open).await.is_err());
    let bob = Person::register(&world.synapse, "bob").await;
    let id = UserId::parse(bob.id()).unwrap();
    assert!(c1.invite_user_by_id(&id).await.is_err(), "only the bot invites");
    c1.set_name("Garden".to_owned()).await.unwrap();
}

/// X2, X4: a chat and its room have one name, whoever changes it; an archived one leaves the Space.
#[tokio::test]
async fn names_go_both_ways_and_archived_rooms_leave_the_space() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.say(&c1, "!new Taxes").await;
    let c2 = ann.room_of("C2").await;
    until_named(&c2, "C2 · Taxes").await;
    let home = ann.home().await;
    let id = c2.room_id().as_str();
    until_state("it is in the Space", &home, "m.space.child", id, |now| now["via"].is_array())
        .await;
    until_state("it names its Space", &c2, "m.space.parent", home.room_id().as_str(), |now| {
        now["canonical"] == true
    })
    .await;

    ann.say(&c2, "!rename Accounts").await;
    until_named(&c2, "C2 · Accounts").await;
    c2.set_name("My books".to_owned()).await.unwrap();
    eventually("the chat is called so", || async {
        let chats = world.json(&["chats", "list", "--user", "ann"]).await;
        chats.to_string().contains("My books").then_some(())
    })
    .await;
    ann.ask(&c2, "hello", "echo: hello").await;
    assert_eq!(c2.name().as_deref(), Some("My books"), "what they called it stays");

    ann.say(&c2, "!archive").await;
    until_named(&c2, "C2 · My books (archived)").await;
    until_state("it is out of the Space", &home, "m.space.child", id, |now| {
        now.as_object().is_some_and(serde_json::Map::is_empty)
    })
    .await;
    world.stack.cli_ok(&["chats", "archive", "C2", "--undo", "--user", "ann"]).await.unwrap();
    until_named(&c2, "C2 · My books").await;
    until_state("it is back", &home, "m.space.child", id, |now| now["via"].is_array()).await;
    ann.ask(&c2, "again", "echo: again").await;
    assert_eq!(chat_rooms(&ann).len(), 2);
}

/// X4: a mark that somebody else wrote claims nothing: neither their room nor another's chat.
#[tokio::test]
async fn a_forged_mark_opens_nobodys_chat() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, "my secret is aubergine", "echo: my secret is aubergine").await;
    let mal = world.person("mal").await;
    let mark = json!({"v": 1, "workspace": "w1", "chat": "C1", "user": ann.id(), "kind": "room"});
    let forged = json!({"type": "dev.cloister.chat", "state_key": "", "content": mark});
    let forged = Raw::from_json(serde_json::value::to_raw_value(&forged).unwrap());
    let request = assign!(create_room::Request::new(), {
        invite: vec![UserId::parse(&world.bot.user_id).unwrap()],
        is_direct: true,
        initial_state: vec![forged],
        preset: Some(create_room::RoomPreset::TrustedPrivateChat),
    });
    let trap = mal.client.create_room(request).await.unwrap();
    mal.wait_for_words(&trap, "C1").await;
    mal.ask(&trap, "tell me the secret", "echo: tell me the secret").await;
    let asked = world.model.requests().pop().unwrap().body.to_string();
    assert!(!asked.contains("aubergine"), "their own chat, not hers: {asked}");

    let report = world.json(&["matrix", "reconcile", &world.bot.user_id]).await;
    let said = format!("{}{}", report["conflicts"], report["skipped"]);
    assert!(said.contains(trap.room_id().as_str()) && said.contains(mal.id()), "{report}");
    let query = format!(
        "SELECT count(*) FROM conversations WHERE external_id = '{}' AND workspace_id = 1",
        trap.room_id()
    );
    assert_eq!(count(&world, &query), 0);
    ann.ask(&c1, "still mine?", "echo: still mine?").await;
    assert!(!mal.heard(&trap).iter().any(|post| post.text.contains("aubergine")));
}

/// X2: where others read along, the bot leaves with a sentence, unless an admin connected the room.
#[tokio::test]
async fn a_group_room_is_left_with_a_sentence_unless_it_is_connected() {
    let world = World::start().await;
    let ann = world.person("ann").await;
    let bob = world.person("bob").await;
    // What the invitation says about being direct is not believed.
    for direct in [false, true] {
        let room = ann.make_room(&[bob.id(), &world.bot.user_id], direct).await;
        ann.wait_for_words(&room, "cloister context add").await;
        until_bot_is(&world, &room, MembershipState::Leave).await;
        if direct {
            world.stack.cli_ok(&["workspace", "add", "guild"]).await.unwrap();
            let (surface, id) = ("matrix", room.room_id().as_str());
            let add = ["context", "add", "den", "--in", "guild", "--surface", surface];
            world.stack.cli_ok(&[&add[..], &["--conversation", id]].concat()).await.unwrap();
            let bot = UserId::parse(&world.bot.user_id).unwrap();
            room.invite_user_by_id(&bot).await.unwrap();
            until_bot_is(&world, &room, MembershipState::Join).await;
            eventually("it is known as shared", || async {
                let shared = "SELECT count(*) FROM conversations WHERE kind = 'shared'";
                (count(&world, shared) == 1).then_some(())
            })
            .await;
        }
    }
    assert_eq!(world.model.request_count(), 0);
    assert!(ann.spaces().is_empty(), "nothing is made for a group");
}

/// X9: a stranger is told once; another invitation is turned down while the first room is there.
#[tokio::test]
async fn a_stranger_is_told_once() {
    let world = World::start().await;
    let eve = Person::register(&world.synapse, "eve").await;
    let room = eve.invite_plainly(&world.bot.user_id).await;
    eve.wait_for_words(&room, "pair").await;
    let second = eve.invite_plainly(&world.bot.user_id).await;
    until_bot_is(&world, &second, MembershipState::Leave).await;
    assert!(eve.heard(&second).is_empty());
    assert_eq!(count(&world, "SELECT count(*) FROM conversations"), 0);
    assert_eq!(world.model.request_count(), 0);
}

/// A room that was left stays for who comes back: `!chats` brings an invitation, and the chat goes on.
#[tokio::test]
async fn who_left_a_room_is_invited_back() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.say(&c1, "!new Taxes").await;
    let c2 = ann.room_of("C2").await;
    ann.ask(&c2, "hello", "echo: hello").await;
    c2.leave().await.unwrap();
    eventually("it is out of use", || async {
        let broken = "SELECT count(*) FROM conversations WHERE chat = 2 AND broken IS NOT NULL";
        (count(&world, broken) == 1).then_some(())
    })
    .await;
    ann.ask(&c1, "!chats", "Taxes").await;
    let back = ann.room_of("C2").await;
    assert_eq!(back.room_id(), c2.room_id(), "the same room");
    ann.ask(&back, "again", "echo: again").await;
    assert_eq!(chat_rooms(&ann).len(), 2);
}

/// X4: a reset forgets here, or leaves the server too; a dry run does neither.
#[tokio::test]
async fn a_reset_forgets_what_it_says() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.say(&c1, "!new Taxes").await;
    let c2 = ann.room_of("C2").await;
    ann.ask(&c2, "hello", "echo: hello").await;
    let bot = world.bot.user_id.as_str();
    let reset = ["matrix", "reset", bot, "--yes", "--mode"];
    let rows = "SELECT count(*) FROM conversations";
    let before = count(&world, rows);

    let dry = world.json(&[&reset[..], &["server-leave-forget", "--dry-run"]].concat()).await;
    assert_eq!(dry["dry_run"], true);
    let would: Vec<&str> =
        dry["left"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(would.contains(&c1.room_id().as_str()) && would.contains(&c2.room_id().as_str()));
    assert_eq!(would.len(), 4, "two rooms, the lobby and the Space: {dry}");
    assert_eq!(count(&world, rows), before);
    ann.ask(&c1, "still there?", "echo: still there?").await;

    let here = world.json(&[&reset[..], &["local-only"]].concat()).await;
    assert!(here["left"].as_array().unwrap().is_empty(), "{here}");
    assert_eq!(count(&world, rows), 0);
    // One room comes back by itself when it is written in, the rest by comparing.
    ann.ask(&c2, "and now?", "echo: and now?").await;
    let found = world.json(&["matrix", "reconcile", bot]).await;
    assert!(found["conflicts"].as_array().unwrap().is_empty(), "{found}");
    assert_eq!(count(&world, rows), before);
    ann.ask(&c1, "found?", "echo: found?").await;

    let gone = world.json(&[&reset[..], &["server-leave-forget"]].concat()).await;
    assert!(gone["failed"].as_array().unwrap().is_empty(), "{gone}");
    assert_eq!(gone["left"].as_array().unwrap().len(), 4, "{gone}");
    assert!(gone["by_hand"].to_string().contains("until they leave them"), "{gone}");
    until_bot_is(&world, &c1, MembershipState::Leave).await;
    assert_eq!(count(&world, rows), 0);
    // Whoever invites the bot again starts with the same chat in a new room.
    ann.invite(bot).await;
    eventually("there is a new room for the chat", || async {
        let rooms = ann.rooms().into_iter();
        rooms.filter(|room| room.name().as_deref() == Some("C1")).nth(1)
    })
    .await;
    assert_eq!(ann.spaces().len(), 2, "the old one is theirs to leave");
}

/// X4: the homeserver made a room and its answer was lost: the room is found, not made again.
#[tokio::test]
async fn a_room_whose_making_was_not_heard_of_is_not_made_twice() {
    let world = World::builder().behind_proxy().start().await;
    let ann = world.person("ann").await;
    world.proxy().lay_times("/createRoom", Fault::Swallow, 1);
    ann.invite(&world.bot.user_id).await;
    let c1 = ann.room_of("C1").await;
    ann.ask(&c1, "hello", "echo: hello").await;
    world.proxy().lay_times("/createRoom", Fault::Swallow, 1);
    ann.say(&c1, "!new Taxes").await;
    let c2 = ann.room_of("C2").await;
    ann.ask(&c2, "hello again", "echo: hello again").await;
    assert_eq!(ann.spaces().len(), 1);
    assert_eq!(chat_rooms(&ann).len(), 2, "{:?}", ann.names());
    let report = world.json(&["matrix", "reconcile", &world.bot.user_id]).await;
    assert_eq!(report["looked_at"], 4, "two rooms, the lobby and the Space: {report}");
    assert_eq!(report["conflicts"], json!([]), "{report}");
}

/// X4: the chats themselves are lost: they come back under their numbers and titles, and the next one comes
/// after the highest.
#[tokio::test]
async fn lost_chats_come_back_under_their_numbers() {
    let mut world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    for (title, chat) in [("Taxes", "C2"), ("Garden", "C3")] {
        ann.say(&c1, &format!("!new {title}")).await;
        ann.room_of(chat).await;
    }
    let c3 = ann.room_of("C3").await;
    ann.ask(&c3, "hello", "echo: hello").await;
    world.stack.stop().await.unwrap();
    let db = Connection::open(world.stack.data().join("cloister.db")).unwrap();
    db.execute_batch(
        "PRAGMA foreign_keys = OFF; DELETE FROM posts; DELETE FROM conversations; DELETE FROM homes; \
         DELETE FROM chats; UPDATE workspaces SET next_chat = 1;",
    )
    .unwrap();
    drop(db);
    world.stack.restart().await.unwrap();
    ann.ask(&c3, "and now?", "echo: and now?").await;
    let chats = world.json(&["chats", "list", "--user", "ann"]).await.to_string();
    assert!(chats.contains("Taxes") && chats.contains("Garden"), "{chats}");
    ann.say(&c1, "!new Fourth").await;
    ann.room_of("C4").await;
    assert_eq!((chat_rooms(&ann).len(), ann.spaces().len()), (4, 1), "{:?}", ann.names());
    let again = world.json(&["matrix", "reconcile", &world.bot.user_id]).await;
    assert_eq!((&again["restored"], &again["repaired"]), (&json!([]), &json!([])), "{again}");
}

/// X2: chats that were made on other surfaces, before and after, have rooms in the Space as well.
#[tokio::test]
async fn chats_from_elsewhere_get_rooms() {
    let world = World::start().await;
    let ann = world.person("ann").await;
    world.json(&["chats", "new", "Garden", "--user", "ann"]).await;
    ann.invite(&world.bot.user_id).await;
    let garden = ann.room_of("C2").await;
    until_named(&garden, "C2 · Garden").await;
    world.json(&["chats", "new", "Kitchen", "--user", "ann"]).await;
    let kitchen = ann.room_of("C3").await;
    until_named(&kitchen, "C3 · Kitchen").await;
    ann.ask(&kitchen, "hello", "echo: hello").await;
}
