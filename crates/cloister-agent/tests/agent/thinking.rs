//! What a person is shown while the model has not said anything yet, and what servers put into a stream besides words.

use cloister_protocol::link::{Cause, Downlink, Trigger, Uplink};
use cloister_protocol::{ChatId, End, ErrorCode, ModelDoing, ModelFacts, Update};
use serde_json::{Value, json};

use crate::door::{Door, Link, ModelCall};

async fn asked(door: &mut Door, link: &mut Link, id: &str) -> ModelCall {
    let cause = Cause::Message {
        from: "ann".into(),
        text: "why?".into(),
        attachments: Vec::new(),
        instead: None,
    };
    let (prompt, now, model) = (String::new(), String::new(), ModelFacts::default());
    let (id, chat) = (id.parse().unwrap(), ChatId::from_number(1));
    link.send(Downlink::Trigger(Trigger {
        id,
        chat,
        cause,
        prompt,
        model,
        now,
        phrases: Box::default(),
    }))
    .await;
    door.model().await
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

/// What was told until the end of the turn: what the model was at, its thoughts, the words, and the end.
async fn told(link: &mut Link) -> (Vec<(ModelDoing, u32)>, String, String, End) {
    let frames = link.until(|frame| matches!(frame, Uplink::End(_))).await;
    let (mut at, mut thoughts, mut words) = (Vec::new(), String::new(), String::new());
    for frame in &frames {
        match frame {
            Uplink::Update(Update::Model { doing, attempt, thought, .. }) => {
                at.push((*doing, *attempt));
                thoughts.push_str(thought);
            }
            Uplink::Update(Update::Restart { .. }) => {
                thoughts.clear();
                words.clear();
            }
            Uplink::TextChunk(chunk) => words.push_str(&chunk.text),
            _ => {}
        }
    }
    at.dedup();
    let Some(Uplink::End(end)) = frames.last().cloned() else { unreachable!() };
    (at, thoughts, words, end)
}

#[tokio::test]
async fn it_is_told_that_a_model_reads_and_thinks_and_which_attempt_it_is() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    let mut call = asked(&mut door, &mut link, "m1").await;
    call.begin().await;
    call.event(&json!({"cloister": "waiting", "attempt": 1, "doing": "reads"})).await;
    call.event(&json!({"cloister": "waiting", "attempt": 2, "doing": "reads"})).await;
    call.event(&delta(&json!({"reasoning_content": "They ask "}))).await;
    call.event(&delta(&json!({"reasoning_content": "why.", "reasoning": "why."}))).await;
    call.text("Because.").await;
    call.end().await;
    let (at, thoughts, words, end) = told(&mut link).await;
    assert_eq!(at, [(ModelDoing::Reads, 1), (ModelDoing::Reads, 2), (ModelDoing::Thinks, 2)]);
    assert_eq!((thoughts.as_str(), words.as_str()), ("They ask why.", "Because."));
    assert_eq!(end.text, "Because.", "a thought is no part of the answer");
}

#[tokio::test]
async fn thoughts_in_the_text_are_no_words_and_are_not_said_to_the_model_again() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    let mut call = asked(&mut door, &mut link, "m1").await;
    call.begin().await;
    for piece in ["<th", "ink>secretly", " so</thi", "nk>\n\nAn", "swer"] {
        call.text(piece).await;
    }
    call.end().await;
    let (_, thoughts, words, end) = told(&mut link).await;
    assert_eq!((thoughts.as_str(), words.as_str()), ("secretly so", "Answer"));
    assert_eq!(end.text, "Answer");

    // Where the template has opened the tag, words turn out to have been thoughts.
    let mut call = asked(&mut door, &mut link, "m2").await;
    assert!(!call.shown().contains("secretly"), "{}", call.shown());
    call.begin().await;
    call.text("hm\n").await;
    call.text("</think>\n\nSecond").await;
    call.end().await;
    let (_, thoughts, words, end) = told(&mut link).await;
    assert_eq!((thoughts.as_str(), words.as_str()), ("hm\n", "Second"));
    assert_eq!(end.text, "Second");
}

#[tokio::test]
async fn an_answer_that_is_cut_at_its_longest_says_so_and_the_words_stay_the_models() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    let mut call = asked(&mut door, &mut link, "m1").await;
    call.begin().await;
    call.text("Once upon").await;
    call.event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})).await;
    call.end().await;
    let (_, _, _, end) = told(&mut link).await;
    assert!(end.text.starts_with("Once upon\n\n") && end.text.contains("go on"), "{end:?}");
    assert_eq!(end.error, None::<ErrorCode>);
    let call = asked(&mut door, &mut link, "m2").await;
    assert!(call.shown().contains("Once upon") && !call.shown().contains("may not be longer"));
}
