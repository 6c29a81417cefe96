use std::fmt::Debug;

use cloister_protocol::ClientFrame;
use cloister_protocol::link::Uplink;
use cloister_testkit::Fuzz;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const UPLINK: &[&str] = &[
    r#"{"type":"hello","version":"0.1.0"}"#,
    r#"{"type":"accepted","id":"m1"}"#,
    r#"{"type":"text_chunk","turn":"t-m1","seq":0,"text":"hello"}"#,
    r#"{"type":"tool_call","turn":"t-m1","id":"c1","name":"bash","arguments":{"command":"ls","n":[1,-2,true,null]}}"#,
    r#"{"type":"tool_result","turn":"t-m1","id":"c1","ok":true,"output":"x"}"#,
    r#"{"type":"update","kind":"progress","text":"working"}"#,
    r#"{"type":"end","turn":"t-m1","text":"hello","usage":{"prompt_tokens":1,"completion_tokens":2}}"#,
    r#"{"type":"step","seq":1,"step":"answer","text":"","calls":[{"id":"c","name":"bash","arguments":"{}"}]}"#,
    r#"{"type":"step","seq":2,"step":"result","call":"c","outcome":{"status":"ok","output":"x"}}"#,
    r#"{"type":"todos","todos":[{"text":"a","state":"doing"}]}"#,
    r#"{"type":"finish","ok":true,"result":"done","claims":[{"what":"x","call":"c"}]}"#,
    r#"{"type":"request","id":"r1","chat":"C1","turn":"t-m1","ask":{"op":"delegate","title":"t","instructions":"i","risky":false,"hosts":["example.com"],"secrets":["token"]}}"#,
    r#"{"type":"request","id":"r2","ask":{"op":"propose","what":"memory","path":"MEMORY.md","text":"x","why":"y"}}"#,
    r#"{"type":"request","id":"r3","ask":{"op":"send_file","path":"files/x","name":null}}"#,
    r#"{"type":"request","id":"r4","ask":{"op":"propose_plan","plan":"1. x"}}"#,
];

const CLIENT: &[&str] = &[
    r#"{"type":"message","id":"m1","text":"hello","attachments":[{"path":"p","name":"n","mime":"text/plain","size":1}]}"#,
    r#"{"type":"cancel","turn":"t-m1"}"#,
    r#"{"type":"cancel","task":"T1"}"#,
    r#"{"type":"approval","id":"A1","answer":"allow_for_task","digest":"00ff"}"#,
];

const WORDS: &[&str] = &[
    "\"type\"",
    "\"op\"",
    "\"step\"",
    "\"kind\"",
    "\"id\":",
    "\"seq\":",
    "\"T4294967295\"",
    "\"A0\"",
    "\"C-1\"",
    "\"t-m\"",
    "\"allow\"",
    "\"deny_and_stop\"",
    "\"ask\":{",
    "\"hosts\":[",
    "null",
    "[]",
    "{}",
    "4294967296",
    "-1",
    "1e400",
    "\\u0000",
    "\\ud800",
    "\\u202e",
    "\"from\":\"operator\"",
];

/// Whether a number in it has a fraction: those may change their last digit on the way.
fn has_fractions(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64(),
        Value::Array(items) => items.iter().any(has_fractions),
        Value::Object(fields) => fields.values().any(has_fractions),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// What is read as a frame is written as the same frame.
fn check<T: DeserializeOwned + Serialize + PartialEq + Debug>(
    bytes: &[u8],
) -> Result<(bool, Option<String>), String> {
    let Ok(frame) = serde_json::from_slice::<T>(bytes) else { return Ok((false, None)) };
    let json = serde_json::to_string(&frame).map_err(|error| format!("not written: {error}"))?;
    let again: T =
        serde_json::from_str(&json).map_err(|error| format!("not read again: {error}: {json}"))?;
    let value: Value = serde_json::from_str(&json).map_err(|error| error.to_string())?;
    if again != frame && !has_fractions(&value) {
        return Err(format!("{frame:?} became {again:?}"));
    }
    // What kind of frame it is, for the pool.
    let kind = value.get("type").map(|kind| format!("{kind}{:?}", value.pointer("/ask/op")));
    Ok((true, kind))
}

#[test]
fn fuzz_link_frames() {
    Fuzz::new("link_frames").seeds(UPLINK).words(WORDS).run(check::<Uplink>).unwrap();
}

#[test]
fn fuzz_socket_frames() {
    Fuzz::new("socket_frames").seeds(CLIENT).words(WORDS).run(check::<ClientFrame>).unwrap();
}
