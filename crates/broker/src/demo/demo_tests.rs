use serde_json::{Value, json};

use super::*;

fn tool(name: &str, arguments: &[&str]) -> Value {
    let properties: serde_json::Map<String, Value> =
        arguments.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    json!({"type": "function", "function": {"name": name, "parameters": {"properties": properties}}})
}

fn say(level: Level, messages: Value) -> Answer {
    let tools = json!([
        tool("delegate", &["title", "instructions", "risky"]),
        tool("list_tasks", &[]),
        tool("bash", &["command"]),
        tool("python", &["code"]),
        tool("send_file", &["path"]),
        tool("write_file", &["path", "content"]),
        tool("fetch_url", &["url"]),
        tool("web_search", &["query"]),
        tool("propose_plan", &["plan"]),
        tool("finish", &["result", "claims", "ok"]),
    ]);
    let request = json!({"messages": messages, "tools": tools}).to_string();
    let conversation = Conversation::read(request.as_bytes());
    match level {
        Level::Coordinator => coordinator::answer(&conversation),
        Level::Executor => executor::answer(&conversation),
    }
}

fn user(text: &str) -> Value {
    json!([{"role": "system", "content": "You are"}, {"role": "user", "content": text}])
}

#[test]
fn it_says_that_it_is_not_an_ai_and_how_to_connect_one() {
    for text in ["hello", "What is the meaning of life?"] {
        let answer = say(Level::Coordinator, user(text));
        assert!(answer.text.contains("not an AI"), "{}", answer.text);
        assert!(answer.text.contains("cloister model add"), "{}", answer.text);
    }
    let answer = say(Level::Coordinator, user("What is the meaning of life?"));
    assert!(answer.text.contains("\"What is the meaning of life?\""), "{}", answer.text);
    assert!(say(Level::Executor, user("think hard")).text.contains("not an AI"));
}

#[test]
fn each_command_becomes_a_task() {
    let answer = say(Level::Coordinator, user("please\nrun: echo one: two\nRun: ls -l\ndo: pwd"));
    let given: Vec<&Value> =
        answer.calls.iter().map(|call| &call.arguments["instructions"]).collect();
    assert_eq!(given, ["run: echo one: two", "run: ls -l", "run: pwd"]);
    assert!(answer.calls.iter().all(|call| call.name == "delegate"));
}

#[test]
fn the_status_comes_from_the_task_list() {
    let answer = say(Level::Coordinator, user("status"));
    assert_eq!(answer.calls, [DemoCall { name: "list_tasks".into(), arguments: json!({}) }]);
}

#[test]
fn a_report_is_passed_on() {
    let report = "[task report] Tell the person.\n\nT1 \"run: ls\": done\nfile.txt";
    let answer = say(Level::Coordinator, user(report));
    assert_eq!(answer.text, "This came of it:\n\nT1 \"run: ls\": done\nfile.txt");
}

#[test]
fn an_executor_does_each_line_and_shows_what_came_out() {
    let text = "run: ls\npython: print(1)\nwrite: a.txt: hello: you\nsend: a.txt\nfetch: https://a.test/x\n\
                search: b c";
    let answer = say(Level::Executor, user(text));
    let expected = [
        ("bash", json!({"command": "ls"})),
        ("python", json!({"code": "print(1)"})),
        ("write_file", json!({"path": "a.txt", "content": "hello: you"})),
        ("send_file", json!({"path": "a.txt"})),
        ("fetch_url", json!({"url": "https://a.test/x"})),
        ("web_search", json!({"query": "b c"})),
    ];
    let expected = expected.map(|(name, arguments)| DemoCall { name: name.to_owned(), arguments });
    assert_eq!(answer.calls, expected);
}

/// The conversation after the tool was called and has answered.
fn answered(system: &str, asked: &str, tool: &str, output: &str) -> Value {
    json!([
        {"role": "system", "content": system},
        {"role": "user", "content": asked},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": tool, "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": output},
    ])
}

#[test]
fn an_executor_finishes_with_what_came_out_and_the_call_that_shows_it() {
    let done = say(Level::Executor, answered("You are", "run: ls", "bash", "file.txt\n"));
    let claims = json!([{"what": "called bash", "call": "a"}]);
    let expected = json!({"result": "file.txt", "claims": claims, "ok": true});
    assert_eq!(done.calls, [DemoCall { name: "finish".into(), arguments: expected }]);
    let failed = say(Level::Executor, answered("You are", "run: ls", "bash", "failed: no"));
    assert_eq!(failed.calls[0].arguments["ok"], false);
    assert_eq!(failed.calls[0].arguments["claims"], json!([]));
}

#[test]
fn an_executor_follows_its_own_instructions_and_not_what_the_person_said_to_others() {
    let text = "Task: run: one\n\nrun: one\n\nWhat the person said, in their own words:\nrun: one\nrun: two";
    let answer = say(Level::Executor, user(text));
    assert_eq!(
        answer.calls,
        [DemoCall { name: "bash".into(), arguments: json!({"command": "one"}) }]
    );
}

#[test]
fn a_risky_task_begins_with_a_plan() {
    let delegated = say(Level::Coordinator, user("risky: rm -r old"));
    assert_eq!(delegated.calls[0].arguments["risky"], true);
    let system = "This task is risky: plan first.";
    let messages = json!([{"role": "system", "content": system},
                          {"role": "user", "content": "run: rm -r old"}]);
    assert_eq!(say(Level::Executor, messages).calls[0].name, "propose_plan");
    let allowed = answered(system, "run: rm -r old", "propose_plan", "approved");
    assert_eq!(say(Level::Executor, allowed).calls[0].name, "bash");
    let denied = answered(system, "run: rm -r old", "propose_plan", "refused: no");
    assert_eq!(say(Level::Executor, denied).calls[0].name, "finish");
}

#[test]
fn the_same_request_gets_the_same_events_in_several_pieces() {
    let request = json!({"messages": user("hello")}).to_string();
    let first = answer(Level::Coordinator, request.as_bytes());
    assert_eq!(first, answer(Level::Coordinator, request.as_bytes()));
    assert!(first.len() > 5, "{}", first.len());
    assert_eq!(first.last().unwrap(), "data: [DONE]\n\n");
}
