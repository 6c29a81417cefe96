//! The questions of a conversation that wait, and what a typed line says to them.
//!
//! A bare `y` answers a question only right after it was shown: once the agent has said something
//! else, the word could be meant for that. Then it is neither an answer nor a message: the person says which.

use cloister_protocol::{Answer, ApprovalAnswer, ApprovalId, Ask, Update};

use crate::commands::ask;

/// The questions that are remembered.
const MAX_QUESTIONS: usize = 32;

#[derive(Debug, Default)]
pub(super) struct Questions {
    waiting: Vec<Ask>,
    /// The one that was shown last, and nothing of the agent's after it.
    just_shown: Option<ApprovalId>,
}

/// What a line says.
#[derive(Debug, PartialEq)]
pub(super) enum Reading {
    Answer(ApprovalAnswer),
    /// It is about a question, and can't be carried out.
    Unclear(String),
    /// It is for the agent.
    Message,
}

impl Questions {
    /// Takes a question in; how it is shown.
    pub(super) fn ask(&mut self, ask: Ask) -> String {
        let id = ask.approval;
        let shown = format!(
            "{}\n{}\n  Type a number or a word as long as nothing else is said below, or at any time \
             /approve {id} [task | always], /deny {id} [stop].",
            ask::words(&ask),
            ask::choices(&ask.offered)
        );
        self.waiting.retain(|waiting| waiting.approval != id);
        if self.waiting.len() == MAX_QUESTIONS {
            self.waiting.remove(0);
        }
        self.waiting.push(ask);
        self.just_shown = Some(id);
        shown
    }

    /// Forgets what was answered, wherever that was.
    pub(super) fn follow(&mut self, update: &Update) {
        match update {
            Update::Answered { approval, left: 0, .. } => {
                self.waiting.retain(|waiting| waiting.approval != *approval);
            }
            Update::Task { task, state, .. } if state.is_final() => {
                self.waiting.retain(|waiting| waiting.task != Some(*task));
            }
            Update::Notice { .. } | Update::Blocked { .. } => self.something_else_was_said(),
            Update::Answered { .. }
            | Update::Task { .. }
            | Update::Restart { .. }
            | Update::Model { .. }
            | Update::Progress { .. }
            | Update::Output { .. }
            | Update::Todos { .. } => {}
        }
    }

    pub(super) fn something_else_was_said(&mut self) {
        self.just_shown = None;
    }

    pub(super) fn read(&self, line: &str) -> Reading {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word {
            "/approve" | "/deny" => self.by_name(word == "/approve", rest.trim()),
            "/yes" | "/no" if rest.trim().is_empty() => self.only_one(word == "/yes"),
            _ => self.bare(line),
        }
    }

    fn by_name(&self, allow: bool, rest: &str) -> Reading {
        let (id, how) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let id = id.to_uppercase().parse::<ApprovalId>().ok();
        let known = self.waiting.iter().find(|waiting| Some(waiting.approval) == id);
        match known {
            // It may wait in another chat: the control plane knows.
            None => Reading::Message,
            Some(asked) => match ask::of_command(allow, how) {
                Some(answer) if asked.offered.contains(&answer) => reply(asked, answer),
                Some(_) | None => Reading::Unclear(format!(
                    "{} can be answered with:\n{}",
                    asked.approval,
                    ask::choices(&asked.offered)
                )),
            },
        }
    }

    fn only_one(&self, allow: bool) -> Reading {
        match self.waiting.as_slice() {
            [asked] => reply(asked, if allow { Answer::Allow } else { Answer::Deny }),
            _ => Reading::Message,
        }
    }

    fn bare(&self, line: &str) -> Reading {
        let Some(last) = self.waiting.last() else { return Reading::Message };
        let shown = self.waiting.iter().find(|asked| Some(asked.approval) == self.just_shown);
        match shown.and_then(|asked| Some((asked, ask::parse(line, &asked.offered)?))) {
            Some((asked, answer)) => reply(asked, answer),
            None if ask::parse(line, &last.offered).is_some() => Reading::Unclear(format!(
                "(not sent: something else was said since {id} asked. /approve {id} or /deny {id} answers it; \
                 for your agent, say it in more words)",
                id = last.approval
            )),
            None => Reading::Message,
        }
    }
}

fn reply(asked: &Ask, answer: Answer) -> Reading {
    let digest = Some(asked.digest.clone()).filter(|digest| !digest.is_empty());
    Reading::Answer(ApprovalAnswer { id: asked.approval, answer, digest })
}

#[cfg(test)]
#[path = "questions_tests.rs"]
mod tests;
