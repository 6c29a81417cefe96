use cloister_protocol::link::{
    Asked, Cause, Downlink, Reply, Request, TaskReport, Trigger, Uplink,
};
use cloister_protocol::{
    Attachment, ChatId, End, ErrorBody, ErrorCode, MessageId, ModelFacts, TaskId, TaskState,
    TextChunk, TurnId, Update, Usage,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::door::{Door, Link, ModelCall, PATIENCE};

fn trigger(id: &str, chat: u32, cause: Cause) -> Downlink {
    let id: MessageId = id.parse().unwrap();
    let (chat, prompt, model) = (ChatId::from_number(chat), String::new(), ModelFacts::default());
    Downlink::Trigger(Trigger {
        id,
        chat,
        cause,
        prompt,
        model,
        now: String::new(),
        phrases: Box::default(),
    })
}

fn says(id: &str, text: &str) -> Downlink {
    says_in(id, 1, text)
}

fn says_in(id: &str, chat: u32, text: &str) -> Downlink {
    let cause = Cause::Message {
        from: "ann".into(),
        text: text.into(),
        attachments: Vec::new(),
        instead: None,
    };
    trigger(id, chat, cause)
}

fn turn(id: &str) -> TurnId {
    format!("t-{id}").parse().unwrap()
}

/// Everything up to the end of the turn; the chunks must add up to its text.
async fn ending(link: &mut Link, id: &str) -> (End, Vec<Uplink>) {
    let wanted = turn(id);
    let frames = link.until(|frame| matches!(frame, Uplink::End(end) if end.turn == wanted)).await;
    let Some(Uplink::End(end)) = frames.last().cloned() else { unreachable!() };
    (end, frames)
}

fn put_together(frames: &[Uplink], id: &str) -> String {
    let wanted = turn(id);
    let mut text = String::new();
    let mut expected = 0;
    for frame in frames {
        match frame {
            Uplink::TextChunk(TextChunk { turn, seq, text: chunk }) if *turn == wanted => {
                assert_eq!(*seq, expected, "chunks are counted from 0");
                expected += 1;
                text.push_str(chunk);
            }
            Uplink::Update(Update::Restart { turn }) if *turn == wanted => {
                text.clear();
                expected = 0;
            }
            _ => {}
        }
    }
    text
}

async fn stored(link: &Link, id: &str) {
    link.send(Downlink::Stored { turn: turn(id) }).await;
}

async fn request(link: &mut Link) -> Request {
    let frames = link.until(|frame| matches!(frame, Uplink::Request(_))).await;
    let Some(Uplink::Request(request)) = frames.last().cloned() else { unreachable!() };
    request
}

#[tokio::test]
async fn a_message_is_acknowledged_answered_and_remembered() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    std::fs::write(door.files().join("SOUL.md"), "You are Brother Anselm.").unwrap();
    link.send(says("m1", "Hello there")).await;
    let first = link.next().await;
    assert_eq!(first, Uplink::Accepted { id: "m1".parse().unwrap() });

    let mut call = door.model().await;
    assert_eq!(call.body["model"], "default");
    assert_eq!(call.body["stream_options"]["include_usage"], true);
    assert!(call.shown().contains("Brother Anselm") && call.shown().contains("Hello there"));
    call.begin().await;
    call.text("Good ").await;
    // The first piece arrives while the model still writes.
    let chunk = link.next().await;
    assert!(matches!(&chunk, Uplink::TextChunk(chunk) if chunk.text == "Good "), "{chunk:?}");
    call.text("morning.").await;
    call.end().await;
    let (end, mut frames) = ending(&mut link, "m1").await;
    frames.insert(0, chunk);
    assert_eq!(end.text, "Good morning.");
    assert_eq!(put_together(&frames, "m1"), end.text);
    assert_eq!(end.message, Some("m1".parse().unwrap()));
    assert_eq!(end.usage, Usage { prompt_tokens: 10, completion_tokens: 5 });
    assert_eq!(end.error, None);
    stored(&link, "m1").await;

    link.send(says("m2", "And now?")).await;
    let call = door.model().await;
    assert!(call.shown().contains("Hello there") && call.shown().contains("Good morning."));
    call.say("Now too.").await;
    ending(&mut link, "m2").await;
}

#[tokio::test]
async fn the_same_trigger_again_is_answered_again_and_not_run_again() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Hi")).await;
    link.send(says("m1", "Hi")).await;
    door.model().await.say("Hello.").await;
    let (first, frames) = ending(&mut link, "m1").await;
    let accepted = |frame: &&Uplink| matches!(frame, Uplink::Accepted { .. });
    assert_eq!(frames.iter().filter(accepted).count(), 2);
    link.send(says("m1", "Hi")).await;
    let (again, frames) = ending(&mut link, "m1").await;
    assert_eq!(first, again);
    assert_eq!(frames.iter().filter(accepted).count(), 1);
    assert!(door.model_was_not_asked());
}

#[tokio::test]
async fn work_is_delegated_and_the_texts_are_joined() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Count the words")).await;
    let arguments = json!({"title": "Count", "instructions": "Count words", "risky": false});
    door.model().await.call("I'll have it counted.", "c", &[("delegate", arguments)]).await;
    let asked = request(&mut link).await;
    assert_eq!(asked.chat, Some(ChatId::from_number(1)));
    assert!(matches!(&asked.ask, Asked::Delegate { title, .. } if title == "Count"));
    let task = TaskId::from_number(7);
    let result = Reply::Delegated { task, state: TaskState::Queued };
    link.send(Downlink::Reply { id: asked.id, result }).await;
    let call = door.model().await;
    assert!(call.shown().contains("Task T7 is queued"), "{}", call.shown());
    call.say("It has begun.").await;
    let (end, _) = ending(&mut link, "m1").await;
    assert_eq!(end.text, "I'll have it counted.\n\nIt has begun.");
    assert_eq!(end.usage, Usage { prompt_tokens: 20, completion_tokens: 10 });
}

#[tokio::test]
async fn killed_at_any_point_the_turn_goes_on_where_it_was() {
    let mut door = Door::open();
    let mut agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Do it")).await;
    // Killed while the model writes: the model is asked again.
    let mut call = door.model().await;
    call.begin().await;
    call.text("Half").await;
    link.until(|frame| matches!(frame, Uplink::TextChunk(_))).await;
    agent.kill().await.unwrap();

    let mut agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Do it")).await;
    let arguments = json!({"title": "A", "instructions": "B", "risky": true});
    door.model().await.call("On it.", "c", &[("delegate", arguments)]).await;
    let first = request(&mut link).await;
    // Killed while the request is under way: it is asked again under the same id.
    agent.kill().await.unwrap();

    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Do it")).await;
    let mut frames = link.until(|frame| matches!(frame, Uplink::Request(_))).await;
    let Some(Uplink::Request(second)) = frames.last().cloned() else { unreachable!() };
    assert_eq!(first, second);
    let result = Reply::Delegated { task: TaskId::from_number(1), state: TaskState::Running };
    link.send(Downlink::Reply { id: second.id, result }).await;
    door.model().await.say("Begun.").await;
    let (end, rest) = ending(&mut link, "m1").await;
    frames.extend(rest);
    assert_eq!(end.text, "On it.\n\nBegun.");
    assert_eq!(put_together(&frames, "m1"), end.text);
    assert!(door.model_was_not_asked());
}

/// Plays the control plane for one launch that is killed after so many frames; the end if it came
/// before.
async fn play(door: &mut Door, frames: usize, requests: &mut Vec<Request>) -> Option<End> {
    let mut agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Do it")).await;
    let mut seen = Vec::new();
    while seen.len() < frames {
        tokio::select! {
            call = door.model() => {
                if call.shown().contains("\"role\":\"tool\"") {
                    call.say("Begun.").await;
                } else {
                    let arguments = json!({"title": "A", "instructions": "B"});
                    call.call("On it.", "c", &[("delegate", arguments)]).await;
                }
            }
            frame = link.next() => {
                if let Uplink::Request(request) = &frame {
                    let task = TaskId::from_number(1);
                    let result = Reply::Delegated { task, state: TaskState::Queued };
                    link.send(Downlink::Reply { id: request.id.clone(), result }).await;
                    requests.push(request.clone());
                }
                seen.push(frame.clone());
                if let Uplink::End(end) = frame {
                    // An end that was journaled already comes alone.
                    if seen.iter().any(|frame| matches!(frame, Uplink::TextChunk(_))) {
                        assert_eq!(put_together(&seen, "m1"), end.text);
                    }
                    return Some(end);
                }
            }
        }
    }
    agent.kill().await.unwrap();
    None
}

#[tokio::test]
async fn killed_after_any_frame_the_turn_ends_once_with_one_effect() {
    for frames in 0.. {
        let mut door = Door::open();
        let mut requests = Vec::new();
        let early = play(&mut door, frames, &mut requests).await;
        let end = play(&mut door, usize::MAX, &mut requests).await.unwrap();
        assert_eq!(end.text, "On it.\n\nBegun.", "killed after {frames} frames");
        requests.dedup();
        assert_eq!(requests.len(), 1, "killed after {frames} frames");
        if let Some(early) = early {
            assert_eq!(early, end);
            assert!(frames > 5, "the turn has several frames to be killed after");
            return;
        }
    }
}

#[tokio::test]
async fn a_workspace_without_room_is_explained() {
    let mut door = Door::open();
    let agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Hi")).await;
    door.model().await.say("Hello.").await;
    ending(&mut link, "m1").await;
    let pid = rustix::process::Pid::from_raw(i32::try_from(agent.id().unwrap()).unwrap());
    let none = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::prlimit(pid, rustix::process::Resource::Fsize, none).unwrap();
    link.send(says("m2", "And now?")).await;
    let (end, _) = ending(&mut link, "m2").await;
    assert_eq!(end.error, Some(ErrorCode::OverQuota));
    assert!(end.text.contains("over its quota"), "{}", end.text);
    link.send(trigger("r1", 1, ended(3, "Wrote out.txt", &[]))).await;
    let (end, _) = ending(&mut link, "r1").await;
    assert!(
        end.text.contains("Wrote out.txt") && end.text.contains("over its quota"),
        "{}",
        end.text
    );
}

#[tokio::test]
async fn killed_after_the_end_the_end_is_sent_again() {
    let mut door = Door::open();
    let mut agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Hi")).await;
    door.model().await.say("Hello.").await;
    let (first, _) = ending(&mut link, "m1").await;
    agent.kill().await.unwrap();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Hi")).await;
    let (again, _) = ending(&mut link, "m1").await;
    assert_eq!(first, again);
    assert!(door.model_was_not_asked());
}

#[tokio::test]
async fn after_a_broken_link_ends_requests_and_chunks_come_again() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says_in("m1", 1, "Hi")).await;
    door.model().await.say("Hello.").await;
    let (end, _) = ending(&mut link, "m1").await;
    link.send(says_in("m2", 2, "Tasks?")).await;
    door.model().await.call("", "c", &[("list_tasks", json!({}))]).await;
    let asked = request(&mut link).await;
    link.send(says_in("m3", 3, "Slow")).await;
    let mut slow = door.model().await;
    slow.begin().await;
    slow.text("One ").await;
    link.until(|frame| matches!(frame, Uplink::TextChunk(_))).await;
    link.close().await;

    let mut link = door.link().await;
    let mut seen = (false, false);
    link.until(|frame| {
        seen.0 |= *frame == Uplink::End(end.clone());
        seen.1 |= *frame == Uplink::Request(asked.clone());
        seen == (true, true)
    })
    .await;
    slow.text("two.").await;
    slow.end().await;
    let (end, frames) = ending(&mut link, "m3").await;
    assert_eq!(end.text, "One two.");
    assert_eq!(put_together(&frames, "m3"), end.text);
}

#[tokio::test]
async fn a_door_that_breaks_is_not_the_end_of_a_turn() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says_in("m1", 1, "Hi")).await;
    // Before the answer, in the middle of it, and then it holds.
    drop(door.model().await);
    let mut half = door.model().await;
    half.begin().await;
    half.text("Half an ").await;
    link.until(|frame| matches!(frame, Uplink::TextChunk(_))).await;
    drop(half);
    door.model().await.say("A whole answer.").await;
    let (end, frames) = ending(&mut link, "m1").await;
    assert_eq!((end.text.as_str(), end.error), ("A whole answer.", None));
    assert_eq!(put_together(&frames, "m1"), end.text);
}

#[tokio::test]
async fn chats_do_not_wait_for_each_other_but_turns_of_one_chat_do() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says_in("a1", 1, "first of one")).await;
    let slow = door.model().await;
    link.send(says_in("a2", 1, "second of one")).await;
    link.send(says_in("b1", 2, "first of two")).await;
    let other = door.model().await;
    assert!(other.shown().contains("first of two"));
    other.say("two").await;
    ending(&mut link, "b1").await;
    assert!(door.model_was_not_asked());
    slow.say("one").await;
    ending(&mut link, "a1").await;
    let next = door.model().await;
    assert!(next.shown().contains("second of one"));
    next.say("three").await;
    ending(&mut link, "a2").await;
}

#[tokio::test]
async fn clearing_forgets_the_conversation() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "My secret word is plover")).await;
    door.model().await.say("Noted.").await;
    ending(&mut link, "m1").await;
    link.send(trigger("m2", 1, Cause::Clear)).await;
    let (end, _) = ending(&mut link, "m2").await;
    assert_eq!((end.text.as_str(), end.error), ("", None));
    link.send(says("m3", "What was it?")).await;
    let call = door.model().await;
    assert!(!call.shown().contains("plover"), "{}", call.shown());
    call.say("I don't know.").await;
    ending(&mut link, "m3").await;
}

#[tokio::test]
async fn images_are_shown_once_and_other_files_are_named() {
    let mut door = Door::open();
    let incoming = door.files().join("chats/C1/incoming");
    std::fs::create_dir_all(&incoming).unwrap();
    std::fs::write(incoming.join("cat.png"), b"PNG!").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", incoming.join("trick.png")).unwrap();
    let file = |name: &str, mime: &str| Attachment {
        path: format!("chats/C1/incoming/{name}"),
        name: name.into(),
        mime: mime.into(),
        size: 4,
    };
    let attachments = vec![
        file("cat.png", "image/png"),
        file("trick.png", "image/png"),
        file("list.csv", "text/csv"),
        Attachment { path: "../outside.png".into(), ..file("outside.png", "image/png") },
    ];
    let _agent = door.coordinator();
    let mut link = door.link().await;
    let cause =
        Cause::Message { from: "ann".into(), text: String::new(), attachments, instead: None };
    link.send(trigger("m1", 1, cause)).await;
    let call = door.model().await;
    let parts = call.body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    let parts = parts.as_array().unwrap();
    let images: Vec<&Value> = parts.iter().filter(|part| part["type"] == "image_url").collect();
    assert_eq!(images.len(), 1);
    assert_eq!(images[0]["image_url"]["url"], "data:image/png;base64,UE5HIQ==");
    let text = parts[0]["text"].as_str().unwrap();
    assert!(text.contains("/chat/incoming/list.csv") && text.contains("text/csv"), "{text}");
    assert!(
        text.contains("trick.png can't be shown") && text.contains("outside.png can't be shown")
    );
    call.say("A cat.").await;
    ending(&mut link, "m1").await;
    link.send(says("m2", "Nice?")).await;
    let call = door.model().await;
    assert!(!call.shown().contains("image_url") && call.shown().contains("cat.png"));
    call.say("Yes.").await;
    ending(&mut link, "m2").await;
}

#[tokio::test]
async fn a_loop_is_stopped_and_explained() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "How far?")).await;
    for _ in 0..3 {
        door.model().await.call("", "c", &[("list_tasks", json!({}))]).await;
        let asked = request(&mut link).await;
        link.send(Downlink::Reply { id: asked.id, result: Reply::Tasks { tasks: Vec::new() } })
            .await;
    }
    door.model().await.call("", "c", &[("list_tasks", json!({}))]).await;
    let (end, frames) = ending(&mut link, "m1").await;
    assert_eq!(end.error, Some(ErrorCode::LoopStopped));
    assert!(end.text.contains("list_tasks {}"), "{}", end.text);
    assert!(!frames.iter().any(|frame| matches!(frame, Uplink::Request(_))));
}

#[tokio::test]
async fn wrong_calls_are_told_to_the_model() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Try")).await;
    let calls = [
        ("fly", json!({})),
        ("delegate", json!({"title": "x"})),
        ("show_task", json!({"task": "seven"})),
        ("cancel_tasks", json!({"extra": 1})),
    ];
    door.model().await.call("", "c", &calls).await;
    let call = door.model().await;
    let shown = call.shown();
    for words in
        ["there is no tool", "missing field `instructions`", "seven", "unknown field `extra`"]
    {
        assert!(shown.contains(words), "{words} in {shown}");
    }
    call.say("I can't.").await;
    let (end, _) = ending(&mut link, "m1").await;
    assert_eq!(end.error, None);
}

#[tokio::test]
async fn failures_of_the_model_become_clear_answers() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Hi")).await;
    let fix = "Raise it with `cloister budget`.";
    door.model().await.refuse(402, "over_budget", "Today's budget is used up.", fix).await;
    let (end, _) = ending(&mut link, "m1").await;
    assert_eq!(end.error, Some(ErrorCode::OverBudget));
    assert_eq!(end.text, format!("Today's budget is used up. {fix}"));

    // Cut in the middle: what was said stays, with the reason after it.
    link.send(says("m2", "Hi")).await;
    let mut call = door.model().await;
    call.begin().await;
    call.text("Well, ").await;
    call.event(&json!({"error": {"code": "model_unavailable", "message": "No model answers."}}))
        .await;
    let (end, frames) = ending(&mut link, "m2").await;
    assert_eq!(end.error, Some(ErrorCode::ModelUnavailable));
    assert_eq!(end.text, "Well, \n\nNo model answers.");
    assert_eq!(put_together(&frames, "m2"), end.text);

    // Fallen over to another model: the text starts anew.
    link.send(says("m3", "Hi")).await;
    let mut call = door.model().await;
    call.begin().await;
    call.text("Wrong start").await;
    link.until(|frame| matches!(frame, Uplink::TextChunk(_))).await;
    call.event(&json!({"cloister": "restart"})).await;
    call.text("Right.").await;
    call.end().await;
    let (end, frames) = ending(&mut link, "m3").await;
    assert!(frames.contains(&Uplink::Update(Update::Restart { turn: turn("m3") })));
    assert_eq!((end.text.as_str(), end.error), ("Right.", None));
    assert_eq!(put_together(&frames, "m3"), "Right.");
}

#[tokio::test]
async fn a_cancelled_turn_ends_with_what_was_said() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Tell me a story")).await;
    let mut call = door.model().await;
    call.begin().await;
    call.text("Once upon").await;
    link.until(|frame| matches!(frame, Uplink::TextChunk(_))).await;
    link.send(Downlink::CancelTurn { turn: turn("m1") }).await;
    let (end, _) = ending(&mut link, "m1").await;
    assert_eq!((end.text.as_str(), end.error), ("Once upon", Some(ErrorCode::Cancelled)));
    call.hung_up().await;
}

#[tokio::test]
async fn what_was_said_long_ago_is_found_again() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    let pasted = format!("Keep this: {} The key is under the mat.", "blah ".repeat(3_000));
    for (id, text) in [("m1", pasted.as_str()), ("m2", "Something else")] {
        link.send(says(id, text)).await;
        door.model().await.say("Fine.").await;
        ending(&mut link, id).await;
    }
    link.send(says("m3", "Where is the key?")).await;
    door.model().await.call("", "a", &[("look_back", json!({"query": "KEY mat"}))]).await;
    let call = door.model().await;
    assert!(call.shown().contains("Turn 1, ") && call.shown().contains("under the mat"));
    call.call("", "b", &[("look_back", json!({"turn": 1}))]).await;
    let call = door.model().await;
    let last = call.body["messages"].as_array().unwrap().last().unwrap().clone();
    assert!(last["content"].as_str().unwrap().contains(&pasted), "{last}");
    call.call("", "c", &[("look_back", json!({"query": "unicorn"}))]).await;
    let call = door.model().await;
    assert!(call.shown().contains("Nothing was found in this chat."));
    call.say("Under the mat.").await;
    assert_eq!(ending(&mut link, "m3").await.0.error, None);
}

fn yields(id: &str) -> Downlink {
    Downlink::YieldTurn { turn: turn(id) }
}

#[tokio::test]
async fn a_second_message_stops_the_answer_where_it_is_and_is_answered_with_it() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "List all rivers")).await;
    let mut call = door.model().await;
    call.begin().await;
    call.text("The Rhine, the").await;
    link.until(|frame| matches!(frame, Uplink::TextChunk(_))).await;
    link.send(says("m2", "Only of France")).await;
    link.send(yields("m1")).await;
    let (first, _) = ending(&mut link, "m1").await;
    assert_eq!((first.text.as_str(), first.error), ("The Rhine, the", Some(ErrorCode::Continued)));
    call.hung_up().await;

    let call = door.model().await;
    let messages = call.body["messages"].as_array().unwrap();
    let roles: Vec<&str> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!(messages[2]["content"], "The Rhine, the");
    let asked = messages[3]["content"].as_str().unwrap();
    assert!(
        asked.starts_with("[Note: the person wrote the following")
            && asked.contains("Only of France")
    );
    call.say("The Loire.").await;
    let (second, _) = ending(&mut link, "m2").await;
    assert_eq!((second.text.as_str(), second.error), ("The Loire.", None));
}

#[tokio::test]
async fn messages_written_before_the_first_answer_are_answered_together() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "One")).await;
    let call = door.model().await;
    link.send(says("m2", "Two")).await;
    link.send(yields("m1")).await;
    // The third comes before the second has begun, or just then: either is the same to the person.
    link.send(says("m3", "Three")).await;
    link.send(yields("m1")).await;
    link.send(yields("m2")).await;
    call.hung_up().await;
    let mut silent = Vec::new();
    for id in ["m1", "m2"] {
        silent.push(ending(&mut link, id).await.0.text);
    }
    assert_eq!(silent, ["", ""]);
    let call = loop {
        let call = door.model().await;
        if call.shown().contains("Three") {
            break call;
        }
        call.hung_up().await;
    };
    let messages = call.body["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2, "one message of the person: {messages:?}");
    let asked = messages[1]["content"].as_str().unwrap();
    assert!(["One", "Two", "Three"].iter().all(|text| asked.contains(text)), "{asked}");
    call.say("All three.").await;
    assert_eq!(ending(&mut link, "m3").await.0.text, "All three.");
}

#[tokio::test]
async fn what_is_under_way_is_done_before_the_next_message_takes_over() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Count the words")).await;
    let arguments = json!({"title": "Count", "instructions": "Count words", "risky": false});
    door.model().await.call("", "c", &[("delegate", arguments)]).await;
    let asked = request(&mut link).await;
    link.send(says("m2", "And the lines")).await;
    link.send(yields("m1")).await;
    let result = Reply::Delegated { task: TaskId::from_number(7), state: TaskState::Queued };
    link.send(Downlink::Reply { id: asked.id, result }).await;
    let (first, _) = ending(&mut link, "m1").await;
    assert_eq!(first.error, Some(ErrorCode::Continued));
    let call = door.model().await;
    assert!(call.shown().contains("Task T7 is queued"), "{}", call.shown());
    assert!(call.shown().contains("And the lines"), "{}", call.shown());
    call.say("Both.").await;
    ending(&mut link, "m2").await;
}

#[tokio::test]
async fn what_a_provider_says_never_becomes_the_words_of_the_agent() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Hello")).await;
    door.model().await.refuse(502, "model_unavailable", "Quota of acme exceeded.", "Pay.").await;
    let (end, _) = ending(&mut link, "m1").await;
    assert!(end.text.contains("Quota of acme"), "{end:?}");
    link.send(says("m2", "Hello again")).await;
    let call = door.model().await;
    assert!(!call.shown().contains("acme"), "{}", call.shown());
    let messages = call.body["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 2);
    let asked = messages[1]["content"].as_str().unwrap();
    assert!(asked.starts_with("Hello") && asked.contains("could not be answered"), "{asked}");
    call.say("Hi.").await;
    ending(&mut link, "m2").await;
}

fn ended(task: u32, result: &str, not_shown: &[&str]) -> Cause {
    let report = TaskReport {
        task: TaskId::from_number(task),
        title: "Report".into(),
        state: TaskState::Done,
        result: result.into(),
        not_shown: not_shown.iter().map(|claim| (*claim).to_owned()).collect(),
    };
    Cause::TasksEnded { reports: vec![report] }
}

#[tokio::test]
async fn task_reports_are_passed_on_with_what_is_not_shown() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(trigger("r1", 1, ended(3, "Wrote out.txt", &["tests pass"]))).await;
    let call = door.model().await;
    assert!(call.shown().contains("[task report]") && call.shown().contains("tests pass"));
    call.say("out.txt is written.").await;
    let (end, frames) = ending(&mut link, "r1").await;
    assert_eq!(end.text, "out.txt is written.\n\nNot shown by the record: tests pass");
    assert_eq!(put_together(&frames, "r1"), end.text);
    assert_eq!(end.message, None);

    // With no model the reports themselves are the answer.
    link.send(trigger("r2", 1, ended(4, "Wrote b.txt", &[]))).await;
    door.model().await.refuse(503, "model_unavailable", "No model answers.", "").await;
    let (end, _) = ending(&mut link, "r2").await;
    assert!(
        end.text.contains("T4 (Report) is done") && end.text.contains("Wrote b.txt"),
        "{}",
        end.text
    );
    assert_eq!(end.error, None);
}

/// A1: a message does not wait until a report is told; the report is told with its answer, and whatever becomes of that.
#[tokio::test]
async fn a_report_makes_way_for_a_message_and_is_not_lost() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(trigger("r1", 1, ended(3, "Wrote out.txt", &["tests pass"]))).await;
    let mut call = door.model().await;
    call.begin().await;
    link.send(says("m1", "And how late is it?")).await;
    link.send(yields("r1")).await;
    let (report, _) = ending(&mut link, "r1").await;
    assert_eq!((report.text.as_str(), report.error), ("", Some(ErrorCode::Continued)));
    call.hung_up().await;
    // A second message takes the first one's place, too.
    let call = door.model().await;
    assert!(call.shown().contains("Wrote out.txt") && call.shown().contains("how late"));
    link.send(says("m2", "In Rome?")).await;
    link.send(yields("m1")).await;
    assert_eq!(ending(&mut link, "m1").await.0.error, Some(ErrorCode::Continued));
    call.hung_up().await;
    let call = door.model().await;
    assert!(call.shown().contains("Wrote out.txt") && call.shown().contains("In Rome?"));
    call.refuse(502, "model_unavailable", "Quota of acme exceeded.", "").await;
    let (failed, frames) = ending(&mut link, "m2").await;
    assert_eq!(failed.error, Some(ErrorCode::ModelUnavailable));
    for told in [
        "T3 (Report) is done",
        "Wrote out.txt",
        "Quota of acme",
        "Not shown by the record: tests pass",
    ] {
        assert_eq!(failed.text.matches(told).count(), 1, "{told}: {}", failed.text);
    }
    assert_eq!(put_together(&frames, "m2"), failed.text);
    // Once is enough.
    link.send(says("m3", "Again?")).await;
    door.model().await.refuse(502, "model_unavailable", "Still no money.", "").await;
    assert!(!ending(&mut link, "m3").await.0.text.contains("out.txt"));
}

/// X12: what the agent itself says is in the words that the control plane gave it.
#[tokio::test]
async fn how_a_turn_ended_is_said_in_the_language_of_the_person() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    let spoken = |id: &str, cause: Option<Cause>| {
        let Downlink::Trigger(mut trigger) = says(id, "Hallo") else { unreachable!() };
        trigger.cause = cause.unwrap_or(trigger.cause);
        trigger.phrases.empty = "Das Modell hat nichts gesagt.".into();
        trigger.phrases.task_done = "{task} ({title}) ist fertig".into();
        Downlink::Trigger(trigger)
    };
    link.send(spoken("m1", None)).await;
    door.model().await.say("").await;
    let (empty, _) = ending(&mut link, "m1").await;
    assert_eq!(empty.text, "Das Modell hat nichts gesagt.");
    link.send(spoken("r1", Some(ended(3, "Hier.", &[])))).await;
    door.model().await.refuse(502, "model_unavailable", "Kein Modell.", "").await;
    let (report, _) = ending(&mut link, "r1").await;
    assert_eq!(report.text, "T3 (Report) ist fertig:\nHier.\n\n(Kein Modell.)");
}

#[tokio::test]
async fn a_refused_request_is_told_to_the_model() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Send it")).await;
    door.model().await.call("", "c", &[("send_file", json!({"path": "a.txt"}))]).await;
    let asked = request(&mut link).await;
    assert!(matches!(&asked.ask, Asked::SendFile { path, .. } if path == "chats/C1/files/a.txt"));
    let error = ErrorBody {
        fix: Some("List the files.".into()),
        ..ErrorBody::new(ErrorCode::NotFound, "There is no a.txt.")
    };
    link.send(Downlink::Reply { id: asked.id, result: Reply::Refused { error } }).await;
    let call = door.model().await;
    assert!(
        call.shown().contains("refused: There is no a.txt. List the files."),
        "{}",
        call.shown()
    );
    call.say("It is not there.").await;
    ending(&mut link, "m1").await;
}

#[tokio::test]
async fn what_is_to_be_kept_in_mind_is_proposed_behind_what_is_kept() {
    let mut door = Door::open();
    std::fs::write(door.files().join("MEMORY.md"), "# Mine\n- likes tea\n").unwrap();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Remember that I like cake")).await;
    door.model().await.call("", "c", &[("remember", json!({"note": "likes cake"}))]).await;
    let asked = request(&mut link).await;
    let kept = "# Mine\n- likes tea\n- likes cake\n";
    assert!(
        matches!(&asked.ask, Asked::Propose { path, text, .. } if path == "MEMORY.md" && text == kept),
        "{asked:?}"
    );
    let result = Reply::Kept { path: "MEMORY.md".into() };
    link.send(Downlink::Reply { id: asked.id, result }).await;
    let call = door.model().await;
    assert!(call.shown().contains("Kept in MEMORY.md."), "{}", call.shown());
    // Only what can be proposed is.
    let wrong = json!({"path": "../etc/passwd", "text": "x", "why": "y"});
    call.call("", "d", &[("propose_change", wrong)]).await;
    let call = door.model().await;
    assert!(call.shown().contains("is not a file that can be proposed"), "{}", call.shown());
    call.say("Noted.").await;
    ending(&mut link, "m1").await;
}

#[tokio::test]
async fn a_damaged_journal_is_set_aside_and_the_person_is_told() {
    let mut door = Door::open();
    let chat = door.files().join("chats/C1");
    std::fs::create_dir_all(&chat).unwrap();
    std::fs::write(chat.join("history.db"), "this is no database, ".repeat(500)).unwrap();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Hi")).await;
    door.model().await.say("Hello.").await;
    let (end, _) = ending(&mut link, "m1").await;
    assert!(
        end.text.starts_with("Hello.\n\nNote: the record of this chat was damaged"),
        "{}",
        end.text
    );
    assert!(chat.join("history.db.corrupt-1").exists());
    link.send(says("m2", "And?")).await;
    door.model().await.say("Fine.").await;
    let (end, _) = ending(&mut link, "m2").await;
    assert_eq!(end.text, "Fine.");
}

#[tokio::test]
async fn garbage_on_the_link_changes_nothing_and_stop_ends_at_once() {
    let mut door = Door::open();
    let mut agent = door.coordinator();
    let link = door.link().await;
    for garbage in ["", "{", "[]", r#"{"type":"dance"}"#, r#"{"type":"trigger","id":""}"#] {
        link.send_raw(garbage).await;
    }
    link.send(says("m1", "Hi")).await;
    let call = door.model().await;
    link.send(Downlink::Stop).await;
    let status = timeout(PATIENCE, agent.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(0));
    call.hung_up().await;
    // The turn was left open and is resumed by the next launch.
    let _agent = door.coordinator();
    let mut link = door.link().await;
    link.send(says("m1", "Hi")).await;
    door.model().await.say("Hello.").await;
    let (end, _) = ending(&mut link, "m1").await;
    assert_eq!(end.text, "Hello.");
}

fn summarises(call: &ModelCall) -> bool {
    call.shown().contains("You keep the running summary")
}

#[tokio::test]
async fn a_long_chat_is_summarised_beside_the_answers() {
    let mut door = Door::open();
    let _agent = door.coordinator();
    let mut link = door.link().await;
    for number in 0..=31 {
        let id = format!("m{number}");
        link.send(says(&id, &format!("Question {number}."))).await;
        let call = door.model().await;
        assert!(!summarises(&call), "summarised too early, at {number}");
        call.say("Answer.").await;
        ending(&mut link, &id).await;
    }
    let summarising = door.model().await;
    assert!(summarises(&summarising), "{}", summarising.shown());
    assert!(summarising.body.get("tools").is_none() && summarising.shown().contains("Question 0."));
    // The next answer does not wait for the summary.
    link.send(says("during", "Still there?")).await;
    door.model().await.say("Yes.").await;
    ending(&mut link, "during").await;
    summarising.say("They asked many questions.").await;
    // Nor does it ask again for what is covered; the journal works in order, so this turn sees it
    // at the latest once the summary is written.
    for attempt in 0.. {
        let id = format!("after{attempt}");
        link.send(says(&id, "And now?")).await;
        let mut call = door.model().await;
        // The turn before may have begun before the summary was there, and asked for it once more.
        if summarises(&call) {
            call.say("They asked many questions.").await;
            call = door.model().await;
        }
        let covered = call.shown().contains("They asked many questions.");
        call.say("Yes.").await;
        ending(&mut link, &id).await;
        if covered {
            return;
        }
        assert!(attempt < 10, "the summary never appeared");
    }
}
