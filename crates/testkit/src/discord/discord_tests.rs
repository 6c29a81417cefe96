use std::time::Duration;

use serde_json::{Value, json};
use twilight_model::application::interaction::Interaction;
use twilight_model::channel::{Channel, Message};
use twilight_model::gateway::payload::incoming::{MessageCreate, Ready};
use twilight_model::guild::Guild;
use twilight_model::oauth::Application;
use twilight_model::user::CurrentUser;

use super::limits::{Buckets, By, Counted};
use super::rest::{self, Call, Done};
use super::state::{State, timestamp};
use super::{Discord, Letter, Rate, Scope, permissions, views};

fn call(bot: u64, method: &str, path: &str, json: Value) -> Call {
    Call {
        method: method.to_owned(),
        route: format!("{method} /{path}"),
        segments: path.split('/').map(str::to_owned).collect(),
        query: rest::query(""),
        json,
        files: Vec::new(),
        bytes: 0,
        bot,
    }
}

fn ask(
    discord: &Discord,
    bot: u64,
    method: &str,
    path: &str,
    json: Value,
) -> Result<Value, (u16, u32)> {
    match rest::act(&discord.shared, &call(bot, method, path, json)) {
        Ok(Done::Json(json)) => Ok(json),
        Ok(Done::Empty) => Ok(Value::Null),
        Err(refusal) => Err((refusal.status, refusal.code)),
    }
}

fn reads<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value:#}"))
}

/// What is on the wire is what an independent library reads.
#[tokio::test]
async fn everything_is_read_by_a_real_library() {
    let discord = Discord::start().await.unwrap();
    let bot = discord.bot("bot");
    let ann = discord.person("ann");
    let guild = discord.guild("club", &[&ann], &[&bot]);
    let general = discord.channel(guild, "general");
    let dm = ann.dm(&bot);
    let first = ann.say(dm, "hello");
    ann.send(dm, Letter::text("look").file("a b.png", "image/png", b"png").replying(first));
    let thread = ann.start_thread(general, None, "talk");
    ann.say(thread, &bot.mention());
    let me = ask(&discord, bot.user_id, "GET", "users/@me", Value::Null).unwrap();
    assert_eq!(reads::<CurrentUser>(me).id.get(), bot.user_id);
    let app = ask(&discord, bot.user_id, "GET", "applications/@me", Value::Null).unwrap();
    assert_eq!(reads::<Application>(app).id.get(), bot.application_id);
    let shared = std::sync::Arc::clone(&discord.shared);
    let state = shared.state();
    let guild: Guild = reads(views::guild(&state, guild, bot.user_id));
    assert_eq!((guild.channels.len(), guild.threads.len()), (1, 1));
    reads::<Ready>(views::ready(&state, bot.user_id, "s", (0, 1), "ws://x"));
    for channel in [dm, general, thread] {
        reads::<Channel>(views::channel(&state, channel, bot.user_id));
    }
    for message in state.messages.values() {
        reads::<Message>(views::message(&state, message, true));
        reads::<MessageCreate>(views::told(&state, message, true));
    }
    drop(state);
    discord.assert_no_complaints();
}

#[tokio::test]
async fn interactions_are_read_by_a_real_library() {
    let discord = Discord::start().await.unwrap();
    let bot = discord.bot("bot");
    let ann = discord.person("ann");
    let path = format!("applications/{}/commands", bot.application_id);
    let commands = json!([{"name": "task", "description": "work", "type": 1, "options": [
        {"type": 3, "name": "text", "description": "what", "required": true, "autocomplete": true},
    ]}]);
    ask(&discord, bot.user_id, "PUT", &path, commands).unwrap();
    let dm = ann.dm(&bot);
    discord.shared.state().sessions.push(super::state::Session {
        id: "s".to_owned(),
        bot: bot.user_id,
        shard: (0, 1),
        intents: 0,
        seq: 0,
        sent: Vec::new(),
        line: None,
    });
    ann.slash(dm, &bot, "task", &[("text", "do")]);
    let state = discord.shared.state();
    let sent = state.sessions.first().and_then(|session| session.sent.first()).unwrap();
    let told: Value = serde_json::from_str(&sent.1).unwrap();
    let read: Interaction = reads(told["d"].clone());
    assert_eq!(read.author_id().map(twilight_model::id::Id::get), Some(ann.id()));
}

#[tokio::test]
async fn a_nonce_is_one_message_and_limits_are_held() {
    let discord = Discord::start().await.unwrap();
    let bot = discord.bot("bot");
    let ann = discord.person("ann");
    let dm = ann.dm(&bot);
    let path = format!("channels/{dm}/messages");
    let post = |json: Value| ask(&discord, bot.user_id, "POST", &path, json);
    let once = json!({"content": "hi", "nonce": "abc", "enforce_nonce": true});
    let first = post(once.clone()).unwrap();
    assert_eq!(post(once).unwrap()["id"], first["id"]);
    assert_eq!(ann.heard(dm).len(), 1);
    assert_eq!(post(json!({"content": " "})), Err((400, 50006)));
    assert_eq!(post(json!({"content": "x".repeat(2001)})), Err((400, 50035)));
    let long = json!([{"description": "x".repeat(4000)}, {"description": "x".repeat(2001)}]);
    assert_eq!(post(json!({ "embeds": long })), Err((400, 50035)));
    let twice = json!({"type": 2, "style": 1, "label": "a", "custom_id": "same"});
    let rows = json!([{"type": 1, "components": [twice, twice]}]);
    assert_eq!(post(json!({"content": "x", "components": rows})), Err((400, 50035)));
    ann.close_dms();
    assert_eq!(post(json!({"content": "hi"})), Err((403, 50007)));
    assert!(discord.complaints().is_empty());
    post(json!({"contents": "hi"})).unwrap_err();
    assert_eq!(discord.complaints().len(), 0, "closed before it is read");
    ann.open_dms();
    post(json!({"contents": "hi"})).unwrap_err();
    assert_eq!(discord.complaints().len(), 1);
}

#[tokio::test]
async fn what_may_not_be_seen_is_not_told() {
    let discord = Discord::start().await.unwrap();
    let bot = discord.bot("bot");
    let (ann, eve) = (discord.person("ann"), discord.person("eve"));
    let guild = discord.guild("club", &[&ann], &[&bot]);
    let general = discord.channel(guild, "general");
    ann.say(general, "secret");
    assert!(eve.messages(general).is_empty());
    let path = format!("channels/{general}/messages");
    let state = |intents: u64| {
        let state: &State = &discord.shared.state();
        let message = state.messages.values().next().unwrap();
        views::content_shown(state, message, bot.user_id, intents)
    };
    assert!(state(permissions::MESSAGE_CONTENT));
    assert!(!state(permissions::GUILD_MESSAGES));
    discord.deny(general, bot.user_id, permissions::VIEW_CHANNEL);
    let read = ask(&discord, bot.user_id, "GET", &path, Value::Null);
    assert_eq!(read, Err((403, 50001)));
}

#[test]
fn times_are_written_as_theirs() {
    assert_eq!(timestamp(0), "1970-01-01T00:00:00.000000+00:00");
    assert_eq!(timestamp(1_709_210_096_123), "2024-02-29T12:34:56.123000+00:00");
}

/// Who asks although an answer said that nothing more is taken, or who was refused, is noticed.
#[test]
fn asking_before_it_may_is_noticed() {
    let mut buckets = Buckets::default();
    buckets.messages(Rate::new(2, Duration::from_secs(60)));
    let kind = "POST /channels/:id/messages";
    let of = |bucket, by| Counted { bot: 1, bucket, by };
    let (here, there) = (of("a#1", By::Bot), of("a#2", By::Bot));
    assert_eq!(buckets.take(here, kind).remaining, 1);
    assert!(buckets.early(here).is_none());
    assert_eq!(buckets.take(here, kind).remaining, 0);
    assert!(buckets.early(here).is_some_and(|(limit, _)| limit == "of its bucket"));
    assert!(buckets.take(here, kind).refused.is_some(), "and refused");
    assert!(buckets.early(there).is_none(), "another channel is counted by itself");
    buckets.refuse(there, Scope::User, Duration::from_secs(60));
    assert!(buckets.early(there).is_some());
    let heard = of("interactions#3", By::Acknowledgement);
    buckets.refuse(heard, Scope::User, Duration::from_secs(60));
    assert!(buckets.early(heard).is_none(), "that it was heard is due at once");
}
