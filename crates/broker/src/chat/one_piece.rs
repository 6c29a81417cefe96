//! An answer that came in one piece although it was asked for as a stream, as the events it would have been.

use bytes::Bytes;
use serde_json::{Value, json};

/// The events of a whole answer; none if it is no answer.
pub(super) fn as_events(body: &[u8]) -> Option<Bytes> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let choice = answer.pointer("/choices/0")?;
    let mut delta = choice.get("message").or_else(|| choice.get("delta"))?.as_object()?.clone();
    if let Some(Value::Array(calls)) = delta.get_mut("tool_calls") {
        for (index, call) in calls.iter_mut().filter_map(Value::as_object_mut).enumerate() {
            call.insert("index".to_owned(), Value::from(index));
        }
    }
    let reason = choice.get("finish_reason").filter(|reason| reason.is_string());
    let reason = reason.cloned().unwrap_or_else(|| Value::from("stop"));
    let usage = answer.get("usage").cloned().unwrap_or_default();
    let words = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let mut end =
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage});
    if let Some(timings) = answer.get("timings") {
        end["timings"] = timings.clone();
    }
    Some(format!("data: {words}\n\ndata: {end}\n\ndata: [DONE]\n\n").into())
}

#[cfg(test)]
mod tests {
    use super::super::collect::Whole;
    use super::*;

    #[test]
    fn a_whole_answer_is_read_like_its_stream() {
        let call =
            json!({"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}});
        let other =
            json!({"id": "c2", "type": "function", "function": {"name": "rm", "arguments": "{}"}});
        let message = json!({"role": "assistant", "content": "hello", "tool_calls": [call, other]});
        let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
        let answer =
            json!({"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 2}});
        let mut whole = Whole::default();
        whole.add(&as_events(answer.to_string().as_bytes()).unwrap());
        assert_eq!(whole.content, "hello");
        let names: Vec<_> = whole.tool_calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["ls", "rm"]);
    }

    #[test]
    fn what_is_no_answer_has_no_events() {
        for body in
            ["", "[]", "{}", "{\"choices\":[]}", "{\"choices\":[{\"text\":\"old\"}]}", "<html>"]
        {
            assert_eq!(as_events(body.as_bytes()), None, "{body}");
        }
    }
}
