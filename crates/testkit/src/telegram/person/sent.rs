//! What a person sends.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::super::methods::keep_file;
use super::super::state::{State, now};
use super::super::text::typed_entities;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    Document,
    Photo,
    Voice,
    Audio,
    Video,
    VideoNote,
    Animation,
    Sticker,
}

impl FileKind {
    const fn field(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Photo => "photo",
            Self::Voice => "voice",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::VideoNote => "video_note",
            Self::Animation => "animation",
            Self::Sticker => "sticker",
        }
    }
}

#[derive(Clone, Debug)]
struct File {
    kind: FileKind,
    name: String,
    mime: String,
    bytes: Bytes,
    /// What it is said to be large, where that is more than there is.
    size: Option<u64>,
}

/// A message that is being sent.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    content: Map<String, Value>,
    file: Option<File>,
    reply_to: Option<i64>,
}

impl Sent {
    pub fn text(text: &str) -> Self {
        let mut sent = Self::of("text", json!(text));
        let entities = typed_entities(text);
        if !entities.is_empty() {
            sent.content.insert("entities".to_owned(), json!(entities));
        }
        sent
    }

    /// Any field of a message.
    pub fn of(field: &str, value: Value) -> Self {
        let content = Map::from_iter([(field.to_owned(), value)]);
        Self { content, file: None, reply_to: None }
    }

    /// With another field.
    pub fn with(mut self, field: &str, value: Value) -> Self {
        self.content.insert(field.to_owned(), value);
        self
    }

    pub fn file(kind: FileKind, name: &str, mime: &str, bytes: &[u8]) -> Self {
        let (name, mime) = (name.to_owned(), mime.to_owned());
        let bytes = Bytes::copy_from_slice(bytes);
        let file = File { kind, name, mime, bytes, size: None };
        Self { content: Map::new(), file: Some(file), reply_to: None }
    }

    /// Says that the file is this large.
    pub fn large(mut self, size: u64) -> Self {
        if let Some(file) = &mut self.file {
            file.size = Some(size);
        }
        self
    }

    pub fn caption(mut self, caption: &str) -> Self {
        self.content.insert("caption".to_owned(), json!(caption));
        let entities = typed_entities(caption);
        if !entities.is_empty() {
            self.content.insert("caption_entities".to_owned(), json!(entities));
        }
        self
    }

    pub const fn reply_to(mut self, message: i64) -> Self {
        self.reply_to = Some(message);
        self
    }

    /// Only this part is replied to.
    pub fn quoting(mut self, part: &str) -> Self {
        let quote = json!({"text": part, "position": 0, "is_manual": true});
        self.content.insert("quote".to_owned(), quote);
        self
    }

    /// Somebody else wrote it first, and hides their account.
    pub fn forwarded_from(mut self, name: &str) -> Self {
        let origin = json!({"type": "hidden_user", "date": now(), "sender_user_name": name});
        self.content.insert("forward_origin".to_owned(), origin);
        self
    }

    /// Chosen from what an inline bot offered.
    pub fn via_bot(self, name: &str) -> Self {
        let bot = json!({"id": 4242, "is_bot": true, "first_name": name, "username": name});
        self.with("via_bot", bot)
    }

    pub fn location(latitude: f64, longitude: f64) -> Self {
        Self::of("location", json!({"latitude": latitude, "longitude": longitude}))
    }

    pub fn venue(title: &str, address: &str, latitude: f64, longitude: f64) -> Self {
        let location = json!({"latitude": latitude, "longitude": longitude});
        let mut sent = Self::of("location", location.clone());
        let venue = json!({"location": location, "title": title, "address": address});
        sent.content.insert("venue".to_owned(), venue);
        sent
    }

    pub fn contact(name: &str, phone: &str) -> Self {
        Self::of("contact", json!({"phone_number": phone, "first_name": name}))
    }

    pub fn poll(question: &str, options: &[&str]) -> Self {
        let options: Vec<Value> = options
            .iter()
            .map(|text| json!({"persistent_id": text, "text": text, "voter_count": 0}))
            .collect();
        Self::of(
            "poll",
            json!({
                "id": "5", "question": question, "options": options, "total_voter_count": 0,
                "is_closed": false, "is_anonymous": true, "type": "regular",
                "allows_multiple_answers": false, "allows_revoting": true, "members_only": false,
            }),
        )
    }

    pub fn dice(emoji: &str, value: u8) -> Self {
        Self::of("dice", json!({"emoji": emoji, "value": value}))
    }

    pub fn sticker(emoji: &str) -> Self {
        let mut sent = Self::file(FileKind::Sticker, "sticker.webp", "image/webp", b"RIFF0000WEBP");
        sent.content.insert("emoji_of_sticker".to_owned(), json!(emoji));
        sent
    }

    pub(super) const fn replies_to(&self) -> Option<i64> {
        self.reply_to
    }

    pub(super) fn into_content(self, state: &mut State, by: i64) -> Map<String, Value> {
        let Self { mut content, file, .. } = self;
        let emoji = content.remove("emoji_of_sticker");
        if content.contains_key("contact") {
            content["contact"]["user_id"] = json!(by);
        }
        let Some(file) = file else { return content };
        let field = file.kind.field();
        let length = u64::try_from(file.bytes.len()).unwrap_or(u64::MAX);
        let size = file.size.unwrap_or(length);
        let id = keep_file(state, &format!("{field}s"), &file.name, file.bytes);
        if let Some(kept) = state.files.get_mut(&id) {
            kept.size = size;
        }
        let mut told =
            json!({"file_id": id, "file_unique_id": format!("u{id}"), "file_size": size});
        let fields = match file.kind {
            FileKind::Photo => json!({"width": 640, "height": 400}),
            FileKind::Voice => json!({"duration": 2, "mime_type": file.mime}),
            FileKind::VideoNote => json!({"length": 240, "duration": 2}),
            FileKind::Document => json!({"file_name": file.name, "mime_type": file.mime}),
            FileKind::Audio => {
                json!({"duration": 2, "file_name": file.name, "mime_type": file.mime, "title": "A song"})
            }
            FileKind::Video | FileKind::Animation => json!({
                "width": 640, "height": 400, "duration": 2, "file_name": file.name,
                "mime_type": file.mime,
            }),
            FileKind::Sticker => json!({
                "type": "regular", "width": 512, "height": 512, "is_animated": false, "is_video": false,
                "set_name": "Animals",
            }),
        };
        if let (Value::Object(told), Value::Object(fields)) = (&mut told, fields) {
            told.extend(fields);
            told.extend(emoji.map(|emoji| ("emoji".to_owned(), emoji)));
        }
        if file.kind == FileKind::Photo {
            // The small one comes first.
            let mut small = told.clone();
            small["width"] = json!(90);
            small["height"] = json!(56);
            small["file_size"] = json!(size.min(900));
            let bytes = Bytes::from_static(b"\xff\xd8\xffsmall");
            small["file_id"] = json!(keep_file(state, "thumbnails", "small.jpg", bytes));
            told = json!([small, told]);
        } else if file.kind == FileKind::Animation {
            content.insert("document".to_owned(), told.clone());
        }
        content.insert(field.to_owned(), told);
        content
    }
}
