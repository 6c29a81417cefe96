//! What is said around a question, in the language of who reads it. What is asked stays to the letter, and the words of
//! commands are the same in every language.

use cloister_protocol::{Answer, Language};
use cloister_words::{count, say};

/// What somebody allows or denies by an answer.
pub fn meaning(to: Language, answer: Answer) -> String {
    match answer {
        Answer::Allow => say!(to, "allow once"),
        Answer::AllowForTask => say!(to, "allow for this task"),
        Answer::AllowAlways => say!(to, "always in this chat"),
        Answer::Deny => say!(to, "deny"),
        Answer::DenyAndStop => say!(to, "deny and stop the task"),
    }
}

/// What somebody did by it.
pub fn deed(to: Language, by: &str, answer: Answer) -> String {
    match answer {
        Answer::Allow => say!(to, "{by} allowed it once.", by),
        Answer::AllowForTask => say!(to, "{by} allowed it for this task.", by),
        Answer::AllowAlways => say!(to, "{by} allowed it always in this chat.", by),
        Answer::Deny => say!(to, "{by} denied it.", by),
        Answer::DenyAndStop => say!(to, "{by} denied it and stopped the task.", by),
    }
}

/// One of the sources for whose sake it is asked.
pub fn because_read(to: Language, source: &str) -> String {
    say!(to, "Because this task has read {source}", source)
}

/// How many sources are not shown.
pub fn and_more(to: Language, more: usize) -> String {
    count!(to, more, "… and {n} more", "… and {n} more")
}

/// How many people it takes.
pub fn takes_people(to: Language, people: u8) -> String {
    count!(to, people, "It takes {n} person.", "It takes {n} different people.")
}

#[cfg(test)]
#[path = "asking_tests.rs"]
mod tests;
