use cloister_protocol::{End, Usage};

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
