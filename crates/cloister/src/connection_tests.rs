use super::*;
use cloister_protocol::{End, TextChunk, Usage};

fn end() -> AgentFrame {
    let (turn, usage) = ("t-m1".parse().unwrap(), Usage::default());
    AgentFrame::End(End { turn, message: None, text: "done".to_owned(), usage, error: None })
}

fn chunk() -> AgentFrame {
    let turn = "t-m1".parse().unwrap();
    AgentFrame::TextChunk(TextChunk { turn, seq: 0, text: "done".to_owned() })
}

/// A kill can come between a frame and the note that it was sent: then it comes again.
#[test]
fn a_row_that_was_had_is_not_shown_again() {
    let mut rows = Rows::default();
    assert_eq!(rows.after(), None);
    assert!(rows.is_new(7, &chunk()) && rows.is_new(7, &end()), "an end brings its chunks");
    assert!(!rows.is_new(7, &chunk()) && !rows.is_new(7, &end()));
    assert!(rows.is_new(9, &end()) && rows.is_new(8, &end()), "told the other way round");
    assert_eq!(rows.after(), Some(6), "nothing from before the first");
    assert!(rows.is_new(1_000, &end()));
    assert_eq!(rows.after(), Some(1_000 - TOLD_LATE));
    assert!(rows.had.len() < 10);
}

#[test]
fn a_frame_is_read_with_and_without_its_row() {
    let bare = serde_json::to_string(&end()).unwrap();
    let told: ToldFrame = serde_json::from_str(&bare).unwrap();
    assert_eq!((told.row, told.frame), (None, end()));
    let mut with_row = serde_json::to_value(end()).unwrap();
    with_row["row"] = 12.into();
    let told: ToldFrame = serde_json::from_value(with_row).unwrap();
    assert_eq!((told.row, told.frame), (Some(12), end()));
}
