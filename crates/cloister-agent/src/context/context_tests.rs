use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use cloister_protocol::link::{Call, CallStatus, Outcome, Trigger};
use cloister_protocol::{ChatId, ModelFacts, TurnId};

use super::*;
use crate::journal::{Accepted, Ending, Journal, Recorded, Replaced};

const CHAT: u32 = 1;

struct Chat {
    journal: Journal,
    folder: tempfile::TempDir,
}

impl Chat {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (journal, _finished) = Journal::start(folder.path().to_owned()).unwrap();
        Self { journal, folder }
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    async fn on_db<T: Send + 'static>(
        &self,
        work: impl Fn(&ChatDb) -> rusqlite::Result<T> + Send + 'static,
    ) -> T {
        self.journal.with(ChatId::from_number(CHAT), work).await.unwrap()
    }

    /// Turns that are over: what was asked, the steps, what was answered.
    async fn past(&self, turns: Vec<(String, Vec<Step>, String)>) {
        self.on_db(move |db| {
            for (asked, steps, answered) in &turns {
                past_turn(db, message(asked), steps, answered)?;
            }
            Ok(())
        })
        .await;
    }

    async fn load(&self, asked: &str) -> Loaded {
        self.load_for(asked, ModelFacts::default()).await
    }

    async fn load_for(&self, asked: &str, model: ModelFacts) -> Loaded {
        let (id, chat) = ("now".parse().unwrap(), ChatId::from_number(CHAT));
        let prompt = "You are among gardeners.".to_owned();
        let cause = message(asked);
        let (workspace, trigger) = (
            self.workspace(),
            Trigger {
                id,
                chat,
                cause,
                prompt,
                model,
                now: "Monday.".to_owned(),
                phrases: Box::default(),
            },
        );
        self.on_db(move |db| load(db, &workspace, i64::MAX, &trigger)).await
    }
}

fn usual_backlog(db: &ChatDb) -> rusqlite::Result<Option<Backlog>> {
    backlog(db, Room::of(ModelFacts::default(), 0))
}

fn window(tokens: u32) -> ModelFacts {
    ModelFacts { window_tokens: Some(tokens), ..ModelFacts::default() }
}

fn message(text: &str) -> Cause {
    Cause::Message { from: "ann".into(), text: text.into(), attachments: Vec::new(), instead: None }
}

fn past_turn(
    db: &ChatDb,
    cause: Cause,
    steps: &[Step],
    answered: &str,
) -> rusqlite::Result<TurnId> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let id = format!("m{}", NUMBER.fetch_add(1, Ordering::Relaxed)).parse().unwrap();
    let (chat, prompt, model) = (ChatId::from_number(CHAT), String::new(), ModelFacts::default());
    let trigger =
        Trigger { id, chat, cause, prompt, model, now: String::new(), phrases: Box::default() };
    let Accepted::Fresh { seq } = db.accept(&trigger)? else { panic!("it was there already") };
    for (n, step) in steps.iter().enumerate() {
        db.append(seq, &Recorded { n, step: step.clone(), usage: Usage::default() })?;
    }
    let end = End {
        turn: TurnId::of_trigger(&trigger.id),
        message: None,
        text: answered.into(),
        usage: Usage::default(),
        error: None,
    };
    let turn = end.turn.clone();
    db.end(&trigger, seq, &Ending { end, last: None, notices_told: 0 })?;
    Ok(turn)
}

/// Says something in place of what was said from a turn on, if one is given.
async fn say(chat: &Chat, text: &'static str, instead: Option<&TurnId>) -> TurnId {
    let instead = instead.cloned();
    chat.on_db(move |db| {
        let (from, text, instead) = ("ann".into(), text.into(), instead.clone());
        let cause = Cause::Message { from, text, attachments: Vec::new(), instead };
        past_turn(db, cause, &[], "as you say")
    })
    .await
}

fn short(count: usize) -> Vec<(String, Vec<Step>, String)> {
    (0..count).map(|n| (format!("question {n}"), Vec::new(), format!("answer {n}"))).collect()
}

fn shown(loaded: &Loaded) -> String {
    serde_json::to_string(&loaded.messages).unwrap()
}

#[tokio::test]
async fn what_is_shown_does_not_grow_with_the_chat() {
    let chat = Chat::new();
    chat.past(short(100)).await;
    let few = chat.load("now").await;
    chat.past(short(400)).await;
    let many = chat.load("now").await;
    assert_eq!(few.messages.len(), many.messages.len());
    assert!(many.overflow.is_some());
    let text = shown(&many);
    assert!(text.contains("question 399") && text.contains("answer 399") && text.contains("now"));
    assert!(!text.contains("question 10\""));
}

#[tokio::test]
async fn a_huge_message_just_before_is_shortened_and_not_forgotten() {
    let chat = Chat::new();
    let huge = format!("BEGINNING {} ENDING", "x".repeat(200_000));
    chat.past(vec![(huge, Vec::new(), "Read.".into())]).await;
    let text = shown(&chat.load("What was it?").await);
    assert!(
        text.contains("BEGINNING") && text.contains("ENDING") && text.contains("bytes left out")
    );
    assert!(text.len() < 80_000);
}

#[tokio::test]
async fn a_call_is_never_shown_without_its_result() {
    let chat = Chat::new();
    let call = Call { id: "c1".into(), name: "list_tasks".into(), arguments: "{}".into() };
    let asked = Step::Answer { text: String::new(), calls: vec![call] };
    let outcome = Outcome { status: CallStatus::Ok, output: "no tasks".into() };
    let result = Step::Result { call: "c1".into(), outcome };
    let last = Step::Answer { text: "None.".into(), calls: Vec::new() };
    chat.past(vec![
        ("whole".into(), vec![asked.clone(), result, last], "None.".into()),
        ("cut off".into(), vec![asked], "Stopped.".into()),
    ])
    .await;
    let text = shown(&chat.load("now").await);
    assert_eq!(text.matches("tool_calls").count(), 2);
    assert_eq!(text.matches("\"tool_call_id\":\"c1\"").count(), 2);
    assert!(text.contains("not run: the turn ended before"), "{text}");
}

#[tokio::test]
async fn the_summary_takes_over_what_falls_out_and_leaves_no_gap() {
    let chat = Chat::new();
    chat.past(short(29)).await;
    assert!(chat.load("now").await.overflow.is_none());
    chat.past(short(3)).await;
    assert!(chat.load("now").await.overflow.is_some());
    let backlog = chat.on_db(usual_backlog).await.unwrap();
    assert!(backlog.transcript.contains("question 0\n"), "{}", backlog.transcript);
    let upto = backlog.upto;
    chat.on_db(move |db| db.set_summary(upto, "They counted.")).await;
    let after = chat.load("now").await;
    assert!(after.overflow.is_none());
    let text = shown(&after);
    assert!(text.contains("They counted.") && !text.contains("question 5\""));
    // Every turn is either in the summary or shown.
    let folded = backlog.transcript.matches("Person:").count();
    assert_eq!(after.messages.len(), 2 + 2 * (32 - folded));
}

#[tokio::test]
async fn the_summary_of_a_cleared_chat_is_gone() {
    let chat = Chat::new();
    chat.past(short(3)).await;
    chat.on_db(|db| db.set_summary(2, "Old news.")).await;
    chat.on_db(|db| past_turn(db, Cause::Clear, &[], "")).await;
    let loaded = chat.load("now").await;
    assert!(!shown(&loaded).contains("Old news.") && loaded.messages.len() == 2);
    assert!(chat.on_db(usual_backlog).await.is_none());
}

/// What was edited, or asked again, is not shown any more, nor what came of it: in turns, and in the summary.
#[tokio::test]
async fn what_was_taken_the_place_of_is_not_shown() {
    let chat = Chat::new();
    say(&chat, "first", None).await;
    let wrong = say(&chat, "wrnog", None).await;
    say(&chat, "about that", None).await;
    let right = say(&chat, "right", Some(&wrong)).await;
    let text = shown(&chat.load("now").await);
    assert!(text.contains("first") && text.contains("right"), "{text}");
    assert!(!text.contains("wrnog") && !text.contains("about that"), "{text}");
    let righter = say(&chat, "righter", Some(&right)).await;
    say(&chat, "go on", None).await;
    let text = shown(&chat.load("now").await);
    assert!(text.contains("righter") && !text.contains("right\"") && !text.contains("wrnog"));
    assert!(!text.contains("are not shown here"), "nothing is missing: {text}");

    // A summary that tells of it is none of this conversation any more; another is made of what is left.
    let upto = chat.on_db(|db| db.newest((0, i64::MAX), &Replaced::default(), |_| true)).await;
    let upto = upto[0].seq;
    chat.on_db(move |db| db.set_summary(upto, "They were righter.")).await;
    assert!(shown(&chat.load("now").await).contains("They were righter."));
    say(&chat, "no, this", Some(&righter)).await;
    let text = shown(&chat.load("now").await);
    assert!(!text.contains("righter") && !text.contains("go on"), "{text}");
    assert!(text.contains("first") && text.contains("no, this"), "{text}");
    chat.past(short(40)).await;
    let backlog = chat.on_db(usual_backlog).await.unwrap();
    assert!(backlog.summary.is_none() && !backlog.transcript.contains("right"));
    assert!(backlog.transcript.contains("first") && backlog.transcript.contains("no, this"));
    let upto = backlog.upto;
    chat.on_db(move |db| db.set_summary(upto, "They began anew.")).await;
    let text = shown(&chat.load("now").await);
    assert!(text.contains("They began anew.") && !text.contains("righter"), "{text}");
}

#[tokio::test]
async fn documents_of_the_workspace_are_shown_within_bounds() {
    let chat = Chat::new();
    std::fs::write(chat.workspace().join("USER.md"), "Likes tea.").unwrap();
    std::fs::write(chat.workspace().join("MEMORY.md"), "m".repeat(100_000)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", chat.workspace().join("SOUL.md")).unwrap();
    let text = shown(&chat.load("now").await);
    assert!(text.contains("Likes tea.") && !text.contains("root:"));
    assert!(text.len() < 30_000);
}

#[tokio::test]
async fn the_past_is_sized_by_the_window_and_what_is_missing_is_said() {
    let chat = Chat::new();
    let long: Vec<_> = (0..120)
        .map(|n| (format!("question {n} {}", "q".repeat(700)), Vec::new(), format!("answer {n}")))
        .collect();
    chat.past(long).await;
    let (small, usual) = (chat.load_for("now", window(8_000)).await, chat.load("now").await);
    let large = chat.load_for("now", window(200_000)).await;
    let counted = [&small, &usual, &large].map(|loaded| loaded.messages.len());
    assert!(counted[0] < counted[1] && counted[1] < counted[2], "{counted:?}");
    assert_eq!(counted[2], 2 + 2 * 120, "all of it fits");
    assert!(shown(&small).len() < 8_000 * 4, "{}", shown(&small).len());
    let missing = 120 - (counted[0] - 2) / 2;
    let said = format!("{missing} earlier turns of this chat are not shown here");
    assert!(shown(&small).contains(&said), "{said}");
    assert!(!shown(&large).contains("earlier turns"));
}

/// Providers keep what a prompt begins with: how much of one they have read with the turn before.
#[tokio::test]
async fn most_of_a_prompt_is_what_the_turn_before_began_with() {
    let chat = Chat::new();
    std::fs::write(chat.workspace().join("USER.md"), "Likes tea.".repeat(50)).unwrap();
    let (mut same, mut all, mut before) = (0, 0, String::new());
    for n in 0..30 {
        let asked = format!("question {n} {}", "about it ".repeat(20));
        let prompt = shown(&chat.load(&asked).await);
        let common = before.bytes().zip(prompt.bytes()).take_while(|(a, b)| a == b).count();
        if n > 0 {
            (same, all) = (same + common, all + prompt.len());
        }
        before = prompt;
        chat.past(vec![(asked, Vec::new(), format!("answer {n} {}", "so it is ".repeat(40)))])
            .await;
    }
    let share = same * 100 / all;
    println!("{share} % of {all} bytes were read before");
    assert!(share >= 85, "{share} %");
}

#[tokio::test]
async fn a_text_that_is_too_long_for_the_window_is_shown_in_part_and_where_the_rest_is() {
    let chat = Chat::new();
    let huge = format!("BEGINNING {} ENDING", "x".repeat(200_000));
    let small = shown(&chat.load_for(&huge, window(8_000)).await);
    assert!(small.contains("BEGINNING") && small.contains("ENDING"), "both ends are shown");
    assert!(small.contains("bytes left out") && small.contains("let a task read that"));
    assert!(small.len() < 8_000 * 4, "{}", small.len());
    let large = shown(&chat.load_for(&huge, window(200_000)).await);
    assert!(large.len() > 200_000 && !large.contains("left out"));
}
