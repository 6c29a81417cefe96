//! What a message says, as the agent is to read it. Pure.
//!
//! Promises: only what a person typed themselves can be a command; what they forwarded, replied to or had another
//! bot write is quoted as somebody's words.

use cloister_kit::words::{clean, quoted, short};

use super::addressed::{Us, without_us};
use super::marks;
use crate::updates::wire::{Checklist, Contact, Entity, Location, Media, Message, Poll, full_name};

/// The most of a name that is shown.
const LONGEST_NAME: usize = 120;

/// What a message is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Content {
    Said(Said),
    /// Something the agent can do nothing with; how people call it.
    Unusable(&'static str),
    /// Nothing that anybody said: somebody joined, a message was pinned.
    Nothing,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Said {
    /// With what it replies to, or is forwarded from, quoted.
    pub(super) text: String,
    /// What the person typed themselves.
    pub(super) typed: String,
    pub(super) file: Option<SentFile>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SentFile {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) size: Option<u64>,
}

/// What a message says to us.
pub(super) fn content(message: &Message, us: &Us) -> Content {
    if let Some(what) = unusable(message) {
        return Content::Unusable(what);
    }
    let file = file(message);
    let other = described(message);
    let (text, entities) = marks::words(message);
    if text.trim().is_empty() && file.is_none() && other.is_none() {
        return Content::Nothing;
    }
    let plain = clean(&without_us(text, us));
    let whose = another_wrote(message, us);
    if whose.is_none() && is_command(&plain, text, entities, us) {
        return Content::Said(Said { text: plain.clone(), typed: plain, file });
    }
    let mut words = clean(&without_us(&marks::marked(text, entities), us));
    if let Some(other) = other {
        words = if words.is_empty() { other } else { format!("{other}\n{words}") };
    }
    let quote = quote(message, us);
    if let Some(whose) = whose {
        let words = if words.is_empty() { "(no text)".to_owned() } else { words };
        let words = quoted(&whose, &words);
        let text = quote.map_or_else(|| words.clone(), |quote| format!("{quote}\n\n{words}"));
        return Content::Said(Said { text, typed: String::new(), file });
    }
    if words.is_empty() && file.is_none() && quote.is_none() {
        // Our name alone.
        words = clean(text.trim());
    }
    let typed = words.clone();
    let text = match quote {
        Some(quote) if words.is_empty() => quote,
        Some(quote) => format!("{quote}\n\n{words}"),
        None => words,
    };
    Content::Said(Said { text, typed, file })
}

/// What an edited message says now; none: nothing that a person types.
pub(super) fn edited(message: &Message, us: &Us) -> Option<String> {
    if another_wrote(message, us).is_some() {
        return None;
    }
    let (text, entities) = marks::words(message);
    let plain = clean(&without_us(text, us));
    if is_command(&plain, text, entities, us) {
        return Some(plain);
    }
    let words = clean(&without_us(&marks::marked(text, entities), us));
    (!words.trim().is_empty()).then_some(words)
}

/// A command is typed: what begins with a quotation or a block of code is passed on.
fn is_command(plain: &str, text: &str, entities: &[Entity], us: &Us) -> bool {
    us.commands.is_command(plain) && !marks::begins_with_block(text, entities)
}

/// Whose words a message has, if they are not the person's who sent it: it is forwarded, or chosen from what another
/// bot offered. That one decided what stands under their name.
fn another_wrote(message: &Message, us: &Us) -> Option<String> {
    if let Some(origin) = &message.forward_origin {
        return Some(format!("forwarded from {}", short(&clean(&origin.name()), LONGEST_NAME)));
    }
    let bot = message.via_bot.as_ref().filter(|bot| bot.id != us.id)?;
    Some(format!("written by the bot {}", short(&clean(&bot.described()), LONGEST_NAME)))
}

/// The message, or the part of it, that is replied to.
fn quote(message: &Message, us: &Us) -> Option<String> {
    let part = message.quote.as_ref().map(|quote| quote.text.clone());
    if let Some(reply) = message.reply() {
        let whose = match &reply.from {
            Some(from) if from.id == us.id => "what you (the agent) wrote".to_owned(),
            Some(from) => short(&clean(&from.name()), LONGEST_NAME),
            None => "a message".to_owned(),
        };
        let (text, entities) = marks::words(reply);
        let said = part.unwrap_or_else(|| {
            let words = marks::marked(text, entities);
            match (described(reply), file(reply)) {
                (Some(other), _) => format!("{other}\n{words}"),
                (None, Some(file)) => format!("(file {})\n{words}", file.name),
                (None, None) if words.is_empty() => "(no text)".to_owned(),
                (None, None) => words,
            }
        });
        return Some(quoted(&format!("in reply to {whose}"), &clean(&said)));
    }
    let elsewhere = message.external_reply.as_ref()?;
    let whose = elsewhere.origin.as_ref().map(super::wire::Origin::name);
    let whose = short(&clean(&whose.unwrap_or_else(|| "somebody".to_owned())), LONGEST_NAME);
    let words = part.unwrap_or_else(|| "(I can't read it)".to_owned());
    Some(quoted(&format!("in reply to {whose}, in another chat"), &clean(&words)))
}

fn unusable(message: &Message) -> Option<&'static str> {
    let kinds = [
        (message.story.is_some(), "a story"),
        (message.game.is_some(), "a game"),
        (message.invoice.is_some(), "an invoice"),
        (message.paid_media.is_some(), "paid media"),
        // The picture itself comes along, for who does not know live photos.
        (message.live_photo.is_some() && message.photo.is_empty(), "a live photo"),
        (message.giveaway.is_some(), "a giveaway"),
        (message.rich_message.is_some(), "a formatted page"),
    ];
    kinds.into_iter().find_map(|(there, what)| there.then_some(what))
}

/// What is neither text nor a file, in words.
fn described(message: &Message) -> Option<String> {
    if let Some(venue) = &message.venue {
        let place = located(&venue.location);
        let place = format!("(place) {}, {}: {place}", venue.title, venue.address);
        return Some(on_one_line(&place));
    }
    if let Some(location) = &message.location {
        return Some(format!("(location) {}", located(location)));
    }
    if let Some(contact) = &message.contact {
        return Some(contacted(contact));
    }
    if let Some(poll) = &message.poll {
        return Some(polled(poll));
    }
    if let Some(checklist) = &message.checklist {
        return Some(listed(checklist));
    }
    if let Some(dice) = &message.dice {
        return Some(format!("({}) {}", dice.emoji, dice.value));
    }
    let sticker = message.sticker.as_ref()?;
    Some(format!("(sticker) {}", sticker.emoji.as_deref().unwrap_or_default()).trim().to_owned())
}

fn located(location: &Location) -> String {
    let mut words = format!("latitude {}, longitude {}", location.latitude, location.longitude);
    if let Some(metres) = location.horizontal_accuracy {
        words.push_str(&format!(", within {metres} m"));
    }
    if location.live_period.is_some() {
        words.push_str(" (where they are at this moment; I am not told when they move)");
    }
    words
}

fn contacted(contact: &Contact) -> String {
    let name = full_name(&contact.first_name, contact.last_name.as_deref());
    on_one_line(&format!("(contact) {name}, {}", contact.phone_number))
}

/// What others are called stays on the line that says so.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn polled(poll: &Poll) -> String {
    let several = if poll.allows_multiple_answers { " (several answers)" } else { "" };
    let mut words = format!("(poll{several}) {}", poll.question);
    for option in &poll.options {
        words.push_str(&format!("\n- {}", option.text));
    }
    words
}

fn listed(checklist: &Checklist) -> String {
    let mut words = format!("(checklist) {}", checklist.title);
    for task in &checklist.tasks {
        let done = if task.completion_date.is_some_and(|at| at > 0) { "x" } else { " " };
        words.push_str(&format!("\n- [{done}] {}", task.text));
    }
    words
}

/// The file of a message, with the name that it has or is given.
fn file(message: &Message) -> Option<SentFile> {
    let made = |kind: &str, ending: &str| format!("{kind}-{}.{ending}", stamp(message.date));
    let sent = |media: &Media, name: String| {
        let name = media.file_name.clone().filter(|name| !name.trim().is_empty()).unwrap_or(name);
        Some(SentFile { id: media.file_id.clone(), name: clean(&name), size: media.file_size })
    };
    // Of a picture there are several sizes, the largest last.
    if let Some(photo) = message.photo.last() {
        return sent(photo, made("photo", "jpg"));
    }
    // An animation is a document as well, for who does not know animations.
    if let Some(animation) = &message.animation {
        return sent(animation, made("animation", "mp4"));
    }
    if let Some(document) = &message.document {
        return sent(document, made("document", "bin"));
    }
    if let Some(audio) = &message.audio {
        let title = match (&audio.performer, &audio.title) {
            (Some(performer), Some(title)) => Some(format!("{performer} - {title}.mp3")),
            (None, Some(title)) => Some(format!("{title}.mp3")),
            (_, None) => None,
        };
        return sent(audio, title.unwrap_or_else(|| made("audio", "mp3")));
    }
    if let Some(video) = &message.video {
        return sent(video, made("video", "mp4"));
    }
    if let Some(note) = &message.video_note {
        return sent(note, made("video-note", "mp4"));
    }
    if let Some(voice) = &message.voice {
        return sent(voice, made("voice", "ogg"));
    }
    let still = |sticker: &&Media| !sticker.is_animated && !sticker.is_video;
    message.sticker.as_ref().filter(still).and_then(|it| sent(it, made("sticker", "webp")))
}

/// A moment as part of a file's name: `20261115-181643`, in UTC.
pub(super) fn stamp(seconds: i64) -> String {
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}{month:02}{day:02}-{hour:02}{minute:02}{second:02}")
}

/// Year, month and day of a number of days since 1970, by the calendar of today.
fn civil(days: i64) -> (i64, i64, i64) {
    // Counted in eras of 400 years from 0000-03-01, so that a leap day is the last of its year.
    let days = days.saturating_add(719_468);
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
