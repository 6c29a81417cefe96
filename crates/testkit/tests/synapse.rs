//! The homeserver that tests share is one, is real, and can be made to misbehave.

use std::time::{Duration, Instant};

use cloister_testkit::synapse::{Fault, FaultProxy, PlainPerson, Synapse, SynapseError};

const PATIENCE: Duration = Duration::from_secs(30);

async fn synapse() -> Synapse {
    Synapse::shared().await.unwrap_or_else(|error| panic!("{error}"))
}

#[tokio::test]
async fn two_people_talk() {
    let synapse = synapse().await;
    let mut ann = PlainPerson::register(&synapse, "ann").await.unwrap();
    let mut bob = PlainPerson::register(&synapse, "bob").await.unwrap();
    let room = ann.invite(bob.id()).await.unwrap();
    bob.until("the room", PATIENCE, |bob| bob.rooms().any(|r| r == room).then_some(()))
        .await
        .unwrap();
    ann.say(&room, "hello").await.unwrap();
    let heard = bob.until("a word", PATIENCE, |bob| bob.heard(&room).pop()).await.unwrap();
    assert_eq!((heard.text.as_str(), heard.sender.as_str()), ("hello", ann.id()));
    ann.sync().await.unwrap();
    assert_eq!(ann.posts(&room), bob.posts(&room));
    assert_eq!(ann.history(&room).await.unwrap(), bob.posts(&room));
}

#[tokio::test]
async fn an_account_can_be_limited_and_thrown_out() {
    let synapse = synapse().await;
    let ann = PlainPerson::register(&synapse, "ann").await.unwrap();
    let room = ann.invite("@nobody:localhost").await.unwrap();
    synapse.limit(ann.id(), 1, 1).await.unwrap();
    let mut refused = None;
    for _ in 0..5 {
        refused = refused.or(ann.say(&room, "quick").await.err());
    }
    assert!(matches!(refused, Some(SynapseError::Refused { status: 429, .. })), "{refused:?}");
    synapse.unlimit(ann.id()).await.unwrap();
    let device = &ann.account().device_id;
    assert_eq!(synapse.devices(ann.id()).await.unwrap(), std::slice::from_ref(device));
    synapse.revoke(ann.id(), device).await.unwrap();
    let refused = ann.say(&room, "still here?").await;
    assert!(matches!(refused, Err(SynapseError::Refused { status: 401, .. })), "{refused:?}");
}

#[tokio::test]
async fn a_swallowed_answer_is_an_event_that_happened() {
    let synapse = synapse().await;
    let proxy = FaultProxy::before(&synapse).await.unwrap();
    let account = synapse.register("ann").await.unwrap();
    let ann = PlainPerson::at(&proxy.url(), account);
    let room = ann.invite("@nobody:localhost").await.unwrap();
    let began = Instant::now();
    proxy.lay_times("/send/", Fault::Swallow, 1);
    ann.say(&room, "one").await.unwrap_err();
    proxy.lay_times("/send/", Fault::Cut, 1);
    ann.say(&room, "two").await.unwrap_err();
    proxy.lay_times("/send/", Fault::TooMany { retry_after_ms: 5 }, 1);
    let refused = ann.say(&room, "three").await;
    assert!(matches!(refused, Err(SynapseError::Refused { status: 429, .. })), "{refused:?}");
    assert_eq!(proxy.pending(), 0);
    ann.say(&room, "four").await.unwrap();
    assert_eq!(proxy.count_since(began, "/send/"), 4);
    let texts: Vec<String> =
        ann.history(&room).await.unwrap().into_iter().map(|post| post.text).collect();
    assert_eq!(texts, ["one", "four"]);
}

#[tokio::test]
async fn events_are_told_twice_and_out_of_order() {
    let synapse = synapse().await;
    let proxy = FaultProxy::before(&synapse).await.unwrap();
    let account = synapse.register("ann").await.unwrap();
    let mut ann = PlainPerson::at(&proxy.url(), account);
    let room = ann.invite("@nobody:localhost").await.unwrap();
    ann.sync().await.unwrap();
    ann.say(&room, "one").await.unwrap();
    proxy.lay_times("/sync", Fault::HoldEvents, 1);
    ann.sync().await.unwrap();
    assert!(ann.posts(&room).is_empty());
    ann.say(&room, "two").await.unwrap();
    ann.sync().await.unwrap();
    let texts: Vec<String> = ann.posts(&room).into_iter().map(|post| post.text).collect();
    assert_eq!(texts, ["two", "one"]);
    ann.say(&room, "three").await.unwrap();
    proxy.lay_times("/sync", Fault::RepeatEvents, 1);
    ann.sync().await.unwrap();
    let texts: Vec<String> = ann.posts(&room).into_iter().map(|post| post.text).collect();
    assert_eq!(texts, ["two", "one", "three"]);
    assert_eq!(ann.told_again(), 2);
}
