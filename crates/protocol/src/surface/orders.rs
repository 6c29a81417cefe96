//! What the control plane asks of a connector.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::posts::{Posting, Recipient, SendError, WebhookAnswer};
use super::rows::{Connector, ConnectorId};
use crate::admin::{AddConnector, Key, ReconcileReport, ResetMode, ResetReport};

/// Something that is ordered, and what is answered.
pub trait Order: Into<AnyOrder> {
    type Answer: Serialize + DeserializeOwned;
}

macro_rules! orders {
    ($( $(#[doc = $doc:literal])* $name:ident { $( $(#[doc = $of:literal])* $field:ident: $type:ty ),* $(,)? } -> $answer:ty; )*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
            pub struct $name { $( $(#[doc = $of])* pub $field: $type, )* }

            impl Order for $name {
                type Answer = $answer;
            }

            impl From<$name> for AnyOrder {
                fn from(order: $name) -> Self {
                    Self::$name(order)
                }
            }
        )*

        /// Any of the orders, as it goes over the wire.
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "order", rename_all = "snake_case")]
        pub enum AnyOrder { $( $name($name), )* }

        /// The answers by the name of the order, for the schema.
        #[derive(JsonSchema)]
        #[expect(dead_code, reason = "describes the answers in the schema; never built")]
        #[schemars(rename_all = "snake_case")]
        pub(crate) enum OrderAnswer { $( $name($answer), )* }
    };
}

/// An account that was connected.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Added {
    pub connector: Connector,
    /// Opens the account's key backup and cross-signing on another device, if it was made now.
    pub recovery_key: Option<Key>,
}

orders! {
    /// Connects every known connector, each in the background.
    Start {} -> ();
    /// Logs in and connects. Nothing is kept of one that can't log in.
    Add { new: AddConnector, by: String } -> Added;
    /// Further facts of a connector, by name, none of them secret.
    Facts { connector: Connector } -> Vec<(String, String)>;
    /// Logs out and forgets the account; conversations on the server stay as they are.
    Remove { account: String, by: String } -> ();
    /// Compares what is known with what the server has, and mends what is known.
    Reconcile { account: String } -> ReconcileReport;
    Reset { account: String, mode: ResetMode, dry_run: bool, by: String } -> ResetReport;
    /// Takes what the platform delivered by calling us, with the proof that was to be expected; it is stored when
    /// this answers that it was taken.
    Deliver { name: String, body: String } -> WebhookAnswer;
    /// Disconnects everything, within a few seconds.
    Stop {} -> ();
    /// Posts one message and says which it is. The same key again is the same message.
    Post { connector: ConnectorId, to: Recipient, key: String, posting: Posting } -> Result<String, SendError>;
    /// Puts a posting in the place of what a message said. The key names this edit and what it says.
    Edit { connector: ConnectorId, to: Recipient, key: String, message: String, posting: Posting } -> Result<(), SendError>;
    /// Shows what there is of an answer without a message existing.
    Draft { connector: ConnectorId, to: Recipient, key: String, posting: Posting } -> Result<(), SendError>;
    /// Shows that an answer is being written, or is no longer.
    Typing { connector: ConnectorId, to: Recipient, typing: bool } -> ();
    /// How long each text is as it is shown, in what `longest` counts.
    Measured { connector: ConnectorId, texts: Vec<String> } -> Vec<u64>;
}
