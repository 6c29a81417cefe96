//! The inbox: what people say and hand over, stored before it is acknowledged, and what they were shown of it.

mod error;
mod intake;
mod past;
mod pasted;
mod shown;
mod uploads;

use cloister_protocol::{UserId, WorkspaceId};

use crate::control::part;
use crate::limits::Permit;

pub use error::{InboxError, InboxRefusal};
pub(crate) use intake::client_id;
pub use intake::{IncomingMessage, Receipt};
pub(crate) use shown::Shown;
pub(crate) use uploads::mime_of;
pub use uploads::{Download, Upload};

part! {
    /// The way in.
    pub struct Inbox;
}

impl Inbox {
    /// Whether one more connection of this person may be opened; the permit is held while it is.
    pub fn enter_socket(
        &self,
        surface: &'static str,
        workspace: WorkspaceId,
        by: UserId,
    ) -> Result<Permit, InboxError> {
        self.control.inner.limiter.socket(workspace, by).map_err(|too_much| {
            self.control.metrics().refused(surface, too_much.reason);
            too_much.into()
        })
    }
}
