//! What the agent sends besides its answers, in words for a terminal.

use cloister_protocol::{
    Answer, ApprovalId, End, ErrorCode, ModelDoing, SendFile, TaskState, TurnId, Update,
};

/// What follows an answer that ends where the next message came.
pub(super) const TAKEN_OVER: &str =
    "(broken off here: you wrote again, and the next answer is to both)";

/// Whether some of an answer stands there that another one goes on from.
pub(super) fn is_taken_over(end: &End) -> bool {
    end.error == Some(ErrorCode::Continued) && !end.text.trim().is_empty()
}

/// The note for an update, if it is worth one.
pub(super) fn of_update(update: &Update) -> Option<String> {
    match update {
        // That its end was told is for who waits for it: the end itself has been said.
        Update::Task { told: true, .. } => None,
        Update::Task { task, title, state, .. } if *state != TaskState::Queued => {
            Some(format!("[{task} {title}: {}]", state.as_str()))
        }
        Update::Notice { text } => Some(text.clone()),
        Update::Blocked { host, reason, allow, .. } => {
            let allow = allow.as_ref().map(|command| format!(" Allow it with {command}"));
            Some(format!("[{host} was not reached: {reason}.{}]", allow.unwrap_or_default()))
        }
        Update::Answered { approval, by, answer, left } => {
            Some(answered(*approval, by, *answer, *left))
        }
        Update::Restart { .. }
        | Update::Model { .. }
        | Update::Task { .. }
        | Update::Progress { .. }
        | Update::Output { .. }
        | Update::Todos { .. } => None,
    }
}

/// What the model of the answer that is waited for was last said to be at: said once each.
#[derive(Debug, Default)]
pub(super) struct SaidDoing {
    last: Option<(TurnId, ModelDoing, u32)>,
}

impl SaidDoing {
    /// The note for what it does now, if that is something else.
    pub(super) fn note(&mut self, update: &Update) -> Option<String> {
        let Update::Model { turn, doing, attempt, .. } = update else { return None };
        let now = (turn.clone(), *doing, *attempt);
        if self.last.as_ref() == Some(&now) {
            return None;
        }
        self.last = Some(now);
        let does = match doing {
            ModelDoing::Reads => "the model reads",
            ModelDoing::Thinks => "the model thinks",
            ModelDoing::Writes => "the model writes down what is to be done",
        };
        let attempt = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
        Some(format!("({does}{attempt} …)"))
    }
}

fn answered(approval: ApprovalId, by: &str, answer: Answer, left: u8) -> String {
    let more = match left {
        0 => String::new(),
        1 => "; one more person must answer".to_owned(),
        more => format!("; {more} more people must answer"),
    };
    format!("[{approval}: {by} {}{more}]", answer.deed())
}

pub(super) fn of_file(file: &SendFile, how: &str) -> String {
    format!("[file: {} ({} bytes); {how}]", file.name, file.size)
}
