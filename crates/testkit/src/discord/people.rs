//! What people do: write, press, and use commands; as the service sees it.

use std::time::Instant;

use serde_json::{Value, json};

use super::checks::Allowed;
use super::state::{DM, Id, Interaction, Message, Shared, State};
use super::{events, messages, views};

/// How the tokens of interactions begin: `interaction:` in Base64.
pub(super) const TOKEN_MARK: &str = "aW50ZXJhY3Rpb246";

/// What somebody writes.
#[derive(Clone, Debug, Default)]
pub struct Letter {
    pub text: String,
    /// Name, type and content of each.
    pub files: Vec<(String, String, Vec<u8>)>,
    pub reply_to: Option<u64>,
    pub sticker: Option<String>,
    /// A recorded message; its one file is the sound.
    pub voice: bool,
    /// What was said elsewhere and is passed on.
    pub forwarded: Option<String>,
}

impl Letter {
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    pub fn file(mut self, name: &str, mime: &str, bytes: &[u8]) -> Self {
        self.files.push((name.to_owned(), mime.to_owned(), bytes.to_vec()));
        self
    }

    pub fn replying(mut self, to: u64) -> Self {
        self.reply_to = Some(to);
        self
    }
}

pub(super) fn write(shared: &Shared, state: &mut State, by: Id, channel: Id, letter: Letter) -> Id {
    let id = state.next_id();
    let mut message = Message::new(id, channel, by);
    (message.mentions, message.everyone) = Allowed::all().rung(state, &letter.text);
    message.content = letter.text;
    if let Some(to) = letter.reply_to {
        message.kind = 19;
        message.reply_to = Some(to);
        message.mentions.extend(state.messages.get(&to).map(|to| to.author));
    }
    for (name, mime, bytes) in letter.files {
        let mut view = messages::attach(shared, state, channel, &name, &mime, bytes);
        if letter.voice {
            view["duration_secs"] = json!(1.5);
            view["waveform"] = json!("AAAA");
        }
        message.attachments.push(view);
    }
    if letter.voice {
        message.flags |= 1 << 13;
    }
    if let Some(name) = letter.sticker {
        message.stickers.push(json!({"id": id.to_string(), "name": name, "format_type": 1}));
    }
    message.forwarded = letter.forwarded;
    messages::publish(state, message);
    id
}

/// Puts other words in the place of what somebody wrote.
pub(super) fn rewrite(state: &mut State, id: Id, text: &str) {
    let edited = state.next_id();
    let (mentions, _) = Allowed::all().rung(state, text);
    let Some(message) = state.messages.get_mut(&id) else { return };
    let before = std::mem::replace(&mut message.content, text.to_owned());
    message.earlier.push(before);
    message.edited = Some(edited);
    for who in mentions {
        if !message.mentions.contains(&who) {
            message.mentions.push(who);
        }
    }
    events::message(state, id, "MESSAGE_UPDATE");
}

/// What an interaction is about.
pub(super) struct Use {
    pub(super) by: Id,
    pub(super) bot: Id,
    pub(super) channel: Id,
    pub(super) kind: u8,
    pub(super) name: String,
    pub(super) data: Value,
    pub(super) on: Option<Id>,
}

/// Begins an interaction and tells its bot.
pub(super) fn interact(state: &mut State, made: Use) -> Id {
    let id = state.next_id();
    let secret = id.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let token = format!("{TOKEN_MARK}{secret:016x}{:016x}", secret.rotate_left(17));
    let view = view(state, id, &token, &made);
    let guild = state.channels.get(&made.channel).and_then(|channel| channel.guild);
    state.interactions.insert(
        id,
        Interaction {
            id,
            token,
            bot: made.bot,
            by: made.by,
            kind: made.kind,
            channel: made.channel,
            name: made.name,
            on: made.on,
            made: Instant::now(),
            answered: None,
            original: None,
            followups: Vec::new(),
            choices: Vec::new(),
        },
    );
    let bot = made.bot;
    events::tell(state, "INTERACTION_CREATE", guild, 0, |_, to, _| {
        (to == bot).then(|| view.clone())
    });
    id
}

fn view(state: &State, id: Id, token: &str, made: &Use) -> Value {
    let channel = state.channels.get(&made.channel);
    let dm = channel.is_some_and(|channel| channel.kind == DM);
    let guild = channel.and_then(|channel| channel.guild);
    let application = state.bot(made.bot).map(|bot| bot.application.to_string());
    let owner = guild.map_or_else(|| "0".to_owned(), |guild| guild.to_string());
    let mut view = json!({
        "id": id.to_string(), "application_id": application, "type": made.kind, "token": token,
        "version": 1, "data": made.data, "channel_id": made.channel.to_string(),
        "channel": views::channel(state, made.channel, made.bot), "locale": "en-US",
        "app_permissions": views::everyone(), "entitlements": [], "context": if dm { 1 } else { 0 },
        "authorizing_integration_owners": {"0": owner}, "attachment_size_limit": 10_485_760,
    });
    if let Some(guild) = guild {
        view["guild_id"] = json!(guild.to_string());
        view["guild_locale"] = json!("en-US");
        view["guild"] = json!({"id": guild.to_string(), "locale": "en-US", "features": []});
        view["member"] = views::member(state, made.by, true);
        view["member"]["permissions"] = json!(views::everyone());
    } else {
        view["user"] = views::user(state, made.by);
    }
    if let Some(on) = made.on.and_then(|on| state.messages.get(&on)) {
        view["message"] = views::message(state, on, true);
    }
    view
}
