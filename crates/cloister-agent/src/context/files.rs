//! Files of the workspace that belong in the context: the person's documents and images just sent.

use std::io;
use std::path::Path;

use cloister_protocol::{Attachment, ChatId, ModelFacts};

use crate::pictures::{self, read_inside};
use crate::text;
use crate::tools::remember;

/// What each document is for, and how much of it is shown.
const DOCUMENTS: [(&str, &str, usize); 3] = [
    ("SOUL.md", "Who you are (SOUL.md)", 8 << 10),
    ("USER.md", "About the person (USER.md)", 8 << 10),
    ("MEMORY.md", "What you keep in mind (MEMORY.md)", 16 << 10),
];
/// More than is shown, so that nothing is lost when something is added.
const MAX_MEMORY_BYTES: u64 = 256 << 10;
/// Files of the chat that are looked at, and named.
const MAX_ENTRIES: usize = 1_000;
const MAX_LISTED: usize = 40;
const MAX_NAME_BYTES: usize = 120;
const MAX_IMAGES: usize = 4;

/// The documents that are there, each with its heading. One that can't be read is as good as absent.
/// What does not fit is left out, and said so.
pub(super) fn documents(workspace: &Path, model: ModelFacts) -> Vec<String> {
    // All three together take a third of a window that is known, at the most; about four bytes are a token.
    let of_window = |max: usize| match model.window_tokens {
        Some(window) => max.min(usize::try_from(window).unwrap_or(max).saturating_mul(4) / 9),
        None => max,
    };
    let read = |(name, heading, max): &(&str, &str, usize)| {
        let bytes = read_inside(workspace, Path::new(name), MAX_MEMORY_BYTES).ok()?;
        let body = String::from_utf8_lossy(&bytes);
        let body = text::shorten(body.trim(), of_window(*max));
        (!body.is_empty()).then(|| format!("# {heading}\n{body}"))
    };
    DOCUMENTS.iter().filter_map(read).collect()
}

/// The files of the chat, as executors see them; none when there are none. Names are what somebody called a file: shown
/// as quoted data.
pub(super) fn listed(workspace: &Path, chat: ChatId) -> Option<String> {
    let chat = workspace.join("chats").join(chat.to_string());
    let mut names = Vec::new();
    for (folder, shown) in [("files", ""), ("incoming", "incoming/")] {
        let Ok(entries) = std::fs::read_dir(chat.join(folder)) else { continue };
        for entry in entries.take(MAX_ENTRIES).flatten() {
            let name = entry.file_name();
            let folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let slash = if folder { "/" } else { "" };
            let name = text::head(&name.to_string_lossy(), MAX_NAME_BYTES).to_owned();
            names.push(format!("{:?}", format!("{shown}{name}{slash}")));
        }
    }
    // The mount of what was sent lies in the other folder for executors.
    names.retain(|name| name != "\"incoming/\"");
    names.sort();
    let more = names.len().saturating_sub(MAX_LISTED);
    names.truncate(MAX_LISTED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| format!("Files in /chat: {}{more}.", names.join(", ")))
}

/// All that is kept in mind; nothing when there is no such file.
pub(crate) fn memory(workspace: &Path) -> io::Result<String> {
    match read_inside(workspace, Path::new(remember::FILE), MAX_MEMORY_BYTES + 1) {
        Ok(bytes) if bytes.len() as u64 > MAX_MEMORY_BYTES => {
            Err(io::Error::other(format!("it is larger than {MAX_MEMORY_BYTES} bytes")))
        }
        Ok(bytes) => String::from_utf8(bytes).map_err(io::Error::other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error),
    }
}

#[derive(Default)]
pub(super) struct Images {
    pub(super) data_urls: Vec<String>,
    /// Why an image is not among them.
    pub(super) left_out: Vec<String>,
}

pub(super) fn images(workspace: &Path, attachments: &[Attachment]) -> Images {
    let mut images = Images::default();
    for file in attachments.iter().filter(|file| is_image(&file.mime)) {
        if images.data_urls.len() == MAX_IMAGES {
            let note =
                format!("[{} is not shown: only {MAX_IMAGES} images at once are]", file.name);
            images.left_out.push(note);
            continue;
        }
        match pictures::with_type(workspace, Path::new(&file.path), &file.mime) {
            Ok(url) => images.data_urls.push(url),
            Err(error) => {
                images.left_out.push(format!("[{} can't be shown: {error}]", file.name));
            }
        }
    }
    images
}

fn is_image(mime: &str) -> bool {
    mime.strip_prefix("image/")
        .is_some_and(|kind| kind.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)))
}
