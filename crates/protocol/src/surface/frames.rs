//! What goes over the socket of a connector: one JSON object per line, in both directions.
//!
//! The connector says hello first and is welcomed, or refused and hung up on. From then on each side asks and
//! answers as it likes; an answer has the number of what it answers. Unknown fields are ignored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::calls::AnyCall;
use super::orders::AnyOrder;
use super::posts::MenuItem;
use crate::ErrorBody;

/// The version that is spoken here. Another one is refused with a sentence that names both.
pub const VERSION: u32 = 1;
/// The longest line, in bytes. Files go in pieces.
pub const LONGEST_LINE: usize = 16 << 20;

/// What a connector sends.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ConnectorFrame {
    Hello(Hello),
    /// Something is asked.
    Call {
        id: u64,
        call: Box<AnyCall>,
    },
    /// What became of an order.
    Answer(FrameAnswer),
    /// A line for the log of the control plane.
    Log(LogLine),
}

/// What the control plane sends.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PlaneFrame {
    Welcome(Welcomed),
    /// Nothing follows: why nobody is listened to here.
    Refused(ErrorBody),
    /// Something is to be done.
    Order {
        id: u64,
        order: Box<AnyOrder>,
    },
    /// What was asked, answered.
    Answer(FrameAnswer),
    News {
        what: News,
    },
    /// Everything is to end within a few seconds.
    Stop,
}

/// The first that a connector says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// The version of this protocol.
    pub version: u32,
    /// The surface it speaks for. Which one it may be follows from the socket.
    pub surface: String,
    /// The program and its version, for people.
    #[serde(default)]
    pub program: String,
    /// The hosts of its platform, as `HOST`, `HOST:PORT` or `*.HOST`, beside the servers of its accounts.
    #[serde(default)]
    pub hosts: Vec<String>,
    #[serde(default)]
    pub customs: Customs,
}

/// What is different on a surface. What is left out is as it is on most. It is remembered until another hello.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Customs {
    /// What a command begins with where it is shown.
    pub command_sign: CommandSign,
    /// Every chat has a room of its own, also before what keeps them together is there.
    pub room_per_chat: bool,
    /// The connector itself sees who reads in a conversation, and tells nothing while somebody does whom it is not
    /// for: with an account that is somebody's no more, their conversations are not forgotten.
    pub sees_readers: bool,
}

impl Customs {
    /// As it is on most surfaces.
    pub const USUAL: Self =
        Self { command_sign: CommandSign::Slash, room_per_chat: false, sees_readers: false };
}

/// What a command begins with. Both are always understood; clients of some surfaces keep `/` for themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum CommandSign {
    #[default]
    #[serde(rename = "/")]
    Slash,
    #[serde(rename = "!")]
    Bang,
}

impl CommandSign {
    pub const fn as_char(self) -> char {
        match self {
            Self::Slash => '/',
            Self::Bang => '!',
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Welcomed {
    pub version: u32,
    pub settings: Settings,
}

/// What a connector has to know from the beginning.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// The commands, in the order in which they are offered.
    pub commands: Vec<MenuItem>,
    /// The names of those that must get through when messages do not.
    pub urgent: Vec<String>,
    /// The largest file that is taken from people, in bytes.
    pub largest_upload: u64,
    /// The surface's own section of the settings.
    pub options: Value,
    /// Which lines of the log are wanted.
    #[serde(default)]
    pub log: String,
}

/// What became of something that was asked or ordered.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FrameAnswer {
    pub id: u64,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Ok(Value),
    Error(ErrorBody),
}

impl FrameAnswer {
    pub fn new(id: u64, outcome: Result<Value, ErrorBody>) -> Self {
        let outcome = match outcome {
            Ok(value) => Outcome::Ok(value),
            Err(body) => Outcome::Error(body),
        };
        Self { id, outcome }
    }

    pub fn into_result(self) -> Result<Value, ErrorBody> {
        match self.outcome {
            Outcome::Ok(value) => Ok(value),
            Outcome::Error(body) => Err(body),
        }
    }
}

/// What is made known without being asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum News {
    /// Chats were made, renamed or archived, and conversations may have to show it.
    Chats,
    /// Somebody's access may have changed.
    Access,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    pub level: LogLevel,
    pub message: String,
    /// What belongs to it, as `name=value` in words.
    #[serde(default)]
    pub fields: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}
