//! Rooms, Spaces, titles and invitations, with the eyes of a client that shares no library with the bot.

use std::time::Duration;

use cloister_testkit::Reply;
use cloister_testkit::synapse::{Fault, PlainPerson};
use serde_json::{Value, json};

use crate::independent::{asks, hears, met};
use crate::world::{PATIENCE, World, eventually};

async fn name_of(person: &PlainPerson, room: &str) -> String {
    let state = person.state(room, "m.room.name", "").await.unwrap();
    state["name"].as_str().unwrap_or_default().to_owned()
}

async fn until_named(person: &PlainPerson, room: &str, name: &str) {
    eventually(&format!("the room is called {name}"), || async {
        (name_of(person, room).await == name).then_some(())
    })
    .await;
}

/// The titles of a person's chats, as the database has them.
async fn titles(world: &World, user: &str) -> Vec<String> {
    let chats = world.json(&["chats", "list", "--user", user]).await;
    let title = |chat: &Value| chat["title"].as_str().unwrap_or_default().to_owned();
    chats.as_array().unwrap().iter().map(title).collect()
}

/// Gives the first chat another title, from the web.
async fn rename(world: &World, user: &str, title: &str) {
    let session = world.stack.session(user).await.unwrap();
    let mut web = world.stack.client(&session, "C1".parse().unwrap());
    let answer = web.ask(&format!("/rename {title}")).await.unwrap();
    assert!(answer.text.contains(title), "{}", answer.text);
}

/// A comparison that knows less than the server has does not take a new title back, also after
/// a kill.
#[tokio::test]
async fn a_comparison_does_not_take_a_new_title_back() {
    let mut world = World::builder().plain_rooms().behind_proxy().start().await;
    let (mut ann, c1) = met(&world, "ann").await;
    asks(&mut ann, &c1, "!rename Old", "Old").await;
    until_named(&ann, &c1, "C1 · Old").await;
    asks(&mut ann, &c1, "seen", "echo: seen").await;
    // From now on the bot hears nothing of what happens to the room.
    world.proxy().lay("/sync", Fault::Hang);
    let bot = world.bot.user_id.clone();
    for title in ["New", "Newer"] {
        rename(&world, "ann", title).await;
        until_named(&ann, &c1, &format!("C1 · {title}")).await;
        world.json(&["matrix", "reconcile", &bot]).await;
        assert_eq!(titles(&world, "ann").await, [title]);
        assert_eq!(name_of(&ann, &c1).await, format!("C1 · {title}"));
    }
    world.stack.kill().await.unwrap();
    world.proxy().heal();
    world.stack.restart().await.unwrap();
    world.until_state("connected").await;
    asks(&mut ann, &c1, "after the kill", "echo: after the kill").await;
    assert_eq!(titles(&world, "ann").await, ["Newer"]);
    assert_eq!(name_of(&ann, &c1).await, "C1 · Newer");
}

/// A name that its person gave a room before a newer title is older than that, however late the
/// bot hears of it; one that they give afterwards counts.
#[tokio::test]
async fn a_name_that_is_heard_of_late_is_older() {
    let world = World::builder().plain_rooms().behind_proxy().start().await;
    let (mut ann, c1) = met(&world, "ann").await;
    asks(&mut ann, &c1, "seen", "echo: seen").await;
    // Long enough for the rename; one that hung would hold the room for as long as a sync may take.
    world.proxy().lay("/sync", Fault::Delay(Duration::from_secs(5)));
    ann.set_state(&c1, "m.room.name", &json!({"name": "First"})).await.unwrap();
    rename(&world, "ann", "Second").await;
    until_named(&ann, &c1, "C1 · Second").await;
    world.proxy().heal();
    asks(&mut ann, &c1, "heard", "echo: heard").await;
    assert_eq!(titles(&world, "ann").await, ["Second"]);
    ann.set_state(&c1, "m.room.name", &json!({"name": "Third"})).await.unwrap();
    eventually("the person's own name counts", || async {
        (titles(&world, "ann").await == ["Third"]).then_some(())
    })
    .await;
    assert_eq!(name_of(&ann, &c1).await, "Third");
}

/// Who left the room where they were told how to pair is told again when they come again, the
/// same day; and no invitation is turned down without a word.
#[tokio::test]
async fn who_left_can_pair_again_and_is_told_why_not() {
    let world = World::start().await;
    let mut eve = PlainPerson::register(&world.synapse, "eve").await.unwrap();
    let bot = world.bot.user_id.clone();
    for round in 0..2 {
        let room = eve.invite(&bot).await.unwrap();
        hears(&mut eve, &room, "pair").await;
        asks(&mut eve, &room, "pair", "Your code is").await;
        if round == 0 {
            eve.leave(&room).await.unwrap();
        }
    }
    // While there is a room, another is not needed; and a Space never is.
    let space = json!({"creation_content": {"type": "m.space"}, "invite": [bot]});
    let second = json!({"preset": "trusted_private_chat", "is_direct": true, "invite": [bot]});
    for (room, why) in [(second, "We have a room already"), (space, "Space")] {
        let room = eve.make_room(&room).await.unwrap();
        let declined = eventually("it is turned down", || async {
            let state = eve.state(&room, "m.room.member", &bot).await.unwrap();
            (state["membership"] == "leave").then_some(state)
        })
        .await;
        assert!(declined["reason"].as_str().unwrap_or_default().contains(why), "{declined}");
    }
    assert_eq!(world.model.request_count(), 0);
}

/// It is bounded how often a stranger is let in, and that is said too.
#[tokio::test]
async fn a_stranger_is_let_in_a_few_times_a_day() {
    let world = World::start().await;
    let eve = PlainPerson::register(&world.synapse, "eve").await.unwrap();
    let bot = world.bot.user_id.clone();
    let mut let_in = 0;
    for _ in 0..6 {
        let room = eve.invite(&bot).await.unwrap();
        let state = eventually("it is answered", || async {
            let state = eve.state(&room, "m.room.member", &bot).await.unwrap();
            (state["membership"] != "invite").then_some(state)
        })
        .await;
        if state["membership"] == "join" {
            let_in += 1;
            eve.leave(&room).await.unwrap();
        } else {
            assert!(
                state["reason"].as_str().unwrap_or_default().contains("several times"),
                "{state}"
            );
        }
    }
    assert_eq!(let_in, 4, "once, and a few times again");
}

/// Who left their Space is offered it again when they ask for their chats.
#[tokio::test]
async fn a_space_that_was_left_is_offered_again() {
    let world = World::builder().plain_rooms().start().await;
    let (mut ann, c1) = met(&world, "ann").await;
    let space = |seen: &PlainPerson| {
        seen.names().into_iter().find(|(_, name)| name == "Cloister").map(|(id, _)| id)
    };
    let home = ann.until("the Space", PATIENCE, space).await.unwrap();
    ann.leave(&home).await.unwrap();
    assert_eq!(ann.membership(&c1, ann.id()).await.unwrap(), "join");
    asks(&mut ann, &c1, "!chats", "C1").await;
    ann.until("the Space again", PATIENCE, |seen| space(seen).filter(|id| *id == home))
        .await
        .unwrap();
}

/// A room and a Space that vanished from the server are made again, and `!chats C2` does not claim
/// that what is gone is there.
#[tokio::test]
async fn what_vanished_from_the_server_is_made_again() {
    let world = World::builder().plain_rooms().start().await;
    let (mut ann, c1) = met(&world, "ann").await;
    asks(&mut ann, &c1, "!new Taxes", "C2").await;
    let c2 = ann.until("C2", PATIENCE, |seen| seen.room_of("C2")).await.unwrap();
    asks(&mut ann, &c2, "hello", "echo: hello").await;
    let home = ann.names().into_iter().find(|(_, name)| name == "Cloister").unwrap().0;
    for gone in [&c2, &home] {
        world.synapse.delete_room(gone).await.unwrap();
    }
    // A client may go on showing what is gone.
    let other_than = |seen: &PlainPerson, gone: &[&String]| {
        let rooms = seen.names().into_iter().filter(|(_, name)| name.starts_with("C2"));
        rooms.map(|(room, _)| room).find(|room| !gone.contains(&room))
    };
    let again = ann.until("another C2", PATIENCE, |seen| other_than(seen, &[&c2])).await.unwrap();
    asks(&mut ann, &again, "and now?", "echo: and now?").await;
    let another = |seen: &PlainPerson| {
        let spaces = seen.names().into_iter().filter(|(_, name)| name == "Cloister");
        spaces.map(|(id, _)| id).find(|id| *id != home)
    };
    ann.until("another Space", PATIENCE, another).await.unwrap();

    // It vanishes once more: it is not made by itself again, and the person asks for it.
    world.synapse.delete_room(&again).await.unwrap();
    asks(&mut ann, &c1, "!chats C2", "can't be used").await;
    let claimed = ann.heard(&c1).into_iter().filter(|post| post.text.contains("write there"));
    assert_eq!(claimed.count(), 0, "nobody claims that it is there");
    let third = ann.until("a third C2", PATIENCE, |seen| other_than(seen, &[&c2, &again]));
    let third = third.await.unwrap();
    asks(&mut ann, &third, "third", "echo: third").await;
}

/// A reset that leaves leaves every room, marked or not, and turns down what it is invited to.
#[tokio::test]
async fn a_reset_that_leaves_leaves_every_room() {
    let world = World::builder().plain_rooms().start().await;
    let (mut ann, _) = met(&world, "ann").await;
    let mut eve = PlainPerson::register(&world.synapse, "eve").await.unwrap();
    let strangers = eve.invite(&world.bot.user_id).await.unwrap();
    hears(&mut eve, &strangers, "pair").await;
    let session = world.synapse.login(&world.bot).await.unwrap();
    let bot = PlainPerson::of(&world.synapse, session);
    assert!(bot.joined().await.unwrap().contains(&strangers));
    let account = world.bot.user_id.clone();
    let done =
        world.json(&["matrix", "reset", &account, "--yes", "--mode", "server-leave-forget"]).await;
    assert!(done["failed"].as_array().unwrap().is_empty(), "{done}");
    assert_eq!(bot.joined().await.unwrap(), Vec::<String>::new());
    ann.sync().await.unwrap();
}

/// What was posted so far, by transaction: a homeserver remembers those for a while, and shows nothing twice meanwhile.
fn posted(world: &World) -> Vec<String> {
    let passed = world.proxy().passed().into_iter();
    let sent = passed.filter(|sent| sent.method == "PUT" && sent.path.contains("/send/"));
    sent.map(|sent| sent.path).collect()
}

/// Forgetting here greets nobody again.
#[tokio::test]
async fn a_local_reset_greets_nobody_again() {
    let world = World::builder().plain_rooms().behind_proxy().start().await;
    let mut ann = world.plain_person("ann").await;
    let account = world.bot.user_id.clone();
    let lobby = ann.invite(&account).await.unwrap();
    hears(&mut ann, &lobby, "I have invited you").await;
    let c1 = ann.until("C1", PATIENCE, |seen| seen.room_of("C1")).await.unwrap();
    hears(&mut ann, &c1, "Hello ann").await;
    asks(&mut ann, &c1, "one", "echo: one").await;
    let before = posted(&world);
    world.json(&["matrix", "reset", &account, "--yes", "--mode", "local-only"]).await;
    asks(&mut ann, &lobby, "two", "echo: two").await;
    asks(&mut ann, &c1, "three", "echo: three").await;
    world.json(&["matrix", "reconcile", &account]).await;
    asks(&mut ann, &c1, "!new Taxes", "C2").await;
    // What is made now comes after everything else that was to be shown.
    ann.until("C2", PATIENCE, |seen| seen.room_of("C2")).await.unwrap();
    asks(&mut ann, &c1, "four", "echo: four").await;
    let after = posted(&world).split_off(before.len());
    let again: Vec<&String> = after.iter().filter(|sent| before.contains(sent)).collect();
    assert!(again.is_empty(), "said again: {again:?}");
    for words in ["I have invited you", "did not know this room", "Hello ann"] {
        let mut said = ann.history(&lobby).await.unwrap();
        said.extend(ann.history(&c1).await.unwrap());
        assert!(said.iter().filter(|post| post.text.contains(words)).count() <= 1, "{words}");
    }
    assert_eq!(ann.rooms().count(), 3, "and makes no room again: {:?}", ann.names());
}

/// An account is removed by who says so twice; then it is in no room any more.
#[tokio::test]
async fn an_account_is_removed_when_it_is_meant_and_leaves_its_rooms() {
    let world = World::builder().plain_rooms().start().await;
    let (ann, c1) = met(&world, "ann").await;
    let account = world.bot.user_id.clone();
    let refused = world.stack.cli(&["matrix", "rm", &account]).await.unwrap();
    assert_ne!(refused.code, Some(0), "nobody confirmed it");
    assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
    assert_eq!(world.bot_view().await["state"], "connected");
    world.stack.cli_ok(&["matrix", "rm", &account, "--yes"]).await.unwrap();
    assert_eq!(ann.membership(&c1, &account).await.unwrap(), "leave");
    assert!(world.json(&["matrix", "list"]).await.as_array().unwrap().is_empty());
}

/// Who asks what is going on while an answer is being written is told so; what is stopped says
/// that it was.
#[tokio::test]
async fn an_answer_under_way_is_told_of_and_a_stopped_one_is_marked() {
    let world =
        World::builder().plain_rooms().config("[matrix]\nedit_every_ms = 200\n").start().await;
    let (mut ann, c1) = met(&world, "ann").await;
    let (reply, steps) = Reply::text("this goes on for ever").chunks(5).stepped();
    world.model.enqueue(reply);
    steps.allow(2);
    ann.say(&c1, "talk").await.unwrap();
    let partial = hears(&mut ann, &c1, "this goes").await;
    let status = asks(&mut ann, &c1, "!status", "Budget").await.text;
    assert!(
        status.contains("answering in C1") && !status.contains("Nothing is running"),
        "{status}"
    );
    asks(&mut ann, &c1, "!cancel", "I stop what I was saying").await;
    let stopped = ann.until("it is marked", PATIENCE, |seen| {
        let posts = seen.heard(&c1).into_iter();
        posts
            .filter(|post| post.event_id == partial.event_id)
            .find(|post| post.text.contains("Stopped"))
    });
    let stopped = stopped.await;
    let stopped = stopped.unwrap_or_else(|error| panic!("{error}: {:#?}", ann.heard(&c1)));
    assert!(stopped.text.starts_with("this"), "{}", stopped.text);
    asks(&mut ann, &c1, "!status", "Nothing is running").await;
}

/// A file that the homeserver does not have holds up what comes after it for seconds: that is
/// answered before the file is given up.
#[tokio::test]
async fn a_missing_file_does_not_hold_its_room() {
    let world = World::builder().plain_rooms().start().await;
    let (mut ann, c1) = met(&world, "ann").await;
    let file =
        json!({"msgtype": "m.file", "body": "lost.txt", "url": "mxc://localhost/isnotthere"});
    ann.send(&c1, "m.room.message", &file).await.unwrap();
    asks(&mut ann, &c1, "and this?", "echo: and this?").await;
    let heard = ann.heard(&c1);
    assert!(!heard.iter().any(|post| post.text.contains("lost.txt")), "{heard:#?}");
    hears(&mut ann, &c1, "lost.txt").await;
}

/// A long answer grows message by message, not only in its first one.
#[tokio::test]
async fn the_later_messages_of_a_long_answer_grow_too() {
    let config = "[matrix]\nedit_every_ms = 200\n";
    let world = World::builder().plain_rooms().config(config).start().await;
    let (mut ann, c1) = met(&world, "ann").await;
    let text = format!("{}the last words of it", "one two three four five. ".repeat(1200));
    let (reply, steps) = Reply::text(&text).chunks(20).stepped();
    world.model.enqueue(reply);
    steps.allow(18);
    ann.say(&c1, "talk").await.unwrap();
    let parts = |seen: &PlainPerson| {
        let posts = seen.heard(&c1).into_iter();
        Some(posts.filter(|post| post.text.contains("three four")).count()).filter(|n| *n >= 2)
    };
    ann.until("a second message, before the end", PATIENCE, parts).await.unwrap();
    assert!(!ann.heard(&c1).iter().any(|post| post.text.contains("last words")));
    steps.allow(10);
    hears(&mut ann, &c1, "the last words of it").await;
    let posts = ann.heard(&c1).into_iter().filter(|post| post.text.contains("three four"));
    let whole: String = posts.map(|post| post.text).collect();
    assert_eq!(whole.matches("one two").count(), 1200, "each once");
}
