//! What trying a model finds out, and what is done with it in the next call.

use cloister_control::books::Model;
use cloister_protocol::{LimitField, ModelProfile, ReasoningForm, ToolForm, UsageForm};
use cloister_store::Actor;
use cloister_testkit::{Matcher, ModelServer, ModelServerBuilder, Received, Reply};
use serde_json::{Value, json};

use crate::harness::{World, ask, text_of};

const WRITTEN: &str =
    "```json\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n```";

/// Tries the first model of a world.
async fn tried(server: &ModelServer) -> (World, Model, ModelProfile) {
    let world = World::new().await;
    world.use_models(&[server]).await;
    let model = world.store.models().model("first").await.unwrap();
    let profile = world.doors.gateway().probe(&model, None).await.unwrap().profile;
    (world, model, profile)
}

fn sees(received: &Received) -> bool {
    !received.images().is_empty()
}

fn knows_tools() -> ModelServerBuilder {
    let calls = Reply::tool_call("get_weather", json!({"city": "Paris"}))
        .and_tool_call("get_weather", json!({"city": "Rome"}));
    ModelServer::builder().when(Matcher::offers_tool("get_weather"), calls)
}

#[tokio::test]
async fn a_capable_model_is_known_as_such() {
    let listed = json!({"id": "test/first", "context_length": 131_072,
        "top_provider": {"max_completion_tokens": 16_000}});
    let server = knows_tools()
        .listed(listed)
        .rule(|asked| sees(asked).then(|| Reply::text("Green, orange")))
        .when(Matcher::last_user_contains("Say OK"), Reply::text("OK").thinking("They want OK."))
        .start()
        .await
        .unwrap();
    let (world, _, profile) = tried(&server).await;
    assert_eq!(profile.tools, Some(ToolForm::Native));
    assert_eq!(profile.parallel_calls, Some(true));
    assert_eq!(profile.vision, Some(true));
    assert_eq!(profile.reasoning, Some(ReasoningForm::ReasoningContent));
    assert_eq!(profile.usage, Some(UsageForm::Streamed));
    assert_eq!(profile.limit_field, Some(LimitField::MaxTokens));
    assert_eq!((profile.window_tokens, profile.output_tokens), (Some(131_072), Some(16_000)));
    assert!(profile.first_word_ms.is_some());
    // The operator tried it: nobody pays for that.
    assert_eq!(world.budget().await.spent, 0);
    server.assert_no_violations();
}

#[tokio::test]
async fn refusals_say_in_which_words_to_ask() {
    let server = ModelServer::builder()
        .rule(|asked| {
            let refused = |said: &str| {
                let body = json!({"error": {"message": said}}).to_string();
                Some(Reply::status(400, &body))
            };
            if asked.body.get("stream_options").is_some() {
                return refused("Unknown parameter: stream_options");
            }
            if asked.body.get("max_tokens").is_some() {
                return refused(
                    "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'.",
                );
            }
            if sees(asked) {
                return refused("this model takes no images");
            }
            if asked.max_tokens() > Some(1_000_000) {
                return refused("This model's maximum context length is 4096 tokens.");
            }
            Some(Reply::text("OK").no_usage())
        })
        .start()
        .await
        .unwrap();
    let (_world, _, profile) = tried(&server).await;
    assert_eq!(profile.limit_field, Some(LimitField::MaxCompletionTokens));
    assert_eq!(profile.usage, Some(UsageForm::Refused));
    assert_eq!(profile.vision, Some(false));
    assert_eq!(profile.tools, Some(ToolForm::None));
    assert_eq!(profile.window_tokens, Some(4_096));
}

#[tokio::test]
async fn a_model_that_says_nothing_is_not_connected() {
    let server = ModelServer::builder()
        .when(Matcher::any(), Reply::text("").usage(5, 0))
        .start()
        .await
        .unwrap();
    let world = World::new().await;
    world.use_models(&[&server]).await;
    let model = world.store.models().model("first").await.unwrap();
    let error = world.doors.gateway().probe(&model, None).await.unwrap_err();
    assert!(error.message.contains("without a word"), "{}", error.message);
    assert_eq!(server.request_count(), 1);
}

#[tokio::test]
async fn calls_in_text_reach_the_cell_as_calls() {
    let server = ModelServer::builder()
        .when(Matcher::offers_tool("get_weather"), Reply::text(WRITTEN).chunks(9))
        .when(
            Matcher::offers_tool("bash"),
            Reply::text("I look.\n<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}</tool_call>")
                .chunks(12),
        )
        .start()
        .await
        .unwrap();
    let (world, model, profile) = tried(&server).await;
    assert_eq!(profile.tools, Some(ToolForm::Text));
    assert_eq!(profile.parallel_calls, Some(false));
    let actor = Actor::person("test");
    world.store.models().set_profile(&actor, &model.name, &profile).await.unwrap();

    let mut request = ask("list");
    request["tools"] = json!([{"type": "function", "function": {"name": "bash"}}]);
    let door = world.open();
    let events = door.client.chat(&request).await.events().await;
    assert_eq!(text_of(&events), "I look.\n");
    request["stream"] = json!(false);
    request["messages"][0]["content"] = json!("list again");
    let whole = door.client.chat(&request).await.json().await;
    let choice = &whole["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["content"], "I look.\n");
    assert_eq!(choice["message"]["tool_calls"][0]["function"]["name"], "bash");
    assert_eq!(choice["message"]["tool_calls"][0]["function"]["arguments"], "{\"command\":\"ls\"}");
    server.assert_no_violations();
}

#[tokio::test]
async fn a_model_without_tools_is_told_of_them_and_calls_them() {
    let server = ModelServer::builder()
        .rule(|asked| {
            let refused = json!({"error": {"message": "this model does not support tools"}});
            asked.body.get("tools").map(|_| Reply::status(400, &refused.to_string()))
        })
        .when(
            Matcher::system_contains("get_weather"),
            Reply::text("<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>"),
        )
        .when(
            Matcher::last_user_contains("<tool_response>\na.txt"),
            Reply::text("There is a.txt."),
        )
        .start()
        .await
        .unwrap();
    let (world, model, profile) = tried(&server).await;
    assert_eq!(profile.tools, Some(ToolForm::Described));
    let actor = Actor::person("test");
    world.store.models().set_profile(&actor, &model.name, &profile).await.unwrap();
    let call = json!({"id": "c1", "type": "function",
        "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}});
    let request = json!({"stream": true,
        "messages": [{"role": "user", "content": "list"},
            {"role": "assistant", "content": null, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "a.txt"}],
        "tools": [{"type": "function", "function": {"name": "bash"}}]});
    let events = world.open().client.chat(&request).await.events().await;
    assert_eq!(text_of(&events), "There is a.txt.");
    let sent: Value = server.requests().pop().unwrap().body;
    assert!(sent.get("tools").is_none());
    server.assert_no_violations();
}

/// Whoever asks, and for whatever: while everything is stopped no provider hears of it.
#[tokio::test]
async fn no_trial_of_a_model_leaves_while_everything_is_stopped() {
    let server = ModelServer::builder().start().await.unwrap();
    let world = World::new().await;
    world.use_models(&[&server]).await;
    let model = world.store.models().model("first").await.unwrap();
    world.store.stopped.store(true, std::sync::atomic::Ordering::SeqCst);
    let gateway = world.doors.gateway();
    let refused = gateway.probe(&model, None).await.unwrap_err();
    assert!(refused.message.contains("everything is stopped"), "{}", refused.message);
    gateway.model_ids(&server.base_url(), None).await.unwrap_err();
    assert_eq!(server.request_count(), 0);
    world.store.stopped.store(false, std::sync::atomic::Ordering::SeqCst);
    gateway.probe(&model, None).await.unwrap();
}
