//! Files for people, as attachments. They come from the artifacts that the control plane keeps, and from nowhere else.

use cloister_kit::Reading;
use cloister_policy::legible;
use cloister_protocol::ErrorCode;
use cloister_protocol::surface::{FileToSend, SendError};

use super::Sending;
use super::message::Attached;
use super::text::{cut, one_line};

/// What Discord takes from a bot, wherever it is.
pub(super) const DISCORD_TAKES: u64 = 10 << 20;
const MAX_NAME: usize = 100;
const MAX_TITLE: usize = 200;

impl Sending {
    /// The largest file that can be sent.
    pub(super) fn largest_sent(&self) -> u64 {
        self.bot.largest_file().min(DISCORD_TAKES)
    }

    /// Reads a file.
    pub(super) async fn attach(&self, file: &FileToSend) -> Result<Attached, SendError> {
        let most = self.largest_sent();
        let too_large = |size: u64| {
            let (name, size, most) = (legible(&file.name), size.div_ceil(1 << 20), most >> 20);
            SendError::Refused(format!(
                "{name} has {size} MB; files of up to {most} MB can be sent here"
            ))
        };
        if file.size > most {
            return Err(too_large(file.size));
        }
        let read = Reading::of(&self.bot.plane, file).whole(most).await;
        let data = read.map_err(|error| match error.code() {
            // It has grown since it was looked at.
            ErrorCode::TooLarge => too_large(most.saturating_add(1)),
            _ => SendError::Unreachable(format!("a file could not be read: {error}")),
        })?;
        Ok(Attached { name: safe_name(&file.name), title: title(&file.name), data })
    }
}

/// A name of the letters that Discord takes, with its ending.
fn safe_name(name: &str) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let plain: String = name.chars().map(|c| if fine(c) { c } else { '_' }).collect();
    let (stem, ending) = match plain.rsplit_once('.') {
        Some((stem, ending)) if is_ending(ending) => (stem, ending),
        Some(_) | None => (plain.as_str(), ""),
    };
    let stem = stem.trim_matches(['.', '_', '-']);
    let stem = if stem.is_empty() { "file" } else { stem };
    let stem: String = stem.chars().take(MAX_NAME).collect();
    if ending.is_empty() { stem } else { format!("{stem}.{ending}") }
}

fn is_ending(ending: &str) -> bool {
    ending.len() <= 16 && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// As people called it; the ending is shown with it.
fn title(name: &str) -> String {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let stem = if stem.is_empty() { name } else { stem };
    cut(&one_line(stem), MAX_TITLE)
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
