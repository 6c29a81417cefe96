//! What was written before the bot was there was not said to it: it is neither obeyed nor answered (X5).

use std::time::Duration;

use cloister_testkit::telegram::Sent;

use crate::world::{World, count};

/// Longer ago than clocks differ.
const HOURS: Duration = Duration::from_secs(2 * 60 * 60);
/// Before a group was connected, and after that the clocks may still differ.
const BEFORE: Duration = Duration::from_secs(30);

async fn titles(world: &World, user: &str) -> String {
    world.json(&["chats", "list", "--user", user]).await.to_string()
}

/// Telegram keeps for a day what nobody took. A bot that is connected obeys and answers none of
/// what it finds, wherever it was written.
#[tokio::test]
async fn what_waits_when_a_bot_is_connected_is_history() {
    let world = World::builder().bare().await;
    let ann = world.person("ann").await;
    let (group, other) =
        (world.telegram.group("Club", &[&ann]), world.telegram.group("Other", &[&ann]));
    world.club(&group, &[("ann", "admin")]).await;
    for group in [&group, &other] {
        group.add_bot(&ann, &world.bot);
    }
    let private = ann.with(&world.bot);
    world.telegram.written_ago(HOURS);
    for text in ["/rename Taken", "/new Unwanted", "an old word"] {
        ann.say(&private, text);
    }
    for place in [group.place(), other.place()] {
        ann.say(&place, "/rename@cloister_bot Taken");
        ann.say(&place, "@cloister_bot an old word");
    }
    world.telegram.written_ago(Duration::ZERO);
    world.add_bot(&world.bot, &[]).await;
    ann.ask(&private, "a new word", "echo: a new word").await;
    ann.ask(&group.place(), "@cloister_bot a new word", "echo: a new word").await;
    ann.ask(&other.place(), "@cloister_bot a new word", "context add").await;
    for place in [private, group.place(), other.place()] {
        assert_eq!(ann.heard(&place).len(), 1, "{:?}", ann.heard_texts(&place));
    }
    assert_eq!(world.model.request_count(), 2);
    let chats = titles(&world, "ann").await;
    assert!(!chats.contains("Taken") && !chats.contains("Unwanted"), "{chats}");
}

/// What was said in a group before somebody connected it was not said to the agent; who says it
/// again, also by an edit, is heard from then on, and an edit is no command.
#[tokio::test]
async fn what_was_said_in_a_group_before_it_was_connected_is_history() {
    let world = World::start().await;
    let (ann, bob) = (world.person("ann").await, world.person("bob").await);
    let group = world.telegram.group("Club", &[&ann, &bob]);
    world.club(&group, &[("ann", "admin"), ("bob", "member")]).await;
    group.add_bot(&ann, &world.bot);
    let place = group.place();
    world.telegram.written_ago(BEFORE);
    let renaming = ann.say(&place, "/rename@cloister_bot Taken");
    ann.say(&place, "/rename Taken");
    let old = bob.say(&place, "@cloister_bot an old word");
    let pictures = |name: &str| {
        use cloister_testkit::telegram::FileKind;
        Sent::file(FileKind::Photo, name, "image/jpeg", b"\xff\xd8\xff old")
    };
    ann.album(&place, vec![pictures("a.jpg"), pictures("b.jpg").caption("@cloister_bot look")]);
    world.telegram.written_ago(Duration::ZERO);
    ann.ask(&place, "@cloister_bot a new word", "echo: a new word").await;
    bob.edit(&place, old, "@cloister_bot a mended word");
    ann.wait_for_words(&place, "echo: a mended word").await;
    ann.edit(&place, renaming, "/rename@cloister_bot Taken again");
    ann.wait_for_words(&place, "commands from an edit").await;
    assert_eq!(count(&ann, &place, "old word"), 0, "{:?}", ann.heard_texts(&place));
    assert_eq!(world.model.request_count(), 2);
    assert_eq!(world.incoming().len(), 0, "{:?}", world.incoming());
    assert!(!titles(&world, "club").await.contains("Taken"));
}

/// An old command that somebody hands on is somebody's words, and no command.
#[tokio::test]
async fn an_old_command_that_is_handed_on_is_quoted() {
    let world = World::start().await;
    let ann = world.person("ann").await;
    let group = world.telegram.group("Club", &[&ann]);
    world.club(&group, &[("ann", "admin")]).await;
    group.add_bot(&ann, &world.bot);
    let private = ann.with(&world.bot);
    for (place, command) in
        [(group.place(), "/rename@cloister_bot Taken"), (private, "/rename Taken")]
    {
        ann.send(&place, Sent::text(command).forwarded_from("Bob"));
        ann.wait_for_words(&place, "forwarded from Bob").await;
    }
    for owner in ["ann", "club"] {
        assert!(!titles(&world, owner).await.contains("Taken"), "{owner}");
    }
}
