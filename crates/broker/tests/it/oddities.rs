//! What servers of other people send, and what a cell sees of it.

use std::time::Duration;

use cloister_protocol::ErrorCode;
use cloister_testkit::{Matcher, ModelServer, Reply};
use serde_json::{Value, json};

use crate::harness::{World, ask, quick, text_of};

const HELLO: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"}}]}\n\n";
const STOP: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
const DONE: &str = "data: [DONE]\n\n";

async fn world(reply: Reply) -> (World, ModelServer) {
    let server = ModelServer::start().await.unwrap();
    server.when(Matcher::any(), reply);
    let world = World::new().await;
    world.use_models(&[&server]).await;
    (world, server)
}

#[tokio::test]
async fn an_answer_is_read_however_it_is_sent() {
    let usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3.0,\"completion_tokens\":2,\"cost\":null}}\n\n";
    let nothing = "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":null,\"tool_calls\":null},\"finish_reason\":\"\"}],\"usage\":null,\"error\":null}\n\n";
    let cases: Vec<Vec<&str>> = vec![
        vec![HELLO, STOP],
        vec![HELLO, STOP, usage, DONE],
        vec![": PROCESSING\n\n", ": PROCESSING\n\n", HELLO, STOP, DONE],
        vec!["data: keep-alive\n\n", HELLO, "data: ping\n\n", STOP, DONE],
        vec!["event: message\nid: 7\nretry: 10\n", HELLO, STOP, DONE],
        vec![nothing, HELLO, STOP, DONE],
        vec![
            "da",
            "ta: {\"choices\":[{\"delta\":{\"cont",
            "ent\":\"hello\"}}]}\n",
            "\nd",
            "ata: [DO",
            "NE]\n\n",
        ],
        // A reason that is said before the words have ended does not end them.
        vec![
            "data: {\"choices\":[{\"delta\":{\"content\":\"hel\"},\"finish_reason\":\"\"}]}\n\n",
            "data: {\"choices\":[{\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}",
        ],
    ];
    for pieces in cases {
        let (world, server) = world(Reply::raw(&pieces)).await;
        let events = world.open().client.chat(&ask("hi")).await.events().await;
        assert_eq!(text_of(&events), "hello", "{pieces:?}");
        assert_eq!(events.last().unwrap(), "[DONE]", "{pieces:?}");
        assert_eq!(server.request_count(), 1, "{pieces:?}");
        assert!(world.settled().await.spent > 0, "{pieces:?}");
    }
}

#[tokio::test]
async fn an_answer_in_one_piece_is_as_good_as_its_stream() {
    let call =
        json!({"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}});
    let message = json!({"role": "assistant", "content": "hello", "tool_calls": [call]});
    let whole = json!({"object": "chat.completion", "usage": {"prompt_tokens": 4, "completion_tokens": 5},
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]});
    let (world, _server) =
        world(Reply::raw(&[&whole.to_string()]).content_type("application/json")).await;
    let events = world.open().client.chat(&ask("hi")).await.events().await;
    assert_eq!(text_of(&events), "hello");
    let calls: Vec<Value> = events
        .iter()
        .filter_map(|event| serde_json::from_str::<Value>(event).ok())
        .filter_map(|event| event.pointer("/choices/0/delta/tool_calls/0/function/name").cloned())
        .collect();
    assert_eq!(calls, ["ls"]);
    world.settled().await;
    let usage = world.store.tasks().usage(None, None).await.unwrap();
    assert_eq!((usage[0].usage.prompt_tokens, usage[0].usage.completion_tokens), (4, 5));
}

#[tokio::test]
async fn calls_of_one_answer_are_told_apart_also_where_all_have_the_same_number() {
    let piece = |id: &str, name: &str, arguments: &str| {
        let call =
            json!({"index": 0, "id": id, "function": {"name": name, "arguments": arguments}});
        format!("data: {}\n\n", json!({"choices": [{"delta": {"tool_calls": [call]}}]}))
    };
    let (first, second) = (piece("a", "ls", "{}"), piece("b", "rm", "{}"));
    let (world, _server) = world(Reply::raw(&[&first, &second, STOP, DONE])).await;
    let mut question = ask("hi");
    question["stream"] = Value::Bool(false);
    let answer = world.open().client.chat(&question).await.json().await;
    let calls = answer.pointer("/choices/0/message/tool_calls").unwrap().as_array().unwrap();
    let names: Vec<_> = calls.iter().map(|call| &call["function"]["name"]).collect();
    assert_eq!(names, ["ls", "rm"]);
}

#[tokio::test]
async fn errors_in_every_dress_are_errors_and_never_words() {
    let error = "data: {\"error\":{\"message\":\"overloaded\"}}\n\n";
    let page = "<html><body>Bad gateway, says Sam</body></html>";
    for (reply, said) in [
        (Reply::raw(&[error]), "overloaded"),
        (
            Reply::raw(&["event: error\ndata: {\"message\":\"overloaded\",\"code\":500}\n\n"]),
            "overloaded",
        ),
        (
            Reply::raw(&[
                "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"overloaded\"}}\n\n",
            ]),
            "overloaded",
        ),
        (
            Reply::raw(&["{\"error\":{\"message\":\"overloaded\"}}"])
                .content_type("application/json"),
            "overloaded",
        ),
        (Reply::raw(&["{\"object\":\"list\"}"]).content_type("application/json"), "not an answer"),
        (Reply::raw(&[page]).content_type("text/html"), "cut off"),
        (Reply::status(529, "{\"error\":{\"message\":\"overloaded\"}}"), "529: overloaded"),
        (Reply::status(502, page), "it answered 502"),
        (Reply::status(429, "{\"error\":{\"message\":\"Rate limited.\"}}"), "Rate limited."),
        (Reply::raw(&[HELLO, error]), "overloaded"),
        (Reply::raw(&[HELLO]), "cut off"),
        (Reply::raw(&[HELLO]).cut_after(0), "cut off"),
    ] {
        let (world, _server) = world(reply.clone()).await;
        let body = world.open().client.chat(&ask("hi")).await.body().await;
        let last = body.trim().rsplit("data: ").next().unwrap();
        let error: Value = serde_json::from_str(last).unwrap();
        let message = error["error"]["message"].as_str().unwrap();
        assert_eq!(error["error"]["code"], json!(ErrorCode::ModelUnavailable), "{reply:?}");
        assert!(message.contains(said) && !message.contains("Sam"), "{message} for {reply:?}");
        assert!(!message.contains(".."), "{message}");
        assert!(!text_of(&[last.to_owned()]).contains(said));
    }
}

#[tokio::test]
async fn who_waits_longer_than_a_moment_is_told_so_and_which_attempt_it_is() {
    let server = ModelServer::start().await.unwrap();
    server.enqueue(Reply::status(503, "starting"));
    server.enqueue(Reply::text("hello").slow_first_byte(Duration::from_millis(1_500)));
    let mut options = quick();
    options.upstream.first_byte = Some(Duration::from_secs(10));
    let world = World::with(options, 1_000_000_000).await;
    world.use_models(&[&server]).await;
    let events = world.open().client.chat(&ask("hi")).await.events().await;
    assert_eq!(events[0], r#"{"cloister":"waiting","attempt":2,"doing":"reads"}"#);
    assert_eq!(text_of(&events), "hello");
}

#[tokio::test]
async fn a_conversation_that_is_too_long_is_said_to_be_so_and_the_window_is_kept() {
    let said = "{\"error\":{\"message\":\"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens. Please reduce the length of the messages.\"}}";
    let (world, _server) = world(Reply::status(400, said)).await;
    let error = world.open().client.chat(&ask("hi")).await.error().await;
    assert_eq!(error.code, ErrorCode::TooLarge, "{error:?}");
    world.settled().await;
    let known = async || world.store.models().model("first").await.unwrap().profile.window_tokens;
    assert_eq!(known().await, Some(8192));
}

const ROLE: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
const PING: &str = ": OPENROUTER PROCESSING\n\n";

async fn patient(first_byte: u64, idle: u64, total: u64, reply: Reply) -> (World, ModelServer) {
    let server = ModelServer::start().await.unwrap();
    server.when(Matcher::any(), reply);
    let mut options = quick();
    options.upstream.attempts = 1;
    options.upstream.first_byte = Some(Duration::from_millis(first_byte));
    options.upstream.idle = Some(Duration::from_millis(idle));
    options.upstream.total = Duration::from_millis(total);
    let world = World::with(options, 1_000_000_000).await;
    world.use_models(&[&server]).await;
    (world, server)
}

/// What a server says before the first word is no sign that the answer has begun.
#[tokio::test]
async fn the_first_word_is_waited_for_whatever_comes_before_it() {
    for before in [ROLE, PING] {
        let slow = Reply::raw(&[before, before, HELLO, STOP, DONE]);
        let (world, _server) =
            patient(8_000, 100, 9_000, slow.delay(Duration::from_millis(400))).await;
        // The pieces of the answer itself come as slowly: only what is before it is looked at.
        let door = world.open();
        let mut answer = door.client.chat(&ask("hi")).await;
        let mut seen = String::new();
        while !seen.contains("hello") && !seen.contains("error") {
            seen.push_str(&answer.piece().await.unwrap());
        }
        assert!(seen.contains("\"hello\""), "{before}: {seen}");
    }
}

#[tokio::test]
async fn a_model_that_only_keeps_its_connection_open_is_given_up() {
    let pings = Reply::raw(&[PING; 100]).delay(Duration::from_millis(50));
    let (world, _server) = patient(300, 300, 4_000, pings).await;
    let error = world.open().client.chat(&ask("hi")).await.error().await;
    assert!(error.message.contains("no answer within 0.3 s"), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_makes_progress_may_take_longer_than_the_whole_call() {
    let long = Reply::text("abcdefghij").chunks(10).delay(Duration::from_millis(150));
    let (world, _server) = patient(600, 600, 600, long).await;
    assert_eq!(world.open().client.said("hi").await, "abcdefghij");
    // One that goes on without saying anything ends all the same.
    let pieces = [&[HELLO][..], &[PING; 100]].concat();
    let silent = Reply::raw(&pieces).delay(Duration::from_millis(50));
    let (world, _server) = patient(600, 200, 600, silent).await;
    let body = world.open().client.chat(&ask("hi")).await.body().await;
    assert!(body.contains("fell silent for 0.6 s"), "{body}");
}

/// How much of a prompt a provider had kept is counted, however it says that.
#[tokio::test]
async fn what_a_provider_had_kept_of_a_prompt_is_counted() {
    for said in [
        json!({"usage": {"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 64}}}),
        json!({"usage": {"prompt_tokens": 100, "cache_read_input_tokens": 64.0}}),
        json!({"usage": {"prompt_tokens": 100, "prompt_cache_hit_tokens": 64}}),
        json!({"usage": {"prompt_tokens": 100}, "timings": {"cache_n": 64, "prompt_n": 36}}),
        json!({"usage": {"prompt_tokens": 64, "prompt_tokens_details": {"cached_tokens": 900}}}),
    ] {
        let mut end = said.clone();
        end["choices"] = json!([]);
        let end = format!("data: {end}\n\n");
        let (world, _server) = world(Reply::raw(&[HELLO, STOP, &end, DONE])).await;
        assert_eq!(world.open().client.said("hi").await, "hello");
        world.settled().await;
        let usage = world.store.tasks().usage(None, None).await.unwrap();
        assert_eq!(usage[0].cached_tokens, 64, "{said}");
    }
}
