use cloister_protocol::{Effort, LimitField, ModelProfile, ModelSettings};

use super::*;

fn model(profile: ModelProfile, settings: ModelSettings) -> Model {
    Model { model: "m".to_owned(), profile, settings, ..Model::demo() }
}

fn sent(request: &Value, model: &Model) -> (Value, bool) {
    let request = ChatRequest::parse(request.to_string().as_bytes()).unwrap();
    let worded = worded(&request, model, 77);
    (serde_json::from_slice(&worded.body).unwrap(), worded.calls.is_some())
}

fn with_tools() -> Value {
    json!({
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "List it."},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
                "function": {"name": "bash", "arguments": "{\"command\":\"ls\"}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "a.txt"},
            {"role": "user", "content": "Go on."},
        ],
        "tools": [{"type": "function", "function": {"name": "bash", "description": "Runs it.",
            "parameters": {"type": "object"}}}],
        "tool_choice": "auto", "temperature": 0.7,
    })
}

#[test]
fn what_was_found_out_and_what_the_operator_set_decide_the_fields() {
    let profile = ModelProfile {
        limit_field: Some(LimitField::MaxCompletionTokens),
        usage: Some(UsageForm::Refused),
        tools: Some(ToolForm::Native),
        ..ModelProfile::default()
    };
    let settings = ModelSettings {
        temperature: Some(0.1),
        effort: Some(Effort::Low),
        ..ModelSettings::default()
    };
    let (sent, reads_text) = sent(&with_tools(), &model(profile, settings));
    assert_eq!(sent["max_completion_tokens"], 77);
    assert_eq!(sent["temperature"], 0.1);
    assert_eq!(sent["reasoning_effort"], "low");
    assert!(sent.get("max_tokens").is_none() && sent.get("stream_options").is_none());
    assert_eq!(sent["tools"].as_array().unwrap().len(), 1);
    assert!(!reads_text);
}

#[test]
fn a_model_that_writes_its_calls_is_offered_tools_as_they_are() {
    let profile = ModelProfile { tools: Some(ToolForm::Text), ..ModelProfile::default() };
    let model = model(profile, ModelSettings::default());
    let (body, reads_text) = sent(&with_tools(), &model);
    assert!(reads_text && body["tools"].is_array() && body["temperature"] == 0.7);
    let (_, reads_text) = sent(&json!({"messages": [{"role": "user", "content": "hi"}]}), &model);
    assert!(!reads_text, "nothing can be called where no tool is offered");
}

#[test]
fn a_model_that_knows_no_tools_reads_of_them_in_its_prompt() {
    let profile = ModelProfile { tools: Some(ToolForm::Described), ..ModelProfile::default() };
    let (sent, reads_text) = sent(&with_tools(), &model(profile, ModelSettings::default()));
    assert!(reads_text && sent.get("tools").is_none() && sent.get("tool_choice").is_none());
    let messages = sent["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    let text = |place: usize| messages[place]["content"].as_str().unwrap();
    assert!(text(0).starts_with("Be brief.") && text(0).contains("bash: Runs it."));
    assert!(text(2).contains("<tool_call>") && text(2).contains(r#""command":"ls""#));
    assert!(text(3).contains("a.txt") && text(3).ends_with("Go on."));
}

#[test]
fn what_runs_here_may_write_a_call_though_it_knows_better() {
    let profile = ModelProfile { tools: Some(ToolForm::Native), ..ModelProfile::default() };
    let mut model = model(profile, ModelSettings::default());
    model.base_url = "http://127.0.0.1:8080/v1".to_owned();
    let (body, reads_text) = sent(&with_tools(), &model);
    assert!(reads_text && body["tools"].is_array());
    model.base_url = "https://openrouter.ai/api/v1".to_owned();
    assert!(!sent(&with_tools(), &model).1);
}
