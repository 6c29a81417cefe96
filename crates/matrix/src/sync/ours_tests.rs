use matrix_sdk::ruma::events::AnySyncTimelineEvent;
use matrix_sdk::ruma::user_id;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

type Event = Raw<AnySyncTimelineEvent>;

fn event(value: Value) -> Event {
    Raw::from_json_string(value.to_string()).unwrap()
}

fn said(words: &str) -> Event {
    event(json!({"type": "m.room.message", "sender": "@ada:test", "content": {"body": words}}))
}

fn member(who: &str, before: Option<&str>, after: &str) -> Event {
    let mut unsigned = json!({});
    if let Some(before) = before {
        unsigned = json!({"prev_content": {"membership": before}, "replaces_state": "$before"});
    }
    event(json!({
        "type": "m.room.member", "state_key": who, "sender": who,
        "content": {"membership": after}, "unsigned": unsigned,
    }))
}

fn ours(before: Option<&str>, after: &str) -> Event {
    member("@bot:test", before, after)
}

/// The words that are taken of these events.
fn taken(events: Vec<Event>) -> Vec<String> {
    let kept = for_us(events, user_id!("@bot:test"), |event| event);
    let words = |event: &Event| {
        let content = event.get_field::<Value>("content").unwrap().unwrap();
        content["body"].as_str().map(str::to_owned)
    };
    kept.iter().filter_map(words).collect()
}

#[test]
fn what_was_said_before_the_invitation_is_not_taken() {
    let events = vec![
        said("!rename X"),
        member("@ada:test", Some("join"), "join"),
        ours(None, "invite"),
        said("pair"),
        ours(Some("invite"), "join"),
        said("hello"),
    ];
    assert_eq!(taken(events), ["pair", "hello"]);
}

#[test]
fn a_timeline_that_begins_after_the_invitation_is_taken_whole() {
    assert_eq!(taken(vec![said("1"), ours(Some("invite"), "join"), said("2")]), ["1", "2"]);
    assert_eq!(taken(vec![said("1"), said("2")]), ["1", "2"], "we were there all along");
    assert_eq!(taken(vec![said("1"), ours(Some("join"), "join"), said("2")]), ["1", "2"]);
}

#[test]
fn what_was_said_while_we_were_out_is_not_taken() {
    let events = vec![
        said("1"),
        ours(Some("join"), "leave"),
        said("2"),
        ours(Some("leave"), "invite"),
        said("3"),
        ours(Some("invite"), "join"),
        said("4"),
    ];
    assert_eq!(taken(events), ["1", "3", "4"]);
    assert_eq!(taken(vec![said("1"), ours(Some("ban"), "leave"), said("2")]), [""; 0]);
}

#[test]
fn a_server_that_does_not_say_what_was_before_is_not_believed() {
    let unsaid = event(json!({
        "type": "m.room.member", "state_key": "@bot:test", "content": {"membership": "join"},
        "unsigned": {"replaces_state": "$before"},
    }));
    assert_eq!(taken(vec![said("1"), unsaid, said("2")]), ["2"]);
}

#[test]
fn nothing_is_missing_before_the_first_invitation() {
    let me = user_id!("@bot:test");
    let first = |events: &[Event]| is_first_time(events, me);
    assert!(first(&[said("1"), ours(None, "invite"), ours(Some("invite"), "join")]));
    assert!(!first(&[said("1"), ours(Some("leave"), "invite")]), "we were there before");
    assert!(!first(&[said("1"), member("@bob:test", None, "join")]));
    assert!(!first(&[]));
}

proptest! {
    /// Whatever happens to our membership: words are taken exactly while we are invited or there, wherever the
    /// timeline that we are shown begins.
    #[test]
    fn words_are_taken_exactly_while_we_are_spoken_to(
        steps in proptest::collection::vec(0usize..5, 0..30), begins in 0usize..30
    ) {
        let mut now: Option<&str> = None;
        let (mut events, mut expected) = (Vec::new(), Vec::new());
        for (number, step) in steps.iter().enumerate() {
            let to = ["invite", "join", "leave", "ban", "said"][*step];
            if to == "said" {
                events.push(said(&number.to_string()));
                expected.push(now.is_some_and(is_spoken_to).then(|| number.to_string()));
            } else {
                events.push(ours(now, to));
                expected.push(None);
                now = Some(to);
            }
        }
        let begins = begins.min(events.len());
        let shown = events.split_off(begins);
        // Without a step in it, the timeline is of a room that we are in, or we would not be shown it.
        let me = user_id!("@bot:test");
        prop_assume!(shown.iter().any(|event| step(event, me).is_some()));
        let expected: Vec<String> = expected.into_iter().skip(begins).flatten().collect();
        prop_assert_eq!(taken(shown), expected);
    }
}
