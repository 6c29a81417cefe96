//! The port of the surfaces: how control speaks where people are, and how an operator connects it there.
//!
//! A surface renders and sends; what is said, to whom and whether at all is decided before it is asked. What
//! it hears it hands over before it acknowledges it to the outside.

use cloister_protocol::admin::{
    AddConnector, AddedConnector, ConnectorView, ReconcileReport, ResetMode, ResetReport,
};
pub use cloister_protocol::surface::{Manners, Measure, Recipient, SendError, Streaming};
use cloister_protocol::{Answer, Ask};
use cloister_store::Actor;
use cloister_store::connectors::ConnectorId;
use cloister_store::conversations::Conversation;
use futures_util::future::BoxFuture;

use super::webhook::{Webhook, WebhookAnswer};
use crate::error::ControlError;
use crate::inbox::Download;
use crate::surfaces::Button;

/// One bot account that is connected. Control hands it what is to be told, conversation by conversation and
/// in order; it never has to queue.
pub trait Surface: Send + Sync + 'static {
    /// Its name, as the inbox and identities know it: matrix, telegram …
    fn name(&self) -> &'static str;
    fn connector(&self) -> ConnectorId;
    fn manners(&self) -> Manners;
    /// How an answer may be shown there while it is being written.
    fn streaming(&self, conversation: &Conversation) -> Streaming;
    /// How long each text is as it is shown there, where its manners say that it is to be asked.
    fn measured(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<usize>, SendError>>;
    /// Posts one message and says which it is. The same key again is the same message: where the platform can
    /// tell, it is not posted twice, and the id is that of the first.
    fn post<'a>(
        &'a self,
        to: &'a Recipient,
        key: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<String, SendError>>;
    /// Puts a posting in the place of what a message said. The key names this edit and what it says.
    fn edit<'a>(
        &'a self,
        to: &'a Recipient,
        key: &'a str,
        message: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<(), SendError>>;
    /// Shows what there is of an answer without a message existing; the end is an ordinary post. The key is that
    /// of the post. Refused: nothing is shown before the end.
    fn draft<'a>(
        &'a self,
        _to: &'a Recipient,
        _key: &'a str,
        _post: &'a Posting,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        Box::pin(async { Err(SendError::Refused("it shows no drafts".to_owned())) })
    }
    /// Shows that an answer is being written, or is no longer. Control repeats it while it lasts.
    fn typing<'a>(&'a self, to: &'a Recipient, typing: bool) -> BoxFuture<'a, ()>;
}

/// One message, as the surface is to render it.
#[derive(Debug)]
pub enum Posting {
    /// An answer or a part of it; `unfinished`: it is still being written.
    Answer {
        markdown: String,
        unfinished: bool,
        /// What can be pressed below it; a surface without buttons leaves them out.
        buttons: Vec<Button>,
    },
    /// Something the person should know that answers nothing: a notice, a task's state.
    Notice {
        markdown: String,
        buttons: Vec<Button>,
    },
    /// A question; `settled`: how it was answered, and by whom.
    Question {
        ask: Ask,
        settled: Option<(Answer, String)>,
    },
    File(Download),
}

/// A surface with all its connectors, for who administers it.
pub trait SurfaceHost: Send + Sync + 'static {
    fn name(&self) -> &'static str;
    /// Connects every known connector, each in the background. Returns at once.
    fn start(&self) -> BoxFuture<'_, Result<(), ControlError>>;
    /// Logs in and connects. Nothing is kept of one that can't log in.
    fn add<'a>(
        &'a self,
        actor: &'a Actor,
        new: AddConnector,
    ) -> BoxFuture<'a, Result<AddedConnector, ControlError>>;
    fn list(&self) -> BoxFuture<'_, Result<Vec<ConnectorView>, ControlError>>;
    /// Logs out and forgets the account; conversations on the server stay as they are.
    fn remove<'a>(
        &'a self,
        actor: &'a Actor,
        account: &'a str,
    ) -> BoxFuture<'a, Result<(), ControlError>>;
    /// Compares what is known with what the server has, and mends what is known.
    fn reconcile<'a>(
        &'a self,
        account: &'a str,
    ) -> BoxFuture<'a, Result<ReconcileReport, ControlError>>;
    fn reset<'a>(
        &'a self,
        actor: &'a Actor,
        account: &'a str,
        mode: ResetMode,
        dry_run: bool,
    ) -> BoxFuture<'a, Result<ResetReport, ControlError>>;
    /// Whether a delivery under this name and with this proof is read at all; else what is answered. Asked before
    /// anything of the body is, so it must cost next to nothing; the proof is compared in constant time.
    fn expects(&self, _name: &str, _secret_header: Option<&str>) -> Result<(), WebhookAnswer> {
        Err(WebhookAnswer::NotFound)
    }
    /// Takes what the platform delivers by calling us; it is stored when this answers that it was taken.
    fn webhook<'a>(&'a self, _hook: Webhook<'a>) -> BoxFuture<'a, WebhookAnswer> {
        Box::pin(std::future::ready(WebhookAnswer::NotFound))
    }
    /// Disconnects everything, within a few seconds.
    fn stop(&self) -> BoxFuture<'_, ()>;
}
