//! How commands are spelled: with which sign on which surface, and what somebody may have meant.

use std::borrow::Cow;

use cloister_protocol::surface::CommandSign;

use super::COMMANDS;

/// How far a word may be from a command to be taken for a slip.
const MAX_SLIPS: usize = 2;

/// Our own words, with commands as they are typed on a surface. Never for the words of people or of the agent:
/// those are shown as they are.
pub(crate) fn spell_commands(sign: CommandSign, text: &str) -> Cow<'_, str> {
    let is_command = |word: &str| COMMANDS.iter().any(|command| command.name == word);
    cloister_kit::spelled(sign.as_char(), text, is_command)
}

/// The command that somebody who typed this may have meant.
pub(crate) fn nearest(typed: &str) -> Option<&'static str> {
    let most = MAX_SLIPS.min(typed.chars().count() / 2);
    COMMANDS
        .iter()
        .map(|command| (slips(typed, command.name), command.name))
        .min()
        .filter(|(slips, _)| *slips <= most)
        .map(|(_, name)| name)
}

/// How many letters were added, left out, mistaken or exchanged with the next.
fn slips(typed: &str, meant: &str) -> usize {
    let (typed, meant): (Vec<char>, Vec<char>) = (typed.chars().collect(), meant.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=meant.len()).collect();
    for (i, t) in typed.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, m) in meant.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX - 1);
            let mut best =
                (at(&last, j) + usize::from(t != m)).min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let exchanged =
                i > 0 && j > 0 && typed.get(i - 1) == Some(m) && meant.get(j - 1) == Some(t);
            if exchanged {
                best = best.min(at(&before_last, j - 1) + 1);
            }
            row.push(best);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(typed.len())
}

#[cfg(test)]
#[path = "spelling_tests.rs"]
mod tests;
