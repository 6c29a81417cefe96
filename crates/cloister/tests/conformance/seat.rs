//! What the checks know of a surface: people who sit at it, say things and see what is shown.

use std::ops::DerefMut;
use std::time::Duration;

use cloister_testkit::{ModelServerBuilder, Product};
use tokio::time::{Instant, sleep};

pub(crate) use cloister_testkit::product::{PATIENCE, eventually};

const LOOK_EVERY: Duration = Duration::from_millis(30);

/// The product with one surface connected.
pub(crate) trait Ground: Sized + DerefMut<Target = Product> {
    type Seat: Seat;
    type Stranger: Outside;
    /// What a stranger is told has this: how to be let in.
    const WAY_IN: &'static str = "pair";
    /// What a command begins with there.
    const SIGN: char = '/';
    async fn start(config: &str, model: ModelServerBuilder) -> Self;
    /// Somebody we know, in their first chat.
    async fn person(&mut self, user: &str) -> Self::Seat;
    /// Somebody nobody knows.
    async fn stranger(&mut self) -> Self::Stranger;
    /// Where each chat has a place of its own: the person goes to that of a chat. Else it is shown where they are.
    async fn go_to(&mut self, _seat: &mut Self::Seat, _user: &str, _chat: &str) {}
    /// Delivers a message as if the surface had not heard that it was taken: the same one, twice.
    async fn say_twice(&mut self, seat: &mut Self::Seat, text: &str);
}

/// Somebody who is not let in.
pub(crate) trait Outside {
    async fn tries(&mut self, text: &str);
    /// What they were told.
    async fn was_told(&mut self) -> Vec<String>;
    /// Whether every try is answered; else only the first is, for a while.
    fn is_answered_each_time(&self) -> bool {
        true
    }
}

/// Where anybody can write, a stranger is somebody who writes.
impl<S: Seat> Outside for S {
    async fn tries(&mut self, text: &str) {
        self.say(text).await;
    }

    async fn was_told(&mut self) -> Vec<String> {
        self.heard().await
    }

    fn is_answered_each_time(&self) -> bool {
        false
    }
}

/// One person, with their eyes.
pub(crate) trait Seat {
    async fn say(&mut self, text: &str);
    async fn send_file(&mut self, name: &str, bytes: &[u8]);
    /// What the agent says there, message by message, as it stands now.
    async fn heard(&mut self) -> Vec<String>;
    /// A file that the agent sent.
    async fn file(&mut self, name: &str) -> Option<Vec<u8>>;
    /// Allows what is asked, by the means that the surface offers for it.
    async fn allow(&mut self);

    /// Waits until something is shown that has these words.
    async fn sees(&mut self, words: &str) {
        let began = Instant::now();
        loop {
            let heard = self.heard().await;
            if heard.iter().any(|text| text.contains(words)) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "never {words:?}: {heard:#?}");
            sleep(LOOK_EVERY).await;
        }
    }

    async fn ask(&mut self, text: &str, answer: &str) {
        self.say(text).await;
        self.sees(answer).await;
    }
}
