use proptest::prelude::*;

use super::*;

const ANN: i64 = 7;
const BEN: i64 = 8;
const GROUP_CHAT: i64 = -100;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// X5, X11: a private chat gets one message in a second, with a short burst, counted from when it was answered.
#[test]
fn a_private_chat_gets_one_in_a_second() {
    let start = Instant::now();
    let mut pace = Pace::default();
    for at in [0, 100, 200] {
        assert_eq!(pace.take(start + ms(at), ANN, What::Message), Ok(()));
    }
    assert_eq!(pace.take(start + ms(300), BEN, What::Message), Ok(()), "another waits for nobody");
    assert_eq!(pace.take(start + ms(400), ANN, What::Message), Err(ms(2600)));
    pace.answered(start, start + ms(600), ANN, What::Message);
    assert_eq!(pace.take(start + ms(400), ANN, What::Message), Err(ms(2700)));
    assert_eq!(pace.take(start + ms(3100), ANN, What::Message), Ok(()));
}

/// A8: what is shown of an answer in a group leaves room for its end.
#[test]
fn what_is_unfinished_leaves_room_for_the_end() {
    let mut now = Instant::now();
    let mut pace = Pace::default();
    for _ in 0..12 {
        assert_eq!(pace.take(now, GROUP_CHAT, What::Unfinished), Ok(()));
        now += ms(1000);
    }
    assert_eq!(pace.take(now, GROUP_CHAT, What::Unfinished), Err(ms(48_000)));
    for _ in 0..8 {
        assert_eq!(pace.take(now, GROUP_CHAT, What::Message), Ok(()));
    }
    assert_eq!(pace.take(now, GROUP_CHAT, What::Message), Err(ms(48_000)));
}

/// Drafts and signs that something is being written never keep a message waiting.
#[test]
fn what_is_no_message_keeps_none_waiting() {
    let now = Instant::now();
    let mut pace = Pace::default();
    for _ in 0..3 {
        assert_eq!(pace.take(now, ANN, What::Draft), Ok(()));
        assert_eq!(pace.take(now, ANN, What::Sign), Ok(()));
    }
    assert_eq!(pace.take(now, ANN, What::Draft), Err(ms(1000)));
    assert_eq!(pace.take(now, ANN, What::Message), Ok(()));
}

#[test]
fn a_wait_that_telegram_asks_for_is_kept() {
    let now = Instant::now();
    let mut pace = Pace::default();
    pace.hold(now, ANN, ms(5000));
    assert_eq!(pace.take(now + ms(1000), ANN, What::Message), Err(ms(4000)));
    assert_eq!(pace.take(now + ms(1000), ANN, What::Draft), Err(ms(4000)));
    assert_eq!(pace.take(now + ms(1000), BEN, What::Message), Ok(()));
    // Asked for a second chat as well, it is the bot that has to wait.
    pace.hold(now + ms(2000), BEN, ms(9000));
    assert_eq!(pace.take(now + ms(3000), GROUP_CHAT, What::Message), Err(ms(8000)));
    assert_eq!(pace.take(now + ms(11_000), GROUP_CHAT, What::Message), Ok(()));
}

#[test]
fn chats_that_are_remembered_are_bounded() {
    let mut now = Instant::now();
    let mut pace = Pace::default();
    for chat in 1..6000 {
        assert_eq!(pace.take(now, chat, What::Message), Ok(()));
        pace.hold(now, chat, ms(1));
        now += ms(40);
    }
    assert!(pace.chats.len() <= MAX_CHATS && pace.held.len() <= MAX_CHATS);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// X11: whoever waits as long as they are told is never faster than Telegram allows.
    #[test]
    fn no_window_is_overrun(
        steps in prop::collection::vec((0..6i64, 0..400u64, 0..300u64), 1..150)
    ) {
        let start = Instant::now();
        let mut now = start;
        let mut pace = Pace::default();
        let mut sent: Vec<(Instant, i64)> = Vec::new();
        for (who, pause, took) in steps {
            let chat = if who < 3 { who + 1 } else { -who };
            now += ms(pause);
            while let Err(wait) = pace.take(now, chat, What::Message) {
                prop_assert!(wait > Duration::ZERO && wait <= ms(60_000));
                now += wait;
            }
            sent.push((now, chat));
            let began = now;
            now += ms(took);
            pace.answered(began, now, chat, What::Message);
        }
        for (at, _) in &sent {
            let within = |most: Duration, of: &dyn Fn(i64) -> bool| {
                let inside = |(t, c): &&(Instant, i64)| *t >= *at && *t < *at + most && of(*c);
                sent.iter().filter(inside).count()
            };
            prop_assert!(within(ms(1000), &|_| true) <= ALL.most);
            for chat in [1, 2, 3] {
                prop_assert!(within(ms(3000), &|c| c == chat) <= 3);
            }
            for chat in [-3, -4, -5] {
                prop_assert!(within(ms(60_000), &|c| c == chat) <= 20);
            }
        }
    }
}
