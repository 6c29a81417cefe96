//! What people send: files, replies, edits, deletions, stickers, forwards, and what is none of theirs.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use cloister_testkit::Reply;
use cloister_testkit::discord::{Fault, Letter};

use crate::world::{PATIENCE, SOON, World, echoes, texts};

/// What is in the `incoming/` of the first chats of everybody.
fn incoming(world: &World) -> Vec<PathBuf> {
    let workspaces = std::fs::read_dir(world.stack.data().join("workspaces"));
    let folders = workspaces.into_iter().flatten().flatten();
    let folders = folders.map(|workspace| workspace.path().join("chats/C1/incoming"));
    let entries = folders.filter_map(|folder| std::fs::read_dir(folder).ok());
    entries.flatten().flatten().map(|entry| entry.path()).collect()
}

/// X10: files land in `incoming/` and the agent is told; one without words starts a turn too; several come as
/// one message.
#[tokio::test]
async fn files_land_in_incoming_and_the_agent_is_told() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    ann.send(dm, Letter::text("what is in this?").file("my notes.txt", "text/plain", b"read me"));
    let told = world.told_model("what is in this?").await;
    assert!(told.contains("/chat/incoming/"), "{told}");
    let files = incoming(&world);
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(std::fs::read(&files[0]).unwrap(), b"read me");

    ann.send(dm, Letter::default().file("big.bin", "application/octet-stream", &vec![7; 3 << 20]));
    world.told_model("big.bin").await;
    let big = incoming(&world).into_iter().find(|path| path.ends_with("big.bin")).unwrap();
    assert_eq!(std::fs::metadata(big).unwrap().len(), 3 << 20);

    let two = Letter::text("compare these").file("a.txt", "text/plain", b"a").file(
        "b.txt",
        "text/plain",
        b"b",
    );
    ann.send(dm, two);
    let told = world.told_model("compare these").await;
    assert!(told.contains("a.txt") && told.contains("b.txt"), "{told}");
    world.assert_clean();
}

/// X10: a recorded message is passed on as sound.
#[tokio::test]
async fn a_voice_message_is_passed_on_as_sound() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    let voice = Letter { voice: true, ..Letter::default() };
    ann.send(dm, voice.file("voice-message.ogg", "audio/ogg", b"OggS"));
    let told = world.told_model(".ogg").await;
    assert!(told.contains("audio/ogg"), "{told}");
    world.assert_clean();
}

/// X10: a file with a name that leads elsewhere stays where it belongs.
#[tokio::test]
async fn a_name_that_leads_elsewhere_stays_inside() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    let letter = Letter::text("look").file("../../../SOUL.md", "text/plain", b"evil");
    ann.send(dm, letter.file(".bashrc", "text/plain", b"evil"));
    world.told_model("look").await;
    let files = incoming(&world);
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        assert!(file.parent().unwrap().ends_with("incoming"), "{file:?}");
    }
    world.assert_clean();
}

/// X10: what is too large is refused with the limit named, and nothing is left of it.
#[tokio::test]
async fn a_file_that_is_too_large_is_refused() {
    let world = World::builder().config("[discord]\nmax_file_mb = 1\n").start().await;
    let (ann, dm) = world.met("ann").await;
    let since = Instant::now();
    ann.send(dm, Letter::default().file("huge.bin", "application/octet-stream", &vec![7; 2 << 20]));
    let told = ann.wait_for_words(dm, "huge.bin").await;
    assert!(told.text().contains("1 MB"), "{}", told.text());
    assert_eq!(world.discord.count_since(since, "GET /attachments"), 0, "it is not even fetched");
    ann.ask(dm, "still there?", "echo: still there?").await;
    assert!(incoming(&world).is_empty(), "{:?}", incoming(&world));
    assert_eq!(world.model.request_count(), 1, "no turn for what was not taken");
    world.assert_clean();
}

/// X10, X1: a file that can't be fetched at once is fetched later; what was said after it comes after it.
#[tokio::test]
async fn a_file_that_does_not_come_at_once() {
    let world = World::builder().config(SOON).start().await;
    let (ann, dm) = world.met("ann").await;
    world.discord.lay_times("GET /attachments", Fault::Status(503), 2);
    ann.send(dm, Letter::text("the list").file("list.txt", "text/plain", b"milk"));
    ann.say(dm, "what is on it?");
    ann.wait_for_words(dm, "echo: what is on it?").await;
    let asked: Vec<String> =
        world.model.requests().iter().map(cloister_testkit::Received::last_user_text).collect();
    let at = |words: &str| asked.iter().position(|text| text.contains(words)).unwrap();
    assert!(at("list.txt") < at("what is on it?"), "{asked:#?}");
    assert_eq!(std::fs::read(&incoming(&world)[0]).unwrap(), b"milk");
    world.assert_clean();
}

/// X9, X10: nothing is fetched or kept for an account that nobody is linked to.
#[tokio::test]
async fn a_file_of_a_stranger_is_not_fetched() {
    let world = World::start().await;
    let eve = world.discord.person("eve");
    let dm = eve.dm(&world.bot);
    eve.ask(dm, "hello", "pair").await;
    let since = Instant::now();
    eve.send(dm, Letter::default().file("virus.exe", "application/octet-stream", b"MZ"));
    eve.ask(dm, "pair", "cloister pair").await;
    assert_eq!(world.discord.count_since(since, "GET /attachments"), 0);
    assert_eq!(world.model.request_count(), 0);
    world.assert_clean();
}

/// X6: what is replied to is quoted to the agent: one's own words, and the whole of a streamed answer.
#[tokio::test]
async fn replies_are_quoted() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    let first = ann.say(dm, "the word is aubergine");
    let answer = ann.wait_for_text(dm, "echo: the word is aubergine").await;
    ann.reply(dm, first, "why that one?");
    let told = world.told_model("why that one?").await;
    assert!(told.contains("> the word is aubergine"), "{told}");
    ann.reply(dm, answer.id, "are you sure?");
    let told = world.told_model("are you sure?").await;
    assert!(told.contains("> echo: the word is aubergine"), "{told}");
    world.assert_clean();
}

/// X6: an edit is a correction, once; one that changes nothing is nothing; a command is no edit.
#[tokio::test]
async fn an_edit_is_a_correction() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    let said = ann.say(dm, "buy milk https://example.org");
    ann.wait_for_words(dm, "echo: buy milk").await;
    // Discord tells of a message again when a link in it got its preview.
    ann.preview(said);
    ann.edit(said, "buy oat milk");
    let told = world.told_model("oat").await;
    assert!(told.contains("correction"), "{told}");
    ann.wait_for_words(dm, "buy oat milk").await;
    ann.edit(said, "/new by edit");
    ann.wait_for_words(dm, "commands from an edit").await;
    assert_eq!(world.model.request_count(), 2);
    let chats = world.json(&["chats", "list", "--user", "ann"]).await;
    assert_eq!(chats.as_array().unwrap().len(), 1, "{chats}");
    world.assert_clean();
}

/// X6: who takes a message back does not wait for its answer.
#[tokio::test]
async fn a_deletion_cancels_the_turn() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    world.model.enqueue(Reply::hang());
    let said = ann.say(dm, "think long");
    world.model.wait_for_n(1, PATIENCE).await.unwrap();
    ann.delete(said);
    assert!(world.model.wait_for_abandoned(1, PATIENCE).await, "the call is given up");
    ann.ask(dm, "and now?", "echo: and now?").await;
    world.assert_clean();
}

/// X6: a sticker is told or answered, a forward is content of others and no command.
#[tokio::test]
async fn stickers_and_forwards() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    let sticker = Letter { sticker: Some("Wumpus waves".to_owned()), ..Letter::default() };
    ann.send(dm, sticker);
    ann.wait_for(dm, "a word about it", |_| true).await;
    let forwarded = Letter { forwarded: Some("/new Forwarded".to_owned()), ..Letter::default() };
    ann.send(dm, forwarded);
    world.told_model("/new Forwarded").await;
    ann.ask(dm, "hello", "echo: hello").await;
    let chats = world.json(&["chats", "list", "--user", "ann"]).await;
    assert_eq!(chats.as_array().unwrap().len(), 1, "what others wrote commands nothing: {chats}");
    world.assert_clean();
}

/// X1: an event that is told twice is answered once.
#[tokio::test]
async fn an_event_that_is_told_twice_is_answered_once() {
    let world = World::start().await;
    let (ann, dm) = world.met("ann").await;
    for number in 0..3 {
        ann.ask(dm, &format!("number {number}"), &format!("echo: number {number}")).await;
    }
    world.discord.replay_again(20);
    world.discord.disconnect();
    ann.say(dm, "number 3");
    ann.wait_for_text(dm, "echo: number 3").await;
    ann.ask(dm, "the last", "echo: the last").await;
    let heard = echoes(&ann, dm);
    let expected = ["number 0", "number 1", "number 2", "number 3", "the last"];
    assert_eq!(heard, expected.map(|text| format!("echo: {text}")));
    assert_eq!(world.model.request_count(), 5);
    world.assert_clean();
}

/// Bots are not answered, nor the bot by itself.
#[tokio::test]
async fn bots_are_not_answered() {
    let world = World::start().await;
    let other = world.discord.bot("other");
    world.add_bot(&other).await;
    let club = world.club("member", &["ann"]).await;
    let ann = &club.people[0];
    ann.ask(club.general, &format!("{} hi", world.bot.mention()), "echo:").await;
    let before = world.model.request_count();
    // The echo of the first mentions nobody; whatever bots say to each other goes nowhere.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(world.model.request_count(), before);
    assert_eq!(texts(ann, club.general).len(), 1);
    world.assert_clean();
}
