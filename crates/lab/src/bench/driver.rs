//! Drives turns through the agent socket, one at a time, and says what each took.

use std::time::{Duration, Instant};

use cloister_protocol::{ErrorCode, UserName};

use super::floor::Floor;
use super::model::{Log, Model, Served, text_of};
use super::talker::{Talker, make_chat};
use crate::plane::Plane;
use cloister::CliError;

/// Turns start no faster than this: a cell that calls its model more often is held back at its door.
const PACE: Duration = Duration::from_millis(14);

/// The two ways of a turn or a call: to the model, and back from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub(super) there: Duration,
    pub(super) back: Duration,
}

impl Parts {
    pub(super) fn whole(self) -> Duration {
        self.there + self.back
    }
}

/// What lies between a message and its request, and between its answer and the reply.
pub(super) fn parts(
    sent: Instant,
    served: Option<Served>,
    ended: Instant,
) -> Result<Parts, CliError> {
    let served = served.ok_or_else(|| {
        CliError::new(ErrorCode::Internal, "an answer came without a call to the model server")
    })?;
    Ok(Parts { there: served.arrived - sent, back: ended - served.finished })
}

/// One turn and one direct call of the same size, right after each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) turn: Parts,
    pub(super) direct: Parts,
}

impl Round {
    pub(super) fn overhead(self) -> Duration {
        self.turn.whole().saturating_sub(self.direct.whole())
    }
}

pub(super) struct Driver<'a> {
    plane: &'a Plane,
    user: UserName,
    talker: Talker,
    log: Log,
    rounds: u64,
    next_at: tokio::time::Instant,
}

impl<'a> Driver<'a> {
    pub(super) async fn new(plane: &'a Plane, model: &Model) -> Result<Self, CliError> {
        let user = plane.client().user(None).await?;
        let talker = Talker::of_user(plane, user.clone()).await?;
        let next_at = tokio::time::Instant::now();
        Ok(Self { plane, user, talker, log: model.log(), rounds: 0, next_at })
    }

    pub(super) fn user(&self) -> &UserName {
        &self.user
    }

    /// Goes on in a chat of its own.
    pub(super) async fn new_chat(&mut self) -> Result<(), CliError> {
        let chat = make_chat(self.plane, &self.user).await?;
        self.talker = Talker::open(self.plane, self.user.clone(), chat).await?;
        Ok(())
    }

    /// Sends a message and waits for the end of its turn.
    pub(super) async fn turn(&mut self) -> Result<Parts, CliError> {
        tokio::time::sleep_until(self.next_at).await;
        self.next_at = tokio::time::Instant::now() + PACE;
        self.rounds += 1;
        let turn = self.talker.say(text_of(self.rounds)).await?;
        parts(turn.sent, self.log.take(self.rounds), turn.ended)
    }

    pub(super) async fn round(&mut self, floor: &mut Floor) -> Result<Round, CliError> {
        let turn = self.turn().await?;
        let direct = floor.call().await?;
        Ok(Round { turn, direct })
    }
}
