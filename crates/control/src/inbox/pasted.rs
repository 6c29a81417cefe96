//! Long texts that somebody pastes: kept as a file of the chat as well, so that tasks can open it and no model has to be
//! shown all of it.
//!
//! Promises: the message keeps its words, whatever becomes of the file; a message that comes again gets no second one.

use cloister_protocol::{Attachment, MAX_ATTACHMENTS, with_causes};

use crate::inbox::{Inbox, InboxError, IncomingMessage};

/// A longer text is kept as a file.
const LONG_BYTES: usize = 16 << 10;
const NAME: &str = "pasted.txt";
/// What the names of such files begin with.
const BEGINS: &str = "pasted";

impl Inbox {
    /// The file with the words of a message, if they are long and it has none of them yet.
    pub(super) async fn keep_pasted(
        &self,
        message: &IncomingMessage,
        attachments: &[Attachment],
        external_id: &str,
    ) -> Option<Attachment> {
        let bytes = message.text.len();
        // Sent again with its files, it has it.
        let has_it = |file: &Attachment| file.name.starts_with(BEGINS) && file.size == bytes as u64;
        if bytes <= LONG_BYTES
            || attachments.len() >= MAX_ATTACHMENTS
            || attachments.iter().any(has_it)
        {
            return None;
        }
        match self.write_pasted(message, external_id).await {
            Ok(file) => file,
            Err(error) => {
                let (workspace, error) = (message.workspace, with_causes(&error));
                tracing::warn!(%workspace, error, "a long text is not kept as a file");
                None
            }
        }
    }

    async fn write_pasted(
        &self,
        message: &IncomingMessage,
        external_id: &str,
    ) -> Result<Option<Attachment>, InboxError> {
        let store = self.control.store();
        if store.inbox().stored_before(message.surface, external_id).await?.is_some() {
            return Ok(None);
        }
        let by = store.users().user(&message.from).await?.id;
        let mut upload = self.upload(by, (message.workspace, message.chat), NAME).await?;
        upload.write(message.text.as_bytes())?;
        Ok(Some(upload.finish().await?))
    }
}

#[cfg(test)]
#[path = "pasted_tests.rs"]
mod tests;
