//! Commands about what people are asked and what they have allowed.

use cloister_policy::engine::{Request, WorkspaceCall};
use cloister_protocol::{Answer, ApprovalId, ErrorCode, UserId};
use cloister_store::approvals::{Approval, ApprovalState};
use cloister_store::inbox::InboxItem;

use crate::control::Control;
use crate::error::ControlError;

/// How much of each question a list shows; the questions themselves are in the chat, whole.
const MAX_LISTED: usize = 20;

impl Control {
    /// `/approve [A1] [task | always]`, `/deny [A1] [stop]`, `/yes`, `/no`
    pub(super) async fn answer_question(
        &self,
        row: &InboxItem,
        allow: bool,
        rest: &str,
    ) -> Result<String, ControlError> {
        let mut id = None;
        let mut answer = if allow { Answer::Allow } else { Answer::Deny };
        for word in rest.split_whitespace() {
            answer = match (word.to_ascii_lowercase().as_str(), allow) {
                ("once", true) => Answer::Allow,
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
            Some(id) => id,
            None => self.only_question(row).await?,
        };
        // Who types a command has been shown the question, and means the one with this id.
        let by = self.person_of(row).await?;
        let approval = self.answer_approval(by, row.workspace, question, answer, None).await?;
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

    /// The one question that waits in this chat.
    async fn only_question(&self, row: &InboxItem) -> Result<ApprovalId, ControlError> {
        let pending = self.store().pending_approvals(row.workspace).await?;
        let here: Vec<_> = pending.iter().filter(|question| question.chat == row.chat).collect();
        match here.as_slice() {
            [] => {
                Err(ControlError::refused(ErrorCode::NotFound, "nothing waits for an answer here"))
            }
            [one] => Ok(one.id),
            several => {
                let ids: Vec<String> = several.iter().map(|q| q.id.to_string()).collect();
                Err(ControlError::refused(
                    ErrorCode::Conflict,
                    format!("several questions wait ({}): say which one", ids.join(", ")),
                ))
            }
        }
    }

    pub(super) async fn list_questions(&self, row: &InboxItem) -> Result<String, ControlError> {
        self.require_here(row, WorkspaceCall::ListApprovals).await?;
        let pending = self.store().pending_approvals(row.workspace).await?;
        if pending.is_empty() {
            return Ok("Nothing waits for an answer.".to_owned());
        }
        let shown: Vec<String> = pending.iter().take(MAX_LISTED).map(question).collect();
        let more = pending.len().saturating_sub(MAX_LISTED);
        let more = if more > 0 { format!("\n\n… and {more} more") } else { String::new() };
        Ok(format!("{}{more}", shown.join("\n\n")))
    }

    pub(super) async fn list_grants(&self, row: &InboxItem) -> Result<String, ControlError> {
        self.require_here(row, WorkspaceCall::ListGrants).await?;
        let grants = self.grants(row.workspace).await?;
        if grants.is_empty() {
            return Ok("You have allowed nothing for longer than once.".to_owned());
        }
        let lines = grants.iter().map(|grant| {
            let (by, words) = (&grant.given_by, grant.reach.words());
            format!("G{}: {} ({words}; {} by {by})", grant.id, grant.describes, grant.approval)
        });
        let lines: Vec<String> = lines.collect();
        Ok(format!("{}\n/revoke G1 takes one back.", lines.join("\n")))
    }

    pub(super) async fn revoke(&self, row: &InboxItem, rest: &str) -> Result<String, ControlError> {
        let by = self.require_here(row, WorkspaceCall::RevokeGrant).await?;
        let number = rest.trim_start_matches(['G', 'g']).parse::<u32>().map_err(|error| {
            let message = format!("{rest:?} is no grant: {error}");
            ControlError::with_fix(ErrorCode::BadRequest, message, "/grants lists them")
        })?;
        self.revoke_grant(row.workspace, number, by).await?;
        Ok(format!("G{number} is revoked: it is asked about again."))
    }

    /// Refuses what the policies do not let the writer do; else says who they are.
    async fn require_here(
        &self,
        row: &InboxItem,
        call: WorkspaceCall,
    ) -> Result<UserId, ControlError> {
        let by = self.person_of(row).await?;
        let person = self.person(by).await?;
        let place = self.place_of_chat(row.workspace, row.chat).await?;
        self.require(&Request::workspace(&person, call, &place))?;
        Ok(by)
    }
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
