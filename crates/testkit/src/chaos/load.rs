//! The clients: each talks in one chat, one to three messages at a time, and keeps going through
//! every break until all it said is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cloister_protocol::{AgentFrame, Answer, MessageId};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::random::Random;
use super::script;
use crate::stack::{AgentClient, comes_back};

/// How long to wait for the next frame before looking whether it is time to go.
const LOOK: Duration = Duration::from_millis(200);
const RETRY_REFUSED: Duration = Duration::from_millis(200);

/// What the load is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Talk,
    /// Say nothing new: so much is open that it would not be done in time.
    Listen,
    Leave,
}

/// Something that was said.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) id: MessageId,
    pub(super) token: String,
    pub(super) accepted: bool,
    /// For good: it will never be answered, and that is right.
    pub(super) refused: bool,
}

/// What one client has to tell in the end.
pub(super) struct Told {
    pub(super) client: AgentClient,
    pub(super) said: Vec<Said>,
}

pub(super) struct Talker {
    client: AgentClient,
    random: Random,
    name: String,
    said: Vec<Said>,
    phase: watch::Receiver<Phase>,
    /// How many messages wait for an answer.
    waiting: Arc<AtomicUsize>,
}

impl Talker {
    pub(super) fn new(
        client: AgentClient,
        seed: u64,
        phase: watch::Receiver<Phase>,
        waiting: Arc<AtomicUsize>,
    ) -> Self {
        let name = format!("{seed:x}-{}-{}", client.session().user, client.chat());
        Self { random: Random::new(seed, &name), client, name, said: Vec::new(), phase, waiting }
    }

    /// Talks until told to leave.
    pub(super) async fn run(mut self) -> Told {
        while self.phase() != Phase::Leave {
            if self.phase() == Phase::Listen {
                self.listen_for(LOOK).await;
                continue;
            }
            let burst = if self.random.one_in(4) { 3 } else { 1 };
            for _ in 0..burst {
                self.say().await;
            }
            if self.random.one_in(8) {
                self.client.drop_connection();
            }
            self.hear_answers().await;
            let pause = 100 + self.random.below(500);
            self.listen_for(Duration::from_millis(pause)).await;
        }
        for said in &mut self.said {
            said.accepted = self.client.was_accepted(&said.id);
        }
        Told { client: self.client, said: self.said }
    }

    fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    async fn say(&mut self) {
        let token = format!("{}-{}", self.name, self.said.len());
        let text = script::message(&mut self.random, &token);
        let Ok(id) = token.parse::<MessageId>() else { return };
        self.said.push(Said { id: id.clone(), token, accepted: false, refused: false });
        self.client.submit(id, &text).await;
        self.count();
    }

    async fn hear_answers(&mut self) {
        while self.client.unanswered().next().is_some() && self.phase() != Phase::Leave {
            self.hear(LOOK).await;
        }
    }

    async fn listen_for(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.hear(until.saturating_duration_since(Instant::now())).await;
        }
    }

    async fn hear(&mut self, within: Duration) {
        let Ok(frame) = self.client.frame_or_reconnect(within).await else { return };
        match frame {
            AgentFrame::Ask(ask) => self.client.approve(ask.approval, Answer::Allow).await,
            AgentFrame::Error(error) => {
                let Some(id) = error.id.as_deref().and_then(|id| id.parse::<MessageId>().ok())
                else {
                    return;
                };
                if comes_back(error.code) {
                    sleep(RETRY_REFUSED).await;
                    self.client.drop_connection();
                } else if let Some(said) = self.said.iter_mut().find(|said| said.id == id) {
                    said.refused = true;
                    self.client.withdraw(&id);
                }
            }
            _ => {}
        }
        self.count();
    }

    fn count(&self) {
        self.waiting.store(self.client.unanswered().count(), Ordering::Relaxed);
    }
}
