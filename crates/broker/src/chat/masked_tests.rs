use cloister_store::secrets::{OpenSecret, SecretInfo};
use cloister_vault::{Binding, Form, Owner, SecretValue};

use super::*;

const VALUE: &str = "canary-0123456789";

fn answer() -> MaskedAnswer {
    let form = Form::Query { name: "key".to_owned() };
    let info = SecretInfo {
        owner: Owner::Platform,
        name: "forge".parse().unwrap(),
        version: 1,
        binding: Binding::new(vec!["a.test".parse().unwrap()], form).unwrap(),
        set_by: String::new(),
        set_at: 0,
        expires_at: None,
    };
    let secret = OpenSecret { info, value: SecretValue::from(VALUE.to_owned()) };
    MaskedAnswer::new(Arc::new(Mask::new(&[secret]).unwrap()))
}

fn event(delta: &Value, ends: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": ends});
    format!("data: {}\n\n", json!({ "choices": [choice] }))
}

/// All that comes out, and what one text of it says.
fn shown(answer: &mut MaskedAnswer, events: &[String], pointer: &str) -> (String, String) {
    let mut all = String::new();
    for event in events {
        all += &String::from_utf8_lossy(&answer.events(Bytes::copy_from_slice(event.as_bytes())));
    }
    let texts = data_lines(all.as_bytes()).filter_map(|data| {
        let event: Value = serde_json::from_slice(data).ok()?;
        Some(event.pointer(pointer)?.as_str()?.to_owned())
    });
    let text = texts.collect();
    (all, text)
}

#[test]
fn arguments_of_a_call_in_pieces_are_masked() {
    let mut answer = answer();
    let arguments = json!({ "command": format!("echo {VALUE}") }).to_string();
    let mut events: Vec<String> = arguments
        .chars()
        .map(|c| event(&json!({"tool_calls": [{"index": 0, "function": {"arguments": c}}]}), None))
        .collect();
    events.push(event(&json!({}), Some("tool_calls")));
    let pointer = "/choices/0/delta/tool_calls/0/function/arguments";
    let (all, text) = shown(&mut answer, &events, pointer);
    assert_eq!(text, r#"{"command":"echo [secret forge]"}"#, "{all}");
    assert_eq!(answer.new_hits().len(), 1);
}

#[test]
fn what_is_held_back_comes_with_the_end_however_it_ends() {
    let pointer = "/choices/0/delta/content";
    let said = event(&json!({"content": "it is canary-01"}), None);
    for end in [event(&json!({}), Some("stop")), "data: [DONE]\n\n".to_owned()] {
        let (all, text) = shown(&mut answer(), &[said.clone(), end], pointer);
        assert_eq!(text, "it is canary-01", "{all}");
    }
    let mut again = answer();
    let (_, text) = shown(&mut again, &[said], pointer);
    assert_eq!(text, "it is ");
    again.restart();
    let (_, text) = shown(&mut again, &[event(&json!({"content": "new"}), Some("stop"))], pointer);
    assert_eq!(text, "new", "nothing is left of an attempt that is void");
}
