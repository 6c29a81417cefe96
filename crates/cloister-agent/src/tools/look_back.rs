//! `look_back`: search and read what was said in this chat before, however long ago.

use cloister_protocol::link::{Cause, Outcome};
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Tool, done, failed, object, parse};
use crate::context::{self, note, told};
use crate::journal::{ChatDb, PastTurn};
use crate::text;

/// How many turns a search looks through, and shows.
const MAX_SEARCHED: usize = 20_000;
const MAX_FOUND: usize = 8;
const LISTED: usize = 10;
const EXCERPT_BYTES: usize = 400;
/// The longest turn that is read out at once.
const MAX_TURN_BYTES: usize = 32 << 10;

pub(super) const TOOL: Tool = Tool {
    name: "look_back",
    about: "Find what was said earlier in this chat. With `query`: the newest turns in which all of its words occur. With \
            `turn`: that turn word by word, with what was pasted. With neither: the newest turns in short. `before` goes \
            further back.",
    parameters: || {
        object(
            json!({
                "query": {"type": "string"},
                "turn": {"type": "integer", "minimum": 1, "description": "The number of a turn that was found."},
                "before": {"type": "integer", "minimum": 1, "description": "Only turns before this number."},
                "offset": {"type": "integer", "minimum": 0, "description": "With turn: go on at this byte."},
            }),
            &[],
        )
    },
    effect: Effect::Reads,
    handler: Handler::LookBack(look_back),
};

/// What is looked for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LookBack {
    #[serde(default)]
    query: String,
    #[serde(default)]
    turn: Option<i64>,
    #[serde(default)]
    before: Option<i64>,
    #[serde(default)]
    offset: usize,
}

fn look_back(arguments: &str) -> Result<LookBack, Outcome> {
    parse(arguments)
}

impl LookBack {
    /// Looks through the turns before one; what was cleared, or taken the place of, is not there.
    pub(crate) fn find(&self, db: &ChatDb, before: i64) -> rusqlite::Result<Outcome> {
        let floor = db.cleared_upto()?;
        let replaced = db.replaced(floor)?;
        if let Some(turn) = self.turn {
            let end = turn.saturating_add(1).min(before);
            let found = db.newest((floor.max(turn.saturating_sub(1)), end), &replaced, |_| true)?;
            return Ok(match found.first() {
                Some(found) => self.read(found),
                None => failed(format!("there is no turn {turn} before this one")),
            });
        }
        let words: Vec<String> = self.query.split_whitespace().map(str::to_lowercase).collect();
        let most = if words.is_empty() { LISTED } else { MAX_FOUND };
        let (mut searched, mut found) = (0, Vec::new());
        let mut at = self.before.unwrap_or(before).min(before);
        while found.len() < most && searched < MAX_SEARCHED {
            let mut oldest = None;
            db.newest((floor, at), &replaced, |turn| {
                oldest = Some(turn.seq);
                searched += 1;
                if found.len() < most && !matches!(turn.cause, Cause::Clear) {
                    found.extend(excerpt(turn, &words));
                }
                // None is kept: each was looked at.
                found.len() < most && searched < MAX_SEARCHED
            })?;
            match oldest {
                Some(oldest) if oldest > floor + 1 => at = oldest,
                _ => break,
            }
        }
        if found.is_empty() {
            return Ok(done("Nothing was found in this chat."));
        }
        found.push("Read one with look_back {\"turn\": NUMBER}.".to_owned());
        Ok(done(found.join("\n\n")))
    }

    fn read(&self, turn: &PastTurn) -> Outcome {
        let mut all = format!(
            "{}\nAsked:\n{}\n\nAnswered:\n{}",
            heading(turn),
            told(&turn.cause),
            context::words(turn)
        );
        if let Some(note) = note(turn) {
            all.push('\n');
            all.push_str(note);
        }
        let rest = all.get(all.ceil_char_boundary(self.offset)..).unwrap_or_default();
        let part = text::head(rest, MAX_TURN_BYTES);
        let left = rest.len() - part.len();
        if left == 0 {
            return done(part);
        }
        let next = all.len() - left;
        done(format!("{part}\n[{left} bytes more: go on with offset {next}]"))
    }
}

fn heading(turn: &PastTurn) -> String {
    format!("Turn {}, {} UTC", turn.seq, moment(turn.at))
}

/// What of a turn is shown in a list; none when not all words are in it.
fn excerpt(turn: &PastTurn, words: &[String]) -> Option<String> {
    let (asked, answered) = (told(&turn.cause), context::words(turn));
    let lower = format!("{asked}\n{answered}").to_lowercase();
    if !words.iter().all(|word| lower.contains(word.as_str())) {
        return None;
    }
    let around = |text: &str| {
        let first = words.first().map_or("", String::as_str);
        let at = text.to_lowercase().find(first).unwrap_or(0).saturating_sub(EXCERPT_BYTES / 4);
        let from = text.floor_char_boundary(at.min(text.len()));
        let cut = text::head(text.get(from..).unwrap_or_default(), EXCERPT_BYTES);
        let dots = |cut_off: bool| if cut_off { "…" } else { "" };
        format!("{}{cut}{}", dots(from > 0), dots(from + cut.len() < text.len()))
    };
    let mut found =
        format!("{}\nAsked: {}\nAnswered: {}", heading(turn), around(&asked), around(&answered));
    if let Some(note) = note(turn) {
        found.push('\n');
        found.push_str(note);
    }
    Some(found)
}

/// Date and time of seconds since 1970, in UTC.
fn moment(seconds: i64) -> String {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days of the civil calendar, after Howard Hinnant.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}", rest / 3_600, rest % 3_600 / 60)
}

#[cfg(test)]
#[path = "look_back_tests.rs"]
mod tests;
