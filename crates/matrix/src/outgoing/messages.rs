//! The content of messages: plain text, HTML beside it, what it answers, and how it takes another's place.

use cloister_policy::legible;
use cloister_protocol::surface::{ConversationKind, Recipient};
use matrix_sdk::ruma::events::Mentions;
use matrix_sdk::ruma::events::relation::{InReplyTo, Replacement, Reply, Thread};
use matrix_sdk::ruma::events::room::message::{
    MessageType, NoticeMessageEventContent, Relation, RoomMessageEventContent,
    RoomMessageEventContentWithoutRelation, TextMessageEventContent,
};
use matrix_sdk::ruma::{EventId, OwnedEventId};
use serde::{Deserialize, Serialize};

use super::html::{Rendered, push_text, render};
use super::inert::{inert_beside_html, inert_html, inert_text};

/// The most of one message, as [`measure`] counts. An event has at most 64 KiB, a third of that goes to the
/// encoding of the ciphertext, and both forms of a text are in it.
pub(super) const LONGEST: usize = 16 << 10;
/// How much of an edit is repeated for clients that know no edits.
const MAX_FALLBACK: usize = 1 << 10;

/// What is kept with a message of a person, to be known again when it is answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Origin {
    /// The message's event.
    pub(crate) event: String,
    /// The event that began the thread it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) thread: Option<String>,
}

impl Origin {
    pub(crate) fn to_json(&self) -> String {
        serde_json::json!({ "event": self.event, "thread": self.thread }).to_string()
    }
}

/// Both forms of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) body: String,
    pub(super) html: Option<String>,
}

impl Written {
    pub(super) fn from_markdown(markdown: &str) -> Self {
        let body = match markdown.trim() {
            "" => "…".to_owned(),
            _ => legible(markdown).into_owned(),
        };
        let html = match render(markdown) {
            Rendered::Html(html) => Some(html),
            Rendered::Plain | Rendered::TooLong => None,
        };
        Self { body, html }
    }

    pub(super) fn text(self, previews: Previews) -> MessageType {
        let Self { body, html } = self.under(previews);
        MessageType::Text(match html {
            Some(html) => TextMessageEventContent::html(body, html),
            None => TextMessageEventContent::plain(body),
        })
    }

    pub(super) fn notice(self, previews: Previews) -> MessageType {
        let Self { body, html } = self.under(previews);
        MessageType::Notice(match html {
            Some(html) => NoticeMessageEventContent::html(body, html),
            None => NoticeMessageEventContent::plain(body),
        })
    }

    /// The same, so that no address in it is fetched.
    fn under(self, previews: Previews) -> Self {
        let Self { body, html } = self;
        let html = match previews {
            Previews::Unasked => html.map(|html| inert_html(&html)),
            Previews::Never => return Self { body, html },
        };
        match html {
            Some(html) => Self { body: inert_beside_html(&body), html: Some(html) },
            None => Self::alone(&body),
        }
    }

    /// A text without HTML of its own: it has some where that keeps it as it is, for it may not be changed else.
    fn alone(body: &str) -> Self {
        let inert = inert_text(body);
        if inert == body {
            return Self { body: inert, html: None };
        }
        let html = inert_html(&as_html(body));
        if json_bytes(&html) > LONGEST {
            return Self { body: inert, html: None };
        }
        Self { body: inert_beside_html(body), html: Some(html) }
    }
}

fn as_html(text: &str) -> String {
    let mut html = String::from("<p>");
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            html.push_str("<br>");
        }
        push_text(&mut html, line);
    }
    html.push_str("</p>");
    html
}

/// When clients have the homeserver fetch what an address in a message leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Previews {
    /// Where it is not encrypted.
    Unasked,
    /// Where it is: only if a person switched it on.
    Never,
}

/// How much of a message a text takes: the longest of its forms, as JSON.
pub(super) fn measure(markdown: &str) -> usize {
    let body = json_bytes(&legible(markdown));
    if body > LONGEST {
        return body;
    }
    let written = Written::from_markdown(markdown);
    if written.html.is_none() && matches!(render(markdown), Rendered::TooLong) {
        return LONGEST + markdown.len().max(1);
    }
    let Written { body: inert, html } = written.under(Previews::Unasked);
    body.max(json_bytes(&inert)).max(html.map_or(0, |html| json_bytes(&html)))
}

pub(super) fn json_bytes(text: &str) -> usize {
    text.chars()
        .map(|c| match c {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            c if c < ' ' => 6,
            c => c.len_utf8(),
        })
        .sum()
}

/// A message with what it answers. It mentions nobody: what an agent writes rings no bell by itself.
pub(super) fn message(to: &Recipient, kind: MessageType) -> RoomMessageEventContent {
    let mut content = RoomMessageEventContent::new(kind).add_mentions(Mentions::new());
    content.relates_to = relation(to);
    content
}

pub(super) fn plain(kind: MessageType) -> RoomMessageEventContent {
    RoomMessageEventContent::new(kind).add_mentions(Mentions::new())
}

fn relation(to: &Recipient) -> Option<Relation<RoomMessageEventContentWithoutRelation>> {
    let origin: Origin = serde_json::from_str(to.origin.as_deref()?).ok()?;
    let event = EventId::parse(&origin.event).ok()?;
    if let Some(root) = origin.thread.and_then(|root| EventId::parse(root).ok()) {
        return Some(Relation::Thread(Thread::plain(root, event)));
    }
    match to.conversation.kind {
        // Where several people write, an answer says to whom.
        ConversationKind::Shared => Some(Relation::Reply(Reply::new(InReplyTo::new(event)))),
        ConversationKind::Room | ConversationKind::Lobby => None,
    }
}

/// A message in the place of an earlier one.
pub(super) fn replacement(of: OwnedEventId, kind: MessageType) -> RoomMessageEventContent {
    let mut fallback = String::from("* ");
    for c in kind.body().chars() {
        if fallback.len() >= MAX_FALLBACK {
            fallback.push('…');
            break;
        }
        fallback.push(c);
    }
    let fallback = Written { body: inert_text(&fallback), html: None };
    let fallback = match &kind {
        MessageType::Notice(_) => fallback.notice(Previews::Never),
        _ => fallback.text(Previews::Never),
    };
    let mut content = plain(fallback);
    let new = RoomMessageEventContentWithoutRelation::new(kind).add_mentions(Mentions::new());
    content.relates_to = Some(Relation::Replacement(Replacement::new(of, new)));
    content
}

#[cfg(test)]
#[path = "messages_tests.rs"]
pub(super) mod tests;
