//! Why something is asked, in the language of who reads it.
//!
//! A reason is kept in English, as part of what is asked. Those that are sentences of ours are said again in
//! another language where they are shown; an operator's own policy says what its operator wrote.

use cloister_words::{Language, noted, resaid};

/// The default policies, provenance, the gates and the budgets. A special case of another stands before it.
const OURS: &[&str] = &[
    noted!("it installs or configures something"),
    noted!("what it does can't be told beforehand"),
    noted!("it deletes or overwrites what you have"),
    noted!("it sends something out"),
    noted!("it sends data to a host outside"),
    noted!("it sends a mail in your name"),
    noted!("it changes how the agent works from now on"),
    noted!("programs of yours would run it"),
    noted!("git runs it"),
    noted!("git may run what it names"),
    noted!("editors act on it"),
    noted!("the desktop starts what it names"),
    noted!("shells and tools act on it"),
    noted!("build services run it"),
    noted!("build tools run it"),
    noted!("python runs it by itself"),
    noted!("package managers run its scripts"),
    noted!("untrusted content is in this task, and you did not ask for this destination"),
    noted!("untrusted content is in this task, and this would outlive it"),
    noted!("content that is not yours is in this task"),
    noted!(
        "content that is not yours is in this task, and by what it chose to ask {host} for (which pages, \
         how often) it could have told that host {used} bits of what it knows; after {free} you are \
         asked. Next is {address}. \"Once\" lets it choose {free} bits more, \"for this task\" all it needs"
    ),
    noted!("the address is one that can't be compared with what you named"),
    noted!("the address {address} was put together in the task"),
    noted!("the header {name} was put together in the task"),
    noted!("you did not name {host}, and it is a new destination"),
    noted!("you did not name {host}, where {secret} would be used"),
    noted!("you did not name {address} as a place to send to"),
    noted!("you did not name {people} as a recipient"),
    noted!("you did not name {place}"),
    noted!("you did not write {words}, which would be looked for"),
    noted!("what would be kept in {place} is not in your own words"),
    noted!(
        "it does more than add your own words to {place}: it makes a file, or takes something away"
    ),
    noted!("it would pay {amount} to {payee}"),
    noted!("a plan is put to you before anything is changed"),
    noted!("{who} wants to link an account to you"),
    noted!(
        "the budget of {limit} for today does not allow this: {spent} spent, {held} held for calls under way, \
         up to {wanted} wanted"
    ),
    noted!(
        "the budget of {limit} for today does not allow this: {spent} spent, up to {wanted} wanted"
    ),
    noted!(
        "the budget of {limit} of task {task} is used up: {spent} spent, {held} held for calls under way, \
         up to {wanted} wanted"
    ),
    noted!("the budget of {limit} of task {task} is used up: {spent} spent, up to {wanted} wanted"),
];

/// What may outlive a task, where a sentence names it.
const PLACES: &[&str] = &[
    noted!("memory"),
    noted!("a skill"),
    noted!("a schedule"),
    noted!("settings"),
    noted!("a tool"),
];

/// A reason as its reader reads it; what is none of our sentences stays as it is.
pub fn reason_in(to: Language, reason: &str) -> String {
    if to == Language::En {
        return reason.to_owned();
    }
    if let Some(said) = resaid(to, (OURS, PLACES), reason) {
        return said;
    }
    // Several policies, or a policy and provenance.
    match reason.split_once("; ") {
        Some((first, others)) => {
            let first = resaid(to, (OURS, PLACES), first).unwrap_or_else(|| first.to_owned());
            format!("{first}; {}", reason_in(to, others))
        }
        None => reason.to_owned(),
    }
}

#[cfg(test)]
#[path = "reasons_tests.rs"]
mod tests;
