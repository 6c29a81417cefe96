use cloister_control::books::Model;
use serde_json::{Value, json};

use super::super::dialect::worded;
use super::*;

fn parse(body: &Value) -> Result<ChatRequest, Refusal> {
    ChatRequest::parse(body.to_string().as_bytes())
}

fn sent(body: &Value) -> Value {
    let model = Model { model: "provider/model".to_owned(), ..Model::demo() };
    serde_json::from_slice(&worded(&parse(body).unwrap(), &model, 99).body).unwrap()
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

/// A7, E45: what the broker passed over went on as the cell wrote it. A provider that looks at a part's fields, that reads
/// keys in any letters or that follows a schema's references asked the attacker's server.
#[test]
fn a_provider_is_sent_nothing_that_is_not_understood_here() {
    let address = "https://collect.example/?stolen=secret";
    let image = json!({"url": address});
    let data = json!({"url": "data:image/png;base64,AAAA", "URL": address, "detail": address});
    let sent = sent(&json!({
        "messages": [
            {"role": "user", "name": address, "Content": [{"type": "image_url", "image_url": image}],
                "content": [
                    {"type": "text", "text": "hi", "image_url": image, "IMAGE_URL": image, "file": image},
                    {"type": "image_url", "image_url": data, "cache_control": image},
                ]},
            {"role": "assistant", "content": null, "audio": image, "annotations": [image], "tool_calls": [
                {"id": "c", "type": "web_search", "url": address,
                    "function": {"name": "f", "arguments": "{}", "parsed": image}}]},
            {"role": "tool", "tool_call_id": "c", "content": "y", "Image_url": image},
        ],
        "tools": [{"type": "function", "Type": "web_search", "server_url": address,
            "function": {"name": "f", "description": "d", "parameters": {"type": "object"}, "url": address}}],
        "tool_choice": {"type": "web_search", "server_url": address, "function": {"name": "f", "x": address}},
        "response_format": {"type": "json_schema", "x": address,
            "json_schema": {"name": "n", "schema": {"type": "object"}, "x": address}},
        "stop": ["a"], "Messages": [{"role": "user", "content": address}],
    }));
    assert!(!sent.to_string().contains("collect.example"), "{sent}");
    let expected = json!([
        {"role": "user", "content": [
            {"type": "text", "text": "hi"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "content": "y", "tool_call_id": "c"},
    ]);
    assert_eq!(sent["messages"], expected);
    assert_eq!(sent["tool_choice"], json!({"type": "function", "function": {"name": "f"}}));
    assert_eq!(sent["stop"], json!(["a"]));
}

#[test]
fn what_a_provider_would_have_to_fetch_is_refused() {
    let address = "https://collect.example/?stolen=secret";
    let hi = || json!([{"role": "user", "content": "hi"}]);
    let with_tool = |parameters: Value| {
        json!({"messages": hi(), "tools": [
            {"type": "function", "function": {"name": "f", "parameters": parameters}}]})
    };
    let schemas = [
        json!({"$ref": address}),
        json!({"properties": {"a": {"items": [{"$ref": "//collect.example/x"}]}}}),
        json!({"$ref": "x.json"}),
        json!({"$dynamicRef": address}),
        json!({"$recursiveRef": "other#"}),
        json!({"$schema": address}),
        json!({"$id": address}),
    ];
    for schema in schemas {
        assert!(refused(&with_tool(schema.clone())).contains("elsewhere"), "{schema}");
        let format = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}});
        let answer = json!({"messages": hi(), "response_format": format});
        assert!(refused(&answer).contains("elsewhere"), "{schema}");
    }
    let own = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "$ref": "#/$defs/a",
        "$defs": {"a": {"type": "string", "description": address}}, "properties": {"$ref": {"type": "string"}}});
    parse(&with_tool(own)).unwrap();
    let picture = |url: &str| {
        json!({"messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": url}}]}]})
    };
    for url in [
        "data:image/svg+xml;base64,AAAA",
        "data:image/svg+xml,<svg><image href='https://collect.example/'/></svg>",
        "data:image/png,AAAA",
        "data:image/png;base64,AA AA",
        "data:image/png;base64,AAAA\" \"x",
        "data:image/png;x=https://collect.example/;base64,AAAA",
    ] {
        assert!(refused(&picture(url)).contains("not a `data:image/…` URL"), "{url}");
    }
    for (name, value) in [
        ("tool_choice", json!("web_search")),
        ("tool_choice", json!({"type": "web_search_preview"})),
        ("response_format", json!({"type": "grammar", "grammar": address})),
        ("stop", json!({"url": address})),
    ] {
        let mut body = json!({"messages": hi()});
        body[name] = value.clone();
        assert!(refused(&body).contains("can't be read"), "{name} {value}");
    }
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

const REQUESTS: &[&str] = &[
    r#"{"messages":[{"role":"user","content":"hello"}],"stream":true,"max_tokens":10}"#,
    r#"{"messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}],"tools":[{"type":"function","function":{"name":"f","parameters":{}}}],"tool_choice":"auto"}"#,
    r#"{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"y"}],"temperature":0.5}"#,
];
const REQUEST_WORDS: &[&str] = &[
    "\"model\":\"dearest\"",
    "\"messages\":[",
    "\"max_tokens\":18446744073709551615",
    "\"n\":100",
    "\"stream\":false",
    "\"tools\":[]",
    "\"content\":null",
    "\"role\":\"system\"",
    "\"image_url\":",
    "https://evil.example/x.png",
    "},{",
    "\\u0000",
];

/// What goes to a provider is one JSON object with the model that the chain names, said once.
fn request(bytes: &[u8]) -> Result<(bool, bool), String> {
    let Ok(request) = ChatRequest::parse(bytes) else { return Ok((false, false)) };
    let model = Model { model: "the-model".to_owned(), ..Model::demo() };
    let body = worded(&request, &model, 7).body;
    let value: serde_json::Value = serde_json::from_slice(&body).map_err(|error| {
        format!("the body is not JSON: {error}: {}", String::from_utf8_lossy(&body))
    })?;
    if value.get("model").and_then(serde_json::Value::as_str) != Some("the-model") {
        return Err(format!("the body names another model: {value}"));
    }
    let text = String::from_utf8_lossy(&body).into_owned();
    if text.matches("\"the-model\"").count() != 1 {
        return Err(format!("the model is said more than once: {text}"));
    }
    Ok((true, value.get("tools").is_some()))
}

#[test]
fn fuzz_chat_requests() {
    cloister_testkit::Fuzz::new("chat_requests")
        .seeds(REQUESTS)
        .words(REQUEST_WORDS)
        .run(request)
        .unwrap();
}

#[test]
fn what_a_cell_says_it_does_chooses_a_chain_and_reaches_no_provider() {
    let said = |kind: &str| json!({"kind": kind, "messages": [{"role": "user", "content": "hi"}]});
    let kind = |body: &Value, level| parse(body).unwrap().kind(level);
    assert_eq!(kind(&said("summarise"), Level::Coordinator), WorkKind::Summarise);
    assert_eq!(kind(&said("research"), Level::Executor), WorkKind::Research);
    // Whose work it is says the door, and whether there are pictures the request itself.
    for word in ["work", "talk", "vision", "Root", ""] {
        assert_eq!(kind(&said(word), Level::Coordinator), WorkKind::Talk, "{word}");
        assert_eq!(kind(&said(word), Level::Executor), WorkKind::Work, "{word}");
    }
    let seen = json!({"kind": "summarise", "messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}]});
    assert_eq!(kind(&seen, Level::Coordinator), WorkKind::Vision);
    assert!(sent(&said("summarise")).get("kind").is_none());
}
