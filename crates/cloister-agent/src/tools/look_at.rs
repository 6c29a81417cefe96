//! `look_at`: shows the model a picture of the chat, whenever that came.
//!
//! A coordinator sees only what people sent: what tasks have made or fetched is for tasks to look at.

use std::path::Path;

use cloister_protocol::ChatId;
use cloister_protocol::link::{CHAT_PATH, Outcome};
use serde::Deserialize;
use serde_json::json;

use super::{ChatFolder, Effect, Handler, Tool, done, failed, object, parse};
use crate::ledger::Ledger;
use crate::model::{ChatMessage, Content, Part};
use crate::{files, pictures};

pub(crate) const NAME: &str = "look_at";
/// Where what people sent is.
const INCOMING: &str = "incoming/";
/// So many are shown at once.
const MOST_SHOWN: usize = 4;

pub(super) const TOOL: Tool = Tool {
    name: NAME,
    about: "Look at a picture again (PNG, JPEG, GIF, WebP): it is shown to you.",
    parameters: || {
        object(
            json!({"path": {"type": "string", "description": "Such as incoming/photo.png."}}),
            &["path"],
        )
    },
    effect: Effect::Reads,
    handler: Handler::Picture(look_at),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedPicture {
    #[serde(alias = "file_path", alias = "filename", alias = "name")]
    path: String,
}

fn look_at(arguments: &str) -> Result<String, Outcome> {
    Ok(parse::<WantedPicture>(arguments)?.path)
}

/// Where a model may look for pictures.
pub(crate) trait Gallery {
    /// A picture, as a `data:` URL.
    fn picture(&self, path: &str) -> Result<String, Outcome>;

    /// Whether there is such a picture.
    fn look(&self, path: &str) -> Outcome {
        match self.picture(path) {
            Ok(_shown) => done(format!("{path} is shown to you until this answer has ended.")),
            Err(wrong) => wrong,
        }
    }

    /// The pictures that are looked at in these steps, newest last.
    fn shown(&self, ledger: &Ledger) -> Vec<ChatMessage> {
        let mut paths: Vec<String> =
            ledger.done_of(NAME).filter_map(|call| look_at(&call.arguments).ok()).collect();
        let more = paths.len().saturating_sub(MOST_SHOWN);
        paths.drain(..more);
        let shown = paths.iter().filter_map(|path| {
            let text = format!("[The picture {path} that you look at]");
            let parts = vec![Part::Text { text }, Part::image(self.picture(path).ok()?)];
            Some(ChatMessage::User { content: Content::Parts(parts) })
        });
        shown.collect()
    }
}

/// What people sent to a chat.
pub(crate) struct SentToChat<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) chat: ChatId,
}

impl Gallery for SentToChat<'_> {
    fn picture(&self, path: &str) -> Result<String, Outcome> {
        let inside = files::in_workspace(self.chat, path);
        let sent = format!("chats/{}/{INCOMING}", self.chat);
        if !inside.starts_with(&sent) {
            return Err(failed(format!(
                "{path:?} did not come from the person: let a task look at it (only files in {CHAT_PATH}/{INCOMING} can be \
                 looked at here)"
            )));
        }
        seen(path, pictures::data_url(self.workspace, Path::new(&inside)))
    }
}

impl Gallery for ChatFolder {
    fn picture(&self, path: &str) -> Result<String, Outcome> {
        let found = self.resolve(path)?;
        let root = if found.starts_with(self.chat()) { self.chat() } else { Path::new("/tmp") };
        let inside = found.strip_prefix(root).unwrap_or(&found);
        seen(path, pictures::data_url(root, inside))
    }
}

fn seen(path: &str, read: std::io::Result<String>) -> Result<String, Outcome> {
    read.map_err(|error| failed(format!("{path:?} can't be shown: {error}")))
}
