//! One message as Discord takes it: words, what stands in a frame, what can be pressed, a file.
//!
//! Promises: nothing in a message rings a bell, whatever it says; no address in it is fetched by itself; it is
//! never empty and never longer than Discord takes.

use serde_json::{Value, json};

use super::text::{cut, length};

/// The most of a message's words.
pub(super) const LONGEST: usize = 2000;
/// The most of what stands in a frame.
pub(super) const LONGEST_IN_FRAME: usize = 4096;

/// No address in it is shown as a picture of what is there.
const SUPPRESS_EMBEDS: u64 = 1 << 2;
/// Only one person sees it.
const EPHEMERAL: u64 = 1 << 6;

/// What a message says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Message {
    pub(super) content: String,
    pub(super) frame: Option<Frame>,
    /// Rows of what can be pressed.
    pub(super) rows: Vec<Value>,
}

/// What stands out of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) title: String,
    pub(super) text: String,
    pub(super) fields: Vec<(String, String)>,
    pub(super) footer: String,
    pub(super) colour: u32,
}

/// The file of a message, as it is called there.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Attached {
    /// Of letters that Discord takes.
    pub(super) name: String,
    /// As it was called.
    pub(super) title: String,
    pub(super) data: Vec<u8>,
}

/// How a message is put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Put<'a> {
    /// As a new one, once per nonce, perhaps in answer to another.
    New { nonce: &'a str, answers: Option<&'a str> },
    /// In the place of what was there.
    Instead,
    /// As an answer to a command; `private`: only who gave it sees it.
    Answer { private: bool },
}

impl Put<'_> {
    /// The same without saying what it answers.
    pub(super) const fn answers_nothing(self) -> Self {
        match self {
            Self::New { nonce, answers: _ } => Self::New { nonce, answers: None },
            other => other,
        }
    }
}

impl Message {
    pub(super) fn words(content: String) -> Self {
        Self { content, ..Self::default() }
    }

    /// What is sent for it.
    pub(super) fn payload(&self, put: Put<'_>, file: Option<&Attached>) -> Value {
        let frames: Vec<Value> = self.frame.iter().map(Frame::json).collect();
        // It would hide our own frames as well; of what is in those, nothing is fetched.
        let mut flags = if frames.is_empty() { SUPPRESS_EMBEDS } else { 0 };
        let content = fit(&self.content);
        let content = match content.trim() {
            "" if frames.is_empty() && file.is_none() => "…",
            content => content,
        };
        let mut payload = json!({
            "content": content,
            "embeds": frames,
            "components": self.rows,
            "allowed_mentions": { "parse": [], "replied_user": false },
        });
        match put {
            Put::New { nonce, answers } => {
                payload["nonce"] = json!(nonce);
                payload["enforce_nonce"] = json!(true);
                if let Some(message) = answers {
                    payload["message_reference"] =
                        json!({ "message_id": message, "fail_if_not_exists": false });
                }
            }
            Put::Instead => {}
            Put::Answer { private: true } => flags |= EPHEMERAL,
            Put::Answer { private: false } => {}
        }
        payload["flags"] = json!(flags);
        if let Some(file) = file {
            payload["attachments"] =
                json!([{ "id": 0, "filename": file.name, "title": file.title }]);
        }
        payload
    }

    /// The same with nothing to press.
    pub(super) fn without_rows(&self) -> Self {
        Self { rows: Vec::new(), ..self.clone() }
    }

    /// The same without a frame, for where there may be none.
    pub(super) fn without_frame(&self) -> Self {
        let mut content = self.content.clone();
        if let Some(frame) = &self.frame {
            for part in frame.parts() {
                if !content.is_empty() {
                    content.push('\n');
                }
                content.push_str(&part);
            }
        }
        // What would be cut can't be read, and is not to be pressed.
        let whole = length(&content) <= LONGEST;
        let rows = if whole { self.rows.clone() } else { Vec::new() };
        Self { content, frame: None, rows }
    }
}

impl Frame {
    fn json(&self) -> Value {
        let mut frame = json!({ "description": fit_to(&self.text, LONGEST_IN_FRAME) });
        if !self.title.is_empty() {
            frame["title"] = json!(cut(&self.title, 256));
        }
        if self.colour != 0 {
            frame["color"] = json!(self.colour);
        }
        let fields = self.fields.iter().filter(|(_, value)| !value.trim().is_empty());
        let fields: Vec<Value> = fields
            .map(
                |(name, value)| json!({ "name": name, "value": cut(value, 1024), "inline": false }),
            )
            .collect();
        if !fields.is_empty() {
            frame["fields"] = json!(fields);
        }
        if !self.footer.is_empty() {
            frame["footer"] = json!({ "text": cut(&self.footer, 1000) });
        }
        frame
    }

    /// What it says, line by line.
    fn parts(&self) -> Vec<String> {
        let title = Some(&self.title).filter(|title| !title.is_empty());
        let mut parts: Vec<String> =
            title.map(|title| format!("**{title}**")).into_iter().collect();
        parts.push(self.text.clone());
        let fields = self.fields.iter().filter(|(_, value)| !value.trim().is_empty());
        parts.extend(fields.map(|(name, value)| format!("**{name}** {value}")));
        parts.push(self.footer.clone());
        parts.retain(|part| !part.trim().is_empty());
        parts
    }

    /// How long Discord takes it to be.
    #[cfg(test)]
    pub(super) fn length(&self) -> usize {
        let fields = self.fields.iter().map(|(name, value)| length(name) + length(value));
        length(&self.title) + length(&self.text) + length(&self.footer) + fields.sum::<usize>()
    }
}

/// The text, or as much of it as a message takes. What comes here was split to fit; this is for what was not.
fn fit(text: &str) -> String {
    fit_to(text, LONGEST)
}

fn fit_to(text: &str, most: usize) -> String {
    const END: &str = "\n```";
    if length(text) <= most {
        return text.to_owned();
    }
    let mut short = cut(text, most - END.len());
    if !short.matches("```").count().is_multiple_of(2) {
        short.push_str(END);
    }
    short
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
