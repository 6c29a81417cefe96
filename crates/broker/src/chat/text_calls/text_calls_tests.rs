use super::*;

fn offered() -> Vec<String> {
    ["bash", "read_file"].map(str::to_owned).to_vec()
}

/// What a reader of the rewritten answer sees: its words, its calls and why it ended.
fn seen(events: &[u8]) -> (String, Vec<(String, String)>, Value) {
    let (mut words, mut calls, mut reason) = (String::new(), Vec::new(), Value::Null);
    for data in data_lines(events) {
        let Ok(chunk) = serde_json::from_slice::<Value>(data) else { continue };
        let choice = &chunk["choices"][0];
        words.push_str(choice["delta"]["content"].as_str().unwrap_or_default());
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let text = |field: &str| call["function"][field].as_str().unwrap().to_owned();
            assert_eq!(call["index"], calls.len());
            calls.push((text("name"), text("arguments")));
        }
        if !choice["finish_reason"].is_null() {
            reason = choice["finish_reason"].clone();
        }
    }
    (words, calls, reason)
}

fn event(delta: &Value, reason: &Value) -> Vec<u8> {
    let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    format!("data: {chunk}\n\n").into_bytes()
}

/// The answer in pieces of this many characters.
fn rewritten(text: &str, piece: usize) -> (String, Vec<(String, String)>, Value) {
    let mut calls = CallsFromText::new(offered(), "call".to_owned());
    let mut out = Vec::new();
    let characters: Vec<char> = text.chars().collect();
    for part in characters.chunks(piece) {
        let part: String = part.iter().collect();
        out.extend(calls.rewrite(&event(&json!({"content": part}), &Value::Null)));
    }
    out.extend(calls.rewrite(&event(&json!({}), &json!("stop"))));
    out.extend(calls.rewrite(b"data: [DONE]\n\n"));
    assert!(out.ends_with(b"data: [DONE]\n\n"));
    seen(&out)
}

const CALL: &str = r#"{"command":"ls -l"}"#;

#[test]
fn calls_are_found_in_every_form_that_models_write() {
    for text in [
        r#"{"name": "bash", "arguments": {"command": "ls -l"}}"#,
        r#"{"function": {"name": "bash", "arguments": "{\"command\": \"ls -l\"}"}}"#,
        r#"[{"name": "bash", "parameters": {"command": "ls -l"}}]"#,
        "<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls -l\"}}\n</tool_call>",
        "```json\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls -l\"}}\n```\nIt printed: 3",
        "```\n{\"tool\": \"bash\", \"args\": {\"command\": \"ls -l\"}}\n```",
        r#"[TOOL_CALLS]bash{"command": "ls -l"}"#,
        r#"[TOOL_CALLS] [{"name": "bash", "arguments": {"command": "ls -l"}}]"#,
        r#"<|python_tag|>{"name": "bash", "parameters": {"command": "ls -l"}}"#,
        "<tool_call>\n<function=bash>\n<parameter=command>\nls -l\n</parameter>\n</function>\n</tool_call>",
        "<function=bash>{\"command\": \"ls -l\"}</function>",
    ] {
        for piece in [1, 3, 1000] {
            let (words, calls, reason) = rewritten(text, piece);
            assert_eq!(calls, [("bash".to_owned(), CALL.to_owned())], "{text}");
            assert_eq!((words.as_str(), reason), ("", json!("tool_calls")), "{text}");
        }
    }
}

#[test]
fn words_before_a_call_are_said_and_two_calls_are_two() {
    let one = "<tool_call>{\"name\":\"bash\",\"arguments\":{\"command\":\"ls -l\"}}</tool_call>";
    let two = "<tool_call>{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}</tool_call>";
    for piece in [1, 7, 1000] {
        let (words, calls, _) = rewritten(&format!("I look.\n{one}\n{two}"), piece);
        assert_eq!(words, "I look.\n");
        assert_eq!(calls.len(), 2);
        assert_eq!(calls[1], ("read_file".to_owned(), r#"{"path":"a"}"#.to_owned()));
    }
}

#[test]
fn what_is_no_call_of_an_offered_tool_is_passed_on_letter_by_letter() {
    for text in [
        "Plain words, a < b and `code`.",
        "```python\nprint({'name': 'bash'})\n```\nThat is all.",
        "```json\n{\"name\": \"nobody\", \"arguments\": {}}\n```",
        "```json\n{\"name\": \"Ada\", \"age\": 36}\n```\nAnd:\n```\nplain\n```\n",
        "{\"name\": \"rm\", \"arguments\": {}}",
        "[a link](https://example.org) and [1, 2]\n[3]\n{not json}",
        "{\"name\": \"bash\", \"arguments\": {\"command\": \"ls",
        "<tool_call>nothing in it",
        "A list:\n- one\n- two\n```",
        "ünïcödé {",
    ] {
        for piece in [1, 2, 5, 1000] {
            let (words, calls, reason) = rewritten(text, piece);
            assert_eq!(words, text);
            assert_eq!((calls.len(), reason), (0, json!("stop")), "{text}");
        }
    }
}

#[test]
fn words_are_not_held_back_longer_than_they_must() {
    let mut calls = CallsFromText::new(offered(), "call".to_owned());
    let said = |calls: &mut CallsFromText, text: &str| {
        seen(&calls.rewrite(&event(&json!({"content": text}), &Value::Null))).0
    };
    assert_eq!(said(&mut calls, "Hello there, "), "Hello there, ");
    assert_eq!(said(&mut calls, "a <tool"), "a ");
    assert_eq!(said(&mut calls, "box>\n"), "<toolbox>\n");
    assert_eq!(said(&mut calls, "```python\nprint(1)\n"), "```python\nprint(1)\n");
    assert_eq!(said(&mut calls, "print(2)\n```\n"), "print(2)\n```\n");
}

#[test]
fn a_real_call_and_thoughts_pass_as_they_are() {
    let mut calls = CallsFromText::new(offered(), "call".to_owned());
    let call = json!([{"index": 0, "id": "c1", "function": {"name": "bash", "arguments": "{}"}}]);
    let mut out = calls.rewrite(&event(&json!({"reasoning_content": "hm"}), &Value::Null)).to_vec();
    assert!(String::from_utf8_lossy(&out).contains("\"reasoning_content\":\"hm\""));
    out.extend(calls.rewrite(&event(&json!({"tool_calls": call}), &Value::Null)));
    out.extend(calls.rewrite(&event(&json!({}), &json!("tool_calls"))));
    let (_, calls, reason) = seen(&out);
    assert_eq!((calls.len(), reason), (1, json!("tool_calls")));
}

/// How long this thread was at work: what other programs take of the machine does not count. At least what the kernel
/// counts in.
fn worked() -> std::time::Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    std::time::Duration::from_nanos(stat.split_whitespace().next().unwrap().parse().unwrap())
}

const TICK: std::time::Duration = std::time::Duration::from_millis(5);

/// Eight times the text takes about eight times the work, and far from sixty-four times.
fn grows_evenly(what: &str, piece: usize, text: impl Fn(usize) -> String) {
    let took = |times: usize| {
        let text = text(times);
        let pieces: Vec<&str> = text.as_bytes().chunks(piece).map(ascii).collect();
        let mut reader = reader::Reader::new(offered());
        let before = worked();
        let mut bytes = 0;
        for piece in &pieces {
            bytes += reader.push(piece).len();
        }
        let (rest, calls) = reader.finish();
        assert!(calls.is_empty() && bytes + rest.len() == text.len(), "{what}: nothing is lost");
        (worked() - before).max(TICK)
    };
    let (once, eight) = (took(5_000), took(40_000));
    assert!(eight < once * 24, "{what} in pieces of {piece}: {once:?}, then {eight:?}");
}

fn ascii(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn no_answer_takes_longer_than_its_length() {
    type Text = fn(usize) -> String;
    let kinds: [(&str, Text); 8] = [
        ("fences", |n| "```\n".repeat(n)),
        ("marks that begin", |n| "<tool_cal\n".repeat(n)),
        ("lines of openings", |n| "[\n{\"a\":\n".repeat(n)),
        ("objects that go wrong", |n| "{\"a\":[1,\n".repeat(n) + "?"),
        ("an object without an end", |n| format!("{{\"a\": \"{}", "x}".repeat(n))),
        ("a fence without an end", |n| format!("```json\n{{{}", "x ``".repeat(n))),
        ("blanks in a fence", |n| format!("```json\n{}", " \n".repeat(n))),
        ("a fence without a line", |n| format!("```{}", "a".repeat(n))),
    ];
    for (what, text) in kinds {
        for piece in [7, 1 << 20] {
            grows_evenly(what, piece, text);
        }
    }
}
