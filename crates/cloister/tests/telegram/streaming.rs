//! Answers while they are written: they grow, never flicker, never lose a word, and end as one message (A8, X5).

use std::time::Duration;

use cloister_testkit::telegram::{Fault, Pacing, Person, Place};
use cloister_testkit::{Matcher, ModelServer, ModelServerBuilder, Reply};

use crate::world::{World, count};

pub(crate) fn says(word: &str, reply: Reply) -> ModelServerBuilder {
    ModelServer::builder()
        .when(Matcher::last_user_contains(word).and(Matcher::coordinator()), reply)
}

/// How long a draft is shown.
const ALIVE: Duration = Duration::from_secs(30);

const WORDS: &str = "one two three four five six seven eight nine ten eleven twelve";

fn slow_words() -> Reply {
    Reply::text(WORDS).chunks(12).delay(Duration::from_millis(150))
}

/// Each state that was shown is a longer part of the end than the one before.
#[track_caller]
fn grows(shown: &[String], end: &str) {
    let mut before = 0;
    for state in shown {
        let words = state.trim_end_matches(['…', ' ', '▍']);
        assert!(end.starts_with(words), "{words:?} is no part of {end:?}: {shown:#?}");
        assert!(words.len() >= before, "it shrank: {shown:#?}");
        before = words.len();
    }
}

fn drafts(person: &Person, place: &Place) -> Vec<String> {
    person.drafts(place).into_iter().map(|(_, text)| text).filter(|text| !text.is_empty()).collect()
}

/// In a private chat drafts are shown while it is written, all under one number; the end is one message that
/// was never edited.
#[tokio::test]
async fn drafts_grow_into_one_message() {
    let world = World::builder().model(says("count", slow_words())).start().await;
    let (ann, chat) = world.met("ann").await;
    ann.say(&chat, "count");
    let whole = ann.wait_for_text(&chat, WORDS).await;
    assert_eq!(whole.edits, 0, "{:?}", whole.history);
    assert_eq!(count(&ann, &chat, "one two"), 1);
    let shown = drafts(&ann, &chat);
    assert!(shown.len() >= 2, "{shown:?}");
    grows(&shown, WORDS);
    let mut numbers: Vec<i64> = ann.drafts(&chat).into_iter().map(|(id, _)| id).collect();
    numbers.dedup();
    assert_eq!(numbers.len(), 1, "{numbers:?}");
    assert!(ann.draft(&chat).is_none(), "nothing is left of the draft");
    let calls = world.telegram.calls("sendMessageDraft");
    for pair in calls.windows(2) {
        let between = pair[1].at - pair[0].at;
        assert!(between >= Duration::from_millis(250), "{} ms", between.as_millis());
    }
}

/// A server without drafts: the answer grows by edits, is one message, and the edits keep to the pace.
#[tokio::test]
async fn without_drafts_one_message_is_edited() {
    let world = World::builder()
        .model(says("count", slow_words()))
        .config("edit_every_ms = 400", "")
        .start()
        .await;
    let refused =
        Fault::Refuse { code: 404, description: "Not Found: method not found".to_owned() };
    world.telegram.lay("sendMessageDraft", refused);
    let (ann, chat) = world.met("ann").await;
    ann.say(&chat, "count");
    let whole = ann.wait_for_text(&chat, WORDS).await;
    let begun = |text: &String| text.starts_with("one");
    assert_eq!(ann.heard_texts(&chat).iter().filter(|text| begun(text)).count(), 1);
    grows(&whole.history, WORDS);
    let drafts = world.telegram.calls("sendMessageDraft").len();
    ann.say(&chat, "count once more");
    ann.wait_for(&chat, "the second", |seen| seen.id > whole.id && seen.text == WORDS).await;
    assert_eq!(world.telegram.calls("sendMessageDraft").len(), drafts, "it is not tried again");
}

/// In a group an answer grows by edits within twenty in a minute.
#[tokio::test]
async fn in_a_group_an_answer_is_edited_within_the_pace() {
    let world = World::builder()
        .model(says("count", slow_words()))
        .config("group_edit_every_ms = 500", "")
        .start()
        .await;
    let ann = world.person("ann").await;
    let group = world.telegram.group("Club", &[&ann]);
    world.club(&group, &[("ann", "member")]).await;
    group.add_bot(&ann, &world.bot);
    let place = group.place();
    ann.say(&place, "@cloister_bot count");
    let whole = ann.wait_for_text(&place, WORDS).await;
    grows(&whole.history, WORDS);
    assert_eq!(count(&ann, &place, "one"), 1, "{:?}", ann.heard_texts(&place));
    assert!(world.telegram.calls("sendMessageDraft").is_empty(), "drafts are for private chats");
}

/// Telegram at its strictest: one message a second. Every word arrives, once and in order.
#[tokio::test]
async fn a_strict_limit_is_lived_with() {
    let world = World::builder().pacing(Pacing::strict()).start().await;
    let (ann, chat) = world.met("ann").await;
    for number in 0..3 {
        ann.say(&chat, &format!("number {number}"));
    }
    ann.wait_for_text(&chat, "echo: number 2").await;
    let expected: Vec<String> = (0..3).map(|number| format!("echo: number {number}")).collect();
    assert_eq!(crate::world::echoes(&ann, &chat), expected);
}

/// Drafts that fail change nothing about the answer.
#[tokio::test]
async fn drafts_that_fail_lose_no_word() {
    let world = World::builder().model(says("count", slow_words())).start().await;
    let (ann, chat) = world.met("ann").await;
    world.telegram.lay_times("sendMessageDraft", Fault::Status(502), 1);
    world.telegram.lay_times("sendMessageDraft", Fault::Cut, 1);
    world.telegram.lay_times("sendMessageDraft", Fault::TooMany { retry_after: 1 }, 1);
    ann.say(&chat, "count");
    ann.wait_for_text(&chat, WORDS).await;
    assert_eq!(count(&ann, &chat, "one two"), 1);
    grows(&drafts(&ann, &chat), WORDS);
}

/// The message that is being written is deleted by somebody in the group: its end comes as a new one.
#[tokio::test]
async fn an_answer_that_was_deleted_while_it_was_written_is_told_anew() {
    let world = World::builder()
        .model(says("count", slow_words()))
        .config("group_edit_every_ms = 300", "")
        .start()
        .await;
    let ann = world.person("ann").await;
    let group = world.telegram.group("Club", &[&ann]);
    world.club(&group, &[("ann", "member")]).await;
    group.add_bot(&ann, &world.bot);
    let place = group.place();
    let gone = "Bad Request: message to edit not found".to_owned();
    world.telegram.lay("editMessageText", Fault::Refuse { code: 400, description: gone });
    ann.say(&place, "@cloister_bot count");
    let whole = ann.wait_for_text(&place, WORDS).await;
    assert_eq!(whole.edits, 0, "{:?}", whole.history);
    assert_eq!(count(&ann, &place, "twelve"), 1, "{:?}", ann.heard_texts(&place));
}

/// A tool runs for a while in the middle of an answer: what was shown of it does not vanish, as a draft does after half
/// a minute, and stands under the same number.
#[tokio::test]
async fn a_draft_to_which_nothing_is_added_is_shown_on() {
    let (reply, steps) = Reply::text(WORDS).chunks(12).stepped();
    let world = World::builder().model(says("count", reply)).start().await;
    let (ann, chat) = world.met("ann").await;
    steps.allow(4);
    ann.say(&chat, "count");
    let shown = ann.wait_for_draft(&chat, |draft| draft.starts_with("one two")).await;
    let calls = || world.telegram.calls("sendMessageDraft");
    crate::world::eventually("it is shown again", || async {
        let calls = calls();
        let last = calls.last()?;
        let before = calls.iter().rev().nth(1)?;
        let again = last.params["text"] == before.params["text"] && last.at - before.at > ALIVE / 2;
        again.then_some(())
    })
    .await;
    assert!(ann.draft(&chat).is_some_and(|draft| draft.starts_with(&shown)));
    let calls = calls();
    let numbers: Vec<_> = calls.iter().map(|call| call.params["draft_id"].as_i64()).collect();
    assert!(numbers.iter().all(|number| *number == numbers[0]), "{numbers:?}");
    assert!(calls.windows(2).all(|pair| pair[1].at - pair[0].at < ALIVE), "it was gone between");
    steps.allow(20);
    ann.wait_for_text(&chat, WORDS).await;
}

/// The button that stops an answer: it is offered, and what is being done ends as with `/cancel`.
#[tokio::test]
async fn an_answer_can_be_stopped_where_it_is_shown() {
    let (reply, steps) = Reply::text(WORDS).chunks(12).stepped();
    let world = World::builder().model(says("count", reply)).start().await;
    let (ann, chat) = world.met("ann").await;
    steps.allow(4);
    ann.say(&chat, "count");
    ann.wait_for_draft(&chat, |draft| draft.starts_with("one two")).await;
    ann.stop(&chat);
    ann.wait_for_words(&chat, "I stop what I was saying").await;
    steps.allow(20);
    ann.ask(&chat, "hello", "echo: hello").await;
}
