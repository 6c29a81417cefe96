//! Commands about what people are asked and what they have allowed.

use cloister_protocol::{Answer, ApprovalId, Language};
use cloister_store::approvals::{Approval, ApprovalState};
use cloister_store::inbox::InboxItem;
use cloister_words::say;

use super::run::Here;
use crate::commands::{CommandError, CommandRefusal, Commands};
use crate::error::Fault;

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
    ) -> Result<String, CommandError> {
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
        let (to, id, title) = (here.to, approval.id, &approval.title);
        Ok(match (approval.state, answer.is_allowing()) {
            (ApprovalState::Pending, _) => {
                say!(to, "{id} waits for another person: {title}", id, title)
            }
            (ApprovalState::Allowed | ApprovalState::Denied | ApprovalState::Void, true) => {
                say!(to, "{id} allowed: {title}", id, title)
            }
            (ApprovalState::Allowed | ApprovalState::Denied | ApprovalState::Void, false) => {
                say!(to, "{id} refused: {title}", id, title)
            }
        })
    }

    /// The one question that waits for this person in this chat. One that somebody else's work waits for is
    /// answered by its id, and never by a mere yes.
    async fn only_question(
        &self,
        row: &InboxItem,
        here: &Here,
    ) -> Result<ApprovalId, CommandError> {
        let pending = self.control.store().approvals().pending_approvals(row.workspace).await?;
        let in_chat = pending.iter().filter(|question| question.chat == row.chat);
        let (own, others): (Vec<_>, Vec<_>) =
            in_chat.partition(|question| question.user == here.by);
        match (own.as_slice(), others.as_slice()) {
            ([one], _) => Ok(one.id),
            ([], []) => Err(CommandRefusal::NothingWaits.into()),
            ([], others) => Err(CommandRefusal::NothingOfYoursWaits { others: ids(others) }.into()),
            (several, _) => {
                let (several, first) = (ids(several), first(several));
                Err(CommandRefusal::SeveralWait { several, first }.into())
            }
        }
    }

    /// A question that is named. Where others read along, only what was asked there.
    async fn named_question(
        &self,
        row: &InboxItem,
        here: &Here,
        id: ApprovalId,
    ) -> Result<ApprovalId, CommandError> {
        if here.is_shared() {
            let pending = self.control.store().approvals().pending_approvals(row.workspace).await?;
            let asked_here = |question: &Approval| question.id == id && question.chat == row.chat;
            if !pending.iter().any(asked_here) {
                return Err(CommandRefusal::NotAskedHere { id }.into());
            }
        }
        Ok(id)
    }

    pub(super) async fn list_questions(
        &self,
        row: &InboxItem,
        here: &Here,
    ) -> Result<String, Fault> {
        let to = here.to;
        let mut pending = self.control.store().approvals().pending_approvals(row.workspace).await?;
        if here.is_shared() {
            pending.retain(|question| question.chat == row.chat);
        }
        if pending.is_empty() {
            return Ok(say!(to, "Nothing waits for an answer."));
        }
        let shown: Vec<String> =
            pending.iter().take(MAX_LISTED).map(|approval| question(to, approval)).collect();
        let more = pending.len().saturating_sub(MAX_LISTED);
        let more = if more > 0 { say!(to, "\n\n… and {more} more", more) } else { String::new() };
        Ok(format!("{}{more}", shown.join("\n\n")))
    }

    pub(super) async fn list_grants(&self, row: &InboxItem, here: &Here) -> Result<String, Fault> {
        let to = here.to;
        let mut grants = self.control.gates().grants(row.workspace).await?;
        if here.is_shared() {
            let mut given_here = Vec::new();
            for grant in grants {
                if self.was_asked_in(row, grant.approval).await? {
                    given_here.push(grant);
                }
            }
            grants = given_here;
        }
        if grants.is_empty() {
            return Ok(say!(to, "You have allowed nothing for longer than once."));
        }
        let lines = grants.iter().map(|grant| {
            let (by, words) = (&grant.given_by, grant.reaches());
            say!(
                to,
                "G{number}: {what} ({words}; {question} by {by})",
                number = grant.id,
                what = grant.describes,
                words,
                question = grant.approval,
                by
            )
        });
        let lines: Vec<String> = lines.collect();
        let taken_back = say!(to, "{p}revoke G1 takes one back.", p = here.sign());
        Ok(format!("{}\n{taken_back}", lines.join("\n")))
    }

    /// Whether a question was asked in this chat: what others read along is not told of another one's.
    async fn was_asked_in(&self, row: &InboxItem, id: ApprovalId) -> Result<bool, Fault> {
        Ok(self.control.store().approvals().approval(id).await?.chat == row.chat)
    }

    pub(super) async fn revoke(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        let number = rest.trim_start_matches(['G', 'g']).parse::<u32>();
        let said = || rest.to_owned();
        let number = number.map_err(|error| CommandRefusal::NoGrant { said: said(), error })?;
        if here.is_shared() {
            let grants = self.control.gates().grants(row.workspace).await?;
            if let Some(grant) = grants.iter().find(|grant| grant.id == number)
                && !self.was_asked_in(row, grant.approval).await?
            {
                let name = format!("G{number}");
                return Err(Fault::not_found("grant", name).into());
            }
        }
        self.control.gates().revoke_grant(here.by, row.workspace, number).await?;
        Ok(say!(here.to, "G{number} is revoked: it is asked about again.", number))
    }
}

fn ids(questions: &[&Approval]) -> String {
    questions.iter().map(|question| question.id.to_string()).collect::<Vec<_>>().join(", ")
}

fn first(questions: &[&Approval]) -> String {
    questions.first().map(|question| question.id.to_string()).unwrap_or_default()
}

fn question(to: Language, approval: &Approval) -> String {
    let answers: Vec<&str> = approval.offered.iter().map(|answer| answer.as_str()).collect();
    say!(
        to,
        "{id} in {chat}: {title}\n{text}\nanswers: {answers}",
        id = approval.id,
        chat = approval.chat,
        title = approval.title,
        text = approval.text.trim_end(),
        answers = answers.join(", ")
    )
}
