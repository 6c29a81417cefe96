//! The harness itself: clients that read each other, and the shortest way to an answer.

use cloister_testkit::synapse::Synapse;

use crate::person::Person;
use crate::world::{World, eventually};

#[tokio::test]
async fn two_people_read_each_other_in_an_encrypted_room() {
    let synapse = Synapse::shared().await.unwrap_or_else(|error| panic!("{error}"));
    let ann = Person::register(&synapse, "ann").await;
    let bob = Person::register(&synapse, "bob").await;
    let room = ann.invite(bob.id()).await;
    let at_bobs = eventually("bob is in the room", || async {
        bob.rooms().into_iter().find(|known| known.room_id() == room.room_id())
    })
    .await;
    assert!(at_bobs.latest_encryption_state().await.unwrap().is_encrypted());
    let said = ann.say(&room, "hello").await;
    assert_eq!(bob.wait_for_text(&at_bobs, "hello").await.event_id, said);
    ann.edit(&room, &said, "hello again").await;
    assert_eq!(bob.wait_for_text(&at_bobs, "hello again").await.edits, 1);
    ann.send_file(&room, "note.txt", "text/plain", b"read me").await;
    let file = bob.wait_for_text(&at_bobs, "note.txt").await;
    assert_eq!(bob.fetch(&file).await, b"read me");
    ann.redact(&room, &said).await;
    eventually("it is gone", || async {
        (!bob.messages(&at_bobs).iter().any(|post| post.event_id == said)).then_some(())
    })
    .await;
    assert_eq!(bob.unreadable(&at_bobs), 0);
}

/// X2, X3: an invite leads to a Space, a room and an answer, encrypted.
#[tokio::test]
async fn an_invite_leads_to_an_answer() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    assert!(c1.latest_encryption_state().await.unwrap().is_encrypted());
    ann.home().await;
    ann.ask(&c1, "hello", "echo: hello").await;
    world.model.assert_no_violations();
}

/// The same without encryption.
#[tokio::test]
async fn a_plain_room_works_too() {
    let world = World::builder().plain_rooms().start().await;
    let mut ann = world.plain_person("ann").await;
    ann.invite(&world.bot.user_id).await.unwrap();
    let patience = crate::world::PATIENCE;
    let c1 = ann.until("the room C1", patience, |ann| ann.room_of("C1")).await.unwrap();
    ann.say(&c1, "hello").await.unwrap();
    let answered = ann.until("an answer", patience, |ann| {
        ann.heard(&c1).into_iter().find(|post| post.text == "echo: hello")
    });
    answered.await.unwrap();
}
