//! What an agent itself says to a person, beside what its model writes: how a turn ended that has no answer, and the
//! reports of tasks where no model can put them into words.
//!
//! The control plane says each in the language of the person, and an agent holds no catalogue. What is not said is
//! said in English.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sentences with names in braces, which the agent fills in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Phrases {
    /// The person stopped it.
    pub stopped: String,
    /// Behind an answer that ends where it may be no longer.
    pub cut: String,
    pub empty: String,
    pub too_long: String,
    /// The workspace is full.
    pub no_room: String,
    /// The journal can't be used.
    pub no_record: String,
    /// `{call}` came `{times}` times.
    pub repeated: String,
    /// `{steps}`.
    pub too_many_steps: String,
    /// `{task}`.
    pub begun: String,
    /// `{task}` and its `{title}`.
    pub task_done: String,
    pub task_failed: String,
    pub task_cancelled: String,
    /// `{claims}`.
    pub not_shown: String,
}

impl Default for Phrases {
    fn default() -> Self {
        let text = str::to_owned;
        Self {
            stopped: text("Stopped."),
            cut: text(
                "(The answer ends here because it may not be longer. Say \"go on\" for the rest.)",
            ),
            empty: text("The model gave an empty answer. Please ask again, or in other words."),
            too_long: text("I stopped because the answer grew too long. Ask for a part of it."),
            no_room: text(
                "I can't write to this chat's record: the workspace is full or over its quota. Delete files you no longer need, or raise the quota, and ask again.",
            ),
            no_record: text(
                "I can't use this chat's record, so I can't answer here; the log has the cause. Start a new chat, or ask the operator to look at it.",
            ),
            repeated: text(
                "I stopped because the same call came {times} times without getting anywhere: {call}. Tell me how to go on, or ask in another way.",
            ),
            too_many_steps: text(
                "I stopped after asking the model {steps} times without coming to an end. Ask for a smaller part of it, or ask in another way.",
            ),
            begun: text("I have begun with it ({task}) and tell you what comes of it."),
            task_done: text("{task} ({title}) is done"),
            task_failed: text("{task} ({title}) failed"),
            task_cancelled: text("{task} ({title}) was cancelled"),
            not_shown: text("Not shown by the record: {claims}"),
        }
    }
}

impl Phrases {
    /// All in English.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A phrase with its names filled in. What is filled in is not looked at again.
pub fn filled(phrase: &str, names: &[(&str, &str)]) -> String {
    let mut rest = phrase;
    let mut text = String::with_capacity(phrase.len());
    while let Some((before, from)) = rest.split_once('{') {
        text.push_str(before);
        let named = from.split_once('}').and_then(|(name, after)| {
            let (_, value) = names.iter().find(|(known, _)| *known == name)?;
            Some((*value, after))
        });
        match named {
            Some((value, after)) => {
                text.push_str(value);
                rest = after;
            }
            None => {
                text.push('{');
                rest = from;
            }
        }
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_no_phrase() {
        let filled =
            filled("{task} ({title}) {odd}", &[("task", "{title}"), ("title", "a {task}")]);
        assert_eq!(filled, "{title} (a {task}) {odd}");
    }
}
