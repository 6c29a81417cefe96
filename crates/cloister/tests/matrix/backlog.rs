//! Much at once: many rooms of one person, and a start on what has piled up. All of it is answered, and nobody
//! else waits. Every stack of these tests reads the database through one connection.

use std::time::Duration;

use matrix_sdk::Room;
use tokio::time::{Instant, sleep};

use crate::person::Person;
use crate::world::{World, eventually};

/// A person may say little at once, so that the rest waits, and is taken soon.
const LITTLE_AT_ONCE: &str = "[limits]\nperson_burst = 30\nperson_per_s = 20.0\ncommand_burst = 10\n\
                              command_per_s = 10.0\n";
const PATIENCE: Duration = Duration::from_secs(180);

async fn rooms(ann: &Person, first: Room, count: usize) -> Vec<Room> {
    for _ in 1..count {
        ann.say(&first, "!new").await;
    }
    let mut rooms = vec![first];
    for number in 2..=count {
        rooms.push(ann.room_of(&format!("C{number}")).await);
    }
    rooms
}

/// What was heard in a room that fits, once there is so much of it.
async fn heard(ann: &Person, room: &Room, words: &str, count: usize) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let posts = ann.heard(room).into_iter().map(|post| post.text);
        let fits: Vec<String> = posts.filter(|text| text.contains(words)).collect();
        if fits.len() >= count {
            return fits;
        }
        let (name, all) = (room.name(), ann.heard(room).len());
        let found = fits.len();
        assert!(Instant::now() < deadline, "{name:?}: {found} of {count} answers, {all} posts");
        sleep(Duration::from_millis(100)).await;
    }
}

/// The control plane is there for everybody else.
async fn is_well(world: &World) {
    let answer = world.stack.http("GET", "/readyz", None, Vec::new()).await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    world.stack.cli_ok(&["user", "list"]).await.unwrap();
    let log = world.stack.log();
    for complaint in ["too much to do", "held for too long", "taken back"] {
        assert!(!log.contains(complaint), "{complaint}:\n{log}");
    }
}

#[tokio::test]
async fn one_member_with_many_rooms_stops_nobody() {
    const ROOMS: usize = 10;
    const EACH: usize = 10;
    let world = World::builder().plain_rooms().config(LITTLE_AT_ONCE).start().await;
    let (ann, c1) = world.met("ann").await;
    let rooms = rooms(&ann, c1, ROOMS).await;
    for _ in 0..EACH {
        for room in &rooms {
            ann.say(room, "!status").await;
        }
    }
    for room in &rooms {
        let answers = heard(&ann, room, "Budget:", EACH).await;
        assert_eq!(answers.len(), EACH, "{:?}", room.name());
    }
    let (bob, bobs) = world.met("bob").await;
    bob.ask(&bobs, "and me?", "echo: and me?").await;
    is_well(&world).await;
}

#[tokio::test]
async fn a_start_on_a_backlog_answers_all_of_it() {
    const ROOMS: usize = 20;
    const EACH: usize = 5;
    let mut world = World::builder().plain_rooms().config(LITTLE_AT_ONCE).start().await;
    let (ann, c1) = world.met("ann").await;
    let rooms = rooms(&ann, c1, ROOMS).await;
    world.stack.stop().await.unwrap();
    for number in 0..EACH {
        for room in &rooms {
            ann.say(room, &format!("waiting {number}")).await;
        }
    }
    world.stack.restart().await.unwrap();
    let expected: Vec<String> = (0..EACH).map(|number| format!("echo: waiting {number}")).collect();
    for room in &rooms {
        let answers = heard(&ann, room, "echo: waiting", EACH).await;
        assert_eq!(answers, expected, "{:?}: each once and in order", room.name());
    }
    eventually("nothing waits", || async {
        let view = world.bot_view().await;
        (view["state"] == "connected").then_some(())
    })
    .await;
    is_well(&world).await;
}
