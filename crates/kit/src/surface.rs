//! One bot account that is connected: what it is asked to show.

use cloister_protocol::surface::{
    ConnectorId, Manners, Posting, Recipient, SendError, StreamingBy,
};
use futures_util::future::BoxFuture;

/// Renders and sends. What it is handed comes conversation by conversation and in order; it never has to queue.
pub trait Surface: Send + Sync + 'static {
    fn connector(&self) -> ConnectorId;
    fn manners(&self) -> Manners;
    /// How an answer may be shown there while it is being written.
    fn streaming(&self) -> StreamingBy;
    /// How long a text is as it is shown, in what `longest` of its manners counts.
    fn measure(&self, markdown: &str) -> usize;
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
    /// Shows that an answer is being written, or is no longer. It is repeated while it lasts.
    fn typing<'a>(&'a self, to: &'a Recipient, typing: bool) -> BoxFuture<'a, ()>;
}
