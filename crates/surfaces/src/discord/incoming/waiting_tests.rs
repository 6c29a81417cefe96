use std::time::Duration;

use cloister_store::waiting::WhyWaiting;
use serde_json::{Value, json};

use super::{Pauses, Step, wait_for};
use crate::discord::incoming::Seen;
use crate::discord::wire::Message;

fn message(attachments: &Value) -> Message {
    serde_json::from_value(json!({"id": "175928847299117063", "channel_id": "2", "type": 0,
        "author": {"id": "3"}, "content": "hello", "attachments": attachments}))
    .expect("a message")
}

/// Where there is no room for hours, files are not fetched anew every few seconds (X6).
#[test]
fn what_has_files_is_tried_less_and_less_while_there_is_no_room() {
    let with_file = message(&json!([{"id": "1", "filename": "a.bin", "size": 20_000_000,
        "url": "https://cdn.discordapp.com/attachments/2/1/a.bin"}]));
    let step = wait_for(WhyWaiting::Busy, Seen { message: &with_file, edited: false });
    assert_eq!(step, Step::MuchLater);
    let mut pauses = Pauses::new();
    let waited: Vec<Duration> = (0..14).filter_map(|_| pauses.after(step)).collect();
    assert!(waited.iter().skip(10).all(|pause| *pause >= Duration::from_secs(120)), "{waited:?}");
    let day = Duration::from_secs(24 * 60 * 60);
    assert!(waited.iter().all(|pause| *pause < day / 100), "it is tried all the same: {waited:?}");
    // What is taken ends the wait of what comes after it.
    assert_eq!(pauses.after(Step::Next), Some(Duration::ZERO));
    assert!(pauses.after(step).is_some_and(|pause| pause <= Duration::from_secs(1)));
}

/// Words cost nothing to try again, and so does an edit, whose files are not fetched.
#[test]
fn words_are_tried_again_soon() {
    let words = message(&json!([]));
    let seen = Seen { message: &words, edited: false };
    assert_eq!(wait_for(WhyWaiting::Busy, seen), Step::Soon);
    assert_eq!(wait_for(WhyWaiting::NoFile, seen), Step::Later);
    let with_file =
        message(&json!([{"id": "1", "filename": "a.bin", "size": 1, "url": "https://x"}]));
    assert_eq!(wait_for(WhyWaiting::Busy, Seen { message: &with_file, edited: true }), Step::Soon);
    assert_eq!(Pauses::new().after(Step::Nothing), None);
}
