//! What a message says, as it is handed over. Pure: anybody may have written it, in any shape.

use cloister_kit::words::{called, clean, quoted, short};
use cloister_protocol::MAX_ATTACHMENTS;

use crate::wire::{Attachment, Embed, Forwarded, Message, Named, made_at, snowflake};

/// The longest that a name may be.
const LONGEST_NAME: usize = 120;

/// A file that came with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SentFile {
    pub(super) name: String,
    /// What Discord says it has.
    pub(super) size: u64,
    pub(super) url: String,
}

/// What the inbox knows an edit by: the same for the same edit, always.
pub(super) fn edit_id(message: &Message) -> String {
    let at = message.edited_timestamp.as_deref().unwrap_or_default();
    // Without the zone: Discord says every time in the same one.
    let at: String = at.chars().take(32).filter(char::is_ascii_digit).take(20).collect();
    format!("{}-e-{at}", message.id)
}

/// The message that an edit is of, by what the inbox knows the edit by.
pub(super) fn is_edit(id: &str) -> bool {
    id.contains("-e-")
}

/// How the bot is called where a message was written.
pub(super) struct Us(Vec<String>);

impl Us {
    /// `role`: the one that the server has for the bot.
    pub(super) fn new(me: &str, role: Option<&str>) -> Self {
        let role = role.map(|role| format!("<@&{role}>"));
        Self([format!("<@{me}>"), format!("<@!{me}>")].into_iter().chain(role).collect())
    }
}

/// What the person wrote themselves: without the mention that made it ours, with names instead of numbers.
pub(super) fn own_words(message: &Message, us: &Us) -> String {
    let text = clean(&message.content);
    let mut text = text.trim();
    // `@bot /status` is the command, and `@bot, what now?` the question.
    for mention in &us.0 {
        if let Some(rest) = text.strip_prefix(mention.as_str()) {
            text = rest.trim_start().trim_start_matches([',', ':']).trim_start();
        }
    }
    let mut words = with_names(text, message);
    if let Some(poll) = &message.poll {
        let answers = poll.answers.iter().take(10);
        let answers: Vec<String> = answers
            .map(|answer| format!("- {}", short(&clean(&answer.poll_media.text), 200)))
            .collect();
        let question = short(&clean(&poll.question.text), 500);
        push(&mut words, &format!("(poll) {question}\n{}", answers.join("\n")));
    }
    for sticker in message.sticker_items.iter().take(5) {
        push(&mut words, &sticker_words(sticker));
    }
    words.trim().to_owned()
}

/// Everything that is handed over of a message: its words, and what it brings along from elsewhere.
pub(super) fn words(message: &Message, us: &Us) -> String {
    let mut words = own_words(message, us);
    if message.is_forward() {
        for snapshot in message.message_snapshots.iter().take(3) {
            let quote = quoted("forwarded message", &forwarded(&snapshot.message));
            words = if words.is_empty() { quote } else { format!("{quote}\n\n{words}") };
        }
    }
    words
}

/// The words of a message that is replied to.
pub(super) fn said_by(message: &Message) -> String {
    let mut words = with_names(clean(&message.content).trim(), message);
    embedded(&mut words, &message.embeds);
    for file in files_of(message) {
        push(&mut words, &format!("(file {})", short(&file.name, LONGEST_NAME)));
    }
    for sticker in message.sticker_items.iter().take(5) {
        push(&mut words, &sticker_words(sticker));
    }
    if words.is_empty() { "(no text)".to_owned() } else { words }
}

fn forwarded(message: &Forwarded) -> String {
    let mut words = clean(&message.content).trim().to_owned();
    embedded(&mut words, &message.embeds);
    for sticker in message.sticker_items.iter().take(5) {
        push(&mut words, &sticker_words(sticker));
    }
    for file in message.attachments.iter().take(MAX_ATTACHMENTS) {
        push(&mut words, &format!("(file {})", short(&clean(&file.filename), LONGEST_NAME)));
    }
    if words.is_empty() { "(no text)".to_owned() } else { words }
}

/// What bots say is in boxes.
fn embedded(words: &mut String, embeds: &[Embed]) {
    if !words.is_empty() {
        // Beside a person's words they are previews of what the words link to.
        return;
    }
    for embed in embeds.iter().take(5) {
        for part in [&embed.title, &embed.description].into_iter().flatten() {
            push(words, clean(part).trim());
        }
    }
}

fn sticker_words(sticker: &Named) -> String {
    format!("(sticker: {})", short(&called(clean(&sticker.name).trim()), LONGEST_NAME))
}

fn push(words: &mut String, more: &str) {
    if !words.is_empty() && !more.is_empty() {
        words.push('\n');
    }
    words.push_str(more);
}

/// The files of a message, and those that it brings along.
pub(super) fn files_of(message: &Message) -> Vec<SentFile> {
    let own = message.attachments.iter().map(|file| (file, message.is_voice()));
    let brought = message.message_snapshots.iter().take(3).filter(|_| message.is_forward());
    let brought =
        brought.flat_map(|snapshot| &snapshot.message.attachments).map(|file| (file, false));
    let at = snowflake(&message.id).map_or(0, made_at) / 1000;
    own.chain(brought).map(|(file, voice)| sent_file(file, voice.then_some(at))).collect()
}

/// `recorded`: when, in Unix seconds, if it is a voice message.
fn sent_file(file: &Attachment, recorded: Option<i64>) -> SentFile {
    let name = clean(&file.filename);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_owned());
    let named = file.title.as_deref().map(clean).filter(|title| !title.trim().is_empty());
    let name = match (recorded, named, ending) {
        (Some(at), _, _) => format!("voice-{at}.ogg"),
        (None, Some(title), Some(ending)) if !title.ends_with(&ending) => {
            format!("{title}.{ending}")
        }
        (None, Some(title), _) => title,
        (None, None, _) if name.trim().is_empty() => "file".to_owned(),
        (None, None, _) => name,
    };
    SentFile { name: short(&name, 200), size: file.size, url: file.url.clone() }
}

/// Names instead of the numbers that mentions and emoji are written with.
fn with_names(text: &str, message: &Message) -> String {
    let mut words = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        words.push_str(before);
        match after.split_once('>').and_then(|(mark, more)| Some((named(mark, message)?, more))) {
            Some((name, more)) => {
                words.push_str(&name);
                rest = more;
            }
            None => {
                words.push('<');
                rest = after;
            }
        }
    }
    words.push_str(rest);
    words
}

/// What an account calls itself, among the words of somebody else. One word behind its `@` names nothing else.
fn own_name(name: &str) -> String {
    let one_word = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    if one_word { name.to_owned() } else { called(name) }
}

/// What stands between `<` and `>`, if it is a mention of somebody or an emoji.
fn named(mark: &str, message: &Message) -> Option<String> {
    if let Some(id) = mark.strip_prefix('@') {
        let id = id.strip_prefix('!').unwrap_or(id);
        let account = message.mentions.iter().find(|account| account.id == id)?;
        return Some(format!("@{}", short(&own_name(clean(account.shown()).trim()), LONGEST_NAME)));
    }
    let emoji = mark.strip_prefix("a:").or_else(|| mark.strip_prefix(':'))?;
    let (name, id) = emoji.split_once(':')?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (name.bytes().all(plain) && snowflake(id).is_some()).then(|| format!(":{name}:"))
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
