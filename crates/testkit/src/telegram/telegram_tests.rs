//! The server against what the Bot API's documentation says.

use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};

use super::passing::post;
use super::{BotAccount, BotSettings, Fault, Pacing, Sent, TelegramServer};

struct Client<'a> {
    server: &'a TelegramServer,
    token: String,
}

impl Client<'_> {
    async fn raw(&self, method: &str, params: Value) -> Option<(u16, Value)> {
        let address = self.server.url().trim_start_matches("http://").to_owned();
        let path = format!("/bot{}/{method}", self.token);
        let body = Bytes::from(params.to_string());
        let (status, body) = post(&address, &path, "application/json", body).await.ok()?;
        Some((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    async fn ok(&self, method: &str, params: Value) -> Value {
        let (status, answer) = self.raw(method, params).await.unwrap();
        assert_eq!((status, &answer["ok"]), (200, &json!(true)), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The error's code and description.
    async fn refused(&self, method: &str, params: Value) -> (u64, String) {
        let (_, answer) = self.raw(method, params).await.unwrap();
        assert_eq!(answer["ok"], json!(false), "{method}: {answer}");
        let description = answer["description"].as_str().unwrap().to_owned();
        (answer["error_code"].as_u64().unwrap(), description)
    }
}

async fn start() -> (TelegramServer, BotAccount) {
    let server = TelegramServer::start().await.unwrap();
    let bot = server.bot("test_bot");
    (server, bot)
}

fn client<'a>(server: &'a TelegramServer, bot: &BotAccount) -> Client<'a> {
    Client { server, token: bot.token.clone() }
}

#[tokio::test]
async fn tokens_and_methods() {
    let (server, bot) = start().await;
    let me = client(&server, &bot).ok("getMe", json!({})).await;
    assert_eq!((&me["username"], &me["has_topics_enabled"]), (&json!("test_bot"), &json!(false)));
    let wrong = |token: String| Client { server: &server, token };
    let unknown = wrong(format!("1:{}", "x".repeat(35))).refused("getMe", json!({})).await;
    assert_eq!(unknown, (401, "Unauthorized".to_owned()));
    assert_eq!(wrong("x".to_owned()).refused("getMe", json!({})).await.0, 404);
    let renewed = server.revoke(&bot);
    assert_eq!(client(&server, &bot).refused("getMe", json!({})).await.0, 401);
    client(&server, &renewed).ok("getMe", json!({})).await;
    assert!(server.complaints().is_empty());
    assert_eq!(client(&server, &renewed).refused("sendNonsense", json!({})).await.0, 404);
    assert_eq!(server.complaints().len(), 1);
}

#[tokio::test]
async fn updates_are_told_until_they_are_confirmed() {
    let (server, bot) = start().await;
    let (client, ann) = (client(&server, &bot), server.person("ann"));
    let chat = ann.with(&bot);
    ann.say(&chat, "one");
    ann.say(&chat, "/two");
    let told = client.ok("getUpdates", json!({"timeout": 5})).await;
    assert_eq!(told.as_array().unwrap().len(), 2);
    assert_eq!(client.ok("getUpdates", json!({"limit": 1})).await.as_array().unwrap().len(), 1);
    assert_eq!(told[1]["message"]["entities"][0]["type"], "bot_command");
    let next = told[0]["update_id"].as_i64().unwrap() + 1;
    let rest = client.ok("getUpdates", json!({"offset": next})).await;
    assert_eq!(rest[0]["message"]["text"], "/two");
    assert_eq!(server.unconfirmed(&bot), 1);
    let none =
        client.ok("getUpdates", json!({"offset": next + 1, "allowed_updates": ["message"]})).await;
    assert_eq!(none, json!([]));
    ann.block(&bot);
    assert_eq!(client.ok("getUpdates", json!({})).await, json!([]), "not asked for");
}

#[tokio::test]
async fn two_pollers_and_webhooks_conflict() {
    let (server, bot) = start().await;
    let client = client(&server, &bot);
    let first = client.refused("getUpdates", json!({"timeout": 20}));
    let second = async {
        while !server.is_polled(&bot) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        client.ok("getUpdates", json!({"timeout": 0})).await
    };
    let ((code, told), _) = tokio::join!(first, second);
    assert!(code == 409 && told.contains("terminated by other getUpdates"), "{told}");
    let hook = json!({"url": "https://a.example/x", "secret_token": "s3cret"});
    client.ok("setWebhook", hook).await;
    let (code, told) = client.refused("getUpdates", json!({})).await;
    assert!(code == 409 && told.contains("webhook is active"), "{told}");
    assert_eq!(client.ok("getWebhookInfo", json!({})).await["url"], "https://a.example/x");
    assert_eq!(client.refused("setWebhook", json!({"url": "http://a.example"})).await.0, 400);
    client.ok("deleteWebhook", json!({})).await;
    client.ok("getUpdates", json!({})).await;
    assert!(server.complaints().is_empty(), "{:?}", server.complaints());
}

#[tokio::test]
async fn messages_are_checked() {
    let (server, bot) = start().await;
    let (client, ann) = (client(&server, &bot), server.person("ann"));
    let chat = ann.with(&bot);
    let to = ann.id();
    let text = |text: String| json!({"chat_id": to, "text": text});
    assert!(client.refused("sendMessage", text("x".into())).await.1.contains("initiate"));
    ann.start(&chat);
    let long = client.refused("sendMessage", text("🦊".repeat(2_049))).await.1;
    assert_eq!(long, "Bad Request: message is too long");
    client.ok("sendMessage", text("🦊".repeat(2_048))).await;
    let marked = |offset: i64, length: i64| {
        let entity = json!([{"type": "bold", "offset": offset, "length": length}]);
        json!({"chat_id": to, "text": "🦊 fox", "entities": entity})
    };
    client.ok("sendMessage", marked(3, 3)).await;
    assert!(server.complaints().is_empty());
    let (_, told) = client.refused("sendMessage", marked(1, 2)).await;
    assert!(told.contains("middle of a UTF-16 symbol"), "{told}");
    assert_eq!(server.complaints().len(), 1);
    client.ok("sendMessage", marked(3, 9)).await;
    assert_eq!(server.complaints().len(), 2, "outside of the text");
    let button = |data: String| {
        let markup = json!({"inline_keyboard": [[{"text": "x", "callback_data": data}]]});
        json!({"chat_id": to, "text": "x", "reply_markup": markup})
    };
    assert!(client.refused("sendMessage", button("x".repeat(65))).await.1.contains("BUTTON_DATA"));
    let html = json!({"chat_id": to, "text": "<b>x</i>", "parse_mode": "HTML"});
    assert!(client.refused("sendMessage", html).await.1.contains("can't parse entities"));
    let odd = json!({"chat_id": to, "text": "x", "surprise": 1});
    client.ok("sendMessage", odd).await;
    assert!(server.complaints().last().unwrap().contains("surprise"));
}

#[tokio::test]
async fn edits_deletions_and_presses() {
    let (server, bot) = start().await;
    let (client, ann) = (client(&server, &bot), server.person("ann"));
    let chat = ann.with(&bot);
    let hers = ann.start(&chat);
    let markup = json!({"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}]]});
    let sent = json!({"chat_id": ann.id(), "text": "sure?", "reply_markup": markup});
    let id = client.ok("sendMessage", sent).await["message_id"].as_i64().unwrap();
    let seen = ann.heard(&chat).pop().unwrap();
    let press = ann.press(&chat, &seen, "Yes");
    let updates = client.ok("getUpdates", json!({})).await;
    let query = updates.as_array().unwrap().last().unwrap()["callback_query"].clone();
    assert_eq!((&query["data"], &query["message"]["message_id"]), (&json!("y"), &json!(id)));
    let answer = json!({"callback_query_id": query["id"], "text": "fine"});
    client.ok("answerCallbackQuery", answer.clone()).await;
    assert_eq!(press.answered().await, "fine");
    assert!(client.refused("answerCallbackQuery", answer).await.1.contains("query is too old"));

    let edit = |id: i64, text: &str| json!({"chat_id": ann.id(), "message_id": id, "text": text});
    client.ok("editMessageText", edit(id, "sure? yes")).await;
    let seen = ann.heard(&chat).pop().unwrap();
    assert!(seen.buttons.is_empty() && seen.history == ["sure?", "sure? yes"]);
    let same = client.refused("editMessageText", edit(id, " sure? yes ")).await.1;
    assert!(same.starts_with("Bad Request: message is not modified"), "{same}");
    assert!(client.refused("editMessageText", edit(hers, "x")).await.1.contains("can't be edited"));
    client.ok("deleteMessage", json!({"chat_id": ann.id(), "message_id": id})).await;
    assert!(ann.heard(&chat).is_empty());
    assert!(client.refused("editMessageText", edit(id, "x")).await.1.contains("not found"));
    assert!(server.complaints().is_empty(), "{:?}", server.complaints());
}

#[tokio::test]
async fn topics_and_drafts() {
    let server = TelegramServer::start().await.unwrap();
    let bot =
        server.bot_with("topical_bot", BotSettings { topics: true, ..BotSettings::default() });
    let (client, ann) = (client(&server, &bot), server.person("ann"));
    ann.start(&ann.with(&bot));
    let to = ann.id();
    let made = client.ok("createForumTopic", json!({"chat_id": to, "name": "C1"})).await;
    let thread = made["message_thread_id"].clone();
    let topic = ann.topic(&bot, "C1").await;
    let draft =
        |id: i64| json!({"chat_id": to, "message_thread_id": thread, "draft_id": id, "text": "he"});
    client.ok("sendMessageDraft", draft(7)).await;
    assert_eq!(ann.draft(&topic).as_deref(), Some("he"));
    let text = json!({"chat_id": to, "message_thread_id": thread, "text": "hello"});
    client.ok("sendMessage", text.clone()).await;
    assert_eq!(ann.draft(&topic), None);
    assert_eq!(ann.heard_texts(&topic), ["hello"]);
    ann.say(&topic, "hi");
    let told = client.ok("getUpdates", json!({})).await;
    let message = &told.as_array().unwrap().last().unwrap()["message"];
    assert_eq!(
        (&message["message_thread_id"], &message["is_topic_message"]),
        (&thread, &json!(true))
    );
    let place = || json!({"chat_id": to, "message_thread_id": thread});
    assert!(client.refused("closeForumTopic", place()).await.1.contains("not a forum"));
    let mut same = place();
    same["name"] = json!("C1");
    assert!(client.refused("editForumTopic", same).await.1.contains("TOPIC_NOT_MODIFIED"));
    ann.delete_topic(&topic);
    assert!(client.refused("sendMessage", text).await.1.contains("message thread not found"));
    assert!(server.complaints().is_empty(), "{:?}", server.complaints());
    assert_eq!(
        client.refused("sendMessageDraft", json!({"chat_id": to, "draft_id": 0})).await.0,
        400
    );
    assert_eq!(server.complaints().len(), 1);
}

#[tokio::test]
async fn too_fast_is_told_and_not_waiting_complained_about() {
    let server = TelegramServer::paced(Pacing::strict()).await.unwrap();
    let bot = server.bot("fast_bot");
    let (client, ann) = (client(&server, &bot), server.person("ann"));
    ann.start(&ann.with(&bot));
    let text = || json!({"chat_id": ann.id(), "text": "x"});
    client.ok("sendMessage", text()).await;
    let (status, told) = client.raw("sendMessage", text()).await.unwrap();
    assert_eq!((status, &told["parameters"]["retry_after"]), (429, &json!(1)));
    assert!(server.complaints().is_empty());
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(client.refused("sendMessage", text()).await.0, 429);
    assert_eq!(server.complaints().len(), 1);
    tokio::time::sleep(Duration::from_millis(700)).await;
    client.ok("sendMessage", text()).await;
}

#[tokio::test]
async fn groups_faults_and_files() {
    let (server, bot) = start().await;
    let (client, ann) = (client(&server, &bot), server.person("ann"));
    let mut group = server.basic_group("Club", &[&ann]);
    let to_group = |id: i64| json!({"chat_id": id, "text": "x"});
    assert!(client.refused("sendMessage", to_group(group.id())).await.1.contains("chat not found"));
    group.add_bot(&ann, &bot);
    client.ok("sendMessage", to_group(group.id())).await;
    let old = group.id();
    let new = group.migrate();
    let (_, told) = client.raw("sendMessage", to_group(old)).await.unwrap();
    assert_eq!(told["parameters"]["migrate_to_chat_id"], json!(new));
    group.kick(&ann, &bot);
    assert!(client.refused("sendMessage", to_group(new)).await.1.contains("kicked"));

    let chat = ann.with(&bot);
    let file = Sent::file(super::FileKind::Document, "a.txt", "text/plain", b"hello");
    ann.send(&chat, file);
    let told = client.ok("getUpdates", json!({})).await;
    let document = told.as_array().unwrap().last().unwrap()["message"]["document"].clone();
    let file = client.ok("getFile", json!({"file_id": document["file_id"]})).await;
    let address = server.url().trim_start_matches("http://").to_owned();
    let path = format!("/file/bot{}/{}", bot.token, file["file_path"].as_str().unwrap());
    assert_eq!(post(&address, &path, "", Bytes::new()).await.unwrap().1, "hello");

    server.lay_times("getMe", Fault::Swallow, 1);
    assert!(client.raw("getMe", json!({})).await.is_none());
    server.lay_times("getMe", Fault::Status(502), 1);
    assert_eq!(client.raw("getMe", json!({})).await.unwrap(), (502, Value::Null));
    ann.block(&bot);
    let blocked = client.refused("sendMessage", to_group(ann.id())).await;
    assert_eq!(blocked, (403, "Forbidden: bot was blocked by the user".to_owned()));
    assert_eq!(server.pending(), 0);
}

#[tokio::test]
async fn a_draft_is_stopped_only_where_its_bot_asks_for_it() {
    let (server, bot) = start().await;
    let (client, ann) = (client(&server, &bot), server.person("ann"));
    let chat = ann.with(&bot);
    ann.start(&chat);
    let draft = |can_stop: Value| json!({"chat_id": ann.id(), "draft_id": 7, "text": "he", "can_stop": can_stop});
    client.ok("sendMessageDraft", draft(json!(false))).await;
    assert!(ann.draft(&chat).is_some() && !ann.sees_stop(&chat));
    client.ok("sendMessageDraft", draft(json!(true))).await;
    ann.stop(&chat);
    assert!(ann.draft(&chat).is_none(), "it is over");
    let told = client.ok("getUpdates", json!({})).await;
    let stopped = &told.as_array().unwrap().last().unwrap()["stopped_message_generation"];
    assert_eq!((&stopped["draft_id"], &stopped["chat"]["id"]), (&json!(7), &json!(ann.id())));
    assert!(server.complaints().is_empty(), "{:?}", server.complaints());
}

#[tokio::test]
async fn topics_that_are_switched_off_are_gone_until_they_are_on() {
    let server = TelegramServer::start().await.unwrap();
    let bot = server.bot_with_topics("topics_bot");
    let (client, ann) = (client(&server, &bot), server.person("ann"));
    ann.start(&ann.with(&bot));
    let to = ann.id();
    let made = client.ok("createForumTopic", json!({"chat_id": to, "name": "C1"})).await;
    let text =
        || json!({"chat_id": to, "message_thread_id": made["message_thread_id"], "text": "x"});
    server.switch_topics(&bot, false);
    assert_eq!(client.ok("getMe", json!({})).await["has_topics_enabled"], json!(false));
    assert!(client.refused("sendMessage", text()).await.1.contains("message thread not found"));
    let another = json!({"chat_id": to, "name": "C2"});
    assert!(client.refused("createForumTopic", another).await.1.contains("not a forum"));
    client.ok("sendMessage", json!({"chat_id": to, "text": "x"})).await;
    server.switch_topics(&bot, true);
    client.ok("sendMessage", text()).await;
}

#[tokio::test]
async fn names_ring_unless_they_are_code_or_part_of_something_else() {
    let (server, bot) = start().await;
    let (client, ann) = (client(&server, &bot), server.person("ann"));
    let chat = ann.with(&bot);
    ann.start(&chat);
    let text = "🦊 @in_code @bob_1 a@b.example ＠eve (@x) @eve.";
    let code = json!([{"type": "code", "offset": 3, "length": 8}]);
    client.ok("sendMessage", json!({"chat_id": ann.id(), "text": text, "entities": code})).await;
    assert_eq!(ann.heard(&chat)[0].rings(), ["bob_1", "eve"]);
}
