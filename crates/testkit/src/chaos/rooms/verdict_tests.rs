//! The count is worth what it finds: each broken promise is planted.

use serde_json::Value;

use super::RoomsVerdict;
use crate::synapse::Post;

fn post(sender: &str, text: &str) -> Post {
    let (event_id, sender) = (format!("${text}"), sender.to_owned());
    Post { event_id, sender, text: text.to_owned(), content: Value::Null, edits: 0 }
}

/// What is found when two things were said and the bot wrote this.
fn found(answers: &[&str]) -> RoomsVerdict {
    let said = ["u0 message 0 of a room", "u0 message 1 of a room"].map(str::to_owned);
    let mut shown: Vec<Post> = said.iter().map(|text| post("@u0:x", text)).collect();
    shown.push(post("@bot:x", "Welcome. !help says what you can say."));
    shown.extend(answers.iter().map(|text| post("@bot:x", text)));
    let mut verdict = RoomsVerdict::default();
    verdict.count_room("!r", &said, &shown, "@bot:x");
    verdict
}

const FIRST: &str = "echo: u0 message 0 of a room";
const SECOND: &str = "echo: u0 message 1 of a room";

#[test]
fn all_is_well() {
    let verdict = found(&[FIRST, SECOND]);
    assert!(verdict.holds(), "{verdict:?}");
    assert_eq!((verdict.rooms, verdict.messages), (1, 2));
}

#[test]
fn what_is_wrong_is_found() {
    assert_eq!(found(&[FIRST]).lost, 1);
    assert_eq!(found(&[FIRST, SECOND, SECOND]).doubled, 1);
    assert_eq!(found(&[SECOND, FIRST]).disordered, 1);
    assert_eq!(found(&[FIRST, SECOND, "echo: u0 mess"]).strange, 1);
    assert_eq!(found(&[FIRST, SECOND, "echo:"]).strange, 1);
    for wrong in
        [&[FIRST][..], &[SECOND, FIRST], &[FIRST, FIRST, SECOND], &[FIRST, SECOND, "echo:"]]
    {
        assert!(!found(wrong).holds());
    }
}

#[test]
fn silence_is_not_success() {
    let mut verdict = RoomsVerdict::default();
    verdict.count_room("!r", &[], &[], "@bot:x");
    assert!(!verdict.holds());
}
