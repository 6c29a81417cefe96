//! What an event says, as far as it concerns us. Pure: an event is data that anybody in the room may have
//! written, in any shape.

use matrix_sdk::ruma::events::room::{EncryptedFile, MediaSource};
use matrix_sdk::ruma::{OwnedEventId, OwnedMxcUri, OwnedUserId};
use serde_json::Value;

use super::{formatted, text};

/// The longest that anything but the text itself may be, in bytes: names, addresses, kinds.
const LONGEST_WORD: usize = 512;

/// An event and who sent it, as the homeserver vouches for.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) id: OwnedEventId,
    pub(super) sender: OwnedUserId,
    /// It came encrypted.
    pub(super) sealed: bool,
    pub(super) heard: Heard,
}

#[derive(Clone, Debug)]
pub(super) enum Heard {
    Said(Said),
    /// The sender puts other words in the place of an earlier message.
    Edited {
        of: OwnedEventId,
        text: String,
    },
    Reacted {
        to: OwnedEventId,
        with: String,
    },
    Redacted {
        of: OwnedEventId,
    },
    Renamed {
        name: String,
    },
    /// Who can read along changed: somebody came, was invited or left, or the room was opened or closed.
    Moved,
    /// A message of a kind that nothing can be done with; what it is called.
    Unusable(String),
    /// Nothing that concerns us.
    Nothing,
}

/// A message.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    /// Empty only if there is a file.
    pub(super) text: String,
    pub(super) file: Option<SentFile>,
    pub(super) reply_to: Option<OwnedEventId>,
    /// The message that its thread hangs on.
    pub(super) thread: Option<OwnedEventId>,
}

#[derive(Clone, Debug)]
pub(super) struct SentFile {
    pub(super) name: String,
    /// What the sender says it has.
    pub(super) size: Option<u64>,
    pub(super) source: MediaSource,
}

impl Seen {
    /// Reads an event; none if it is none.
    pub(super) fn read(event: &Value) -> Option<Self> {
        let id = event_id(event.get("event_id"))?;
        let sender = word(event.get("sender"))?.parse().ok()?;
        Some(Self { id, sender, sealed: false, heard: hear(event).unwrap_or(Heard::Nothing) })
    }

    /// The same of an event that came encrypted. A redaction and a room's state are judged by the homeserver, who
    /// may do what; inside of an encryption anybody can write them, and nobody has judged them.
    pub(super) fn opened(self) -> Self {
        let heard = match self.heard {
            Heard::Redacted { .. } | Heard::Renamed { .. } | Heard::Moved => Heard::Nothing,
            heard @ (Heard::Said(_)
            | Heard::Edited { .. }
            | Heard::Reacted { .. }
            | Heard::Unusable(_)
            | Heard::Nothing) => heard,
        };
        Self { sealed: true, heard, ..self }
    }
}

/// Whether the homeserver has an event as taken back by this redaction: by its writer, or by somebody who may take
/// back what others wrote, for then nothing is left of it.
pub(super) fn took_back(event: &Value, redaction: &Seen) -> bool {
    let by = event.pointer("/unsigned/redacted_because/event_id");
    word(event.get("sender")) == Some(redaction.sender.as_str())
        || word(by) == Some(redaction.id.as_str())
}

fn hear(event: &Value) -> Option<Heard> {
    let content = event.get("content")?;
    let state_key = event.get("state_key").and_then(Value::as_str);
    let heard = match (word(event.get("type"))?, state_key) {
        ("m.room.message", None) => message(content, event)?,
        ("m.reaction", None) => {
            let relation = content.get("m.relates_to")?;
            if word(relation.get("rel_type"))? != "m.annotation" {
                return None;
            }
            let with = word(relation.get("key"))?.to_owned();
            Heard::Reacted { to: event_id(relation.get("event_id"))?, with }
        }
        ("m.room.redaction", None) => {
            let of = event.get("redacts").or_else(|| content.get("redacts"));
            Heard::Redacted { of: event_id(of)? }
        }
        ("m.room.name", Some("")) => Heard::Renamed { name: word(content.get("name"))?.to_owned() },
        ("m.room.member", Some(_))
        | ("m.room.join_rules" | "m.room.history_visibility" | "m.room.encryption", Some("")) => {
            Heard::Moved
        }
        ("m.sticker", None) => Heard::Unusable("stickers".to_owned()),
        ("m.poll.start" | "org.matrix.msc3381.poll.start", None) => {
            Heard::Unusable("polls".to_owned())
        }
        ("m.call.invite", None) => Heard::Unusable("calls".to_owned()),
        _ => return None,
    };
    Some(heard)
}

fn message(content: &Value, event: &Value) -> Option<Heard> {
    let relation = content.get("m.relates_to");
    let rel_type = relation.and_then(|relation| word(relation.get("rel_type")));
    let target = || relation.and_then(|relation| event_id(relation.get("event_id")));
    if rel_type == Some("m.replace") {
        let of = target()?;
        return Some(match said(content.get("m.new_content")?, event)? {
            Heard::Said(Said { text, .. }) if !text.is_empty() => Heard::Edited { of, text },
            _ => Heard::Nothing,
        });
    }
    let mut heard = said(content, event)?;
    if let Heard::Said(said) = &mut heard {
        let in_thread = rel_type == Some("m.thread");
        said.thread = in_thread.then(target).flatten();
        // In a thread, clients name the last message for who does not know threads: that is no reply.
        let falls_back = relation
            .and_then(|relation| relation.get("is_falling_back"))
            .and_then(Value::as_bool)
            .unwrap_or(false);
        said.reply_to = relation
            .filter(|_| !(in_thread && falls_back))
            .and_then(|relation| relation.get("m.in_reply_to"))
            .and_then(|reply| event_id(reply.get("event_id")));
        let replies = relation.is_some_and(|relation| relation.get("m.in_reply_to").is_some());
        if replies && said.file.is_none() {
            said.text = text::without_fallback(&said.text).to_owned();
        }
    }
    Some(heard)
}

/// The message itself, without what it relates to.
fn said(content: &Value, event: &Value) -> Option<Heard> {
    let mut body = text::clean(content.get("body").and_then(Value::as_str).unwrap_or_default());
    if let Some(html) = content.get("formatted_body").and_then(Value::as_str) {
        body = formatted::with_marks(&body, html);
    }
    let only_text = |text: String| {
        if text.trim().is_empty() {
            Heard::Nothing
        } else {
            Heard::Said(Said { text, ..Said::default() })
        }
    };
    Some(match word(content.get("msgtype"))? {
        "m.text" => only_text(body),
        // Never a command, whatever it begins with.
        "m.emote" if !body.trim().is_empty() => only_text(format!("* {body}")),
        // Bots speak in notices: to answer them is to begin a loop.
        "m.emote" | "m.notice" | "m.server_notice" | "m.key.verification.request" => Heard::Nothing,
        "m.location" => {
            let place = content.get("geo_uri").or_else(|| content.pointer("/m.location/uri"));
            let geo = word(place).filter(|uri| uri.starts_with("geo:"));
            geo.map_or(Heard::Nothing, |geo| only_text(location(geo, &body)))
        }
        "m.file" | "m.image" | "m.video" | "m.audio" => match sent_file(content, event) {
            Some(file) => {
                let caption = content.get("filename").and_then(Value::as_str).map(text::clean);
                let text = match caption {
                    Some(filename) if filename != body => body,
                    Some(_) | None => String::new(),
                };
                let text = if text.trim().is_empty() { String::new() } else { text };
                Heard::Said(Said { text, file: Some(file), ..Said::default() })
            }
            None => Heard::Unusable("files without content".to_owned()),
        },
        other => Heard::Unusable(format!("messages of the kind {:?}", text::short(other, 60))),
    })
}

fn location(geo: &str, body: &str) -> String {
    let geo = text::short(&text::clean(geo), 200);
    let words = body.trim();
    if words.is_empty() || words.contains(geo.as_str()) {
        format!("location: {geo}")
    } else {
        format!("location: {geo} ({})", text::short(words, 500))
    }
}

fn sent_file(content: &Value, event: &Value) -> Option<SentFile> {
    let source = match content.get("file") {
        Some(file) => {
            let file: EncryptedFile = serde_json::from_value(file.clone()).ok()?;
            file.url.parts().ok()?;
            MediaSource::Encrypted(Box::new(file))
        }
        None => {
            let uri = OwnedMxcUri::from(word(content.get("url"))?);
            uri.parts().ok()?;
            MediaSource::Plain(uri)
        }
    };
    let info = content.get("info");
    let mime = info.and_then(|info| word(info.get("mimetype"))).unwrap_or_default();
    let declared = ["filename", "body"].iter().find_map(|key| content.get(key)?.as_str());
    let declared = text::short(&text::clean(declared.unwrap_or_default()), 255);
    let voice =
        ["org.matrix.msc3245.voice", "m.voice"].iter().any(|key| content.get(key).is_some());
    let name = if voice {
        let at = event.get("origin_server_ts").and_then(Value::as_u64).unwrap_or(0) / 1000;
        format!("voice-{at}.{}", extension_of(mime).unwrap_or("ogg"))
    } else {
        named(declared, mime)
    };
    Some(SentFile { name, size: info.and_then(|info| info.get("size")?.as_u64()), source })
}

/// A name that ends as its type says, if it ends as none.
fn named(declared: String, mime: &str) -> String {
    let ends = declared.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty() && (1..=8).contains(&end.len()) && !end.contains(' ')
    });
    match extension_of(mime) {
        Some(extension) if !ends => {
            let stem = if declared.trim().is_empty() { "file" } else { declared.trim() };
            format!("{stem}.{extension}")
        }
        Some(_) | None => declared,
    }
}

fn extension_of(mime: &str) -> Option<&'static str> {
    let kind = mime.split(';').next().unwrap_or(mime).trim().to_ascii_lowercase();
    Some(match kind.as_str() {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/heic" => "heic",
        "image/svg+xml" => "svg",
        "video/mp4" => "mp4",
        "video/webm" => "webm",
        "video/quicktime" => "mov",
        "audio/ogg" | "audio/opus" => "ogg",
        "audio/mpeg" => "mp3",
        "audio/mp4" | "audio/x-m4a" | "audio/aac" => "m4a",
        "audio/webm" => "webm",
        "audio/wav" | "audio/x-wav" => "wav",
        "application/pdf" => "pdf",
        "application/json" => "json",
        "application/zip" => "zip",
        "text/plain" => "txt",
        "text/csv" => "csv",
        "text/markdown" => "md",
        "text/html" => "html",
        _ => return None,
    })
}

/// A short string; none if it is none or too long.
fn word(value: Option<&Value>) -> Option<&str> {
    value?.as_str().filter(|text| text.len() <= LONGEST_WORD)
}

fn event_id(value: Option<&Value>) -> Option<OwnedEventId> {
    word(value)?.parse().ok()
}

#[cfg(test)]
#[path = "heard_tests.rs"]
mod tests;
