use cloister_protocol::Ask;
use cloister_protocol::surface::FileToSend;

use super::*;

fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

#[test]
fn an_interaction_can_be_answered_for_a_while_and_its_token_is_not_shown() {
    let (memory, now) = (AnswersState::default(), Instant::now());
    memory.hold("7", "sEcReT".to_owned(), true, now);
    assert!(memory.open("7", now + minutes(14)).is_some_and(|held| held.private));
    assert!(memory.open("7", now + minutes(15)).is_none());
    assert!(memory.open("8", now).is_none());
    assert!(!format!("{memory:?}").contains("sEcReT"));
    memory.forget("7");
    assert!(memory.open("7", now).is_none());
}

/// X1: the first that is said takes the place of "is thinking…", also when it is said again.
#[test]
fn only_the_first_takes_the_place() {
    let (memory, now) = (AnswersState::default(), Instant::now());
    memory.hold("7", "t".to_owned(), false, now);
    assert!(memory.is_first("7", "a/0"));
    assert!(!memory.is_first("7", "a/1"));
    assert!(memory.is_first("7", "a/0"));
    assert!(!memory.is_first("8", "a/0"));
    memory.is_there("7", "99");
    assert_eq!(memory.open("7", now).and_then(|held| held.original).as_deref(), Some("99"));
}

#[test]
fn no_more_are_held_than_fit() {
    let (memory, now) = (AnswersState::default(), Instant::now());
    for number in 0..MOST_HELD + 10 {
        memory.hold(&number.to_string(), String::new(), false, now);
    }
    assert_eq!(memory.held().len(), MOST_HELD);
    memory.hold("new", String::new(), false, now + minutes(20));
    assert_eq!(memory.held().len(), 1);
}

fn question() -> Posting {
    let ask: Ask = serde_json::from_str(r#"{"approval":"A1","title":"t","text":"x"}"#).unwrap();
    Posting::Question { ask, settled: None }
}

fn answer(unfinished: bool) -> Posting {
    Posting::Answer { markdown: "secret".to_owned(), unfinished, buttons: Vec::new() }
}

/// X6: what is for one person alone is said nowhere where others read it, whatever else can't be done.
#[test]
fn what_is_private_is_never_said_in_public() {
    let private = Origin { private: true, interaction: Some("7".to_owned()), message: None };
    let notice = Posting::Notice { markdown: "secret".to_owned(), buttons: Vec::new() };
    let file = Posting::File(FileToSend {
        file: 1,
        name: "secret".to_owned(),
        mime: String::new(),
        size: 1,
    });
    let shared = ConversationKind::Shared;
    for post in [&answer(false), &notice, &file] {
        assert_eq!(Otherwise::of(&private, shared, post), Otherwise::TooLate);
    }
    assert_eq!(Otherwise::of(&private, shared, &answer(true)), Otherwise::Nothing);
    // Where they are by themselves, nobody else reads it.
    assert_eq!(
        Otherwise::of(&private, ConversationKind::Lobby, &answer(false)),
        Otherwise::Ordinary
    );
    let open = Origin { private: false, ..private.clone() };
    assert_eq!(Otherwise::of(&open, shared, &answer(false)), Otherwise::Ordinary);
    assert_eq!(Otherwise::of(&private, shared, &question()), Otherwise::Ordinary);
    assert!(!TOO_LATE.contains("secret"));
}

#[test]
fn an_origin_is_known_again() {
    let origin = Origin { message: Some("5".to_owned()), interaction: None, private: false };
    assert_eq!(origin.to_json(), r#"{"message":"5"}"#);
    let json = Origin { interaction: Some("7".to_owned()), private: true, message: None }.to_json();
    assert_eq!(json, r#"{"interaction":"7","private":true}"#);
    assert_eq!(serde_json::from_str::<Origin>(&json).unwrap().interaction.as_deref(), Some("7"));
}

#[test]
fn a_token_that_ran_out_is_known() {
    for code in [10015, 10062, 50027] {
        assert!(is_over(&Fault::Gone { code, message: String::new() }));
    }
    assert!(!is_over(&Fault::Unauthorized));
    assert!(!is_over(&Fault::Gone { code: 10008, message: String::new() }));
}
