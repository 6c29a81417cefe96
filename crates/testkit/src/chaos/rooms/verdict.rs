//! What each room shows in the end, counted.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Talk;
use crate::synapse::{PlainPerson, Post, SynapseError};

const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Nothing may come behind what is complete for this long.
const QUIET_TIME: Duration = Duration::from_secs(2);

/// What was found in the rooms; all but the first two must be zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoomsVerdict {
    pub rooms: usize,
    pub messages: usize,
    /// Messages without an answer.
    pub lost: usize,
    /// Answers that are there more than once, and rooms of a chat that has one.
    pub doubled: usize,
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

    /// Compares what a room shows with what was said in it.
    pub(super) fn count_room(&mut self, room: &str, said: &[String], shown: &[Post], bot: &str) {
        self.rooms += 1;
        self.messages += said.len();
        let expected: Vec<String> = said.iter().map(|text| format!("echo: {text}")).collect();
        let answers = shown.iter().filter(|post| post.sender == bot && is_answer(&post.text));
        let answers: Vec<&str> = answers.map(|post| post.text.as_str()).collect();
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

    /// A person has each chat's room once, and one Space.
    fn count_names(&mut self, person: &PlainPerson) {
        let mut known = BTreeSet::new();
        for (_, name) in person.names() {
            if !known.insert(name.clone()) {
                self.doubled += 1;
                self.problems.push(format!("doubled: {} has two rooms {name}", person.id()));
            }
        }
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
    bot: &str,
    within: Duration,
) -> Result<RoomsVerdict, SynapseError> {
    let until = Instant::now() + within;
    let mut complete_since = None;
    loop {
        for talk in &mut talks {
            talk.person.sync_for(Duration::ZERO).await?;
        }
        let verdict = count(&talks, bot).await?;
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

async fn count(talks: &[Talk], bot: &str) -> Result<RoomsVerdict, SynapseError> {
    let mut verdict = RoomsVerdict::default();
    for Talk { person, said } in talks {
        for (room, said) in said {
            // Asked of the server anew: not what a client believes, but what is there.
            let shown = person.history(room).await?;
            verdict.count_room(room, said, &shown, bot);
        }
        verdict.count_names(person);
    }
    Ok(verdict)
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
