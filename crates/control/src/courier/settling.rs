//! Questions, and how they were settled.
//!
//! That a question was answered is in the database, and its message says so as soon as it can: when somebody
//! is heard to answer, or when one is found whose message does not say it yet.

use std::borrow::Cow;

use cloister_protocol::{AgentFrame, Answer, ApprovalId, Ask, Language, TurnId};
use cloister_store::StoreError;
use cloister_store::approvals::{Approval, ApprovalState};
use cloister_store::conversations::Conversation;
use cloister_store::outbox::OutboxItem;
use cloister_store::posts::{question_key, settled_key};
use cloister_words::say;

use super::posting::{Halt, Telling};
use super::render::{self, Part, Says};
use super::split::Limit;
use super::telling::language_at;
use super::worker::Worker;
use crate::control::Control;
use crate::gates::reason_in;
use crate::ports::{Posting, Recipient};

/// The row that asked a question.
pub(super) async fn asked_by(
    control: &Control,
    approval: &Approval,
) -> Result<Option<OutboxItem>, StoreError> {
    let turn = TurnId::of_question(approval.id);
    let rows = control.store().outbox().outbox_of_turn(approval.workspace, &turn).await?;
    Ok(rows.into_iter().next())
}

async fn known(control: &Control, id: ApprovalId) -> Result<Option<Approval>, StoreError> {
    match control.store().approvals().approval(id).await {
        Ok(approval) => Ok(Some(approval)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A question that was answered, or that nobody needs to answer any more.
fn settled(ask: &Ask, approval: &Approval, to: Language) -> Option<Posting> {
    let given = &approval.answers;
    let chosen = match approval.state {
        ApprovalState::Pending => return None,
        ApprovalState::Void => None,
        // What was allowed is the narrowest of the answers.
        ApprovalState::Allowed => {
            Answer::ALL.into_iter().find(|answer| given.iter().any(|given| given.answer == *answer))
        }
        ApprovalState::Denied => {
            given.iter().map(|given| given.answer).find(|answer| !answer.is_allowing())
        }
    };
    let Some(answer) = chosen else {
        let title = render::code(&ask.title);
        let markdown = say!(
            to,
            "{id}: {title} needs no answer any more. Its task has ended.",
            id = ask.approval,
            title
        );
        return Some(Posting::Notice { markdown, buttons: Vec::new() });
    };
    let of = given.iter().filter(|given| given.answer.is_allowing() == answer.is_allowing());
    let by = of.map(|given| given.by.as_str()).collect::<Vec<_>>().join(", ");
    Some(Posting::Question { ask: ask.clone(), settled: Some((answer, by)) })
}

/// A question with the reason for it in the language of whom it is put to; what is asked stays to the letter.
pub(super) async fn in_their_words<'a>(
    control: &Control,
    row: &'a OutboxItem,
) -> Result<Cow<'a, OutboxItem>, StoreError> {
    let AgentFrame::Ask(ask) = &row.frame else { return Ok(Cow::Borrowed(row)) };
    let Some(approval) = known(control, ask.approval).await? else {
        return Ok(Cow::Borrowed(row));
    };
    let read = control.store().users().language(approval.user).await?;
    let to = read.best().unwrap_or(control.people().languages().default_language());
    let ask = Ask { reason: reason_in(to, &ask.reason), ..ask.clone() };
    Ok(Cow::Owned(OutboxItem { frame: AgentFrame::Ask(ask), ..row.clone() }))
}

impl Worker {
    /// A question as it stands.
    pub(super) async fn question(&self, ask: &Ask, to: Language) -> Result<Posting, Halt> {
        let approval = known(&self.control, ask.approval).await?;
        let settled = approval.and_then(|approval| settled(ask, &approval, to));
        Ok(settled.unwrap_or_else(|| Posting::Question { ask: ask.clone(), settled: None }))
    }

    /// Asks a question. It may be settled by now: then its message says so from the start, or is edited.
    pub(super) async fn ask(&self, telling: &Telling<'_>, part: &Part) -> Result<(), Halt> {
        let Says::Question(ask) = &part.says else { return Ok(()) };
        let was_settled = self.is_settled(ask.approval).await?;
        let there = self.post_once(telling, &part.key, &part.says).await?;
        if was_settled && there.fresh {
            let key = settled_key(&part.key);
            let store = self.control.store();
            store.outbox().begin_post(self.conversation, &key, Some(telling.row.id)).await?;
            store.outbox().finish_post(self.conversation, &key, &there.message).await?;
        } else if self.is_settled(ask.approval).await? {
            self.desk.send_modify(|desk| desk.settle(ask.approval));
        }
        Ok(())
    }

    async fn is_settled(&self, id: ApprovalId) -> Result<bool, Halt> {
        let approval = known(&self.control, id).await?;
        Ok(approval.is_some_and(|approval| approval.state != ApprovalState::Pending))
    }

    /// Shows on the message of a question how it was settled. One that was not posted will say so itself.
    pub(super) async fn show_settled(
        &self,
        place: &Conversation,
        id: ApprovalId,
    ) -> Result<(), Halt> {
        let store = self.control.store();
        let Some(approval) = known(&self.control, id).await? else { return Ok(()) };
        let Some(row) = asked_by(&self.control, &approval).await? else { return Ok(()) };
        let heading = self.heading(place, (row.workspace, row.chat)).await?;
        let row = in_their_words(&self.control, &row).await?;
        let largest = self.surface.manners().largest_file;
        let language = language_at(&self.control, place).await?;
        let parts = |limit: &Limit<'_>| {
            render::parts_of(&row, (limit, largest), heading.as_ref(), language)
        };
        let parts = self.with_lengths(parts).await?;
        let Some(Part { says: Says::Question(ask), .. }) = parts.last() else { return Ok(()) };
        let Some(posting) = settled(ask, &approval, language) else { return Ok(()) };
        let asked = store.outbox().post(self.conversation, &question_key(row.id)).await?;
        let Some(message) = asked.and_then(|post| post.external_id) else { return Ok(()) };
        let key = settled_key(&question_key(row.id));
        let before = store.outbox().begin_post(self.conversation, &key, Some(row.id)).await?;
        if before.is_some_and(|edit| edit.external_id.is_some()) {
            return Ok(());
        }
        let to = Recipient { conversation: place.clone(), origin: None, language };
        match self.sending.edit(&to, &key, &message, &posting).await {
            Ok(()) => {}
            Err(Halt::Refused(why)) => {
                tracing::warn!(approval = %id, reason = why, "a settled question could not be edited");
            }
            Err(halt) => return Err(halt),
        }
        Ok(store.outbox().finish_post(self.conversation, &key, &message).await?)
    }
}
