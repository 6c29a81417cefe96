//! What a surface can answer other than "done".

use cloister_store::Actor;
use std::sync::Mutex;

use super::*;

/// When a conversation was tried, and what becomes of it there.
fn tried(fake: &Fake, at: &'static str, why: SendError) -> Arc<Mutex<Vec<Instant>>> {
    let times = Arc::<Mutex<Vec<Instant>>>::default();
    let noted = Arc::clone(&times);
    fake.judge(move |name, _| {
        (name == at).then(|| {
            noted.lock().unwrap().push(Instant::now());
            why.clone()
        })
    });
    times
}

fn shortest_pause(times: &Mutex<Vec<Instant>>) -> Duration {
    let times = times.lock().unwrap();
    times.windows(2).map(|two| two[1] - two[0]).min().unwrap()
}

/// X1: a conversation that has to wait does so alone, is not asked without pause, and loses nothing.
#[tokio::test]
async fn who_asks_to_wait_is_waited_for_alone() {
    let world = World::new().await;
    let (slow, quick) = (world.place("!slow").await, world.place("!quick").await);
    let fake = world.fake();
    let asked = Duration::from_millis(300);
    let times = tried(&fake, "!slow", SendError::Wait(asked));
    world.answered(&slow, "slow").await;
    world.answered(&quick, "quick").await;
    let courier = world.carry(&fake, brisk());
    world.told(&quick).await;
    until("it was asked again", async || times.lock().unwrap().len() >= 3).await;
    assert!(shortest_pause(&times) >= asked, "{times:?}");
    assert!(fake.texts(slow.id).is_empty());
    fake.all_well();
    world.told(&slow).await;
    assert_eq!(fake.texts(slow.id), ["slow"]);
    let counted = world.control.status().metrics_text().await;
    assert!(counted.contains("cloister_post_waits_total{surface=\"matrix\"}"), "{counted}");
    courier.stopped().await;
}

/// X1: a surface that is down is not tried without pause, and told everything when it is back.
#[tokio::test]
async fn who_is_down_is_told_everything_when_it_is_back() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    let times = tried(&fake, "!a", SendError::Unreachable("down".to_owned()));
    for text in ["one", "two"] {
        world.answered(&place, text).await;
    }
    let courier = world.carry(&fake, brisk());
    until("it was tried", async || times.lock().unwrap().len() >= 6).await;
    assert!(shortest_pause(&times) >= brisk().first_retry.mul_f64(0.75), "{times:?}");
    fake.all_well();
    world.told(&place).await;
    assert_eq!(fake.texts(place.id), ["one", "two"]);
    courier.stopped().await;
}

/// X1: what a surface never takes, although it takes other things, is given up with a sentence after a few tries,
/// and what comes after it is told.
#[tokio::test]
async fn what_is_announced_in_vain_again_and_again_is_given_up() {
    let world = World::new().await;
    let fake = Arc::new(Fake::new(world.connector.id).forgetful());
    let place = world.place("!a").await;
    let first = Arc::<Mutex<Option<String>>>::default();
    fake.judge(move |_, key| {
        let bad = first.lock().unwrap().get_or_insert_with(|| key.to_owned()).clone();
        (key == bad).then(|| SendError::Unreachable("it answered 500".to_owned()))
    });
    world.answered(&place, "never taken").await;
    world.answered(&place, "after it").await;
    let courier = world.carry(&fake, Pace { first_retry: Duration::from_millis(1), ..brisk() });
    world.told(&place).await;
    let texts = fake.texts(place.id);
    let notices = texts.iter().filter(|text| text.contains("I was interrupted")).count();
    assert_eq!(notices, 6, "{texts:#?}");
    let rest = &texts[notices..];
    assert!(rest[0].contains("could not be shown here (`it answered 500`)"), "{texts:#?}");
    assert_eq!(rest[1..], ["after it"]);
    courier.stopped().await;
}

/// What is owed to a conversation that is gone stays, and is told when it is back.
#[tokio::test]
async fn a_conversation_that_is_gone_gets_what_it_is_owed_when_it_is_back() {
    let world = World::new().await;
    let (place, fake) = (world.place("!gone").await, world.fake());
    let mut first = true;
    fake.judge(move |_, _| {
        let told = std::mem::take(&mut first);
        (!told).then(|| SendError::Gone("she left".to_owned()))
    });
    world.answered(&place, "one").await;
    world.answered(&place, "two").await;
    let courier = world.carry(&fake, brisk());
    until("it is known to be gone", async || {
        let now =
            world.store().conversations().conversation_by_id(place.id).await.unwrap().unwrap();
        now.broken.as_deref() == Some("she left")
    })
    .await;
    let calls = fake.seen().calls;
    tokio::time::sleep(brisk().look_every * 3).await;
    assert_eq!(fake.seen().calls, calls, "it is not tried any more");
    let audited = world.store().audit().audit_tail(10).await.unwrap();
    assert!(audited.iter().any(|entry| entry.action == "conversation.broken"), "{audited:?}");
    fake.all_well();
    world.place("!gone").await;
    world.told(&place).await;
    assert_eq!(fake.texts(place.id), ["one", "two"]);
    courier.stopped().await;
}

/// What a surface will never take is replaced by a sentence, and does not hold up what comes after it.
#[tokio::test]
async fn what_is_refused_is_replaced_and_the_rest_goes_on() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    let row = world.writes(&place).await;
    let key = format!("t-m{row}/0");
    fake.judge(move |_, asked| (asked == key).then(|| SendError::Refused("no `emoji`".to_owned())));
    world.ends(row, "a terrible answer").await;
    world.answered(&place, "a fine one").await;
    let courier = world.carry(&fake, brisk());
    world.told(&place).await;
    let texts = fake.texts(place.id);
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(
        texts[0].starts_with("notice: An answer could not be shown here (`no 'emoji'`)"),
        "{texts:?}"
    );
    assert_eq!(texts[1], "a fine one");
    // Not even the sentence is taken.
    fake.judge(|_, key| key.contains("o").then(|| SendError::Refused("no".to_owned())));
    world.notices("refused").await;
    world.answered(&place, "still there").await;
    world.told(&place).await;
    assert_eq!(fake.texts(place.id).last().map(String::as_str), Some("still there"));
    courier.stopped().await;
}

/// What is to be told where no room was made yet waits for it.
#[tokio::test]
async fn a_conversation_that_is_not_made_yet_is_told_when_it_is() {
    let world = World::new().await;
    let fake = world.fake();
    let mut new = NewConversation {
        connector: world.connector.id,
        external_id: None,
        chat: (world.ada.workspace, C1),
        kind: ConversationKind::Room,
        user: Some(world.ada.id),
    };
    let wanted = world.store().conversations().put_conversation(&new).await.unwrap();
    let courier = world.carry(&fake, brisk());
    world.answered(&wanted, "welcome").await;
    tokio::time::sleep(brisk().look_every * 2).await;
    assert_eq!(fake.seen().calls, 0);
    new.external_id = Some("!made".to_owned());
    world.store().conversations().put_conversation(&new).await.unwrap();
    world.told(&wanted).await;
    assert_eq!(fake.texts(wanted.id), ["welcome"]);
    courier.stopped().await;
}

/// I3: what is taken back while the rows before it are told is not told, though it was looked at before.
#[tokio::test]
async fn what_is_taken_back_is_not_told() {
    let world = World::new().await;
    let new = NewConversation {
        connector: world.connector.id,
        external_id: Some("!ops".to_owned()),
        chat: (world.club.workspace, C1),
        kind: ConversationKind::Shared,
        user: None,
    };
    let place = world.store().conversations().put_conversation(&new).await.unwrap();
    world
        .store()
        .outbox()
        .set_admin_hub(&Actor::person("root"), place.connector, Some(&place))
        .await
        .unwrap();
    let hub = world.store().outbox().admin_hubs().await.unwrap().remove(0);
    for number in 0..10 {
        let key = format!("stop-{number}");
        world.store().outbox().tell_hub(&hub, &key, "stopped").await.unwrap().unwrap();
    }
    let fake = Arc::new(Fake::new(world.connector.id).slow(Duration::from_millis(200)));
    let courier = world.carry(&fake, brisk());
    until("the first is told", async || !fake.texts(place.id).is_empty()).await;
    world
        .store()
        .outbox()
        .set_admin_hub(&Actor::person("root"), place.connector, None)
        .await
        .unwrap();
    until("nothing is to be told", async || {
        world.store().outbox().to_tell(place.id).await.unwrap().is_empty()
    })
    .await;
    courier.stopped().await;
    let told = fake.texts(place.id).len();
    assert!(told <= 3, "{told} of 10 were told");
}
