//! What people send: each reaches the agent sensibly, or is answered with what can be done (X5, X10).

use cloister_testkit::telegram::{Fault, FileKind, Sent};

use crate::world::{World, count, eventually};

const JPEG: &[u8] = b"\xff\xd8\xff\xe0 a picture";

/// X10: a document with a caption lands in `incoming/`, and the agent is told where; a file without words still
/// starts a turn; its name is made safe.
#[tokio::test]
async fn documents_land_in_incoming() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let file = Sent::file(FileKind::Document, "../no tes.txt", "text/plain", b"read me");
    ann.send(&chat, file.caption("what is in this?"));
    let told = world.told_model("what is in this?").await;
    assert!(told.contains("/chat/incoming/no tes.txt"), "{told}");
    let files = world.incoming();
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(std::fs::read(files.first().unwrap()).unwrap(), b"read me");
    let large: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
    ann.send(&chat, Sent::file(FileKind::Document, "big.bin", "application/octet-stream", &large));
    world.told_model("big.bin").await;
    let file = world.incoming().into_iter().find(|path| path.ends_with("big.bin")).unwrap();
    assert!(std::fs::read(file).unwrap() == large, "it is what was sent");
}

/// Every kind of file reaches the agent as what it is: the largest of a photo, voice, audio, video, a round
/// video, an animation, a sticker.
#[tokio::test]
async fn every_kind_of_file_reaches_the_agent() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    for (kind, name, mime, expected) in [
        (FileKind::Photo, "x.jpg", "image/jpeg", "photo-"),
        (FileKind::Voice, "x.oga", "audio/ogg", "voice-"),
        (FileKind::Audio, "song.mp3", "audio/mpeg", "song.mp3"),
        (FileKind::Video, "film.mp4", "video/mp4", "film.mp4"),
        (FileKind::VideoNote, "x.mp4", "video/mp4", "video-note-"),
        (FileKind::Animation, "dance.mp4", "video/mp4", "dance.mp4"),
    ] {
        ann.send(&chat, Sent::file(kind, name, mime, JPEG));
        let told = world.told_model(expected).await;
        assert!(told.contains("/chat/incoming/"), "{kind:?}: {told}");
    }
    let files = world.incoming();
    assert_eq!(files.len(), 6, "one each: {files:?}");
    for file in files {
        assert_eq!(std::fs::read(&file).unwrap(), JPEG, "{}", file.display());
    }
}

/// An album is one message with all of its files, and its caption is said once.
#[tokio::test]
async fn an_album_is_one_message() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let photo = |n: u8| Sent::file(FileKind::Photo, "x.jpg", "image/jpeg", &[JPEG, &[n]].concat());
    let album = vec![photo(1).caption("my holidays"), photo(2), photo(3)];
    ann.album(&chat, album);
    let told = world.told_model("my holidays").await;
    assert_eq!(told.matches("/chat/incoming/").count(), 3, "{told}");
    ann.wait_for_words(&chat, "my holidays").await;
    assert_eq!(world.model.request_count(), 1, "one turn");
    assert_eq!(world.incoming().len(), 3);
}

/// Places, contacts, polls, dice and stickers are told in words.
#[tokio::test]
async fn what_is_no_text_is_told_in_words() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    for (sent, expected) in [
        (Sent::location(54.32, 10.13), "54.32"),
        (Sent::venue("Town hall", "Fleethörn 9", 54.32, 10.13), "Town hall"),
        (Sent::contact("Bob", "+49 431 1"), "+49 431 1"),
        (Sent::poll("Tea or coffee?", &["Tea", "Coffee"]), "Tea or coffee?"),
        (Sent::sticker("🦊"), "🦊"),
        (Sent::dice("🎲", 5), "5"),
    ] {
        ann.send(&chat, sent);
        let told = world.told_model(expected).await;
        assert!(told.lines().count() < 12, "{told}");
    }
}

/// What nothing can be done with is answered with what can be, and costs no model call.
#[tokio::test]
async fn what_is_of_no_use_is_answered() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let story = serde_json::json!({"chat": {"id": 1, "type": "private"}, "id": 7});
    ann.send(&chat, Sent::of("story", story));
    let told = ann.wait_for_words(&chat, "story").await;
    assert!(told.text.contains("file") || told.text.contains("Write"), "{}", told.text);
    ann.send(
        &chat,
        Sent::of(
            "pinned_message",
            serde_json::json!({"message_id": 1, "date": 0, "chat": {"id": 1, "type": "private"}}),
        ),
    );
    ann.ask(&chat, "hello", "echo: hello").await;
    assert_eq!(world.model.request_count(), 1);
}

/// What is replied to is quoted, also a part of it; what is forwarded is somebody else's word and no command.
#[tokio::test]
async fn replies_and_forwards_are_quoted() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let first = ann.say(&chat, "the word is aubergine");
    let echo = ann.wait_for_text(&chat, "echo: the word is aubergine").await;
    ann.reply(&chat, first, "why that one?");
    let told = world.told_model("why that one?").await;
    assert!(told.contains("> the word is aubergine"), "{told}");
    ann.send(&chat, Sent::text("this part?").reply_to(echo.id).quoting("aubergine"));
    let told = world.told_model("this part?").await;
    assert!(told.contains("> aubergine") && !told.contains("> the word"), "{told}");
    ann.send(&chat, Sent::text("/new Trojan").forwarded_from("Mallory"));
    let told = world.told_model("Trojan").await;
    assert!(told.contains("Mallory") && told.contains("> /new Trojan"), "{told}");
    let chats = world.json(&["chats", "list", "--user", "ann"]).await;
    assert_eq!(chats.as_array().map(Vec::len), Some(1), "a forwarded command is none: {chats}");
}

/// The attack: what somebody picks from an inline bot has the words that the bot chose. They are no command.
#[tokio::test]
async fn what_an_inline_bot_writes_is_no_command() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let sent = ann.send(&chat, Sent::text("/new Trojan").via_bot("cats_bot"));
    let told = world.told_model("Trojan").await;
    assert!(told.contains("cats_bot") && told.contains("> /new Trojan"), "{told}");
    ann.edit(&chat, sent, "evil afterwards");
    ann.ask(&chat, "hello", "echo: hello").await;
    assert_eq!(world.model.request_count(), 2, "what the bot makes of it later is not heard");
    let chats = world.json(&["chats", "list", "--user", "ann"]).await;
    assert_eq!(chats.as_array().map(Vec::len), Some(1), "{chats}");
}

/// An edit is a correction, once; one that changes nothing is nothing; a command is no edit.
#[tokio::test]
async fn an_edit_is_a_correction() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let said = ann.say(&chat, "buy milk");
    ann.wait_for_text(&chat, "echo: buy milk").await;
    ann.edit(&chat, said, "buy milk");
    ann.edit(&chat, said, "buy oat milk");
    let told = world.told_model("oat").await;
    assert!(told.contains("correction"), "{told}");
    ann.wait_for_words(&chat, "buy oat milk").await;
    ann.edit(&chat, said, "/new by edit");
    ann.wait_for_words(&chat, "commands from an edit").await;
    assert_eq!(world.model.request_count(), 2);
}

/// X10: what is too large is refused with the limit named, before and after it is fetched; nothing is left.
#[tokio::test]
async fn what_is_too_large_is_refused_with_the_limit() {
    let world = World::builder().config("max_file_mb = 1", "").start().await;
    let (ann, chat) = world.met("ann").await;
    let file = |bytes: &[u8]| Sent::file(FileKind::Document, "huge.bin", "x/y", bytes);
    ann.send(&chat, file(&vec![7; 2 << 20]));
    let told = ann.wait_for_words(&chat, "huge.bin").await;
    assert!(told.text.contains("1 MB"), "{}", told.text);
    // It says that it is small.
    ann.send(&chat, Sent::file(FileKind::Document, "liar.bin", "x/y", &vec![7; 2 << 20]).large(10));
    let told = ann.wait_for_words(&chat, "liar.bin").await;
    assert!(told.text.contains("1 MB"), "{}", told.text);
    ann.ask(&chat, "still there?", "echo: still there?").await;
    assert!(world.incoming().is_empty(), "{:?}", world.incoming());
    assert_eq!(world.model.request_count(), 1, "no turn for what was not taken");
}

/// Telegram hands bots no file above 20 MB: that is said.
#[tokio::test]
async fn telegrams_own_limit_is_said() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    ann.send(&chat, Sent::file(FileKind::Video, "film.mp4", "video/mp4", JPEG).large(30 << 20));
    let told = ann.wait_for_words(&chat, "film.mp4").await;
    assert!(told.text.contains("20 MB"), "{}", told.text);
    assert_eq!(world.model.request_count(), 0);
}

/// A file that can't be fetched at once is fetched later, in its place: what is said after it comes after it.
#[tokio::test]
async fn a_file_that_is_late_keeps_its_place() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    world.telegram.lay_times("getFile", Fault::Status(502), 1);
    world.telegram.lay_times("file", Fault::Cut, 1);
    ann.send(&chat, Sent::file(FileKind::Document, "list.txt", "text/plain", b"milk"));
    ann.say(&chat, "after the file");
    ann.wait_for_words(&chat, "echo: after the file").await;
    let asked: Vec<String> =
        world.model.requests().iter().map(cloister_testkit::Received::last_user_text).collect();
    let at = |words: &str| asked.iter().position(|text| text.contains(words));
    assert!(at("list.txt") < at("after the file"), "{asked:#?}");
    eventually("both faults were met", || async { (world.telegram.pending() == 0).then_some(()) })
        .await;
    assert_eq!(count(&ann, &chat, "list.txt"), 1);
}

/// Marks of what a person typed reach the agent as Markdown: a link keeps its address.
#[tokio::test]
async fn marks_reach_the_agent() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let mut sent = serde_json::json!({"text": "read this now"});
    sent["entities"] = serde_json::json!([
        {"type": "text_link", "offset": 5, "length": 4, "url": "https://example.org/x"},
    ]);
    let text = Sent::text("read this now").with("entities", sent["entities"].clone());
    ann.send(&chat, text);
    let told = world.told_model("read").await;
    assert!(told.contains("https://example.org/x"), "{told}");
}

/// A file is taken whatever its name is made of.
#[tokio::test]
async fn a_file_may_have_any_name() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    for (name, words) in [("отчёт за год.txt", "за год"), ("it's a&b 100%?#+ last.txt", "last.txt")]
    {
        ann.send(&chat, Sent::file(FileKind::Document, name, "text/plain", name.as_bytes()));
        let told = world.told_model(words).await;
        assert!(told.contains("/chat/incoming/"), "{told}");
    }
    let mut files: Vec<Vec<u8>> =
        world.incoming().iter().map(|file| std::fs::read(file).unwrap()).collect();
    files.sort();
    assert_eq!(files, ["it's a&b 100%?#+ last.txt".as_bytes(), "отчёт за год.txt".as_bytes()]);
}

/// A picture that moves, as newer phones send it: the picture is taken, with its words.
#[tokio::test]
async fn a_live_photo_is_a_picture() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    let photo = Sent::file(FileKind::Photo, "x.jpg", "image/jpeg", JPEG).caption("the cat");
    ann.send(&chat, photo.with("live_photo", serde_json::json!({"file_id": "v", "duration": 2})));
    let told = world.told_model("the cat").await;
    assert!(told.contains("/chat/incoming/photo-"), "{told}");
}
