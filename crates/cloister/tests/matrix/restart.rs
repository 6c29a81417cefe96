//! A control plane that is killed, stopped or robbed of what it knew: every message is answered once, no room
//! is made twice, and what was lost is found again on the homeserver (X4).

use std::time::Duration;

use cloister_testkit::synapse::{Fault, PlainPerson};
use cloister_testkit::{ModelServer, Reply};
use matrix_sdk::Room;
use rusqlite::Connection;

use crate::person::Person;
use crate::world::{PATIENCE, World, eventually};

const KILLS: u32 = 10;

/// The answers in a room, in order.
fn echoes(person: &Person, room: &Room) -> Vec<String> {
    let heard = person.heard(room).into_iter().map(|post| post.text);
    heard.filter(|text| text.starts_with("echo: ")).collect()
}

/// The rooms of chats that a person is in.
fn chat_rooms(person: &Person) -> Vec<String> {
    person.names().into_iter().filter(|name| name.starts_with('C')).collect()
}

fn database(world: &World) -> Connection {
    let db = Connection::open(world.stack.data().join("cloister.db")).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    db
}

/// X1, X4: killed again and again while messages flow; each is answered once, in its room, in order.
#[tokio::test]
async fn killed_while_messages_flow() {
    let mut world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.say(&c1, "!new").await;
    let c2 = ann.room_of("C2").await;
    ann.ask(&c1, "start", "echo: start").await;
    let devices = world.synapse.devices(&world.bot.user_id).await.unwrap();

    let mut said = (Vec::new(), Vec::new());
    for number in 0..KILLS {
        for (room, said) in [(&c1, &mut said.0), (&c2, &mut said.1)] {
            let text = format!("{} number {number}", room.name().unwrap_or_default());
            ann.say(room, &text).await;
            said.push(format!("echo: {text}"));
        }
        // Every time a little later: reading, thinking, answering.
        tokio::time::sleep(Duration::from_millis(u64::from(number) * 70)).await;
        world.stack.kill().await.unwrap();
        world.stack.restart().await.unwrap();
    }
    for (room, said) in [(&c1, &said.0), (&c2, &said.1)] {
        for answer in said {
            ann.wait_for_text(room, answer).await;
        }
        ann.ask(room, "the last", "echo: the last").await;
        let heard: Vec<String> = echoes(&ann, room)
            .into_iter()
            .filter(|text| text != "echo: start" && text != "echo: the last")
            .collect();
        assert_eq!(&heard, said, "each once and in order");
        assert_eq!(ann.unreadable(room), 0);
    }
    assert_eq!(chat_rooms(&ann).len(), 2, "{:?}", ann.names());
    assert_eq!(ann.spaces().len(), 1);
    assert_eq!(world.synapse.devices(&world.bot.user_id).await.unwrap(), devices, "no new device");
    world.model.assert_no_violations();
}

/// Killed in the middle of an answer that streams: it becomes whole, in the message that was begun or in one
/// that takes its place, and is not there twice.
#[tokio::test]
async fn killed_in_the_middle_of_an_answer() {
    let mut world = World::builder().config("[matrix]\nedit_every_ms = 200\n").start().await;
    let (ann, c1) = world.met("ann").await;
    let (reply, steps) = Reply::text("this text is never whole").chunks(6).stepped();
    world.model.enqueue(reply);
    steps.allow(3);
    ann.say(&c1, "hello").await;
    ann.wait_for(&c1, "a part", |post| post.text.starts_with("this")).await;
    world.stack.kill().await.unwrap();
    world.stack.restart().await.unwrap();
    ann.wait_for_text(&c1, "echo: hello").await;
    ann.ask(&c1, "the last", "echo: the last").await;
    assert_eq!(echoes(&ann, &c1), ["echo: hello", "echo: the last"]);
    let left: Vec<String> = ann.heard(&c1).into_iter().map(|post| post.text).collect();
    assert!(!left.iter().any(|text| text.starts_with("this text")), "{left:#?}");
}

/// X11: a stop in the middle of an answer ends in time, and the answer comes after the next start.
#[tokio::test]
async fn stopped_in_the_middle_of_an_answer() {
    let mut world = World::builder().config("[matrix]\nedit_every_ms = 200\n").start().await;
    let (ann, c1) = world.met("ann").await;
    let (reply, steps) = Reply::text("this text is never whole").chunks(6).stepped();
    world.model.enqueue(reply);
    steps.allow(3);
    ann.say(&c1, "hello").await;
    ann.wait_for(&c1, "a part", |post| post.text.starts_with("this")).await;
    world.stack.stop().await.unwrap();
    ann.say(&c1, "while you were away").await;
    world.stack.restart().await.unwrap();
    ann.wait_for_text(&c1, "echo: while you were away").await;
    ann.ask(&c1, "the last", "echo: the last").await;
    let expected = ["echo: hello", "echo: while you were away", "echo: the last"];
    assert_eq!(echoes(&ann, &c1), expected);
}

/// Killed between an invite and the rooms that follow from it: one Space and one room come of it.
#[tokio::test]
async fn killed_while_a_person_is_being_welcomed() {
    for delay in [50, 150, 300, 600] {
        let mut world = World::start().await;
        let ann = world.person("ann").await;
        ann.invite(&world.bot.user_id).await;
        tokio::time::sleep(Duration::from_millis(delay)).await;
        world.stack.kill().await.unwrap();
        world.stack.restart().await.unwrap();
        let c1 = ann.room_of("C1").await;
        ann.home().await;
        ann.ask(&c1, "hello", "echo: hello").await;
        assert_eq!(chat_rooms(&ann).len(), 1, "after {delay} ms: {:?}", ann.names());
        assert_eq!(ann.spaces().len(), 1, "after {delay} ms");
    }
}

/// X4: which room shows which chat, and the Space, are lost: they are found again on the homeserver, no room
/// is made, and the next chat gets a number past the highest.
#[tokio::test]
async fn lost_rooms_are_found_again() {
    let mut world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.say(&c1, "!new Second").await;
    let c2 = ann.room_of("C2").await;
    ann.ask(&c2, "the word is aubergine", "echo: the word is aubergine").await;
    let known = |world: &World| -> i64 {
        let rooms =
            "SELECT count(*) FROM conversations WHERE kind = 'room' AND external_id IS NOT NULL";
        database(world).query_row(rooms, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(known(&world), 2);

    world.stack.stop().await.unwrap();
    let lose = "DELETE FROM posts; UPDATE chats SET last_conversation = NULL; DELETE FROM conversations; \
                DELETE FROM homes;";
    database(&world).execute_batch(lose).unwrap();
    ann.say(&c2, "which word?").await;
    world.stack.restart().await.unwrap();
    ann.wait_for_text(&c2, "echo: which word?").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(seen.contains("aubergine"), "it is the same chat: {seen}");
    assert_eq!(known(&world), 2);
    let view = world.bot_view().await;
    let restored = view["reconciled"]["restored"].as_array().map_or(0, Vec::len);
    assert!(restored >= 2, "{view}");

    ann.say(&c1, "!new Third").await;
    let c3 = ann.room_of("C3").await;
    assert!(c3.name().unwrap().contains("Third"));
    assert_eq!((chat_rooms(&ann).len(), ann.spaces().len()), (3, 1), "{:?}", ann.names());

    // Asked again, there is nothing more to do.
    let again = world.json(&["matrix", "reconcile", &world.bot.user_id]).await;
    assert_eq!(again["restored"].as_array().map(Vec::len), Some(0), "{again}");
    assert_eq!(again["repaired"].as_array().map(Vec::len), Some(0), "{again}");
}

/// Only some of it is lost, and some is wrong.
#[tokio::test]
async fn partly_lost_and_stale_state_is_repaired() {
    let mut world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.say(&c1, "!new Second").await;
    let c2 = ann.room_of("C2").await;
    ann.ask(&c2, "hello", "echo: hello").await;
    world.stack.stop().await.unwrap();
    let room = c2.room_id().to_string();
    let db = database(&world);
    // The first is forgotten; the second is remembered as a room that does not exist.
    let forget = "DELETE FROM posts WHERE conversation IN (SELECT id FROM conversations WHERE chat = 1); \
                  UPDATE chats SET last_conversation = NULL; DELETE FROM conversations WHERE chat = 1; \
                  UPDATE conversations SET external_id = '!nowhere:localhost' WHERE chat = 2";
    db.execute_batch(forget).unwrap();
    drop(db);
    world.stack.restart().await.unwrap();
    world.until_state("connected").await;
    ann.ask(&c1, "one", "echo: one").await;
    ann.ask(&c2, "two", "echo: two").await;
    let shown: String = database(&world)
        .query_row(
            "SELECT external_id FROM conversations WHERE kind = 'room' AND chat = 2",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(shown, room);
    assert_eq!(chat_rooms(&ann).len(), 2, "{:?}", ann.names());
}

/// The keys and the session's store are gone: either all is restored, or it says what to do; a new start does
/// not answer what it can't read with nonsense.
#[tokio::test]
async fn a_lost_store_says_what_to_do_or_is_restored() {
    let mut world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, "hello", "echo: hello").await;
    world.stack.stop().await.unwrap();
    let store = world.stack.data().join("surfaces/matrix");
    assert!(store.is_dir(), "the store is in {}", store.display());
    std::fs::remove_dir_all(&store).unwrap();
    world.stack.restart().await.unwrap();
    let view = eventually("it has come to a state", || async {
        let view = world.bot_view().await;
        (view["state"] == "connected" || view["state"] == "logged_out").then_some(view)
    })
    .await;
    if view["state"] == "logged_out" {
        let problem = view["problem"].as_str().unwrap_or_default();
        assert!(problem.contains("matrix add"), "{problem}");
        world.add_bot(&world.bot).await;
        world.until_state("connected").await;
    }
    ann.ask(&c1, "are you back?", "echo: are you back?").await;
    assert_eq!(chat_rooms(&ann).len(), 1);
}

/// A long absence: far more was said than one sync tells, and every word of it is answered, in order.
#[tokio::test]
async fn a_long_absence_is_caught_up_with() {
    const MANY: usize = 60;
    let config = "[limits]\nperson_burst = 1000\n";
    let mut world = World::builder().plain_rooms().config(config).start().await;
    let mut ann = world.plain_person("ann").await;
    ann.invite(&world.bot.user_id).await.unwrap();
    let c1 = ann.until("the room C1", PATIENCE, |ann| ann.room_of("C1")).await.unwrap();
    world.stack.stop().await.unwrap();
    for number in 0..MANY {
        ann.say(&c1, &format!("number {number}")).await.unwrap();
    }
    world.stack.restart().await.unwrap();
    let all = ann.until("all answers", PATIENCE * 2, |ann| {
        let answers = plain_echoes(ann, &c1);
        (answers.len() >= MANY).then_some(answers)
    });
    let expected: Vec<String> = (0..MANY).map(|number| format!("echo: number {number}")).collect();
    assert_eq!(all.await.unwrap(), expected);
}

fn plain_echoes(person: &PlainPerson, room: &str) -> Vec<String> {
    let heard = person.heard(room).into_iter().map(|post| post.text);
    heard.filter(|text| text.starts_with("echo: ")).collect()
}

/// Killed after the homeserver took the answer and before that was written down: it is not posted twice.
#[tokio::test]
async fn killed_between_a_post_and_its_record() {
    let mut world = World::builder().behind_proxy().start().await;
    let (ann, c1) = world.met("ann").await;
    world.proxy().lay("/send/m.room", Fault::Swallow);
    ann.say(&c1, "hello").await;
    ann.wait_for_text(&c1, "echo: hello").await;
    world.stack.kill().await.unwrap();
    world.proxy().heal();
    world.stack.restart().await.unwrap();
    ann.ask(&c1, "the last", "echo: the last").await;
    assert_eq!(echoes(&ann, &c1), ["echo: hello", "echo: the last"]);
}

/// What the model is asked does not grow by what was delivered twice to us.
#[tokio::test]
async fn nothing_is_asked_of_the_model_twice() {
    let mut world = World::builder().model(ModelServer::builder()).start().await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, "one", "echo: one").await;
    for _ in 0..3 {
        world.stack.kill().await.unwrap();
        world.stack.restart().await.unwrap();
    }
    ann.ask(&c1, "two", "echo: two").await;
    assert_eq!(world.model.request_count(), 2);
}
