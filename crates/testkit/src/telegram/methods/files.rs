//! Files: sent by a bot in parts, and fetched by it.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::params::{Params, Upload};
use super::super::refusal::{Answer, Refusal};
use super::super::state::{NewMessage, State, StoredFile};
use super::super::text::{self, CAPTION};
use super::messages::{Envelope, deliver, envelope};
use super::paced;

const MB: u64 = 1 << 20;
/// The most that a bot may fetch.
const MOST_FETCHED: u64 = 20 * MB;
const MOST_OF_A_PHOTO: usize = 10 << 20;

pub(super) fn get_file(state: &mut State, _bot: i64, params: &mut Params) -> Answer {
    let id = params.text("file_id").unwrap_or_default();
    let file = state
        .files
        .get(&id)
        .ok_or_else(|| Refusal::bad("wrong file_id or the file is temporarily unavailable"))?;
    if file.size > MOST_FETCHED {
        return Err(Refusal::bad("file is too big"));
    }
    Ok(json!({"file_id": id, "file_unique_id": format!("u{id}"), "file_size": file.size,
              "file_path": file.path}))
}

/// Keeps a file and gives it an id.
pub(in super::super) fn keep(state: &mut State, folder: &str, name: &str, bytes: Bytes) -> String {
    let id = format!("file-{}", state.word(24));
    let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let number = state.files.len();
    // Telegram's own server calls a file by its number; one that somebody runs keeps letters of its name.
    let letters: String = name.chars().map(|c| if c == '/' { '_' } else { c }).collect();
    let path = format!("{folder}/file_{number}_{letters}");
    state.files.insert(id.clone(), StoredFile { name: name.to_owned(), bytes, size, path });
    id
}

fn photo_fits(bytes: &[u8]) -> bool {
    let kinds: [&[u8]; 4] = [b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF"];
    kinds.iter().any(|kind| bytes.starts_with(kind))
}

/// What a message of this kind holds.
fn described(state: &mut State, kind: &str, upload: Upload) -> Result<Value, Refusal> {
    if upload.bytes.is_empty() {
        return Err(Refusal::bad("file must be non-empty"));
    }
    if kind == "photo" {
        if upload.bytes.len() > MOST_OF_A_PHOTO {
            return Err(Refusal::bad("file is too big"));
        }
        if !photo_fits(&upload.bytes) {
            return Err(Refusal::bad("IMAGE_PROCESS_FAILED"));
        }
    }
    let size = upload.bytes.len();
    let id = keep(state, &format!("{kind}s"), &upload.name, upload.bytes);
    let mime = upload.mime.unwrap_or_else(|| "application/octet-stream".to_owned());
    let mut told = json!({"file_id": id, "file_unique_id": format!("u{id}"), "file_size": size});
    match kind {
        "photo" => {
            told["width"] = json!(320);
            told["height"] = json!(200);
            return Ok(json!([told]));
        }
        "voice" => told["duration"] = json!(1),
        "audio" => {
            told["duration"] = json!(1);
            told["file_name"] = json!(upload.name);
        }
        "video" | "animation" => {
            for (field, value) in [("width", 320), ("height", 200), ("duration", 1)] {
                told[field] = json!(value);
            }
            told["file_name"] = json!(upload.name);
        }
        _ => told["file_name"] = json!(upload.name),
    }
    told["mime_type"] = json!(mime);
    Ok(told)
}

/// The file of a field: sent along, or one that is known already.
fn given(
    state: &mut State,
    params: &mut Params,
    kind: &str,
    field: &str,
) -> Result<Value, Refusal> {
    let attached = match params.text(field) {
        Some(name) => match name.strip_prefix("attach://") {
            Some(part) => params.file(part),
            None => {
                let known = state.files.get(&name).cloned();
                let known = known.ok_or_else(|| {
                    Refusal::bad("wrong remote file identifier specified: Wrong string length")
                })?;
                Some(Upload { name: known.name, mime: None, bytes: known.bytes })
            }
        },
        None => params.file(field),
    };
    let upload =
        attached.ok_or_else(|| Refusal::bad(&format!("there is no {kind} in the request")))?;
    described(state, kind, upload)
}

fn send(state: &mut State, bot: i64, params: &mut Params, kind: &str) -> Answer {
    let envelope = envelope(state, bot, params)?;
    let mut content = text::read(state, params, CAPTION)?;
    for field in ["duration", "width", "height", "performer", "title", "supports_streaming"] {
        params.take(field);
    }
    params.flag("disable_content_type_detection");
    let file = given(state, params, kind, kind)?;
    content.insert(kind.to_owned(), file);
    deliver(state, bot, envelope, content)
}

pub(super) fn send_document(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    send(state, bot, params, "document")
}

pub(super) fn send_photo(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    send(state, bot, params, "photo")
}

pub(super) fn send_voice(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    send(state, bot, params, "voice")
}

pub(super) fn send_audio(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    send(state, bot, params, "audio")
}

pub(super) fn send_video(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    send(state, bot, params, "video")
}

pub(super) fn send_animation(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    send(state, bot, params, "animation")
}

pub(super) fn send_group(state: &mut State, bot: i64, params: &mut Params) -> Answer {
    let Envelope { target, reply_to, .. } = envelope(state, bot, params)?;
    let media = params.json("media")?.unwrap_or_default();
    let media = media.as_array().cloned().unwrap_or_default();
    if !(2..=10).contains(&media.len()) {
        return Err(Refusal::bad("media group must include 2-10 items"));
    }
    let mut contents = Vec::new();
    for item in media {
        let kind = item["type"].as_str().unwrap_or_default().to_owned();
        if !["photo", "video", "document", "audio"].contains(&kind.as_str()) {
            return Err(Refusal::bad("can't use the media of the specified type in the album"));
        }
        let mut fields = Params::default();
        for field in ["caption", "caption_entities", "parse_mode"] {
            fields.restore(field, item.get(field).cloned());
        }
        let mut content: Map<String, Value> = text::read(state, &mut fields, CAPTION)?;
        params.restore("media_item", item.get("media").cloned());
        content.insert(kind.clone(), given(state, params, &kind, "media_item")?);
        contents.push(content);
    }
    paced(state, bot, target.key, "an album")?;
    let album = format!("1{}", state.random.below(1 << 40));
    let mut sent = Vec::new();
    for mut content in contents {
        content.insert("media_group_id".to_owned(), json!(album));
        let (key, thread) = (target.key, target.thread);
        let new = NewMessage { from: bot, by_bot: true, thread, reply_to, content, markup: None };
        let id = state.store(key, new);
        sent.push(state.message_json(key, id, true));
    }
    Ok(json!(sent))
}
