//! What a small model is given: few tools, one step at a time, and a word when it repeats itself.

use cloister_protocol::link::{CallStatus, Cause, Downlink, Reply, TaskReport, Trigger, Uplink};
use cloister_protocol::{ChatId, ModelFacts, TaskId, TaskState};
use serde_json::{Value, json};

use crate::door::Door;
use crate::executor::{Attempt, task};

fn small() -> ModelFacts {
    ModelFacts { small: true, ..ModelFacts::default() }
}

fn offered(body: &Value) -> Vec<&str> {
    let tools = body["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_task_goes_one_step_at_a_time_and_is_not_repeated() {
    let mut start = task();
    start.model = small();
    let mut attempt = Attempt::begin(start).await;
    let call = attempt.door.model().await;
    let few = ["write_file", "bash", "read_file", "fetch_url", "send_file", "finish"];
    assert_eq!(offered(&call.body), few);
    let write = ("write_file", json!({"path": "a.sh", "content": "echo 42"}));
    let run = ("bash", json!({"command": "sh a.sh"}));
    call.call("", "a", &[write, run.clone()]).await;
    let first = attempt.outcome().await;
    assert_eq!(first.status, CallStatus::Ok, "{first:?}");

    // The second was not made: the model is asked again, and runs it.
    let outcomes = attempt.calls("b", std::slice::from_ref(&run)).await;
    assert!(outcomes[0].output.contains("42"), "{outcomes:?}");
    let outcomes = attempt.calls("c", &[run]).await;
    assert_eq!(outcomes[0].status, CallStatus::Refused);
    assert!(outcomes[0].output.contains("call finish"), "{outcomes:?}");

    // Silence is asked about once; then what the last step gave is told.
    attempt.door.model().await.say("").await;
    let urged = attempt.door.model().await;
    assert!(urged.shown().contains("Go on with the next step"));
    urged.say("").await;
    let finish = attempt.finish().await;
    assert!(!finish.ok && finish.result.contains("without saying"), "{finish:?}");
}

#[tokio::test]
async fn a_talk_has_two_tools_until_a_task_has_begun() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    let cause = Cause::Message {
        from: "ann".into(),
        text: "count".into(),
        attachments: Vec::new(),
        instead: None,
    };
    let (id, chat) = ("m1".parse().unwrap(), ChatId::from_number(1));
    let (prompt, now) = (String::new(), String::new());
    link.send(Downlink::Trigger(Trigger {
        id,
        chat,
        cause,
        prompt,
        model: small(),
        now,
        phrases: Box::default(),
    }))
    .await;
    let call = door.model().await;
    assert_eq!(offered(&call.body), ["delegate", "remember"]);
    call.call("", "c", &[("delegate", json!({"instructions": "Count."}))]).await;
    let frames = link.until(|frame| matches!(frame, Uplink::Request(_))).await;
    let Some(Uplink::Request(asked)) = frames.last().cloned() else { unreachable!() };
    let result = Reply::Delegated { task: TaskId::from_number(1), state: TaskState::Queued };
    link.send(Downlink::Reply { id: asked.id, result }).await;
    // What there is left to say needs no model: it would begin the same again.
    let frames = link.until(|frame| matches!(frame, Uplink::End(_))).await;
    let Some(Uplink::End(end)) = frames.last() else { unreachable!() };
    assert_eq!(end.text, "I have begun with it (T1) and tell you what comes of it.");
    assert!(door.model_was_not_asked());
    link.send(Downlink::Stored { turn: end.turn.clone() }).await;

    let (task, title) = (TaskId::from_number(1), "Count.".to_owned());
    let (state, result) =
        (TaskState::Done, "I counted.\n\nThe last command printed:\n1 2 3".to_owned());
    let reports = vec![TaskReport { task, title, state, result, not_shown: Vec::new() }];
    let cause = Cause::TasksEnded { reports };
    let (id, prompt, now) = ("m2".parse().unwrap(), String::new(), String::new());
    link.send(Downlink::Trigger(Trigger {
        id,
        chat,
        cause,
        prompt,
        model: small(),
        now,
        phrases: Box::default(),
    }))
    .await;
    let frames = link.until(|frame| matches!(frame, Uplink::End(_))).await;
    let Some(Uplink::End(end)) = frames.last() else { unreachable!() };
    assert!(end.text.starts_with("T1 (Count.) is done:") && end.text.ends_with("1 2 3"), "{end:?}");
    assert!(door.model_was_not_asked());
}

/// What it is told to look for it can find.
#[tokio::test]
async fn a_small_model_can_look_back_where_not_all_is_shown() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    let tiny = ModelFacts { window_tokens: Some(2_048), output_tokens: Some(256), ..small() };
    let chat = ChatId::from_number(1);
    let mut last = Vec::new();
    for number in 1..=6 {
        let (from, attachments) = ("ann".to_owned(), Vec::new());
        let cause = Cause::Message { from, text: "word ".repeat(80), attachments, instead: None };
        let (prompt, now) = (String::new(), String::new());
        let id = format!("m{number}").parse().unwrap();
        link.send(Downlink::Trigger(Trigger {
            id,
            chat,
            cause,
            prompt,
            model: tiny,
            now,
            phrases: Box::default(),
        }))
        .await;
        let call = loop {
            let call = door.model().await;
            // Its own summary is asked for without tools.
            if call.body["tools"].is_array() {
                break call;
            }
            call.say("They said words.").await;
        };
        last = offered(&call.body).into_iter().map(str::to_owned).collect();
        let says = call.shown().contains("look_back");
        assert_eq!(says, last.contains(&"look_back".to_owned()), "{last:?}");
        call.say(&"answer ".repeat(80)).await;
        let frames = link.until(|frame| matches!(frame, Uplink::End(_))).await;
        let Some(Uplink::End(end)) = frames.last() else { unreachable!() };
        link.send(Downlink::Stored { turn: end.turn.clone() }).await;
    }
    assert_eq!(last, ["delegate", "remember", "look_back"]);
}

#[tokio::test]
async fn what_a_program_printed_is_in_the_result_also_where_the_model_leaves_it_out() {
    let mut start = task();
    start.model = small();
    let mut attempt = Attempt::begin(start).await;
    // As models call it, whatever the system has.
    let outcomes =
        attempt.calls("a", &[("bash", json!({"command": "python -c 'print(6 * 7)'"}))]).await;
    assert_eq!(outcomes[0].status, CallStatus::Ok, "{outcomes:?}");
    attempt.door.model().await.call("", "b", &[("finish", json!({"result": "It ran."}))]).await;
    assert_eq!(attempt.finish().await.result, "It ran.\n\nThe last command printed:\n42");
}

#[tokio::test]
async fn who_gives_up_after_a_failed_step_is_asked_to_go_on_once() {
    let mut start = task();
    start.model = small();
    let mut attempt = Attempt::begin(start).await;
    attempt.calls("a", &[("bash", json!({"command": "cat nothing"}))]).await;
    attempt.door.model().await.say("You have to run it again.").await;
    let urged = attempt.door.model().await;
    assert!(urged.shown().contains("Go on with the next step"));
    urged.say("It is not there.").await;
    assert!(
        attempt.finish().await.result.starts_with("It is not there.\n\nThe last command printed:")
    );
}

#[tokio::test]
async fn the_list_of_its_tools_is_no_answer() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    let cause = Cause::Message {
        from: "ann".into(),
        text: "hi".into(),
        attachments: Vec::new(),
        instead: None,
    };
    let (id, chat) = ("m1".parse().unwrap(), ChatId::from_number(1));
    let (prompt, now) = (String::new(), String::new());
    link.send(Downlink::Trigger(Trigger {
        id,
        chat,
        cause,
        prompt,
        model: small(),
        now,
        phrases: Box::default(),
    }))
    .await;
    door.model().await.say("<tools>\n{\"type\": \"function\", \"function\":").await;
    let again = door.model().await;
    assert_eq!(again.body.get("tools"), None, "it is asked again, without them");
    again.say("Hello!").await;
    let frames = link.until(|frame| matches!(frame, Uplink::End(_))).await;
    let Some(Uplink::End(end)) = frames.last() else { unreachable!() };
    assert_eq!((end.text.as_str(), end.error), ("Hello!", None));
}
