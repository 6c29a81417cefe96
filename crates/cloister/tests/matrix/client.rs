//! The account itself: its device, its keys, what it logs in with, and how far it has read.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use matrix_sdk::authentication::matrix::MatrixSession;
use matrix_sdk::ruma::UserId;
use matrix_sdk::ruma::api::client::backup::{get_backup_keys_for_room, get_latest_backup_info};
use matrix_sdk::ruma::api::client::room::get_room_event;
use matrix_sdk::{Client, Room, SessionMeta, SessionTokens};
use rusqlite::Connection;
use serde_json::Value;

use cloister_testkit::stack::files_with;

use crate::world::{World, eventually};

fn fact(view: &Value, name: &str) -> String {
    let facts = view["facts"].as_array().cloned().unwrap_or_default();
    let found = facts.iter().find(|fact| fact[0] == name);
    found.and_then(|fact| fact[1].as_str()).unwrap_or_default().to_owned()
}

fn database(world: &World) -> Connection {
    let db = Connection::open(world.stack.data().join("cloister.db")).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    db
}

fn stores(world: &World) -> Vec<String> {
    let stores = std::fs::read_dir(world.stack.data().join("surfaces/matrix"));
    let names = stores.into_iter().flatten().flatten();
    names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

fn file(world: &World, name: &str, text: &str) -> PathBuf {
    let path = world.stack.data().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// `matrix add` for the world's bot with these arguments; what it says, success or not.
async fn add(world: &World, arguments: &[&str]) -> Value {
    let homeserver = world.homeserver();
    let all =
        ["--json", "matrix", "add", "--homeserver", &homeserver, "--user", &world.bot.user_id];
    let output = world.stack.cli(&[&all[..], arguments].concat()).await.unwrap();
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

/// Waits until what is said in a room can be read from the bot's backup: its own key and the person's.
async fn backed_up(world: &World, room: &Room, event: &str) {
    // The session that registering made. It only asks: a device that came or went would change what is said next.
    let bot = Client::builder().homeserver_url(world.synapse.url()).build().await.unwrap();
    let user_id = UserId::parse(&world.bot.user_id).unwrap();
    let meta = SessionMeta { user_id, device_id: world.bot.device_id.as_str().into() };
    let access_token = world.bot.access_token.clone();
    let tokens = SessionTokens { access_token, refresh_token: None };
    bot.restore_session(MatrixSession { meta, tokens }).await.unwrap();
    eventually("the keys are backed up", || async {
        let info = bot.send(get_latest_backup_info::v3::Request::new()).await.ok()?;
        let room = room.room_id().to_owned();
        let sent = get_room_event::v3::Request::new(room.clone(), event.parse().ok()?);
        let sent = bot.send(sent).await.ok()?.event;
        let session: String =
            sent.get_field::<Value>("content").ok()??["session_id"].as_str()?.into();
        let keys =
            bot.send(get_backup_keys_for_room::v3::Request::new(info.version, room)).await.ok()?;
        keys.sessions.contains_key(session.as_str()).then_some(())
    })
    .await;
}

/// X2: the device stays the same over stops and kills, is signed, and its keys are backed up.
#[tokio::test]
async fn a_restart_keeps_the_device_and_its_keys() {
    let mut world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, "hello", "echo: hello").await;
    let before = world.until_state("connected").await;
    assert_eq!(fact(&before, "cross-signing"), "in place", "{before}");
    assert_eq!(fact(&before, "key backup"), "in place", "{before}");
    let devices = world.synapse.devices(&world.bot.user_id).await.unwrap();
    assert!(devices.contains(&fact(&before, "device")), "{devices:?} {before}");
    let stored = stores(&world);
    world.stack.stop().await.unwrap();
    world.stack.restart().await.unwrap();
    ann.ask(&c1, "again", "echo: again").await;
    world.stack.kill().await.unwrap();
    world.stack.restart().await.unwrap();
    ann.ask(&c1, "and again", "echo: and again").await;
    let after = world.until_state("connected").await;
    assert_eq!(fact(&after, "device"), fact(&before, "device"));
    assert_eq!(fact(&after, "cross-signing"), "in place", "{after}");
    assert_eq!(world.synapse.devices(&world.bot.user_id).await.unwrap(), devices);
    assert_eq!(stores(&world), stored);
}

/// X1, X4: the SDK has counted an event as read that was never stored, because the database could not be
/// written and then everything was killed. It is answered, once.
#[tokio::test]
async fn what_was_delivered_and_not_stored_is_answered() {
    let mut world = World::builder().behind_proxy().start().await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, "hello", "echo: hello").await;
    let db = database(&world);
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let said = Instant::now();
    ann.say(&c1, "in between").await;
    // It asks for what comes next when it has what was said.
    eventually("it has read on", || async {
        (world.proxy().count_since(said, "/sync") >= 2).then_some(())
    })
    .await;
    world.stack.kill().await.unwrap();
    db.execute_batch("ROLLBACK").unwrap();
    world.stack.restart().await.unwrap();
    ann.wait_for_text(&c1, "echo: in between").await;
    ann.ask(&c1, "the last", "echo: the last").await;
    let heard = ann.heard(&c1).into_iter().map(|post| post.text);
    let echoes: Vec<String> = heard.filter(|text| text.starts_with("echo: ")).collect();
    assert_eq!(echoes, ["echo: hello", "echo: in between", "echo: the last"]);
}

/// The homeserver does not know how far was read (it was restored, or we were): what was missed is looked for
/// room by room, and nothing is answered twice.
#[tokio::test]
async fn a_position_that_is_not_known_loses_nothing() {
    let mut world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    ann.ask(&c1, "hello", "echo: hello").await;
    world.stack.stop().await.unwrap();
    for number in 0..3 {
        ann.say(&c1, &format!("missed {number}")).await;
    }
    database(&world).execute_batch("UPDATE connectors SET position = 'nonsense'").unwrap();
    world.stack.restart().await.unwrap();
    for number in 0..3 {
        ann.wait_for_text(&c1, &format!("echo: missed {number}")).await;
    }
    ann.ask(&c1, "the last", "echo: the last").await;
    let heard = ann.heard(&c1).into_iter().map(|post| post.text);
    let echoes: Vec<String> = heard.filter(|text| text.starts_with("echo: ")).collect();
    let expected =
        ["echo: hello", "echo: missed 0", "echo: missed 1", "echo: missed 2", "echo: the last"];
    assert_eq!(echoes, expected);
}

/// X2, A8: the device's keys are lost with the directory; added again, the account's new device opens the
/// backup with the key that was kept, and reads what only the lost device had a key for.
#[tokio::test]
async fn a_fresh_device_reads_what_the_lost_one_could() {
    let mut world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    let lilac = ann.say(&c1, "the word is lilac").await;
    ann.wait_for_text(&c1, "echo: the word is lilac").await;
    backed_up(&world, &c1, &lilac).await;
    let old = fact(&world.bot_view().await, "device");
    world.stack.stop().await.unwrap();
    std::fs::remove_dir_all(world.stack.data().join("surfaces/matrix")).unwrap();
    world.stack.restart().await.unwrap();
    let view = world.until_state("logged_out").await;
    assert!(view["problem"].as_str().unwrap().contains("cloister matrix add"), "{view}");
    let password = file(&world, "password", &world.bot.password);
    let added = add(&world, &["--password-file", password.to_str().unwrap()]).await;
    assert!(added["recovery_key"].is_null(), "none was made: {added}");
    let view = world.until_state("connected").await;
    assert_ne!(fact(&view, "device"), old);
    assert_eq!(fact(&view, "cross-signing"), "in place", "{view}");
    assert_eq!(fact(&view, "key backup"), "in place", "{view}");
    // What she replies to is quoted to the agent: the new device reads what it never had the key of.
    ann.reply(&c1, &lilac, "what did I say?", false).await;
    ann.wait_for_words(&c1, "what did I say?").await;
    let asked = world.model.requests().last().unwrap().last_user_text();
    assert!(asked.contains("> the word is lilac"), "{asked}");
}

/// A removed account is added again with its recovery key: its identity stays what people verified. Without
/// the key it is connected all the same, and says what is missing; a wrong key leaves nothing behind.
#[tokio::test]
async fn a_recovery_key_opens_the_account_again() {
    let world = World::start().await;
    world.stack.cli_ok(&["matrix", "rm", &world.bot.user_id, "--yes"]).await.unwrap();
    let password = file(&world, "password", &world.bot.password);
    let added = add(&world, &["--password-file", password.to_str().unwrap()]).await;
    assert!(added["recovery_key"].is_null(), "it was shown when it was made: {added}");
    let view = world.until_state("connected").await;
    assert!(fact(&view, "cross-signing").contains("--recovery-key-file"), "{view}");

    let fresh = world.synapse.register("bot").await.unwrap();
    let password = file(&world, "password", &fresh.password);
    let password = password.to_str().unwrap();
    let homeserver = world.homeserver();
    let add = async |more: &[&str]| {
        let base =
            ["--json", "matrix", "add", "--homeserver", &homeserver, "--user", &fresh.user_id];
        let all = [&base[..], &["--password-file", password], more].concat();
        let output = world.stack.cli(&all).await.unwrap();
        let said: Value = serde_json::from_str(&output.stdout).unwrap();
        (output.code, said)
    };
    let (code, added) = add(&[]).await;
    assert_eq!(code, Some(0), "{added}");
    let key = added["recovery_key"].as_str().unwrap().to_owned();
    world.stack.cli_ok(&["matrix", "rm", &fresh.user_id, "--yes"]).await.unwrap();
    let before = (world.synapse.devices(&fresh.user_id).await.unwrap(), stores(&world));

    let wrong =
        file(&world, "wrong-key", "EsTc 1234 5678 9012 3456 7890 1234 5678 9012 3456 7890 12");
    let (code, said) = add(&["--recovery-key-file", wrong.to_str().unwrap()]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said["error"]["message"].as_str().unwrap().contains("recovery key"), "{said}");
    let after = (world.synapse.devices(&fresh.user_id).await.unwrap(), stores(&world));
    assert_eq!(after, before, "no device, no directory");
    let listed = world.json(&["matrix", "list"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");

    let right = file(&world, "right-key", &key);
    let (code, added) = add(&["--recovery-key-file", right.to_str().unwrap()]).await;
    assert_eq!(code, Some(0), "{added}");
    assert!(added["recovery_key"].is_null(), "{added}");
    let view = eventually("the keys are in place", || async {
        let listed = world.json(&["matrix", "list"]).await;
        let mut views = listed.as_array().unwrap().clone().into_iter();
        let view = views.find(|view| view["account"] == fresh.user_id.as_str())?;
        (fact(&view, "cross-signing") == "in place").then_some(view)
    })
    .await;
    assert_eq!(fact(&view, "key backup"), "in place", "{view}");
}

/// An access token does as well, if it is the account's; one of somebody else is refused and nothing is kept.
#[tokio::test]
async fn an_access_token_connects_its_own_account_only() {
    let world = World::start().await;
    let other = world.synapse.register("other").await.unwrap();
    let fresh = world.synapse.register("bot").await.unwrap();
    let homeserver = world.homeserver();
    let before = stores(&world);
    let add = async |name: &str, token: &str| {
        let token = file(&world, name, token);
        let all = ["--json", "matrix", "add", "--homeserver", &homeserver, "--user"];
        let more = [&fresh.user_id, "--token-file", token.to_str().unwrap()];
        let output = world.stack.cli(&[&all[..], &more].concat()).await.unwrap();
        serde_json::from_str::<Value>(&output.stdout).unwrap()
    };
    for (name, token, words) in [
        ("other", other.access_token.as_str(), other.user_id.as_str()),
        ("bad", "syt_not_a_token", "not taken"),
    ] {
        let said = add(name, token).await;
        let message = said["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(words) && !message.contains(token), "{said}");
        assert_eq!(stores(&world), before);
    }
    let devices = world.synapse.devices(&fresh.user_id).await.unwrap();
    let added = add("right", &fresh.access_token).await;
    assert_eq!(added["view"]["account"], fresh.user_id.as_str(), "{added}");
    assert_eq!(fact(&added["view"], "device"), fresh.device_id, "{added}");
    assert_eq!(world.synapse.devices(&fresh.user_id).await.unwrap(), devices, "no new device");
}

/// S1: what the account logs in with is sealed. It is in no file, no list shows more than its name, and a task
/// has neither it nor a handle for it.
#[tokio::test]
async fn credentials_are_sealed_and_out_of_reach() {
    let world = World::start().await;
    let (ann, c1) = world.met("ann").await;
    let listed = world.stack.cli_ok(&["--json", "secret", "list", "--platform"]).await.unwrap();
    assert!(listed.contains("matrix-1") && !listed.contains("syt_"), "{listed}");
    ann.say(&c1, "run: env; ls /secrets /run 2>/dev/null; echo done looking").await;
    ann.wait_for_words(&c1, "done looking").await;
    for post in ann.heard(&c1) {
        let text = post.text.to_lowercase();
        assert!(!text.contains("syt_") && !text.contains("secret_matrix"), "{text}");
    }
    let leaks = files_with(world.stack.data(), "syt_");
    assert!(leaks.is_empty(), "{leaks:?}");
    assert!(!world.stack.log().contains("syt_"), "the log");
    let leaks = files_with(world.stack.data(), &world.bot.password);
    let leaks: Vec<_> =
        leaks.into_iter().filter(|path| !path.to_string_lossy().ends_with(".password")).collect();
    assert!(leaks.is_empty(), "{leaks:?}");
}
