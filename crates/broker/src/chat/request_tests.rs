use serde_json::{Value, json};

use super::*;

fn parse(body: &Value) -> Result<ChatRequest, Refusal> {
    ChatRequest::parse(body.to_string().as_bytes())
}

fn sent(body: &Value) -> Value {
    serde_json::from_slice(&parse(body).unwrap().body_for("provider/model", 99)).unwrap()
}

fn refused(body: &Value) -> String {
    parse(body).unwrap_err().error.message
}

#[test]
fn the_broker_decides_model_stream_and_limit_and_drops_what_it_does_not_know() {
    let tools = json!([{"type": "function", "function": {"name": "ls", "parameters": {}}}]);
    let sent = sent(&json!({
        "model": "the/dearest", "stream": false, "max_tokens": 1_000_000, "user": "someone",
        "messages": [{"role": "user", "content": "hi"}], "tools": tools, "temperature": 0.5,
        "plugins": [{"id": "web"}], "provider": {"order": ["x"]}, "stream_options": {},
    }));
    let expected = json!({
        "model": "provider/model", "stream": true, "stream_options": {"include_usage": true},
        "max_tokens": 99, "messages": [{"role": "user", "content": "hi"}], "tools": tools,
        "temperature": 0.5,
    });
    assert_eq!(sent, expected);
}

#[test]
fn what_is_not_a_chat_request_is_refused_with_its_reason() {
    for (body, reason) in [
        (json!({}), "missing field `messages`"),
        (json!({"messages": []}), "`messages` is empty"),
        (json!({"messages": "hi"}), "`messages` can't be read"),
        (json!({"messages": [{"role": "root", "content": "hi"}]}), "unknown variant `root`"),
        (json!({"messages": [{"role": "user"}]}), "message 0 has no `content`"),
        (json!({"messages": [{"role": "user", "content": 7}]}), "neither text nor parts"),
        (json!({"messages": [{"role": "tool", "content": "x"}]}), "without a `tool_call_id`"),
    ] {
        let message = refused(&body);
        assert!(message.contains(reason), "{message}");
    }
    ChatRequest::parse(b"{").unwrap_err();
}

#[test]
fn ways_out_through_the_provider_are_refused() {
    let image = |url: &str| {
        json!({"messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": url}}]}]})
    };
    let address = "https://collect.example/?stolen=secret";
    assert!(refused(&image(address)).contains("not a `data:image/…` URL"));
    let file = json!({"messages": [{"role": "user", "content": [{"type": "file"}]}]});
    assert!(refused(&file).contains("a part of type \"file\""));
    let search = json!({"messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "web_search", "function": {"name": "x"}}]});
    assert!(refused(&search).contains("web_search"));
    parse(&image("data:image/png;base64,AAAA")).unwrap();
}

#[test]
fn an_image_counts_by_its_own_rule_and_not_by_its_bytes() {
    let url = format!("data:image/png;base64,{}", "A".repeat(1 << 20));
    let request = parse(&json!({"messages": [{"role": "user", "content": [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": url}}]}]}))
    .unwrap();
    let bound = request.prompt_tokens_at_most(3_000);
    assert!((3_000..3_500).contains(&bound), "{bound}");
    assert!(request.prompt_tokens_estimate(3_000) <= bound);
}
