//! Pictures that came long ago, or that a task made: they can be looked at.

use cloister_protocol::link::{CallStatus, Cause, Downlink, Trigger, Uplink};
use cloister_protocol::{ChatId, ModelFacts};
use serde_json::{Value, json};

use crate::door::Door;
use crate::executor::{Attempt, task};

/// The smallest GIF.
const DOT: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff\x21\xf9\x04\x01\x00\x00\x00\x00\x2c\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00\x3b";

fn trigger(model: ModelFacts) -> Downlink {
    let cause = Cause::Message {
        from: "ann".into(),
        text: "What was in the picture?".into(),
        attachments: Vec::new(),
        instead: None,
    };
    let (id, chat) = ("m1".parse().unwrap(), ChatId::from_number(1));
    let (prompt, now) = (String::new(), String::new());
    Downlink::Trigger(Trigger { id, chat, cause, prompt, model, now, phrases: Box::default() })
}

fn offers(body: &Value, tool: &str) -> bool {
    body["tools"].as_array().unwrap().iter().any(|offered| offered["function"]["name"] == tool)
}

#[tokio::test]
async fn the_talk_looks_at_what_the_person_sent_and_at_nothing_else() {
    let mut door = Door::open();
    for folder in ["incoming", "files"] {
        let folder = door.files().join("chats/C1").join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("dot.gif"), DOT).unwrap();
    }
    std::fs::write(door.files().join("chats/C1/incoming/note.gif"), "words").unwrap();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(trigger(ModelFacts::default())).await;
    let call = door.model().await;
    assert!(offers(&call.body, "look_at"));
    let looks: Vec<_> = [
        "/chat/incoming/dot.gif",
        "/chat/dot.gif",
        "incoming/../files/dot.gif",
        "incoming/note.gif",
    ]
    .map(|path| ("look_at", json!({"path": path})))
    .to_vec();
    call.call("", "c", &looks).await;
    let mut results = Vec::new();
    link.until(|frame| {
        if let Uplink::ToolResult(result) = frame {
            results.push(result.ok);
        }
        results.len() == looks.len()
    })
    .await;
    assert_eq!(results, [true, false, false, false]);
    let call = door.model().await;
    let messages = call.body["messages"].as_array().unwrap();
    let pictures: Vec<_> =
        messages.iter().filter(|message| message["content"][1]["type"] == "image_url").collect();
    assert_eq!(pictures.len(), 1);
    let url = pictures[0]["content"][1]["image_url"]["url"].as_str().unwrap();
    assert!(url.starts_with("data:image/gif;base64,R0lGODlh"), "{url}");
}

#[tokio::test]
async fn a_task_looks_at_what_it_has_made() {
    let mut attempt = Attempt::begin(task()).await;
    std::fs::write(attempt.door.files().join("plot.gif"), DOT).unwrap();
    let outcomes = attempt.calls("a", &[("look_at", json!({"path": "plot.gif"}))]).await;
    assert_eq!(outcomes[0].status, CallStatus::Ok, "{outcomes:?}");
    let call = attempt.door.model().await;
    assert!(call.shown().contains("data:image/gif;base64,"), "{}", call.shown());
    drop(call);

    // A model that sees nothing is not offered it.
    let mut start = task();
    start.model = ModelFacts { vision: Some(false), ..ModelFacts::default() };
    let mut attempt = Attempt::begin(start).await;
    assert!(!offers(&attempt.door.model().await.body, "look_at"));
}
