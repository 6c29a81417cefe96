use serde_json::json;

use super::*;

fn apply(events: &[Value]) -> Result<ModelAnswer, AnswerError> {
    let mut builder = AnswerBuilder::default();
    for event in events {
        builder.apply(&event.to_string())?;
    }
    builder.apply("[DONE]")?;
    builder.finish()
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

#[test]
fn text_usage_and_the_end() {
    let answer = apply(&[
        delta(&json!({"role": "assistant", "content": null})),
        delta(&json!({"content": "Hel"})),
        delta(&json!({"content": "lo"})),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}),
    ])
    .unwrap();
    assert_eq!(answer.text, "Hello");
    assert_eq!(answer.usage, Usage { prompt_tokens: 7, completion_tokens: 2 });
}

#[test]
fn calls_are_put_together_by_index() {
    let answer = apply(&[
        delta(&json!({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{\"pa"}}]})),
        delta(&json!({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "bash"}}]})),
        delta(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "th\":\".\"}"}}]})),
        delta(&json!({"tool_calls": [{"index": 1, "function": {"arguments": "{}"}}]})),
    ])
    .unwrap();
    let call = |id: &str, name: &str, arguments: &str| Call {
        id: id.into(),
        name: name.into(),
        arguments: arguments.into(),
    };
    assert_eq!(answer.calls, [call("a", "ls", "{\"path\":\".\"}"), call("b", "bash", "{}")]);
}

#[test]
fn calls_without_index_id_or_arguments_still_make_sense() {
    let answer =
        apply(&[delta(&json!({"tool_calls": [{"function": {"name": "list_tasks"}}]}))]).unwrap();
    assert_eq!(answer.calls.len(), 1);
    assert_eq!((answer.calls[0].id.as_str(), answer.calls[0].arguments.as_str()), ("call_0", "{}"));
}

#[test]
fn a_restart_forgets_what_was_said() {
    let answer = apply(&[
        delta(&json!({"content": "half a"})),
        json!({"cloister": "restart"}),
        delta(&json!({"content": "whole"})),
    ])
    .unwrap();
    assert_eq!(answer.text, "whole");
}

#[test]
fn errors_in_the_stream_are_told() {
    let ours =
        apply(&[json!({"error": {"code": "over_budget", "message": "spent", "fix": "raise it"}})]);
    let Err(AnswerError::Told(body)) = ours else { panic!("{ours:?}") };
    assert_eq!((body.code, body.fix.as_deref()), (ErrorCode::OverBudget, Some("raise it")));
    let foreign = apply(&[json!({"error": {"code": 500, "message": "boom"}})]);
    let Err(AnswerError::Told(body)) = foreign else { panic!("{foreign:?}") };
    assert_eq!(body.code, ErrorCode::ModelUnavailable);
    assert!(body.message.contains("boom"));
}

#[test]
fn garbage_and_excess_are_errors() {
    let mut builder = AnswerBuilder::default();
    assert!(matches!(builder.apply("{not json"), Err(AnswerError::NotJson(_))));
    let huge = "x".repeat(MAX_ANSWER_BYTES + 1);
    assert_eq!(apply(&[delta(&json!({"content": huge}))]), Err(AnswerError::TooLong));
    let many: Vec<Value> = (0..=MAX_CALLS)
        .map(|index| delta(&json!({"tool_calls": [{"index": index, "function": {"name": "ls"}}]})))
        .collect();
    assert_eq!(apply(&many), Err(AnswerError::TooManyCalls));
    let nameless = delta(&json!({"tool_calls": [{"index": 0, "id": "a"}]}));
    assert_eq!(apply(&[nameless]), Err(AnswerError::NoToolName));
}

#[test]
fn calls_are_told_apart_however_they_are_counted() {
    let call = |fields: Value| delta(&json!({"tool_calls": [fields]}));
    let whole = |id: &str, name: &str, arguments: Value| json!({"id": id, "function": {"name": name, "arguments": arguments}});
    let streams = [
        // All with the same number, each with an id of its own.
        vec![
            call(
                json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{\"p\":1}"}}),
            ),
            call(json!({"index": 0, "id": "b", "function": {"name": "rm", "arguments": "{"}})),
            call(json!({"index": 0, "function": {"arguments": "\"q\":2}"}})),
        ],
        // With no number, whole.
        vec![
            call(whole("a", "ls", json!("{\"p\":1}"))),
            call(whole("b", "rm", json!("{\"q\":2}"))),
        ],
        // With arguments that are no string, in one piece.
        vec![delta(
            &json!({"tool_calls": [whole("a", "ls", json!({"p": 1})), whole("b", "rm", json!({"q": 2}))]}),
        )],
        // With neither number nor id.
        vec![
            call(json!({"function": {"name": "ls", "arguments": "{\"p\""}})),
            call(json!({"function": {"arguments": ":1}"}})),
            call(json!({"function": {"name": "rm", "arguments": "{\"q\":2}"}})),
        ],
        // With id and name in every piece.
        vec![
            call(json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{\"p\""}})),
            call(json!({"index": 0, "id": "a", "function": {"name": "ls", "arguments": ":1}"}})),
            call(
                json!({"index": 1, "id": "b", "function": {"name": "rm", "arguments": "{\"q\":2}"}}),
            ),
        ],
    ];
    for stream in streams {
        let answer = apply(&stream).unwrap();
        let calls: Vec<_> =
            answer.calls.iter().map(|c| (c.name.as_str(), c.arguments.as_str())).collect();
        assert_eq!(calls, [("ls", "{\"p\":1}"), ("rm", "{\"q\":2}")], "{stream:?}");
        assert_ne!(answer.calls[0].id, answer.calls[1].id);
    }
}

#[test]
fn words_come_in_parts_too_and_what_is_no_event_is_passed_over() {
    let mut builder = AnswerBuilder::default();
    assert_eq!(builder.apply("keep-alive"), Ok(Vec::new()));
    let parts = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hel"}]);
    let read = builder.apply(&delta(&json!({"content": parts})).to_string()).unwrap();
    assert_eq!(read, [Piece::Thought("hm".into()), Piece::Text("Hel".into())]);
    let last = json!({"choices": [{"delta": {"content": "lo"}, "finish_reason": ""}], "usage": {"prompt_tokens": 3.0}});
    builder.apply(&last.to_string()).unwrap();
    assert!(!builder.is_whole());
    let end = json!({"choices": [{"delta": {}, "finish_reason": "length"}]});
    builder.apply(&end.to_string()).unwrap();
    let answer = builder.finish().unwrap();
    assert_eq!((answer.text.as_str(), answer.cut, answer.usage.prompt_tokens), ("Hello", true, 3));
}
