//! What a small model is given: few tools, one step at a time, and a word when it repeats itself.

use cloister_protocol::link::{CallStatus, Cause, Downlink, Reply, Trigger, Uplink};
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
    let cause =
        Cause::Message { from: "ann".into(), text: "count".into(), attachments: Vec::new() };
    let (id, chat) = ("m1".parse().unwrap(), ChatId::from_number(1));
    let (prompt, now) = (String::new(), String::new());
    link.send(Downlink::Trigger(Trigger { id, chat, cause, prompt, model: small(), now })).await;
    let call = door.model().await;
    assert_eq!(offered(&call.body), ["delegate", "remember"]);
    call.call("", "c", &[("delegate", json!({"instructions": "Count."}))]).await;
    let frames = link.until(|frame| matches!(frame, Uplink::Request(_))).await;
    let Some(Uplink::Request(asked)) = frames.last().cloned() else { unreachable!() };
    let result = Reply::Delegated { task: TaskId::from_number(1), state: TaskState::Queued };
    link.send(Downlink::Reply { id: asked.id, result }).await;
    let call = door.model().await;
    assert_eq!(call.body.get("tools"), None);
    call.say("It has begun.").await;
    let frames = link.until(|frame| matches!(frame, Uplink::End(_))).await;
    let Some(Uplink::End(end)) = frames.last() else { unreachable!() };
    assert_eq!(end.text, "It has begun.");
}
