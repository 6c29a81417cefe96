//! Chats: numbers that are never used again, archiving, clearing, and what of a long one the model
//! still sees.

use std::collections::BTreeSet;

use cloister_protocol::{AgentFrame, ClientFrame, ErrorCode, Message, MessageId, TurnId};
use cloister_testkit::{AgentClient, Matcher, ModelServer, Received, Reply};
use serde_json::json;

use crate::world::{Talk, World, eventually, frame};

/// The contents of the messages after the system prompt.
fn said(received: &Received) -> Vec<String> {
    let messages = received.messages().iter().skip(1);
    let texts = messages.map(|message| message["content"].as_str().unwrap_or_default());
    // Without what the agent notes behind the last one.
    texts.map(|text| text.split("\n\n[Now: ").next().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn chat_numbers_are_never_used_twice() {
    let world = World::start().await;
    let made = (0..30).map(|_| world.json(&["chats", "new"]));
    let made = futures_util::future::join_all(made).await;
    let ids: BTreeSet<String> =
        made.iter().map(|chat| chat["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 30);
    assert!(!ids.contains("C1"), "the first chat is there from the start");
    world.json(&["chats", "archive", "C31"]).await;
    assert_eq!(world.json(&["chats", "new"]).await["id"], "C32");
    let mut client = world.owner().await;
    assert_eq!(client.say("/new Garden").await.text, "C33 is open.");
    let listed = world.json(&["chats", "list"]).await;
    assert_eq!(listed.as_array().unwrap().len(), 33);
    assert_eq!(listed[32]["title"], "Garden");
}

#[tokio::test]
async fn a_chat_is_renamed_and_put_away() {
    let world = World::start().await;
    let mut client = world.owner().await;
    client.say("before").await;
    assert_eq!(world.json(&["chats", "rename", "C1", "Größe"]).await["title"], "Größe");
    client.say("/rename Taxes 2026").await;
    assert_eq!(world.json(&["chats", "list"]).await[0]["title"], "Taxes 2026");
    let (code, error) = world.failing(&["chats", "rename", "C1", &"x".repeat(500)]).await;
    assert_eq!((code, error.error.code.as_str()), (1, "bad_request"));

    client.say("/archive").await;
    assert_eq!(world.json(&["chats", "list"]).await[0]["archived"], true);
    let refused = client.ask("after").await.unwrap_err().to_string();
    assert!(refused.contains("archived") && refused.contains("--undo"), "{refused}");
    let said = world.stack.cli(&["--json", "chat", "after"]).await.unwrap();
    assert_eq!(said.code, Some(1));
    assert!(said.stdout.contains("cloister chats archive C1 --undo"), "{said:?}");
    assert_eq!(
        world.transcript("C1").await.last().unwrap().text,
        "C1 is archived. Its files and history stay."
    );

    world.json(&["chats", "archive", "C1", "--undo"]).await;
    assert_eq!(client.say("again").await.text, "echo: again");
    let seen = world.model.requests().pop().unwrap();
    assert!(seen.body.to_string().contains("before"), "its history stayed");
}

#[tokio::test]
async fn clearing_one_chat_leaves_the_others() {
    let world = World::start().await;
    world.json(&["chats", "new"]).await;
    let (mut first, mut second) = (world.owner().await, world.client("owner", 2).await);
    first.say("the secret is aubergine").await;
    second.say("the secret is begonia").await;
    first.say("/clear").await;
    first.say("what is it?").await;
    assert_eq!(said(&world.model.requests().pop().unwrap()), ["what is it?"]);
    second.say("what is it?").await;
    assert_eq!(said(&world.model.requests().pop().unwrap()).len(), 3);
    // From the command line as well.
    world.json(&["chats", "clear", "C2"]).await;
    second.say("and now?").await;
    assert_eq!(said(&world.model.requests().pop().unwrap()), ["and now?"]);
}

#[tokio::test]
async fn a_long_chat_is_recent_turns_and_a_running_summary() {
    let summarising = "You keep the running summary";
    let model = ModelServer::builder()
        .when(Matcher::system_contains(summarising), Reply::text("SUMMARY: they like aubergines"))
        .when(Matcher::any(), Reply::text("noted"));
    let world = World::with("", model).await;
    let mut client = world.owner().await;
    for number in 1..=36 {
        client.say(&format!("fact number {number} of many")).await;
    }
    let all = || world.model.requests();
    eventually("a summary was made", || async {
        all().iter().any(|seen| seen.system_prompt().contains(summarising)).then_some(())
    })
    .await;
    // It is in force from some turn on; the oldest turns are then told by it alone.
    let last = eventually("a turn is shown the summary", || async {
        client_turn(&world).await.filter(|seen| seen.system_prompt().contains("SUMMARY: they like"))
    })
    .await;
    let body = last.body.to_string();
    assert!(!body.contains("fact number 1 of many"), "{body}");
    assert!(body.contains("fact number 36 of many"), "{body}");
    assert!(said(&last).len() <= 2 * 40 + 1);
    let summary =
        all().into_iter().find(|seen| seen.system_prompt().contains(summarising)).unwrap();
    assert!(summary.last_user_text().contains("fact number 1 of many"), "it was told the oldest");
    world.model.assert_no_violations();
}

/// One more turn, and what its model was shown.
async fn client_turn(world: &World) -> Option<Received> {
    let mut client = world.owner().await;
    let id = format!("extra-{}", world.model.request_count()).parse().unwrap();
    client.ask_as(id, "go on", crate::world::PATIENCE).await.unwrap();
    let mut turns = world.model.requests().into_iter();
    turns.rfind(|seen| seen.last_user_text() == "go on")
}

#[tokio::test]
async fn the_person_s_own_files_say_who_the_agent_is() {
    let world = World::start().await;
    let mut client = world.owner().await;
    client.say("hello").await;
    let soul = world.stack.data().join("workspaces/w1/SOUL.md");
    std::fs::write(&soul, "You answer like a lighthouse keeper.").unwrap();
    client.say("hello again").await;
    let prompt = world.model.requests().pop().unwrap().system_prompt();
    assert!(prompt.contains("lighthouse keeper"), "{prompt}");
    let other = world.add_user("alice").await;
    world.stack.client(&other, "C1".parse().unwrap()).say("hello").await;
    let prompt = world.model.requests().pop().unwrap().system_prompt();
    assert!(!prompt.contains("lighthouse keeper"), "{prompt}");
    assert_eq!(json!("C1"), world.json(&["chats", "list", "--user", "alice"]).await[0]["id"]);
}

/// A message takes the place only of one's own, in the same chat, and only where nobody else has written since; the model is not
/// shown what it took the place of, whatever still ran of that is stopped, and said twice it is one message.
#[tokio::test]
async fn a_message_takes_the_place_of_an_earlier_one() {
    let model = ModelServer::builder()
        .when(Matcher::coordinator().and(Matcher::last_user_contains("wait")), Reply::hang());
    let world = World::with("", model).await;
    let mut client = world.owner().await;
    client.say("first").await;
    let wrong = client.say("wrnog").await.turn;
    let send = |id: &str, text: &str, instead: &TurnId| {
        ClientFrame::Message(Message {
            id: id.parse().unwrap(),
            chat: None,
            text: text.to_owned(),
            attachments: Vec::new(),
            instead: Some(instead.clone()),
            from: None,
        })
    };
    let ended = async |client: &mut AgentClient, id: &str| {
        let id: MessageId = id.parse().unwrap();
        frame(client, "its end", |frame| match frame {
            AgentFrame::End(end) if end.message.as_ref() == Some(&id) => Some(end.clone()),
            _ => None,
        })
        .await
    };
    // It takes long: the next takes its place before it has an answer.
    client.send(&send("m1", "wait for it", &wrong)).await.unwrap();
    eventually("the model is asked", || async {
        world
            .model
            .requests()
            .iter()
            .any(|seen| seen.last_user_text().contains("wait"))
            .then_some(())
    })
    .await;
    let waiting = TurnId::kept("t-m3".to_owned());
    for _ in 0..2 {
        client.send(&send("m2", "right", &waiting)).await.unwrap();
    }
    assert_eq!(ended(&mut client, "m1").await.error, Some(ErrorCode::Cancelled));
    assert!(ended(&mut client, "m2").await.text.starts_with("echo: right"));
    let told = world.model.requests().pop().unwrap();
    assert_eq!(said(&told), ["first", "echo: first", "right"]);
    assert_eq!(world.transcript("C1").await.len(), 8, "nothing is gone, and nothing there twice");

    for (turn, code) in [("t-m99", ErrorCode::NotFound), ("nonsense", ErrorCode::NotFound)] {
        client.send(&send("m3", "no", &TurnId::kept(turn.to_owned()))).await.unwrap();
        let refused = frame(&mut client, "a refusal", |frame| match frame {
            AgentFrame::Error(error) => Some(error.code),
            _ => None,
        })
        .await;
        assert_eq!(refused, code, "{turn}");
    }
}
