//! A model that can't read as much as it is shown is shown less, and nothing goes without a word.

use cloister_protocol::link::{Cause, Downlink, Trigger, Uplink};
use cloister_protocol::{ChatId, ErrorCode, ModelFacts, TurnId};
use serde_json::json;

use crate::door::{Door, Link, ModelCall};
use crate::executor::{Attempt, task};

async fn asks(link: &mut Link, id: &str) {
    let cause = Cause::Message {
        from: "ann".into(),
        text: format!("say {id}"),
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
}

async fn refused(call: ModelCall) -> usize {
    let shown = call.body["messages"].as_array().unwrap().len();
    call.refuse(413, "too_large", "The conversation is longer than the model can read.", "").await;
    shown
}

#[tokio::test]
async fn a_talk_goes_on_with_half_of_its_past() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    for n in 0..8 {
        let id = format!("m{n}");
        asks(&mut link, &id).await;
        door.model().await.say(&format!("said {id}")).await;
        link.until(|frame| matches!(frame, Uplink::End(_))).await;
        let turn: TurnId = format!("t-{id}").parse().unwrap();
        link.send(Downlink::Stored { turn }).await;
    }
    asks(&mut link, "m9").await;
    let whole = refused(door.model().await).await;
    let half = refused(door.model().await).await;
    assert!((1 + 2 * 8 + 1, half < whole) == (whole, true), "{half} of {whole}");
    let call = door.model().await;
    let shown = call.shown();
    assert!(shown.contains("say m9") && !shown.contains("say m1"), "{shown}");
    assert!(shown.contains("Earlier turns of this chat are not shown"), "{shown}");
    call.say("Here.").await;
    let frames = link.until(|frame| matches!(frame, Uplink::End(_))).await;
    let Some(Uplink::End(end)) = frames.last() else { unreachable!() };
    assert_eq!((end.text.as_str(), end.error), ("Here.", None));
}

#[tokio::test]
async fn what_no_model_can_read_is_said_in_the_end() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    asks(&mut link, "m1").await;
    for _ in 0..5 {
        refused(door.model().await).await;
    }
    let frames = link.until(|frame| matches!(frame, Uplink::End(_))).await;
    let Some(Uplink::End(end)) = frames.last() else { unreachable!() };
    assert_eq!(end.error, Some(ErrorCode::TooLarge));
    assert!(end.text.contains("longer than the model can read"), "{end:?}");
}

#[tokio::test]
async fn a_task_goes_on_with_its_newest_outputs() {
    let mut start = task();
    // So small a window has room for little of them.
    start.model = ModelFacts { window_tokens: Some(16_000), ..ModelFacts::default() };
    let mut attempt = Attempt::begin(start).await;
    for name in ["a", "b"] {
        let print = json!({"command": format!("printf '%s{name}' $(seq 3000)")});
        attempt.calls(name, &[("bash", print)]).await;
    }
    let call = attempt.door.model().await;
    let shown = call.shown();
    assert!(shown.contains("2900b") && shown.len() < 16_000 * 4, "{}", shown.len());
    call.refuse(413, "too_large", "It is longer than the model can read.", "").await;
    let again = attempt.door.model().await.shown();
    assert!(again.len() < shown.len() && again.contains("bytes left out"), "{}", again.len());
}
