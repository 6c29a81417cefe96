//! What an independent client sees, which speaks the client-server API itself and shares no library with the bot:
//! what is said is what the homeserver holds.

use cloister_testkit::synapse::{PlainPerson, Post};
use serde_json::json;

use crate::world::{PATIENCE, World, eventually};

/// A person with a plain client who found the bot: their own room of C1.
pub(crate) async fn met(world: &World, user: &str) -> (PlainPerson, String) {
    let mut person = world.plain_person(user).await;
    person.invite(&world.bot.user_id).await.unwrap();
    let c1 = person.until("there is a room C1", PATIENCE, |seen| seen.room_of("C1")).await.unwrap();
    (person, c1)
}

/// Waits for a message of somebody else with these words.
pub(crate) async fn hears(person: &mut PlainPerson, room: &str, words: &str) -> Post {
    let look =
        |seen: &PlainPerson| seen.heard(room).into_iter().find(|post| post.text.contains(words));
    let heard = person.until(words, PATIENCE, look).await;
    heard.unwrap_or_else(|_late| panic!("never {words:?}: {:#?}", person.heard(room)))
}

/// Says something and waits for its answer.
pub(crate) async fn asks(person: &mut PlainPerson, room: &str, words: &str, answer: &str) -> Post {
    person.say(room, words).await.unwrap();
    hears(person, room, answer).await
}

async fn texts(person: &PlainPerson, room: &str) -> Vec<String> {
    let posts = person.history(room).await.unwrap();
    posts.into_iter().filter(|post| post.sender != person.id()).map(|post| post.text).collect()
}

async fn open_questions(world: &World, user: &str) -> usize {
    world.json(&["task", "approvals", "--user", user]).await.as_array().unwrap().len()
}

/// A room has a history when the bot is invited to it. None of it is obeyed or answered,
/// commands and messages alike; what comes after the invitation is, also before the bot has come in.
#[tokio::test]
async fn what_stood_in_a_room_before_the_invitation_is_history() {
    let world = World::builder().plain_rooms().start().await;
    let (mut ann, c1) = met(&world, "ann").await;
    asks(&mut ann, &c1, "!rename Kept", "Kept").await;
    let room = ann.make_room(&json!({"preset": "private_chat"})).await.unwrap();
    ann.say(&room, "!rename Taken").await.unwrap();
    ann.say(&room, "!new Unwanted").await.unwrap();
    for number in 0..60 {
        ann.say(&room, &format!("old {number}")).await.unwrap();
    }
    ann.ask_in(&room, &world.bot.user_id).await.unwrap();
    ann.say(&room, "the first word").await.unwrap();
    hears(&mut ann, &room, "echo: the first word").await;
    asks(&mut ann, &room, "the second word", "echo: the second word").await;
    let heard = texts(&ann, &room).await;
    assert!(!heard.iter().any(|text| text.contains("old ")), "{heard:#?}");
    let asked = world.model.requests();
    assert!(!asked.iter().any(|request| request.body.to_string().contains("old 5")));
    let chats = asks(&mut ann, &c1, "!chats", "C1").await.text;
    assert!(chats.contains("Kept") && !chats.contains("Unwanted"), "{chats}");
}

/// The same after a kill right after the bot came in: what is asked for again is looked at in
/// the same way, and nothing that came after the invitation is lost.
#[tokio::test]
async fn history_is_history_after_a_kill_too() {
    let mut world = World::builder().plain_rooms().start().await;
    let (mut ann, c1) = met(&world, "ann").await;
    asks(&mut ann, &c1, "!rename Kept", "Kept").await;
    world.stack.kill().await.unwrap();
    let room = ann.make_room(&json!({"preset": "private_chat"})).await.unwrap();
    ann.say(&room, "!rename Taken").await.unwrap();
    ann.say(&room, "an old word").await.unwrap();
    ann.ask_in(&room, &world.bot.user_id).await.unwrap();
    ann.say(&room, "a new word").await.unwrap();
    world.stack.restart().await.unwrap();
    let bot = world.bot.user_id.clone();
    eventually("the bot is in", || async {
        (ann.membership(&room, &bot).await.unwrap() == "join").then_some(())
    })
    .await;
    world.stack.kill().await.unwrap();
    ann.say(&room, "and another").await.unwrap();
    world.stack.restart().await.unwrap();
    hears(&mut ann, &room, "echo: and another").await;
    hears(&mut ann, &room, "echo: a new word").await;
    let heard = texts(&ann, &room).await;
    assert!(!heard.iter().any(|text| text.contains("old word")), "{heard:#?}");
    let chats = asks(&mut ann, &c1, "!chats", "C1").await.text;
    assert!(chats.contains("Kept"), "{chats}");
}

/// A room that people can come into unasked is nobody's own, whoever is in it now.
#[tokio::test]
async fn a_public_room_is_not_private() {
    let world = World::builder().plain_rooms().start().await;
    let mut ann = world.plain_person("ann").await;
    for rule in ["public", "knock"] {
        let rule =
            json!([{"type": "m.room.join_rules", "state_key": "", "content": {"join_rule": rule}}]);
        let body = json!({"preset": "private_chat", "is_direct": true, "initial_state": rule,
                          "invite": [world.bot.user_id]});
        let room = ann.make_room(&body).await.unwrap();
        hears(&mut ann, &room, "without an invitation").await;
        eventually("the bot left", || async {
            (ann.membership(&room, &world.bot.user_id).await.unwrap() == "leave").then_some(())
        })
        .await;
    }
    assert!(ann.rooms().all(|room| ann.room_of("C1").as_deref() != Some(room)), "nothing was made");
    assert_eq!(world.model.request_count(), 0);
}

/// What a room is counts at each message, not when the bot came: one that is opened is closed to
/// us, a stranger who comes in reads nothing, and one that is closed again works again.
#[tokio::test]
async fn a_room_that_is_opened_is_silent_until_it_is_closed() {
    let world = World::builder().plain_rooms().start().await;
    let (mut ann, _) = met(&world, "ann").await;
    let lobby = ann.invite(&world.bot.user_id).await.unwrap();
    asks(&mut ann, &lobby, "the secret is aubergine", "echo: the secret is aubergine").await;
    for (kind, opened, closed, told) in [
        (
            "m.room.join_rules",
            json!({"join_rule": "public"}),
            json!({"join_rule": "invite"}),
            "without an invitation",
        ),
        (
            "m.room.history_visibility",
            json!({"history_visibility": "world_readable"}),
            json!({"history_visibility": "shared"}),
            "can be read by anybody",
        ),
    ] {
        ann.set_state(&lobby, kind, &opened).await.unwrap();
        let before = world.model.request_count();
        asks(&mut ann, &lobby, &format!("tell it while {kind} is open"), told).await;
        let other = ann.room_of("C1").unwrap();
        asks(&mut ann, &other, &format!("elsewhere, {kind}"), &format!("echo: elsewhere, {kind}"))
            .await;
        assert_eq!(world.model.request_count(), before + 1, "nothing was taken in the open room");
        ann.set_state(&lobby, kind, &closed).await.unwrap();
        asks(&mut ann, &lobby, &format!("closed {kind}"), &format!("echo: closed {kind}")).await;
    }
    let heard = texts(&ann, &lobby).await;
    assert!(!heard.iter().any(|text| text.contains("is open")), "{heard:#?}");
}

/// Who writes in the clear is told so, once.
#[tokio::test]
async fn a_direct_room_in_the_clear_is_warned_of_once() {
    let world = World::start().await;
    let mut ann = world.plain_person("ann").await;
    let lobby = ann.invite(&world.bot.user_id).await.unwrap();
    hears(&mut ann, &lobby, "not encrypted").await;
    asks(&mut ann, &lobby, "hello", "echo: hello").await;
    let bot = world.bot.user_id.clone();
    world.json(&["matrix", "reconcile", &bot]).await;
    asks(&mut ann, &lobby, "again", "echo: again").await;
    let warned =
        texts(&ann, &lobby).await.into_iter().filter(|text| text.contains("not encrypted"));
    assert_eq!(warned.count(), 1);
}

/// Waits until it is written down which message asks: a client can be faster than that.
async fn recorded(world: &World, question: &Post) {
    let db = rusqlite::Connection::open(world.stack.data().join("cloister.db")).unwrap();
    eventually("the question is known by its message", || async {
        let count = "SELECT count(*) FROM posts WHERE external_id = ? AND outbox_id IS NOT NULL";
        let found = db.query_row(count, [&question.event_id], |row| row.get::<_, i64>(0));
        (found.unwrap_or(0) > 0).then_some(())
    })
    .await;
}

/// A reaction allows while its person is alone with the bot and the question stands, and at no
/// other time.
#[tokio::test]
async fn a_reaction_allows_alone_and_what_still_stands() {
    let world = World::builder().plain_rooms().start().await;
    let (mut ann, _) = met(&world, "ann").await;
    // A room of the person's own making: they may invite whom they like.
    let lobby = ann.invite(&world.bot.user_id).await.unwrap();
    let ask = "run: mkdir -p old && rm -r old && echo gone";
    let question = asks(&mut ann, &lobby, ask, "!approve A1").await;
    recorded(&world, &question).await;
    let mut eve = PlainPerson::register(&world.synapse, "eve").await.unwrap();
    ann.ask_in(&lobby, eve.id()).await.unwrap();
    eve.until("eve is in", PATIENCE, |seen| seen.rooms().next().map(drop)).await.unwrap();
    hears(&mut ann, &lobby, "can read along").await;
    ann.react(&lobby, &question.event_id, "👍").await.unwrap();
    let c1 = ann.room_of("C1").unwrap();
    asks(&mut ann, &c1, "!status", "Budget").await;
    assert_eq!(open_questions(&world, "ann").await, 1, "others are there");
    eve.leave(&lobby).await.unwrap();
    asks(&mut ann, &lobby, "alone again", "echo: alone again").await;
    assert_eq!(open_questions(&world, "ann").await, 1);

    // What was taken away is not answered, neither is it by what was taken back.
    ann.redact(&lobby, &question.event_id).await.unwrap();
    ann.react(&lobby, &question.event_id, "👍🏽").await.unwrap();
    hears(&mut ann, &lobby, "was taken away").await;
    assert_eq!(open_questions(&world, "ann").await, 1, "nobody is shown the question");
    asks(&mut ann, &lobby, "!approve A1", "A1 allowed").await;
    hears(&mut ann, &lobby, "gone").await;

    let question = asks(&mut ann, &lobby, ask, "!approve A2").await;
    recorded(&world, &question).await;
    ann.react(&lobby, &question.event_id, "👍").await.unwrap();
    hears(&mut ann, &lobby, "ann allowed it once").await;
}
