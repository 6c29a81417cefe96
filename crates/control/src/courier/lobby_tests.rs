//! Drafts, buttons, lobbies that show one chat of several, and more than one surface.

use cloister_protocol::ChatId;

use super::*;
use crate::ports::Streaming;
use crate::test_telegram::{ADA_THERE, Telegram};
use crate::test_world::ADA;
use crate::{ButtonDone, Heard, Press};

const C2: ChatId = ChatId::from_number(2);
const DRAFTS: Streaming = Streaming::Drafts { every: Duration::from_millis(10) };

fn drafting(world: &World) -> Arc<Fake> {
    Arc::new(Fake::new(world.connector.id).streams(DRAFTS))
}

/// A8: what is being written is shown as a draft, and in the end there is one message that was never edited.
#[tokio::test]
async fn a_draft_is_shown_and_the_end_is_one_message() {
    let world = World::new().await;
    let (place, fake) = (world.place("!a").await, drafting(&world));
    let courier = world.carry(&fake, brisk());
    let row = world.writes(&place).await;
    world.chunk(row, 0, "The beginning");
    let drafts = || fake.seen().drafts.clone();
    until("a draft is shown", async || drafts() == ["unfinished: The beginning"]).await;
    world.chunk(row, 1, " goes on");
    until("it grows", async || drafts().len() == 2).await;
    assert_eq!(drafts()[1], "unfinished: The beginning goes on");
    assert!(fake.texts(place.id).is_empty(), "a draft is no message");
    let key = format!("t-m{row}/0");
    assert_eq!(
        world.store().outbox().post(place.id, &key).await.unwrap(),
        None,
        "nothing is kept of it"
    );
    world.ends(row, "The beginning goes on and ends.").await;
    world.told(&place).await;
    assert_eq!(fake.texts(place.id), ["The beginning goes on and ends."]);
    assert_eq!(fake.message(place.id, 0).edits, 0);
    courier.stopped().await;
}

/// X1: killed in the middle of a draft, the answer is there once.
#[tokio::test]
async fn killed_in_a_draft_the_answer_is_there_once() {
    let world = World::new().await;
    for forgetful in [false, true] {
        for (call, got_there) in [(0, false), (0, true), (1, false), (1, true)] {
            let fake = Fake::new(world.connector.id).streams(DRAFTS);
            let fake = Arc::new(if forgetful { fake.forgetful() } else { fake });
            let place = world.place(&format!("!{forgetful}{call}{got_there}")).await;
            fake.kill(Some(Kill { call, got_there }));
            let courier = world.carry(&fake, brisk());
            let row = world.writes(&place).await;
            world.chunk(row, 0, "The beginning");
            if call == 1 {
                until("a draft is shown", async || !fake.seen().drafts.is_empty()).await;
                world.chunk(row, 1, " goes on");
            }
            fake.killed.notified().await;
            courier.killed().await;
            fake.kill(None);
            fake.seen().at_once = 0;
            let courier = world.carry(&fake, brisk());
            world.ends(row, "All of it.").await;
            world.told(&place).await;
            assert_eq!(fake.texts(place.id), ["All of it."], "{forgetful} {call} {got_there}");
            courier.stopped().await;
        }
    }
}

/// A8: a surface that refuses a draft is shown nothing before the end, or edits if it says so then.
#[tokio::test]
async fn a_refused_draft_is_given_up_or_edited_instead() {
    let world = World::new().await;
    for edits in [false, true] {
        let fake = drafting(&world);
        let place = world.place(&format!("!{edits}")).await;
        let (refusing, tries) = (Arc::clone(&fake), Arc::new(AtomicI64::new(0)));
        let counted = Arc::clone(&tries);
        fake.judge(move |_, key| {
            if !key.ends_with("/draft") {
                return None;
            }
            counted.fetch_add(1, Ordering::Relaxed);
            if edits {
                refusing.edit_instead();
            }
            Some(SendError::Refused("no drafts in groups".to_owned()))
        });
        let courier = world.carry(&fake, brisk());
        let row = world.writes(&place).await;
        world.chunk(row, 0, "The beginning");
        until("a draft is tried", async || tries.load(Ordering::Relaxed) == 1).await;
        if edits {
            let shown = || fake.texts(place.id);
            until("it is a message", async || shown() == ["unfinished: The beginning"]).await;
        }
        world.chunk(row, 1, " goes on");
        world.ends(row, "The beginning and the end.").await;
        world.told(&place).await;
        assert_eq!(fake.texts(place.id), ["The beginning and the end."]);
        assert_eq!(tries.load(Ordering::Relaxed), 1, "it is not asked again and again");
        fake.all_well();
        courier.stopped().await;
    }
}

#[tokio::test]
async fn where_nothing_is_shown_before_the_end_nothing_is() {
    let world = World::new().await;
    let fake = Arc::new(Fake::new(world.connector.id).streams(Streaming::Off));
    let place = world.place("!a").await;
    let courier = world.carry(&fake, brisk());
    let row = world.writes(&place).await;
    world.chunk(row, 0, "The beginning");
    until("it is being written", async || fake.seen().typing_calls > 0).await;
    tokio::time::sleep(brisk().first_after * 3).await;
    assert!(fake.texts(place.id).is_empty() && fake.seen().drafts.is_empty());
    world.ends(row, "All of it.").await;
    world.told(&place).await;
    assert_eq!(fake.texts(place.id), ["All of it."]);
    courier.stopped().await;
}

impl World {
    /// Something of a chat that answers nothing.
    async fn notices_in(&self, chat: ChatId, key: &str, text: &str) {
        let frame = AgentFrame::Update(Update::Notice { text: text.to_owned() });
        let told =
            self.store().outbox().notify((self.ada.workspace, chat), key, &frame).await.unwrap();
        self.control.hub().say_stored(told.unwrap());
    }
}

/// X5: what belongs to another chat than the one that a lobby shows says which; what belongs to the one that is
/// shown, and what a command did, does not.
#[tokio::test]
async fn what_belongs_to_another_chat_says_so() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let fake = Arc::new(Fake::new(telegram.connector.id));
    let courier = world.carry(&fake, brisk());
    let lobby = telegram.lobby().await;
    telegram.answers("m1", "/new *Taxes* `2026`").await;
    telegram.answers("m2", "/chats C1").await;
    world.notices_in(C1, "a", "of the first").await;
    world.notices_in(C2, "b", "of the second").await;
    world.asked(world.ada.workspace, C2, world.ada.id, "middle").await;
    world.told(&lobby).await;
    let texts = fake.texts(lobby.id);
    assert!(texts[0].starts_with("C2 “*Taxes* `2026`” is shown here"), "{texts:?}");
    assert!(texts[1].starts_with("C1 is shown here"), "{texts:?}");
    assert_eq!(texts[2], "notice: of the first");
    assert_eq!(texts[3], "notice: **C2 · \\*Taxes\\* \\`2026\\`**\n\nof the second");
    assert!(texts[4].contains("C2 · *Taxes* `2026`: a question"), "{texts:?}");
    assert_eq!(texts[5], "question: send it?");
    courier.stopped().await;
}

/// X5: an answer that is still being written when the lobby is turned says in the end where it belongs.
#[tokio::test]
async fn an_answer_that_is_overtaken_says_where_it_belongs() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let fake = Arc::new(Fake::new(telegram.connector.id));
    let courier = world.carry(&fake, brisk());
    let lobby = telegram.lobby().await;
    let row = world.writes(&lobby).await;
    world.chunk(row, 0, "The beginning");
    let shown = || fake.texts(lobby.id).first().cloned().unwrap_or_default();
    until("it is shown", async || shown() == "unfinished: The beginning").await;
    telegram.answers("m1", "/new").await;
    world.chunk(row, 1, " goes on");
    until("it says where", async || shown() == "unfinished: **C1**\n\nThe beginning goes on").await;
    world.ends(row, "All of it.").await;
    world.told(&lobby).await;
    assert_eq!(shown(), "**C1**\n\nAll of it.");
    courier.stopped().await;
}

/// X5: the buttons of a long list are below its last part alone.
#[tokio::test]
async fn buttons_are_below_the_last_part() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let fake = Arc::new(Fake::new(telegram.connector.id));
    let courier = world.carry(&fake, brisk());
    let lobby = telegram.lobby().await;
    for number in 0..12 {
        let title = format!("A chat with the number {number}");
        world
            .store()
            .chats()
            .new_chat(&Actor::person("test"), world.ada.workspace, &title, None)
            .await
            .unwrap();
    }
    telegram.answers("m1", "/chats").await;
    world.told(&lobby).await;
    let messages: Vec<_> = fake.seen().messages.clone();
    let (last, before) = messages.split_last().unwrap();
    assert!(before.len() > 1 && before.iter().all(|message| message.buttons.is_empty()));
    assert_eq!(last.buttons.len(), 13, "{last:?}");
    assert_eq!(last.buttons.last().map(String::as_str), Some("New chat"));
    courier.stopped().await;
}

/// W7: a push goes where the person was last active: on Matrix, on Telegram, and where they are on the web it is
/// there for them. I1: what was asked on one surface is answered on another, and the first shows that.
#[tokio::test]
async fn one_person_on_several_surfaces() {
    let world = World::new().await;
    let telegram = Telegram::new(&world).await;
    let (here, there) = (world.fake(), Arc::new(Fake::new(telegram.connector.id)));
    let couriers = [world.carry(&here, brisk()), world.carry(&there, brisk())];
    let room = world.speaker(ADA, Heard::Direct("!dm")).await.conversation;
    let lobby = telegram.lobby().await;
    let row = world.writes(&room).await;
    world.ends(row, "hi").await;
    let ada = &world.ada;
    let first = world.asked(ada.workspace, C1, ada.id, "middle").await;
    world.told(&room).await;
    assert_eq!(here.texts(room.id), ["hi", "question: send it?"], "asked on Matrix");

    // Ada goes out with her telephone.
    telegram.answers("m1", "/approvals").await;
    world.told(&lobby).await;
    assert_eq!(
        there.message(lobby.id, 0).buttons,
        [format!("Allow {first}"), format!("Deny {first}")]
    );
    let press = Press::Answer { approval: first, answer: Answer::Allow };
    let token = telegram.mint(&lobby, press).await;
    let done = telegram.press(ADA_THERE, ADA_THERE, &token).await.unwrap();
    assert!(matches!(done, ButtonDone::Answered(_)));
    let shown = || here.texts(room.id).get(1).cloned().unwrap_or_default();
    until("Matrix shows it", async || shown() == "settled: send it? allow ada").await;

    let second = world.asked(ada.workspace, C1, ada.id, "middle").await;
    world.told(&lobby).await;
    until("asked on Telegram", async || there.texts(lobby.id).len() == 2).await;
    assert_eq!(here.texts(room.id).len(), 2, "and not on Matrix");
    // Answered on the web.
    let answered =
        world.control.gates().answer_approval(ada.id, ada.workspace, second, Answer::Deny, None);
    answered.await.unwrap();
    let shown = || there.texts(lobby.id).get(1).cloned().unwrap_or_default();
    until("Telegram shows it", async || shown() == "settled: send it? deny ada").await;

    // Back at the desk, on Matrix.
    world.writes(&room).await;
    world.notices("done").await;
    until("told on Matrix", async || here.texts(room.id).contains(&"notice: done".to_owned()))
        .await;
    assert_eq!(there.texts(lobby.id).len(), 2);
    for courier in couriers {
        courier.stopped().await;
    }
}
