//! What the homeserver gets to see of encrypted rooms: everything it keeps is looked at.

use std::path::{Path, PathBuf};

use cloister_protocol::ChatId;
use cloister_testkit::synapse::Fault;
use cloister_testkit::{ModelServer, Reply};
use matrix_sdk::Room;
use matrix_sdk::ruma::api::Direction;
use matrix_sdk::ruma::api::client::message::get_message_events::v3 as get_messages;
use matrix_sdk::ruma::uint;
use serde_json::{Value, json};

use crate::incoming::send_in_the_clear;
use crate::person::Person;
use crate::world::{World, eventually};

/// What the server keeps of a room, newest first, as it keeps it.
async fn kept(person: &Person, room: &Room) -> Vec<Value> {
    let mut request = get_messages::Request::new(room.room_id().to_owned(), Direction::Backward);
    request.limit = uint!(1000);
    let answer = person.client.send(request).await.unwrap();
    answer.chunk.iter().map(|event| serde_json::from_str(event.json().get()).unwrap()).collect()
}

/// What an account said in a room that anybody on the server can read.
fn said_in_the_clear<'a>(events: &'a [Value], sender: &str) -> Vec<&'a Value> {
    let sealed = |event: &Value| {
        let kind = event["type"].as_str().unwrap_or_default();
        matches!(kind, "m.room.encrypted" | "m.reaction" | "m.room.redaction")
            || kind.starts_with("m.key.verification.")
    };
    let said = events.iter().filter(|event| event["sender"] == sender);
    said.filter(|event| event.get("state_key").is_none() && !sealed(event)).collect()
}

/// The files of the homeserver that have this in them: its database, its media, its log.
fn files_with(word: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/synapse/run");
    let mut folders = vec![root];
    let mut looked_at = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                looked_at += 1;
                if String::from_utf8_lossy(&bytes).contains(word) {
                    found.push(path);
                }
            }
        }
    }
    assert!(looked_at > 1, "the homeserver's files are there");
    found
}

/// An executor that is asked to draw makes a picture and sends it; all else is as usual.
fn draws(secret: &str) -> cloister_testkit::ModelServerBuilder {
    let name = format!("{secret}.png");
    let make = format!(
        "python3 - <<'P'\nimport os,zlib,struct\nw,h=1200,900\n\
         raw=b''.join(b'\\0'+os.urandom(w) for y in range(h))\n\
         c=lambda t,d: struct.pack('>I',len(d))+t+d+struct.pack('>I',zlib.crc32(t+d))\n\
         open('{name}','wb').write(b'\\x89PNG\\r\\n\\x1a\\n'+c(b'IHDR',struct.pack('>IIBBBBB',w,h,8,0,0,0,0))\
         +c(b'tEXt',b'Comment\\0{secret}')+c(b'IDAT',zlib.compress(raw))+c(b'IEND',b''))\nP"
    );
    ModelServer::builder().rule(move |received| {
        let asked_to_draw = received.body.to_string().contains("please draw");
        if !received.tool_names().contains(&"bash") || !asked_to_draw {
            return None;
        }
        let taken = received.messages().iter().filter(|m| m["role"] == "assistant").count();
        Some(match taken {
            0 => Reply::tool_call("bash", json!({"command": make})),
            1 => Reply::tool_call("send_file", json!({"path": name})),
            _ => Reply::text("It is drawn."),
        })
    })
}

/// E82, X3: whatever way words take, the homeserver keeps ciphertext: answers, edits, notices, questions and how
/// they were settled, files and thumbnails, reports, refusals, what began on the web or at the terminal. The
/// title of a chat is the name of its room, and names are in the clear.
#[tokio::test]
async fn everything_said_in_encrypted_rooms_is_ciphertext() {
    let config = "[matrix]\nedit_every_ms = 100\n";
    let secret = format!("aubergine{}", std::process::id());
    let world = World::builder().config(config).model(draws(&secret)).start().await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, &format!("the word is {secret}"), &format!("echo: the word is {secret}")).await;
    let streamed = format!("{secret} one two three");
    let (reply, steps) = Reply::text(&streamed).chunks(4).stepped();
    world.model.enqueue(reply);
    ann.say(&c1, "count").await;
    steps.allow(2);
    ann.wait_for(&c1, "a part", |post| post.text.starts_with(&*secret)).await;
    steps.allow(10);
    ann.wait_for_text(&c1, &streamed).await;
    ann.ask(&c1, &format!("!{secret}"), &secret).await;
    ann.send(&c1, "m.sticker", json!({"body": secret, "url": "mxc://x/y", "info": {}})).await;
    ann.wait_for_words(&c1, "stickers").await;

    // A question, answered at the terminal; what was done is reported.
    ann.say(&c1, &format!("run: mkdir -p {secret} && rm -r {secret} && echo {secret} is gone"))
        .await;
    ann.wait_for_words(&c1, "!approve A1").await;
    world.stack.cli_ok(&["task", "approve", "--user", "ann", "A1"]).await.unwrap();
    ann.wait_for_words(&c1, "allowed it once").await;
    ann.wait_for_words(&c1, "report:").await;
    ann.say(&c1, "run: please draw").await;
    let picture = ann.wait_for_text(&c1, &format!("{secret}.png")).await;
    assert!(picture.content["info"]["thumbnail_file"].is_object(), "{}", picture.content);
    ann.send_file(&c1, &format!("{secret}.txt"), "text/plain", secret.as_bytes()).await;
    ann.wait_for_words(&c1, &format!("{secret}.txt")).await;
    let session = world.stack.session("ann").await.unwrap();
    let mut web = world.stack.client(&session, ChatId::from_number(1));
    web.ask(&format!("{secret} from the web")).await.unwrap();

    let stranger = Person::register(&world.synapse, "stranger").await;
    let lobby = stranger.invite(&world.bot.user_id).await;
    stranger.ask(&lobby, &format!("do you know {secret}?"), "pair").await;
    let title = format!("courgette{}", std::process::id());
    ann.say(&c1, &format!("!new {title}")).await;
    let c2 = ann.room_of("C2").await;
    ann.ask(&c2, &format!("{secret} again"), &format!("{secret} again")).await;

    let mut encrypted = 0;
    for room in ann.rooms() {
        let events = kept(&ann, &room).await;
        let clear = said_in_the_clear(&events, &world.bot.user_id);
        assert!(clear.is_empty(), "{:?}: {clear:#?}", room.name());
        encrypted += events.iter().filter(|e| e["type"] == "m.room.encrypted").count();
    }
    assert!(encrypted > 20, "{encrypted}");
    let events = kept(&stranger, &lobby).await;
    assert!(said_in_the_clear(&events, &world.bot.user_id).is_empty());
    assert_eq!(files_with(&secret), Vec::<PathBuf>::new());
    assert_ne!(
        files_with(&title),
        Vec::<PathBuf>::new(),
        "names are not encrypted; it is documented"
    );
}

/// E82, E81: a homeserver that denies that a room is encrypted gets no plain text from a bot with an empty memory
/// of its keys, and can put no words into a person's mouth.
#[tokio::test]
async fn a_homeserver_that_hides_encryption_gets_nothing_in_the_clear() {
    let world = World::builder().behind_proxy().start().await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, "before", "echo: before").await;
    world.proxy().lay("", Fault::HideEncryption);
    // A new device, which knows of the room only what the server tells.
    world.add_bot(&world.bot).await;
    world.until_state("connected").await;
    let forged = json!({"msgtype": "m.text", "body": "!archive"});
    send_in_the_clear(&ann, &c1, "m.room.message", forged).await;
    let secret = format!("cucumber{}", std::process::id());
    ann.say(&c1, &secret).await;
    eventually("an answer is there, or plain text", || async {
        let events = kept(&ann, &c1).await;
        let clear = said_in_the_clear(&events, &world.bot.user_id);
        assert!(clear.is_empty(), "{clear:#?}");
        ann.heard(&c1).iter().any(|post| post.text == format!("echo: {secret}")).then_some(())
    })
    .await;
    assert_eq!(files_with(&secret), Vec::<PathBuf>::new());
    assert!(ann.heard(&c1).iter().any(|post| post.text.contains("in the clear")), "she is told");
    assert!(world.stack.log().contains("not encrypted which was"), "the server did deny it");
    assert_eq!(world.model.request_count(), 2);
    assert_eq!(c1.name().as_deref(), Some("C1"), "not archived");
}
