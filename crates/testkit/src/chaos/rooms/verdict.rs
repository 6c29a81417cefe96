//! What each room shows in the end, counted.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{RoomsError, Talk};

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Nothing may come behind what is complete for this long.
const QUIET_TIME: Duration = Duration::from_secs(2);
/// How what may be a repetition is announced where the platform can't tell.
const ANNOUNCED: &str = "I was interrupted while sending what follows";

/// What was found in the rooms; all but the first two and what was announced must be zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoomsVerdict {
    pub rooms: usize,
    pub messages: usize,
    /// Messages without an answer.
    pub lost: usize,
    /// Answers that are there more than once, and rooms of a chat that has one.
    pub doubled: usize,
    /// Answers that are there again, right behind the sentence that says so.
    pub announced: usize,
    /// Answers that stand before one they should stand behind.
    pub disordered: usize,
    /// Answers to nothing that was said, and parts of answers.
    pub strange: usize,
    pub problems: Vec<String>,
}

impl RoomsVerdict {
    pub fn holds(&self) -> bool {
        self.messages > 0 && self.lost + self.doubled + self.disordered + self.strange == 0
    }

    /// Compares what the bot says in a room with what was said to it.
    pub(super) fn count_room(&mut self, room: &str, said: &[String], shown: &[String]) {
        self.rooms += 1;
        self.messages += said.len();
        let expected: Vec<String> = said.iter().map(|text| format!("echo: {text}")).collect();
        let answers = self.without_announced(shown);
        for answer in &expected {
            match answers.iter().filter(|text| *text == answer).count() {
                0 => {
                    self.lost += 1;
                    self.problems.push(format!("lost: {room}: {answer}"));
                }
                1 => {}
                times => {
                    self.doubled += times - 1;
                    self.problems.push(format!("doubled: {room}: {answer}, {times} times"));
                }
            }
        }
        let place = |text: &str| expected.iter().position(|answer| answer == text);
        let places: Vec<Option<usize>> = answers.iter().map(|text| place(text)).collect();
        for (text, place) in answers.iter().zip(&places) {
            if place.is_none() {
                self.strange += 1;
                self.problems.push(format!("strange: {room}: {text}"));
            }
        }
        let places: Vec<usize> = places.into_iter().flatten().collect();
        for pair in places.windows(2) {
            if let [before, after] = pair
                && before > after
            {
                self.disordered += 1;
                self.problems.push(format!("disordered: {room}: {after} stands behind {before}"));
            }
        }
    }

    /// The answers, without those that were there already and are announced as repetitions.
    fn without_announced<'a>(&mut self, shown: &'a [String]) -> Vec<&'a str> {
        let mut answers: Vec<&str> = Vec::new();
        let mut before = "";
        for text in shown.iter().map(String::as_str) {
            if is_answer(text) {
                if before.starts_with(ANNOUNCED) && answers.contains(&text) {
                    self.announced += 1;
                } else {
                    answers.push(text);
                }
            }
            before = text;
        }
        answers
    }
}

/// The beginning of one counts too: it is a part that nobody took away.
fn is_answer(text: &str) -> bool {
    let mark = "echo: u";
    text.starts_with(mark)
        || (text.len() > 3 && mark.starts_with(text.trim_end_matches('…').trim()))
}

/// Waits until every room shows every answer, or for as long as it may take, and counts.
pub(super) async fn wait_and_count(
    mut talks: Vec<Talk>,
    within: Duration,
) -> Result<RoomsVerdict, RoomsError> {
    let until = Instant::now() + within;
    let mut complete_since = None;
    loop {
        let verdict = count(&mut talks).await?;
        if verdict.lost > 0 {
            complete_since = None;
        } else if complete_since.get_or_insert_with(Instant::now).elapsed() >= QUIET_TIME {
            return Ok(verdict);
        }
        if Instant::now() >= until {
            return Ok(verdict);
        }
        sleep(LOOK_EVERY).await;
    }
}

async fn count(talks: &mut [Talk]) -> Result<RoomsVerdict, RoomsError> {
    let mut verdict = RoomsVerdict::default();
    for Talk { room, said } in talks {
        // Asked of the server anew: not what a client believes, but what is there.
        verdict.count_room(&room.name(), said, &room.shown().await?);
        for name in room.doubles().await? {
            verdict.doubled += 1;
            verdict.problems.push(format!("doubled: {} has two rooms {name}", room.whose()));
        }
    }
    Ok(verdict)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
