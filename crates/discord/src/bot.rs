//! One connected bot: what every part of this surface works with.

use std::time::Duration;

use cloister_kit::Plane;
use cloister_protocol::surface::options::DiscordOptions;
use cloister_protocol::surface::{Connector, ConnectorId};
use ref_cast::RefCast;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::incoming::{Intake, IntakeState, Places, PlacesState, Sayings, SayingsState, Speakers};
use crate::interactions::Interactions;
use crate::outgoing::{Answers, AnswersState, Sending, SendingState};
use crate::rest::{ApiUrl, Fault, Request, Rest};
use crate::threads::{Threads, ThreadsState};
use crate::wire::snowflake;

/// What is kept about a bot besides its name; none of it is secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BotSettings {
    pub(crate) user: String,
    pub(crate) application: String,
    /// What it was called when it was added.
    #[serde(default)]
    pub(crate) name: String,
    /// Where the API is, if not at Discord's own address.
    #[serde(default)]
    pub(crate) api_url: Option<String>,
    /// Where the gateway is, if not where the API says.
    #[serde(default)]
    pub(crate) gateway_url: Option<String>,
}

impl BotSettings {
    pub(crate) fn api(&self) -> Option<ApiUrl> {
        self.api_url.as_deref().and_then(|url| ApiUrl::parse(url).ok())
    }
}

/// Which account it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Me {
    pub(crate) id: u64,
    pub(crate) application: u64,
    pub(crate) name: String,
}

/// A bot that has a token.
pub struct Bot {
    pub(crate) plane: Plane,
    /// As it was when the bot was connected; its position is with the control plane.
    pub(crate) connector: Connector,
    pub(crate) settings: BotSettings,
    pub(crate) options: DiscordOptions,
    pub(crate) rest: Rest,
    pub(crate) me: Me,
    pub(crate) intake: IntakeState,
    pub(crate) places: PlacesState,
    pub(crate) sayings: SayingsState,
    pub(crate) sending: SendingState,
    pub(crate) answers: AnswersState,
    pub(crate) threads: ThreadsState,
}

impl Bot {
    pub(crate) const fn id(&self) -> ConnectorId {
        self.connector.id
    }

    pub(crate) const fn application(&self) -> u64 {
        self.me.application
    }

    /// The largest file that is taken or sent, in bytes.
    pub(crate) fn largest_file(&self) -> u64 {
        self.options.max_file_mb.saturating_mul(1024 * 1024)
    }

    fn within(&self) -> Duration {
        self.options.request_timeout()
    }

    /// Does a request; nothing of the answer is wanted.
    pub(crate) async fn done(&self, request: Request) -> Result<(), Fault> {
        self.rest.done(self.within(), request).await
    }

    /// Does a request and reads as much of its answer as `A` wants.
    pub(crate) async fn read<A: DeserializeOwned>(&self, request: Request) -> Result<A, Fault> {
        self.rest.read(self.within(), request).await
    }

    /// Asks for something.
    pub(crate) async fn get<A: DeserializeOwned>(&self, path: String) -> Result<A, Fault> {
        self.read(Request::get(path)).await
    }
}

/// The parts, each by its handle.
impl Bot {
    pub(crate) fn intake(&self) -> &Intake {
        Intake::ref_cast(self)
    }

    pub(crate) fn speakers(&self) -> &Speakers {
        Speakers::ref_cast(self)
    }

    pub(crate) fn places(&self) -> &Places {
        Places::ref_cast(self)
    }

    pub(crate) fn sayings(&self) -> &Sayings {
        Sayings::ref_cast(self)
    }

    pub(crate) fn interactions(&self) -> &Interactions {
        Interactions::ref_cast(self)
    }

    pub(crate) fn sending(&self) -> &Sending {
        Sending::ref_cast(self)
    }

    pub(crate) fn answers(&self) -> &Answers {
        Answers::ref_cast(self)
    }

    pub(crate) fn threads(&self) -> &Threads {
        Threads::ref_cast(self)
    }
}

/// The channel that a conversation is; none if its name is no snowflake.
pub(crate) fn channel(conversation: &str) -> Option<u64> {
    snowflake(conversation)
}
