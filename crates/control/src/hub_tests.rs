use cloister_protocol::{End, TaskId, Todo, TodoState, ToolCall, ToolResult, Usage};

use super::*;

fn turn() -> TurnId {
    "t-m1".parse().unwrap()
}

fn chunk(seq: u32, text: &str) -> AgentFrame {
    AgentFrame::TextChunk(TextChunk { turn: turn(), seq, text: text.into() })
}

/// What somebody hears of an answer who comes after these frames.
fn half_after(frames: Vec<AgentFrame>) -> Option<(String, u32)> {
    let hub = Hub::default();
    let (workspace, chat) = (WorkspaceId::from_number(1), ChatId::from_number(1));
    for frame in frames {
        hub.say(workspace, chat, frame, None);
    }
    assert!(hub.join(workspace, ChatId::from_number(2)).0.is_empty(), "another chat's");
    let (mut halves, _said) = hub.join(workspace, chat);
    let half = halves.pop()?;
    assert!(halves.is_empty());
    Some((half.text, half.next))
}

#[test]
fn who_comes_in_the_middle_hears_the_beginning() {
    assert_eq!(half_after(vec![chunk(0, "he"), chunk(1, "l")]), Some(("hel".to_owned(), 2)));
    let anew = AgentFrame::Update(Update::Restart { turn: turn() });
    assert_eq!(half_after(vec![chunk(0, "he"), anew.clone()]), None);
    let again = vec![chunk(0, "he"), anew, chunk(0, "x")];
    assert_eq!(half_after(again), Some(("x".to_owned(), 1)));
}

#[test]
fn a_gap_and_an_end_leave_nothing() {
    assert_eq!(half_after(vec![chunk(0, "he"), chunk(2, "o")]), None);
    assert_eq!(half_after(vec![chunk(1, "o")]), None);
    let (text, usage) = ("he".to_owned(), Usage::default());
    let end = AgentFrame::End(End { turn: turn(), message: None, text, usage, error: None });
    assert_eq!(half_after(vec![chunk(0, "he"), end]), None);
    let large = chunk(1, &"x".repeat(HALVES_BYTES));
    assert_eq!(half_after(vec![chunk(0, "he"), large]), None, "what is too much is not kept");
}

/// E57: a hostile coordinator says a megabyte a frame, and a client of its own person does not read: as many as a queue
/// has were held in memory for each chat.
#[test]
fn what_waits_for_a_slow_listener_is_bounded() {
    let hub = Hub::default();
    let (workspace, chat) = (WorkspaceId::from_number(1), ChatId::from_number(1));
    let mut listening = hub.listen(workspace, chat);
    let large = "é".repeat(1 << 19);
    let call = |arguments| ToolCall {
        turn: Some(turn()),
        task: None,
        id: "c".into(),
        name: "x".into(),
        arguments,
    };
    let (id, output, ok) = ("c".into(), large.clone(), true);
    let result = ToolResult { turn: Some(turn()), task: None, id, ok, output };
    let todo = || Todo { text: "x".repeat(40 << 10), state: TodoState::Open };
    let todos = Update::Todos { task: TaskId::from_number(1), todos: vec![todo(), todo()] };
    let small = AgentFrame::ToolCall(call(serde_json::json!({"command": "ls"})));
    for frame in [
        chunk(0, &large),
        AgentFrame::ToolCall(call(large.clone().into())),
        AgentFrame::ToolResult(result),
        AgentFrame::Update(todos),
        AgentFrame::Update(Update::Output { task: None, call: "c".into(), text: large }),
        small.clone(),
    ] {
        hub.say(workspace, chat, frame, None);
    }
    let mut heard = Vec::new();
    while let Ok(Said { frame, .. }) = listening.try_recv() {
        assert!(serde_json::to_string(&*frame).unwrap().len() <= LIVE_BYTES + 1000, "{frame:?}");
        heard.push(frame);
    }
    assert_eq!(heard.len(), 5, "all but the piece of an answer");
    assert_eq!(*heard[4], small, "what is short is passed on as it is");
}
