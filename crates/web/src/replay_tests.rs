use super::*;
use cloister_protocol::{End, Usage};

fn turn() -> TurnId {
    "t-m1".parse().unwrap()
}

fn chunk(seq: u32, text: &str) -> AgentFrame {
    AgentFrame::TextChunk(TextChunk { turn: turn(), seq, text: text.into() })
}

fn end(text: &str) -> AgentFrame {
    let usage = Usage::default();
    AgentFrame::End(End { turn: turn(), message: None, text: text.into(), usage, error: None })
}

fn restart_of_turn() -> AgentFrame {
    AgentFrame::Update(Update::Restart { turn: turn() })
}

/// What a client shows after these frames.
fn shown(frames: &[AgentFrame]) -> String {
    let mut replay = Replay::default();
    let mut text = String::new();
    for frame in frames.iter().flat_map(|frame| replay.frames(frame)) {
        match frame {
            AgentFrame::TextChunk(chunk) => text.push_str(&chunk.text),
            AgentFrame::Update(Update::Restart { .. }) => text.clear(),
            _ => {}
        }
    }
    text
}

#[test]
fn chunks_add_up_to_the_answer_however_the_client_came() {
    let restart = AgentFrame::Update(Update::Restart { turn: turn() });
    for frames in [
        vec![chunk(0, "he"), chunk(1, "llo"), end("hello")],
        vec![end("hello")],
        vec![chunk(1, "llo"), end("hello")],
        vec![chunk(0, "he"), end("hello")],
        vec![chunk(0, "xx"), restart, chunk(0, "hello"), end("hello")],
        vec![chunk(0, "he"), chunk(2, "o"), end("hello")],
        // What is stored overtook what waits in the queue.
        vec![end("hello"), chunk(0, "hello")],
        vec![chunk(0, "he"), end("hello"), chunk(1, "llo")],
        vec![end("hello"), chunk(0, "he"), restart_of_turn(), chunk(0, "hello")],
    ] {
        assert_eq!(shown(&frames), "hello", "{frames:?}");
    }
}

#[test]
fn turns_that_ended_long_ago_are_forgotten() {
    let mut replay = Replay::default();
    for number in 0..=MAX_ENDED {
        let turn: TurnId = format!("t-m{number}").parse().unwrap();
        let usage = Usage::default();
        let end = End { turn, message: None, text: String::new(), usage, error: None };
        replay.frames(&AgentFrame::End(end));
    }
    assert_eq!(replay.ended.known.len(), MAX_ENDED);
    assert_eq!(replay.ended.order.len(), MAX_ENDED);
}

#[test]
fn who_comes_in_the_middle_sees_all_of_it_in_order() {
    let mut replay = Replay::default();
    let half = Half { turn: turn(), text: "hel".into(), next: 2 };
    let first = replay.resume(half.clone()).unwrap();
    assert_eq!(first, chunk(0, "hel"));
    assert_eq!(replay.frames(&chunk(2, "l")), [chunk(1, "l")]);
    assert_eq!(replay.frames(&chunk(3, "o")), [chunk(2, "o")]);
    assert_eq!(replay.frames(&end("hello")), [end("hello")]);
    assert_eq!(replay.resume(half), None, "what has ended was told whole");
}
