use std::time::Duration;

use cloister_protocol::surface::WhyWaiting;
use serde_json::{Value, json};

use super::{Step, wait_for};
use crate::incoming::Seen;
use crate::wire::Message;

fn message(attachments: &Value) -> Message {
    serde_json::from_value(json!({"id": "175928847299117063", "channel_id": "2", "type": 0,
        "author": {"id": "3"}, "content": "hello", "attachments": attachments}))
    .expect("a message")
}

/// X6: what costs little to try is tried again soon: words, and an edit, whose files are not fetched.
#[test]
fn what_has_files_to_fetch_waits_longer_than_words() {
    let words = message(&json!([]));
    let seen = Seen { message: &words, edited: false };
    let soon = wait_for(WhyWaiting::Busy, seen);
    assert!(matches!(soon, Step::After(pause) if pause <= Duration::from_secs(5)), "{soon:?}");
    assert_eq!(wait_for(WhyWaiting::NoFile, seen), Step::Later);
    let with_file = message(&json!([{"id": "1", "filename": "a.bin", "size": 20_000_000,
        "url": "https://cdn.discordapp.com/attachments/2/1/a.bin"}]));
    let edit = Seen { message: &with_file, edited: true };
    assert_eq!(wait_for(WhyWaiting::Busy, edit), soon);
    assert_eq!(wait_for(WhyWaiting::Busy, Seen { edited: false, ..edit }), Step::NoRoom);
}
