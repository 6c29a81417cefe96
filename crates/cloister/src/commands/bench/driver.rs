//! Drives turns through the agent socket, one at a time, and says what each took.

use std::time::{Duration, Instant};

use cloister_protocol::admin::{ChatChange, ChatView};
use cloister_protocol::{AgentFrame, ChatId, ErrorCode, Message, UserName};

use super::floor::Floor;
use super::model::{Log, Model, Served, text_of};
use super::plane::Plane;
use crate::client::Client;
use crate::connection::Connection;
use crate::output::CliError;

/// The longest a turn may take.
const PATIENCE: Duration = Duration::from_secs(60);
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
    connection: Connection,
    log: Log,
    rounds: u64,
    next_at: tokio::time::Instant,
}

impl<'a> Driver<'a> {
    pub(super) async fn new(plane: &'a Plane, model: &Model) -> Result<Self, CliError> {
        let user = plane.client().user(None).await?;
        let chat = ChatId::from_number(1);
        let connection = Connection::open(plane.data(), plane.client(), user.clone(), chat).await?;
        let next_at = tokio::time::Instant::now();
        Ok(Self { plane, user, connection, log: model.log(), rounds: 0, next_at })
    }

    pub(super) fn user(&self) -> &UserName {
        &self.user
    }

    fn client(&self) -> &Client {
        self.plane.client()
    }

    /// Goes on in a chat of its own.
    pub(super) async fn new_chat(&mut self) -> Result<(), CliError> {
        let path = format!("/admin/v1/users/{}/chats", self.user);
        let chat: ChatView = self.client().post(&path, &ChatChange::default()).await?;
        let user = self.user.clone();
        self.connection =
            Connection::open(self.plane.data(), self.plane.client(), user, chat.id).await?;
        Ok(())
    }

    /// Sends a message and waits for the end of its turn.
    pub(super) async fn turn(&mut self) -> Result<Parts, CliError> {
        tokio::time::sleep_until(self.next_at).await;
        self.next_at = tokio::time::Instant::now() + PACE;
        self.rounds += 1;
        let round = self.rounds;
        let id = format!("bench-{round}").parse().map_err(cloister_control::ControlError::from)?;
        let message =
            Message { id, chat: None, text: text_of(round), attachments: Vec::new(), from: None };
        let (id, deadline) = (message.id.clone(), tokio::time::Instant::now() + PATIENCE);
        let sent = Instant::now();
        self.connection.send(message, deadline).await?;
        loop {
            match self.connection.next(deadline).await? {
                AgentFrame::End(end) if end.message.as_ref() == Some(&id) => {
                    let ended = Instant::now();
                    self.connection.answered();
                    if let Some(code) = end.error {
                        return Err(CliError::new(code, format!("a turn failed: {}", end.text)));
                    }
                    return parts(sent, self.log.take(round), ended);
                }
                AgentFrame::Error(error) => return Err(CliError::new(error.code, error.message)),
                _ => {}
            }
        }
    }

    pub(super) async fn round(&mut self, floor: &mut Floor) -> Result<Round, CliError> {
        let turn = self.turn().await?;
        let direct = floor.call().await?;
        Ok(Round { turn, direct })
    }
}
