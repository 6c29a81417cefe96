//! One client of the agent socket: says something and waits for the end of its turn.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cloister_protocol::admin::{ChatChange, ChatView, NewUser, UserView};
use cloister_protocol::{AgentFrame, ChatId, ErrorCode, Message, UserName};

use crate::plane::Plane;
use cloister::CliError;
use cloister::Connection;

/// The longest a turn may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tells the messages of one talker from another's, also in the same chat.
static TALKERS: AtomicU64 = AtomicU64::new(1);

pub(super) struct Talker {
    connection: Connection,
    number: u64,
    said: u64,
}

/// When a message was sent and when the end of its turn was read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) sent: Instant,
    pub(super) ended: Instant,
}

impl Turn {
    pub(super) fn time(self) -> Duration {
        self.ended - self.sent
    }
}

impl Talker {
    pub(super) async fn open(
        plane: &Plane,
        user: UserName,
        chat: ChatId,
    ) -> Result<Self, CliError> {
        let connection = Connection::open(plane.client(), user, chat).await?;
        Ok(Self { connection, number: TALKERS.fetch_add(1, Ordering::Relaxed), said: 0 })
    }

    /// Every user's first chat.
    pub(super) async fn of_user(plane: &Plane, user: UserName) -> Result<Self, CliError> {
        Self::open(plane, user, ChatId::from_number(1)).await
    }

    /// Says something and waits for the whole answer.
    pub(super) async fn say(&mut self, text: String) -> Result<Turn, CliError> {
        self.said += 1;
        let id = format!("bench-{}-{}", self.number, self.said);
        let id = id.parse().map_err(cloister_control::ControlError::from)?;
        let message =
            Message { id, chat: None, text, attachments: Vec::new(), instead: None, from: None };
        let (id, deadline) = (message.id.clone(), tokio::time::Instant::now() + PATIENCE);
        let sent = Instant::now();
        self.connection.send(message, deadline).await?;
        loop {
            match self.connection.next(deadline).await? {
                AgentFrame::End(end) if end.message.as_ref() == Some(&id) => {
                    let ended = Instant::now();
                    self.connection.answered();
                    return match end.error {
                        Some(code) => {
                            Err(CliError::new(code, format!("a turn failed: {}", end.text)))
                        }
                        None => Ok(Turn { sent, ended }),
                    };
                }
                AgentFrame::Error(error) => {
                    self.connection.answered();
                    return Err(CliError::new(error.code, error.message));
                }
                _ => {}
            }
        }
    }
}

/// A user with a budget that no bench reaches.
pub(super) async fn make_user(plane: &Plane, name: &str) -> Result<UserName, CliError> {
    let name: UserName = name.parse().map_err(cloister_control::ControlError::from)?;
    let new = NewUser {
        name: name.clone(),
        quota_mb: None,
        executors: None,
        daily_usd: Some(1e6),
        task_usd: None,
    };
    let _made: UserView = plane.client().post("/admin/v1/users", &new).await?;
    Ok(name)
}

pub(super) async fn make_users(
    plane: &Plane,
    prefix: &str,
    count: usize,
) -> Result<Vec<UserName>, CliError> {
    let mut names = Vec::with_capacity(count);
    for number in 1..=count {
        names.push(make_user(plane, &format!("{prefix}{number}")).await?);
    }
    Ok(names)
}

/// One more chat of a user.
pub(super) async fn make_chat(plane: &Plane, user: &UserName) -> Result<ChatId, CliError> {
    let path = format!("/admin/v1/users/{user}/chats");
    let chat: ChatView = plane.client().post(&path, &ChatChange::default()).await?;
    Ok(chat.id)
}

/// For failures that end a leg.
pub(super) fn broken(what: impl Into<String>) -> CliError {
    CliError::new(ErrorCode::Internal, what)
}
