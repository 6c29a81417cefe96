//! A8: answers that are shown while they are being written, and typing.

use super::*;

const FIRST: &str = "The beginning of an answer";

fn whole() -> String {
    format!("{FIRST} that is longer than one message. {}", "It goes on. ".repeat(30))
}

#[tokio::test]
async fn an_answer_is_shown_while_it_is_being_written_and_its_end_replaces_it() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    let courier = world.carry(&fake, brisk());
    let row = world.writes(&place).await;
    world.chunk(row, 0, FIRST);
    let shown = || fake.texts(place.id);
    until("it is shown", async || shown() == [format!("unfinished: {FIRST}")]).await;
    assert_eq!(fake.message(place.id, 0).origin.as_deref(), Some("$hello"));
    world.chunk(row, 1, " that goes on");
    until("it grows", async || shown() == [format!("unfinished: {FIRST} that goes on")]).await;
    // Another model begins anew.
    world.says(AgentFrame::Update(Update::Restart { turn: turn(row) }));
    world.chunk(row, 0, "Something else");
    until("it is another", async || shown() == ["unfinished: Something else"]).await;
    world.ends(row, &whole()).await;
    world.told(&place).await;
    assert_eq!(shown(), messages(&whole()));
    courier.stopped().await;
}

/// The later messages of a long answer grow as the first one does; what was shown and is no part of
/// the answer in the end says so.
#[tokio::test]
async fn a_long_answer_is_shown_message_by_message() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    let courier = world.carry(&fake, brisk());
    let row = world.writes(&place).await;
    let whole = whole();
    let pieces = messages(&whole);
    assert!(pieces.len() >= 3, "{pieces:?}");
    let (head, tail) = whole.split_at(whole.len() - 30);
    world.chunk(row, 0, head);
    let shown = || fake.texts(place.id);
    let so_far = |text: &str| -> Vec<String> {
        messages(text).iter().map(|piece| format!("unfinished: {piece}")).collect()
    };
    until("all of it is shown", async || shown() == so_far(head)).await;
    world.chunk(row, 1, tail);
    until("the last one grows", async || shown() == so_far(&whole)).await;
    // Another model begins anew, and says less.
    world.says(AgentFrame::Update(Update::Restart { turn: turn(row) }));
    world.chunk(row, 0, "Short");
    until("it is short", async || shown().first().is_some_and(|first| first.ends_with("Short")))
        .await;
    world.ends(row, "Short.").await;
    world.told(&place).await;
    let told = shown();
    assert_eq!(told.first().map(String::as_str), Some("Short."));
    assert!(told.iter().skip(1).all(|rest| rest == "*This part was taken back.*"), "{told:?}");
    assert_eq!(told.len(), pieces.len());
    courier.stopped().await;
}

/// What is written of a long answer is split once, and not all of it again for each piece that is shown: showing
/// the second half of one costs no more than showing the first.
#[tokio::test]
async fn a_long_answer_costs_as_much_at_its_end_as_at_its_beginning() {
    let world = World::new().await;
    let place = world.place("!a").await;
    let fake = Arc::new(Fake::new(world.connector.id).asked());
    let courier = world.carry(&fake, brisk());
    let row = world.writes(&place).await;
    let mut costs = Vec::new();
    for number in 0..24_u32 {
        let marker = format!("sentence {number} ends");
        world.chunk(row, number, &format!("{}{marker}. ", "It goes on. ".repeat(12)));
        until("it is shown", async || {
            fake.texts(place.id).iter().any(|text| text.contains(&marker))
        })
        .await;
        costs.push(std::mem::take(&mut fake.seen().measured));
    }
    let (first, second) = costs.split_at(costs.len() / 2);
    let (first, second) = (first.iter().sum::<usize>(), second.iter().sum::<usize>());
    assert!(second < first * 2, "{costs:?}");
    courier.stopped().await;
}

#[tokio::test]
async fn a_short_answer_is_one_message_that_was_never_edited() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    let pace = Pace { first_after: Duration::from_secs(5), ..brisk() };
    let courier = world.carry(&fake, pace);
    let row = world.writes(&place).await;
    world.chunk(row, 0, "Yes");
    world.chunk(row, 1, ".");
    world.ends(row, "Yes.").await;
    world.told(&place).await;
    assert_eq!(fake.texts(place.id), ["Yes."]);
    assert_eq!(fake.message(place.id, 0).edits, 0);
    courier.stopped().await;
}

/// Killed while an answer is being shown, whatever was there of it: in the end it is there once.
#[tokio::test]
async fn killed_while_it_is_being_written_the_answer_is_there_once() {
    let world = World::new().await;
    let fake = world.fake();
    let whole = whole();
    for got_there in [false, true] {
        for call in 0..5 {
            let place = world.place(&format!("!{got_there}{call}")).await;
            fake.kill(Some(Kill { call, got_there }));
            let courier = world.carry(&fake, brisk());
            let row = world.writes(&place).await;
            let shown = async |text: &str| {
                let here =
                    || fake.texts(place.id).first().is_some_and(|first| first.ends_with(text));
                tokio::select! {
                    () = fake.killed.notified() => true,
                    () = until("it is shown", async || here()) => false,
                }
            };
            world.chunk(row, 0, FIRST);
            let mut killed = shown(FIRST).await;
            if !killed {
                world.chunk(row, 1, " that goes on");
                killed = shown("goes on").await;
            }
            if !killed {
                world.ends(row, &whole).await;
                tokio::select! {
                    () = fake.killed.notified() => {}
                    () = world.told(&place) => {}
                }
            }
            courier.killed().await;
            fake.kill(None);
            let courier = world.carry(&fake, brisk());
            if killed {
                // The turn goes on after the restart, from its beginning.
                world.chunk(row, 0, "Anew");
                world.ends(row, &whole).await;
            }
            world.told(&place).await;
            assert_eq!(
                fake.texts(place.id),
                messages(&whole),
                "killed in call {call}, {got_there}"
            );
            courier.killed().await;
        }
    }
}

/// A surface that asks to wait is edited less often, and gets the end.
#[tokio::test]
async fn who_asks_to_wait_gets_fewer_edits_and_the_end() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    let courier = world.carry(&fake, brisk());
    let row = world.writes(&place).await;
    fake.judge(|_, key| {
        (!key.ends_with("/end")).then_some(SendError::Wait(Duration::from_millis(20)))
    });
    let began = Instant::now();
    for seq in 0..50 {
        world.chunk(row, seq, "x");
        tokio::time::sleep(Duration::from_millis(4)).await;
    }
    let (calls, took) = (fake.seen().calls, began.elapsed());
    assert!(calls < 8 + usize::try_from(took.as_millis() / 80).unwrap(), "{calls} in {took:?}");
    fake.all_well();
    world.ends(row, "the end").await;
    world.told(&place).await;
    assert_eq!(fake.texts(place.id), ["the end"]);
    courier.stopped().await;
}

/// What can't be edited any more is posted anew: nothing of an answer is lost.
#[tokio::test]
async fn an_end_that_can_not_replace_what_was_shown_is_posted_anew() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    let courier = world.carry(&fake, brisk());
    let row = world.writes(&place).await;
    world.chunk(row, 0, FIRST);
    until("it is shown", async || fake.texts(place.id).len() == 1).await;
    fake.judge(|_, key| key.ends_with("/end").then(|| SendError::Refused("too old".to_owned())));
    world.ends(row, "the end").await;
    world.told(&place).await;
    assert_eq!(fake.texts(place.id), [format!("unfinished: {FIRST}"), "the end".to_owned()]);
    courier.stopped().await;
}

/// Typing is shown from the moment a message is stored until its answer is told, again and again.
#[tokio::test]
async fn typing_is_shown_until_the_answer_is_told() {
    let world = World::new().await;
    let (place, other, fake) = (world.place("!a").await, world.place("!b").await, world.fake());
    let courier = world.carry(&fake, brisk());
    let typing = |place: &Conversation| fake.seen().typing.get(&place.id).copied();
    let (first, second) = (world.writes(&place).await, world.writes(&place).await);
    until("it is shown", async || typing(&place) == Some(true)).await;
    until("it is shown again", async || fake.seen().typing_calls >= 3).await;
    world.ends(first, "one").await;
    world.told(&place).await;
    assert_eq!(typing(&place), Some(true), "the second is not answered");
    world.ends(second, "two").await;
    until("it is over", async || typing(&place) == Some(false)).await;
    assert_eq!(typing(&other), None);
    courier.stopped().await;
    // Who waits since before the start sees it too; and who gets no answer does not see it for ever.
    let row = world.writes(&other).await;
    let pace = Pace { typing_most: Duration::from_millis(200), ..brisk() };
    let courier = world.carry(&fake, pace);
    until("it is shown", async || typing(&other) == Some(true)).await;
    until("it is over", async || typing(&other) == Some(false)).await;
    let calls = fake.seen().typing_calls;
    tokio::time::sleep(pace.typing_most).await;
    assert_eq!(fake.seen().typing_calls, calls);
    world.ends(row, "late").await;
    world.told(&other).await;
    courier.stopped().await;
}

/// An answer that was shown and then came to nothing does not look unfinished for ever.
#[tokio::test]
async fn an_answer_that_came_to_nothing_says_so() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, world.fake());
    let courier = world.carry(&fake, brisk());
    let row = world.writes(&place).await;
    world.chunk(row, 0, FIRST);
    until("it is shown", async || fake.texts(place.id).len() == 1).await;
    world.ends(row, "").await;
    world.told(&place).await;
    assert_eq!(fake.texts(place.id), ["*There is no answer.*"]);
    courier.stopped().await;
}
