//! Sentences of this part, said beside the taking: a bounded queue each, worked off by a few.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cloister_kit::{Lately, kept, part};
use cloister_protocol::surface::{SendError, TakeBackRefusal};
use cloister_protocol::with_causes;
use serde::de::IgnoredAny;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bot::Bot;
use crate::session::Fault;
use crate::session::methods::AnswerCallbackQuery;

/// What waits to be said at most; what comes then is not said.
const MOST_WAITING: usize = 256;
/// How many are said at the same time.
const AT_ONCE: usize = 4;
/// How often something is tried.
const TRIES: u32 = 3;
/// The longest that one is held back because Telegram asks for it.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Telegram takes no answer to a press that is older.
const PRESS_LIVES: Duration = Duration::from_secs(10);
/// The most of an answer to a press, in characters.
const LONGEST_ANSWER: usize = 190;

/// Something to be said in a conversation.
#[derive(Clone, Debug)]
struct Saying {
    place: String,
    key: String,
    words: String,
    /// The stranger who is told; told again when they come again if it can't be said now.
    stranger: Option<String>,
}

/// The answer to a press.
#[derive(Clone, Debug)]
pub(super) struct PressAnswer {
    pub(super) query: String,
    pub(super) words: String,
    pub(super) alert: bool,
}

struct Queue<T> {
    waiting: Mutex<VecDeque<T>>,
    more: Notify,
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), more: Notify::new() }
    }
}

impl<T> Queue<T> {
    /// Whether there was room.
    fn push(&self, one: T) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() >= MOST_WAITING {
            return false;
        }
        waiting.push_back(one);
        drop(waiting);
        self.more.notify_one();
        true
    }

    async fn next(&self) -> T {
        loop {
            let more = self.more.notified();
            let one = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            if let Some(one) = one {
                // There may be more, and the others sleep.
                self.more.notify_one();
                return one;
            }
            more.await;
        }
    }
}

/// What is to be said, and what was said lately.
#[derive(Default)]
pub(crate) struct SayingsState {
    lately: Lately,
    sentences: Queue<Saying>,
    presses: Queue<PressAnswer>,
}

/// Says what is to be said until it is stopped.
pub(crate) fn keep_saying(bot: &Arc<Bot>, tracker: &TaskTracker, stop: &CancellationToken) {
    for _ in 0..AT_ONCE {
        let (bot, until) = (Arc::clone(bot), stop.clone());
        // What it failed at is lost with it: tried again, it would fail again.
        let saying = move || say_on(Arc::clone(&bot), until.clone());
        tracker.spawn(kept("telegram sentences", stop.clone(), saying));
    }
}

async fn say_on(bot: Arc<Bot>, stop: CancellationToken) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            saying = bot.sayings.sentences.next() => bot.sayings().say_it(saying, &stop).await,
            press = bot.sayings.presses.next() => bot.sayings().answer_press(press).await,
        }
    }
}

part! {
    /// What the bot says of its own.
    pub(crate) struct Sayings of Bot;
}

impl Sayings {
    /// Says something, unless it was said there so lately.
    pub(crate) fn tell(&self, place: &str, topic: &str, every: Duration, words: &str) {
        let now = self.bot.plane.now_ms();
        if let Some(key) = self.bot.sayings.lately.key_of(place, topic, every, now) {
            self.speak(place, &key, words);
        }
    }

    /// Says something in a conversation, beside all else. That it could not be said changes nothing.
    pub(super) fn speak(&self, place: &str, key: &str, words: &str) {
        self.queue(Saying {
            place: place.to_owned(),
            key: key.to_owned(),
            words: words.to_owned(),
            stranger: None,
        });
    }

    pub(super) fn speak_to_stranger(&self, place: &str, key: &str, words: &str, who: &str) {
        self.queue(Saying {
            place: place.to_owned(),
            key: key.to_owned(),
            words: words.to_owned(),
            stranger: Some(who.to_owned()),
        });
    }

    fn queue(&self, saying: Saying) {
        if !self.bot.sayings.sentences.push(saying) {
            tracing::warn!("too much is to be said on Telegram; a sentence was left out");
        }
    }

    async fn say_it(&self, saying: Saying, stop: &CancellationToken) {
        for _ in 0..TRIES {
            let said = self.bot.sending().say(&saying.place, &saying.key, &saying.words).await;
            let pause = match said {
                Ok(()) => return,
                Err(SendError::Wait(pause)) => pause.min(LONGEST_PAUSE),
                Err(error) => {
                    let place = &saying.place;
                    tracing::warn!(
                        place,
                        error = with_causes(&error),
                        "something could not be said on Telegram"
                    );
                    break;
                }
            };
            tokio::select! {
                () = stop.cancelled() => break,
                () = tokio::time::sleep(pause) => {}
            }
        }
        if let Some(stranger) = &saying.stranger
            && let Err(error) =
                self.bot.plane.call(TakeBackRefusal { account: stranger.clone() }).await
        {
            tracing::warn!(error = error.chain(), "a stranger was not told, and is not told again");
        }
    }

    /// Answers a press, beside all else.
    pub(super) fn answer(&self, press: PressAnswer) {
        if !self.bot.sayings.presses.push(press) {
            tracing::warn!("too many presses wait to be answered");
        }
    }

    async fn answer_press(&self, press: PressAnswer) {
        let mut words: String = press.words.chars().take(LONGEST_ANSWER).collect();
        if words.len() < press.words.len() {
            words.push('…');
        }
        let answer = AnswerCallbackQuery {
            callback_query_id: press.query,
            text: words,
            show_alert: press.alert,
        };
        match self.bot.api.call_within::<_, IgnoredAny>(PRESS_LIVES, &answer).await {
            Ok(_) => {}
            // Whoever pressed sees what came of it in the conversation.
            Err(fault @ (Fault::Refused { .. } | Fault::Unreachable(_) | Fault::Wait(_))) => {
                tracing::debug!(%fault, "a press could not be answered");
            }
            Err(fault) => tracing::warn!(%fault, "a press could not be answered"),
        }
    }
}
