//! X1, X4: the courier is killed at every call, before and after it got there, and at arbitrary moments. In
//! the end each message is there once, in order, and says what it should.

use super::*;

impl World {
    /// Rows of every kind for a conversation, and what is to be read there.
    async fn fill(&self, place: &Conversation) -> Vec<String> {
        let ada = &self.ada;
        let row = self.writes(place).await;
        let long = "A sentence of an answer that is long. ".repeat(15);
        self.ends(row, &long).await;
        self.notices("mind the gap").await;
        let question = self.asked(ada.workspace, C1, ada.id, "middle").await;
        let answer = Answer::Allow;
        self.control
            .gates()
            .answer_approval(ada.id, ada.workspace, question, answer, None)
            .await
            .unwrap();
        self.sends_file(row, 7).await;
        self.answered(place, "the end").await;
        let mut texts = messages(&long);
        assert_eq!(texts.len(), 3);
        texts.extend(
            [
                "notice: mind the gap",
                "settled: send it? allow ada",
                "file: report.txt content",
                "the end",
            ]
            .map(str::to_owned),
        );
        texts
    }
}

/// Runs until everything is told or it is killed; whether it was.
async fn run(world: &World, fake: &Arc<Fake>, place: &Conversation) -> bool {
    let courier = world.carry(fake, brisk());
    let killed = tokio::select! {
        () = fake.killed.notified() => true,
        () = world.told(place) => false,
    };
    courier.killed().await;
    killed
}

#[tokio::test]
async fn killed_at_any_call_everything_is_told_once() {
    let world = World::new().await;
    let fake = world.fake();
    for got_there in [false, true] {
        for call in 0.. {
            let place = world.place(&format!("!{got_there}{call}")).await;
            let expected = world.fill(&place).await;
            fake.kill(Some(Kill { call, got_there }));
            let killed = run(&world, &fake, &place).await;
            fake.kill(None);
            assert!(!run(&world, &fake, &place).await);
            assert_eq!(fake.texts(place.id), expected, "killed in call {call}, {got_there}");
            if !killed {
                assert_eq!(call, expected.len());
                break;
            }
        }
    }
}

#[tokio::test]
async fn killed_again_and_again_at_arbitrary_moments_everything_is_told_once() {
    let world = World::new().await;
    let fake = world.fake();
    for round in 0..6 {
        let place = world.place(&format!("!{round}")).await;
        let expected = world.fill(&place).await;
        let mut lives = 0;
        while !world.store().outbox().to_tell(place.id).await.unwrap().is_empty() {
            let courier = world.carry(&fake, brisk());
            let life = Duration::from_micros(700 * (1 + lives) + 130 * round);
            tokio::time::sleep(life).await;
            courier.killed().await;
            lives += 1;
            assert!(lives < 1000, "it never ends");
        }
        assert_eq!(fake.texts(place.id), expected, "round {round}, after {lives} lives");
    }
}

/// Where the platform does not remember keys nothing is lost, and what may be there twice is announced.
#[tokio::test]
async fn what_may_be_a_repetition_says_so_where_keys_are_not_remembered() {
    let world = World::new().await;
    let fake = Arc::new(Fake::new(world.connector.id).forgetful());
    for got_there in [false, true] {
        let place = world.place(&format!("!{got_there}")).await;
        world.answered(&place, "an answer").await;
        fake.kill(Some(Kill { call: 0, got_there }));
        assert!(run(&world, &fake, &place).await);
        fake.kill(None);
        assert!(!run(&world, &fake, &place).await);
        let mut texts = fake.texts(place.id);
        if got_there {
            assert_eq!(texts.remove(0), "an answer");
        }
        assert!(texts[0].starts_with("notice: I was interrupted"), "{texts:?}");
        assert_eq!(texts[1..], ["an answer"]);
    }
}

/// Killed three times over, in what is sent and in what announces it: each repetition stands right behind a notice.
#[tokio::test]
async fn every_repetition_is_announced_however_often_it_is_killed() {
    let world = World::new().await;
    let fake = Arc::new(Fake::new(world.connector.id).forgetful());
    let deaths = [(0, false), (0, true), (1, false), (1, true)]
        .map(|(call, got_there)| Kill { call, got_there });
    for first in &deaths[..2] {
        for second in &deaths {
            for third in &deaths {
                let place = world.place(&format!("!{first:?}{second:?}{third:?}")).await;
                world.answered(&place, "an answer").await;
                for kill in [first, second, third] {
                    fake.kill(Some(*kill));
                    assert!(run(&world, &fake, &place).await, "{first:?} {second:?} {third:?}");
                }
                fake.kill(None);
                assert!(!run(&world, &fake, &place).await);
                let texts = fake.texts(place.id);
                let mut answers = 0;
                for (at, text) in texts.iter().enumerate() {
                    let announced =
                        at > 0 && texts[at - 1].starts_with("notice: I was interrupted");
                    answers += usize::from(text == "an answer");
                    let repeats = text == "an answer" && answers > 1;
                    assert!(!repeats || announced, "{texts:#?}");
                }
                assert!(answers > 0);
            }
        }
    }
}

/// A surface that says that nothing got there is believed: nothing is announced.
#[tokio::test]
async fn what_surely_did_not_get_there_is_no_repetition() {
    let world = World::new().await;
    let fake = Arc::new(Fake::new(world.connector.id).forgetful());
    let place = world.place("!a").await;
    world.answered(&place, "an answer").await;
    let mut waits = 3;
    fake.judge(move |_, _| {
        waits -= 1;
        (waits > 0).then_some(SendError::Wait(Duration::from_millis(1)))
    });
    assert!(!run(&world, &fake, &place).await);
    assert_eq!(fake.texts(place.id), ["an answer"]);
}
