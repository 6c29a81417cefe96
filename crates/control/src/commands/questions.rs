//! Commands about what people are asked and what they have allowed.

use cloister_protocol::{Answer, ApprovalId, ErrorCode};
use cloister_store::approvals::{Approval, ApprovalState};
use cloister_store::inbox::InboxItem;

use super::run::Here;
use crate::commands::Commands;
use crate::error::ControlError;

/// How much of each question a list shows; the questions themselves are in the chat, whole.
const MAX_LISTED: usize = 20;

impl Commands {
    /// `/approve [A1] [once | task | always]`, `/deny [A1] [stop]`, `/yes`, `/no`
    pub(super) async fn answer_question(
        &self,
        row: &InboxItem,
        here: &Here,
        allow: bool,
        rest: &str,
    ) -> Result<String, ControlError> {
        let mut id = None;
        let mut once = false;
        let mut answer = if allow { Answer::Allow } else { Answer::Deny };
        for word in rest.split_whitespace() {
            answer = match (word.to_ascii_lowercase().as_str(), allow) {
                ("once", true) => {
                    once = true;
                    Answer::Allow
                }
                ("task", true) => Answer::AllowForTask,
                ("always", true) => Answer::AllowAlways,
                ("stop", false) => Answer::DenyAndStop,
                _ => {
                    id = Some(word.to_uppercase().parse::<ApprovalId>()?);
                    answer
                }
            };
        }
        let question = match id {
            Some(id) => self.named_question(row, here, id).await?,
            None => self.only_question(row, here).await?,
        };
        // Who types a command has been shown the question, and means the one with this id.
        let approval = if once {
            self.control.gates().take_answer(here.by, row.workspace, question, answer, None).await?
        } else {
            self.control
                .gates()
                .answer_approval(here.by, row.workspace, question, answer, None)
                .await?
        };
        let word = match (approval.state, answer.is_allowing()) {
            (ApprovalState::Pending, _) => "waits for another person",
            (ApprovalState::Allowed | ApprovalState::Denied | ApprovalState::Void, true) => {
                "allowed"
            }
            (ApprovalState::Allowed | ApprovalState::Denied | ApprovalState::Void, false) => {
                "refused"
            }
        };
        Ok(format!("{} {word}: {}", approval.id, approval.title))
    }

    /// The one question that waits for this person in this chat. One that somebody else's work waits for is
    /// answered by its id, and never by a mere yes.
    async fn only_question(
        &self,
        row: &InboxItem,
        here: &Here,
    ) -> Result<ApprovalId, ControlError> {
        let pending = self.control.store().approvals().pending_approvals(row.workspace).await?;
        let in_chat = pending.iter().filter(|question| question.chat == row.chat);
        let (own, others): (Vec<_>, Vec<_>) =
            in_chat.partition(|question| question.user == here.by);
        match (own.as_slice(), others.as_slice()) {
            ([one], _) => Ok(one.id),
            ([], []) => {
                Err(ControlError::refused(ErrorCode::NotFound, "nothing waits for an answer here"))
            }
            ([], others) => Err(ControlError::with_fix(
                ErrorCode::NotFound,
                format!("nothing of yours waits here; of others: {}", ids(others)),
                "who may answer for others says which: /approve A1, /deny A1",
            )),
            (several, _) => Err(ControlError::with_fix(
                ErrorCode::Conflict,
                format!("several questions wait ({}): say which one", ids(several)),
                format!("such as /approve {0} or /deny {0}", first(several)),
            )),
        }
    }

    /// A question that is named. Where others read along, only what was asked there.
    async fn named_question(
        &self,
        row: &InboxItem,
        here: &Here,
        id: ApprovalId,
    ) -> Result<ApprovalId, ControlError> {
        if here.is_shared() {
            let pending = self.control.store().approvals().pending_approvals(row.workspace).await?;
            let asked_here = |question: &Approval| question.id == id && question.chat == row.chat;
            if !pending.iter().any(asked_here) {
                let message = format!("{id} does not wait for an answer in this conversation");
                let fix = "/approvals lists what does";
                return Err(ControlError::with_fix(ErrorCode::NotFound, message, fix));
            }
        }
        Ok(id)
    }

    pub(super) async fn list_questions(
        &self,
        row: &InboxItem,
        here: &Here,
    ) -> Result<String, ControlError> {
        let mut pending = self.control.store().approvals().pending_approvals(row.workspace).await?;
        if here.is_shared() {
            pending.retain(|question| question.chat == row.chat);
        }
        if pending.is_empty() {
            return Ok("Nothing waits for an answer.".to_owned());
        }
        let shown: Vec<String> = pending.iter().take(MAX_LISTED).map(question).collect();
        let more = pending.len().saturating_sub(MAX_LISTED);
        let more = if more > 0 { format!("\n\n… and {more} more") } else { String::new() };
        Ok(format!("{}{more}", shown.join("\n\n")))
    }

    pub(super) async fn list_grants(
        &self,
        row: &InboxItem,
        here: &Here,
    ) -> Result<String, ControlError> {
        let grants = self.control.gates().grants(row.workspace).await?;
        if grants.is_empty() {
            return Ok("You have allowed nothing for longer than once.".to_owned());
        }
        let lines = grants.iter().map(|grant| {
            let (by, words) = (&grant.given_by, grant.reach.words());
            format!("G{}: {} ({words}; {} by {by})", grant.id, grant.describes, grant.approval)
        });
        let lines: Vec<String> = lines.collect();
        Ok(format!("{}\n{}revoke G1 takes one back.", lines.join("\n"), here.sign()))
    }

    pub(super) async fn revoke(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, ControlError> {
        let number = rest.trim_start_matches(['G', 'g']).parse::<u32>().map_err(|error| {
            let message = format!("{rest:?} is no grant: {error}");
            ControlError::with_fix(ErrorCode::BadRequest, message, "/grants lists them")
        })?;
        self.control.gates().revoke_grant(here.by, row.workspace, number).await?;
        Ok(format!("G{number} is revoked: it is asked about again."))
    }
}

fn ids(questions: &[&Approval]) -> String {
    questions.iter().map(|question| question.id.to_string()).collect::<Vec<_>>().join(", ")
}

fn first(questions: &[&Approval]) -> String {
    questions.first().map(|question| question.id.to_string()).unwrap_or_default()
}

fn question(approval: &Approval) -> String {
    let answers: Vec<&str> = approval.offered.iter().map(|answer| answer.as_str()).collect();
    format!(
        "{} in {}: {}\n{}\nanswers: {}",
        approval.id,
        approval.chat,
        approval.title,
        approval.text.trim_end(),
        answers.join(", ")
    )
}
