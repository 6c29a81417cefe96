//! A Telegram that misbehaves: nothing is lost, nothing is doubled, nobody is hammered, and the operator sees it
//! (X1, X11).

use std::time::{Duration, Instant};

use cloister_testkit::telegram::{Fault, Person, Place};

use crate::world::{World, count, echoes, eventually};

/// Long enough to tell patience from a busy loop.
const WATCHED: Duration = Duration::from_secs(2);
/// The most requests that somebody who waits between attempts makes in that time.
const PATIENT: usize = 20;

async fn met() -> (World, Person, Place) {
    let world =
        World::builder().config("request_timeout_s = 3\npoll_timeout_s = 1", "").start().await;
    let (ann, chat) = world.met("ann").await;
    (world, ann, chat)
}

/// Each of these was answered once, in this order.
async fn answered_once(person: &Person, place: &Place, said: &[&str]) {
    let expected: Vec<String> = said.iter().map(|text| format!("echo: {text}")).collect();
    for answer in &expected {
        person.wait_for_text(place, answer).await;
    }
    // Another one behind them: whatever was to come before it has come.
    person.ask(place, "the last", "echo: the last").await;
    let mut wanted = expected;
    wanted.push("echo: the last".to_owned());
    assert_eq!(echoes(person, place), wanted, "{:#?}", person.heard_texts(place));
}

async fn is_patient(world: &World) {
    let since = Instant::now();
    tokio::time::sleep(WATCHED).await;
    let asked = world.telegram.count_since(since);
    assert!(asked <= PATIENT, "{asked} requests in {} s", WATCHED.as_secs());
}

/// Telegram can't be reached: it is tried again with patience, the operator sees it, and what was said meanwhile
/// is answered when it is back.
#[tokio::test]
async fn an_unreachable_telegram_is_waited_for() {
    let (mut world, ann, chat) = met().await;
    world.telegram.go_down().await;
    ann.say(&chat, "one");
    ann.say(&chat, "two");
    let view = world.until_state("retrying").await;
    assert!(view["problem"].as_str().is_some_and(|problem| !problem.is_empty()), "{view}");
    let status = world.stack.cli(&["telegram", "status"]).await.unwrap();
    assert!(status.stdout.contains("trying again"), "{status:?}");
    world.telegram.come_back().await.unwrap();
    world.until_state("connected").await;
    answered_once(&ann, &chat, &["one", "two"]).await;
}

/// Pages instead of answers, on everything, and then on sends alone.
#[tokio::test]
async fn server_errors_pass() {
    let (world, ann, chat) = met().await;
    world.telegram.lay("", Fault::Status(502));
    ann.say(&chat, "one");
    world.until_state("retrying").await;
    is_patient(&world).await;
    world.telegram.heal();
    ann.wait_for_text(&chat, "echo: one").await;
    world.telegram.lay_times("sendMessage", Fault::Status(500), 2);
    ann.say(&chat, "two");
    answered_once(&ann, &chat, &["one", "two"]).await;
}

/// 429 with a time: it is waited that long, not asked before.
#[tokio::test]
async fn too_many_requests_are_answered_with_waiting() {
    let (world, ann, chat) = met().await;
    world.telegram.lay_times("sendMessage", Fault::TooMany { retry_after: 2 }, 1);
    let since = Instant::now();
    ann.say(&chat, "one");
    ann.wait_for_text(&chat, "echo: one").await;
    let calls = world.telegram.calls("sendMessage");
    // Drafts are named alike, but are another method.
    let sends: Vec<_> = calls.iter().filter(|call| call.at >= since).collect();
    let refused = sends.iter().position(|call| call.code == 429);
    let waited = match refused {
        Some(at) => sends[at + 1].at - sends[at].at,
        None => {
            let drafts = world.telegram.calls("sendMessageDraft");
            let refused = drafts.iter().find(|call| call.code == 429).unwrap();
            sends[0].at - refused.at
        }
    };
    assert!(waited >= Duration::from_millis(1_900), "asked again after {} ms", waited.as_millis());
    answered_once(&ann, &chat, &["one"]).await;
}

/// A poll that hangs is given up and asked again; a slow one is no fault.
#[tokio::test]
async fn hanging_and_slow_polls() {
    let world =
        World::builder().config("request_timeout_s = 1\npoll_timeout_s = 1", "").start().await;
    let (ann, chat) = world.met("ann").await;
    world.telegram.lay_times("getUpdates", Fault::Hang, 1);
    ann.say(&chat, "one");
    ann.wait_for_text(&chat, "echo: one").await;
    world.telegram.lay("getUpdates", Fault::Delay(Duration::from_millis(700)));
    ann.say(&chat, "two");
    ann.wait_for_text(&chat, "echo: two").await;
    world.telegram.heal();
    answered_once(&ann, &chat, &["one", "two"]).await;
}

/// The answer to a poll was lost: the updates are told again, and taken once.
#[tokio::test]
async fn updates_whose_telling_was_lost_are_not_lost() {
    let (world, ann, chat) = met().await;
    world.telegram.lay_times("getUpdates", Fault::Swallow, 2);
    ann.say(&chat, "one");
    ann.wait_for_text(&chat, "echo: one").await;
    world.telegram.lay_times("getUpdates", Fault::RepeatUpdates, 3);
    ann.say(&chat, "two");
    answered_once(&ann, &chat, &["one", "two"]).await;
    assert_eq!(world.model.request_count(), 3);
}

/// Telegram took a message and its answer was lost: it is there, at most once more, and then says so.
#[tokio::test]
async fn a_send_whose_answer_is_lost() {
    let (world, ann, chat) = met().await;
    world.telegram.lay_times("sendMessage", Fault::Swallow, 1);
    ann.say(&chat, "one");
    ann.wait_for_words(&chat, "echo: one").await;
    ann.ask(&chat, "the last", "echo: the last").await;
    assert!(count(&ann, &chat, "echo: one") <= 2, "{:?}", ann.heard_texts(&chat));
    crate::restart::repetitions_are_announced(&ann, &chat, "echo: one");
}

/// X1: an update is confirmed only once it is stored: while nothing can be stored, nothing is confirmed.
#[tokio::test]
async fn updates_are_confirmed_after_they_are_stored() {
    let (mut world, ann, chat) = met().await;
    world.stack.stop().await.unwrap();
    for number in 0..3 {
        ann.say(&chat, &format!("number {number}"));
    }
    assert_eq!(world.telegram.unconfirmed(&world.bot), 3);
    world.stack.restart().await.unwrap();
    answered_once(&ann, &chat, &["number 0", "number 1", "number 2"]).await;
    eventually("all is confirmed", || async {
        (world.telegram.unconfirmed(&world.bot) == 0).then_some(())
    })
    .await;
    let offsets: Vec<i64> = world
        .telegram
        .calls("getUpdates")
        .iter()
        .filter_map(|call| call.params["offset"].as_i64())
        .collect();
    assert!(offsets.is_sorted(), "an offset never goes back: {offsets:?}");
}

/// The person blocks the bot: nothing is tried for ever, others are served, and when they are back so is what
/// was to be said.
#[tokio::test]
async fn a_blocked_bot_waits_for_its_person() {
    let (world, ann, chat) = met().await;
    let (bob, bobs) = world.met("bob").await;
    ann.say(&chat, "run: sleep 1; echo the cake is ready");
    world.told_model("the cake is ready").await;
    ann.block(&world.bot);
    bob.ask(&bobs, "hello", "echo: hello").await;
    is_patient(&world).await;
    world.until_state("connected").await;
    ann.unblock(&world.bot);
    ann.ask(&chat, "I am back", "echo: I am back").await;
    ann.wait_for_words(&chat, "the cake is ready").await;
}

/// An account that is gone holds nobody up.
#[tokio::test]
async fn a_person_who_is_gone_holds_nobody_up() {
    let (world, ann, chat) = met().await;
    let (bob, bobs) = world.met("bob").await;
    ann.say(&chat, "run: sleep 1; echo for nobody");
    world.told_model("for nobody").await;
    ann.vanish(&world.bot);
    bob.ask(&bobs, "hello", "echo: hello").await;
    is_patient(&world).await;
    world.until_state("connected").await;
}

/// A group that was deleted holds nobody up.
#[tokio::test]
async fn a_group_that_is_gone_holds_nobody_up() {
    let (world, ann, chat) = met().await;
    let group = world.telegram.group("Club", &[&ann]);
    world.club(&group, &[("ann", "member")]).await;
    group.add_bot(&ann, &world.bot);
    let (reply, steps) = cloister_testkit::Reply::text("too late").chunks(2).stepped();
    world.model.enqueue(reply);
    ann.say(&group.place(), "@cloister_bot something");
    world.told_model("something").await;
    group.vanish();
    steps.allow(10);
    ann.ask(&chat, "hello", "echo: hello").await;
    is_patient(&world).await;
    world.until_state("connected").await;
}

/// A group becomes a supergroup, with a word and without: it stays the context that it was, and nothing is lost.
#[tokio::test]
async fn a_migrated_group_stays_what_it_was() {
    let (world, ann, _) = met().await;
    let mut group = world.telegram.basic_group("Club", &[&ann]);
    world.club(&group, &[("ann", "member")]).await;
    group.add_bot(&ann, &world.bot);
    ann.ask(&group.place(), "@cloister_bot the word is aubergine", "aubergine").await;
    group.migrate();
    ann.ask(&group.place(), "@cloister_bot which word?", "which word?").await;
    let seen = world.model.requests().pop().unwrap().body.to_string();
    assert!(seen.contains("aubergine"), "it is the same chat");
}

/// The bot learns of the new number only when it writes: the answer goes there.
#[tokio::test]
async fn an_answer_follows_a_group_that_moved() {
    let (world, ann, _) = met().await;
    let mut group = world.telegram.basic_group("Club", &[&ann]);
    world.club(&group, &[("ann", "member")]).await;
    group.add_bot(&ann, &world.bot);
    let (reply, steps) = cloister_testkit::Reply::text("here you are").chunks(2).stepped();
    world.model.enqueue(reply);
    ann.say(&group.place(), "@cloister_bot something");
    world.told_model("something").await;
    group.migrate_silently();
    steps.allow(10);
    ann.wait_for_text(&group.place(), "here you are").await;
}

/// The new number is another context already: the answer is not for those there, and is not tried for ever.
#[tokio::test]
async fn an_answer_does_not_follow_into_another_context() {
    let (world, ann, _) = met().await;
    let mut group = world.telegram.basic_group("Club", &[&ann]);
    world.club(&group, &[("ann", "member")]).await;
    group.add_bot(&ann, &world.bot);
    let (reply, steps) = cloister_testkit::Reply::text("here you are").chunks(2).stepped();
    world.model.enqueue(reply);
    ann.say(&group.place(), "@cloister_bot something");
    world.told_model("something").await;
    let there = format!("--conversation={}", group.migrate_silently());
    let add = ["context", "add", "other", "--in", "club", "--surface", "telegram", &there];
    world.stack.cli_ok(&add).await.unwrap();
    steps.allow(10);
    eventually("it is tried", || async {
        let tried = world.telegram.calls("sendMessage");
        (!tried.is_empty()).then_some(())
    })
    .await;
    ann.ask(&group.place(), "@cloister_bot hello", "echo: hello").await;
    is_patient(&world).await;
    assert_eq!(crate::world::count(&ann, &group.place(), "here you are"), 0);
}

/// Two control planes poll with one token: each is told, neither hammers, and the operator reads what is wrong.
#[tokio::test]
async fn two_pollers_are_told_apart() {
    let (world, ann, chat) = met().await;
    let conflict = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is \
                    running";
    world.telegram.lay("getUpdates", Fault::Refuse { code: 409, description: conflict.to_owned() });
    let view = eventually("it is said", || async {
        let view = world.bot_view().await;
        view["problem"].as_str().is_some_and(|problem| !problem.is_empty()).then_some(view)
    })
    .await;
    assert!(!view.to_string().contains(&world.bot.token), "{view}");
    is_patient(&world).await;
    world.telegram.heal();
    world.until_state("connected").await;
    ann.ask(&chat, "hello", "echo: hello").await;
}

/// The token is revoked: no hammering, the operator is told what to do, and adding the bot again picks up what
/// was said meanwhile.
#[tokio::test]
async fn a_revoked_token_needs_an_operator() {
    let (mut world, ann, chat) = met().await;
    world.bot = world.telegram.revoke(&world.bot);
    let view = world.until_state("logged_out").await;
    let problem = view["problem"].as_str().unwrap_or_default();
    assert!(problem.contains("telegram add"), "{problem}");
    let status = world.stack.cli(&["telegram", "status"]).await.unwrap();
    assert_eq!(status.code, Some(1), "{status:?}");
    is_patient(&world).await;
    ann.say(&chat, "one");
    world.add_bot(&world.bot, &[]).await;
    answered_once(&ann, &chat, &["one"]).await;
    let listed = world.json(&["telegram", "list"]).await;
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
}

/// A start without Telegram does not fail and waits for it.
#[tokio::test]
async fn a_start_without_telegram_waits_for_it() {
    let (mut world, ann, chat) = met().await;
    world.stack.stop().await.unwrap();
    world.telegram.go_down().await;
    ann.say(&chat, "one");
    world.stack.restart().await.unwrap();
    world.until_state("retrying").await;
    world.telegram.come_back().await.unwrap();
    answered_once(&ann, &chat, &["one"]).await;
}

/// X1: an update that can't be read, and one of somebody about whom nothing can be read, hold up nobody: it goes on
/// behind them, over a restart too; the one is on record, the other is taken when that has passed.
#[tokio::test]
async fn poison_holds_up_nobody() {
    let (mut world, ann, chat) = met().await;
    let (bob, bobs) = world.met("bob").await;
    bob.ask(&bobs, "hello", "echo: hello").await;
    let unreadable = serde_json::json!({"message_id": "seven", "chat": [], "text": "poison"});
    let number = world.telegram.push_update(&world.bot, "message", unreadable);
    answered_once(&ann, &chat, &[]).await;
    let name = |from: &str, to: &str| {
        let db = rusqlite::Connection::open(world.stack.data().join("cloister.db")).unwrap();
        let renamed = db.execute("UPDATE users SET name = ?2 WHERE name = ?1", [from, to]);
        assert_eq!(renamed.unwrap(), 1);
    };
    name("bob", "b o b");
    bob.say(&bobs, "one");
    ann.ask(&chat, "behind them", "echo: behind them").await;
    eventually("all is confirmed", || async {
        (world.telegram.unconfirmed(&world.bot) == 0).then_some(())
    })
    .await;
    assert_eq!(count(&bob, &bobs, "echo: one"), 0, "it was not taken yet");
    name("b o b", "bob");
    let audit = world.stack.cli_ok(&["audit", "tail"]).await.unwrap();
    assert!(audit.contains("message.dropped") && audit.contains(&number.to_string()), "{audit}");
    world.stack.kill().await.unwrap();
    world.stack.restart().await.unwrap();
    bob.wait_for_text(&bobs, "echo: one").await;
    ann.ask(&chat, "and on", "echo: and on").await;
    assert_eq!(count(&bob, &bobs, "echo: one"), 1);
    let offsets: Vec<i64> = world
        .telegram
        .calls("getUpdates")
        .iter()
        .filter_map(|call| call.params["offset"].as_i64())
        .collect();
    assert!(offsets.is_sorted(), "an offset never goes back: {offsets:?}");
}
