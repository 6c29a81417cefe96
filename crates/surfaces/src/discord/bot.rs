//! One connected bot: what every part of this surface works with.

use std::future::IntoFuture;
use std::time::Duration;

use cloister_control::Control;
use cloister_store::connectors::{Connector, ConnectorId};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use twilight_http::client::InteractionClient;
use twilight_http::response::{Response, ResponseFuture};
use twilight_http::{Client, Error};
use twilight_model::id::Id;
use twilight_model::id::marker::{ApplicationMarker, ChannelMarker, UserMarker};

use super::options::DiscordOptions;
use super::rest::{self, ApiUrl, Fault};
use super::{incoming, outgoing};

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
        self.api_url.as_deref().and_then(ApiUrl::parse)
    }
}

/// Which account it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Me {
    pub(crate) id: Id<UserMarker>,
    pub(crate) application: Id<ApplicationMarker>,
    pub(crate) name: String,
}

/// A bot that has a token.
pub(crate) struct Bot {
    pub(crate) control: Control,
    /// As it was when the bot was connected; its position is in the database.
    pub(crate) connector: Connector,
    pub(crate) settings: BotSettings,
    pub(crate) options: DiscordOptions,
    pub(crate) http: Client,
    pub(crate) me: Me,
    pub(crate) incoming: incoming::Memory,
    pub(crate) outgoing: outgoing::Memory,
}

impl Bot {
    pub(crate) const fn id(&self) -> ConnectorId {
        self.connector.id
    }

    /// The part of the API that answers interactions and names commands.
    pub(crate) const fn interactions(&self) -> InteractionClient<'_> {
        self.http.interaction(self.me.application)
    }

    pub(crate) const fn application(&self) -> Id<ApplicationMarker> {
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
    pub(crate) async fn done<T: Unpin, R>(&self, request: R) -> Result<(), Fault>
    where
        R: IntoFuture<IntoFuture = ResponseFuture<T>, Output = Result<Response<T>, Error>>,
    {
        rest::call(self.within(), request).await.map(drop)
    }

    /// Does a request and reads as much of its answer as `A` wants.
    pub(crate) async fn read<A, T: Unpin, R>(&self, request: R) -> Result<A, Fault>
    where
        A: DeserializeOwned,
        R: IntoFuture<IntoFuture = ResponseFuture<T>, Output = Result<Response<T>, Error>>,
    {
        rest::read(self.within(), request).await
    }

    /// The same of a request that may take longer, such as one with a file.
    pub(crate) async fn read_within<A, T: Unpin, R>(
        &self,
        within: Duration,
        request: R,
    ) -> Result<A, Fault>
    where
        A: DeserializeOwned,
        R: IntoFuture<IntoFuture = ResponseFuture<T>, Output = Result<Response<T>, Error>>,
    {
        rest::read(within, request).await
    }
}

/// The channel that a conversation is; none if its name is no snowflake.
pub(crate) fn channel(conversation: &str) -> Option<Id<ChannelMarker>> {
    conversation.parse().ok().and_then(Id::new_checked)
}
