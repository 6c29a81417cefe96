//! What can't be taken at once waits, and keeps nobody else waiting; what is never taken is on record.

use std::time::Instant;

use cloister_testkit::discord::{Fault, Letter};

use crate::world::{SOON, World, eventually};

const FILES: &str = "GET /attachments";

/// Waits until a file was asked for, and no answer came.
async fn asked_for_a_file(world: &World, since: Instant) {
    let asked = || async { (world.discord.pending() == 0).then_some(()) };
    eventually("a file is asked for", asked).await;
    assert!(world.discord.count_since(since, "") < 200, "nobody is hammered");
}

/// X6: one file that does not come holds up what its sender wrote after it, and nobody else.
#[tokio::test]
async fn one_slow_file_holds_up_nobody_else() {
    let world = World::builder().config(SOON).start().await;
    let (ann, slow) = world.met("ann").await;
    let (bo, quick) = world.met("bo").await;
    let since = Instant::now();
    world.discord.lay_times(FILES, Fault::Hang, 1);
    ann.send(slow, Letter::text("the slow one").file("slow.txt", "text/plain", b"slow"));
    asked_for_a_file(&world, since).await;
    bo.send(quick, Letter::text("the quick one").file("quick.txt", "text/plain", b"quick"));
    let told = world.told_model("the quick one").await;
    assert!(told.contains("quick.txt"), "{told}");
    world.assert_clean();
}

/// A file that does not come holds up what its sender wrote after it for seconds, and no longer.
#[tokio::test]
async fn a_file_that_does_not_come_is_passed_by() {
    let world = World::builder().config(SOON).start().await;
    let (ann, dm) = world.met("ann").await;
    world.discord.lay(FILES, Fault::Status(500));
    ann.send(dm, Letter::text("look").file("a.txt", "text/plain", b"a"));
    ann.ask(dm, "and this?", "echo: and this?").await;
    world.discord.heal();
    let told = world.told_model("look").await;
    assert!(told.contains("a.txt"), "it is taken when it comes: {told}");
    world.assert_clean();
}

/// X1, X6: a message that waits and can't be read any more is on record, and does not hold its channel for ever.
#[tokio::test]
async fn a_message_that_is_never_taken_is_on_record_and_holds_nobody() {
    let mut world = World::builder().config(SOON).start().await;
    let (ann, dm) = world.met("ann").await;
    let since = Instant::now();
    world.discord.lay_times(FILES, Fault::Hang, 1);
    let lost = ann.send(dm, Letter::text("look").file("a.txt", "text/plain", b"a"));
    asked_for_a_file(&world, since).await;
    ann.say(dm, "and this");
    let database = world.stack.data().join("cloister.db");
    let count = || {
        let db = rusqlite::Connection::open(&database).unwrap();
        let all = "SELECT count(*) FROM waiting_events";
        db.query_row(all, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    eventually("both wait", || async { (count() == 2).then_some(()) }).await;
    world.stack.stop().await.unwrap();
    let db = rusqlite::Connection::open(&database).unwrap();
    let damage = "UPDATE waiting_events SET sealed = '{' WHERE event = ?";
    assert_eq!(db.execute(damage, [lost.to_string()]).unwrap(), 1);
    drop(db);
    world.stack.restart().await.unwrap();
    ann.wait_for_text(dm, "echo: and this").await;
    let audit = world.stack.cli_ok(&["audit", "tail"]).await.unwrap();
    assert!(audit.contains("message.dropped") && audit.contains(&lost.to_string()), "{audit}");
    world.assert_clean();
}

/// X1: however much was said while nobody listened, the newest of it is heard.
#[tokio::test]
async fn a_long_absence_in_a_busy_channel_is_caught_up_with() {
    let mut world = World::builder().config(SOON).start().await;
    let club = world.club("member", &["ann"]).await;
    let (ann, bot) = (&club.people[0], world.bot.mention());
    ann.ask(club.general, &format!("{bot} before"), "before").await;
    world.stack.stop().await.unwrap();
    world.discord.forget_sessions();
    for _ in 0..5_200 {
        ann.say(club.general, "talk");
    }
    ann.say(club.general, &format!("{bot} the newest"));
    world.stack.restart().await.unwrap();
    ann.wait_for_words(club.general, "the newest").await;
    world.assert_clean();
}
