//! Questions, and which of them wait for one person.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use cloister_policy::engine::{Outcome, Person, Scope};
use cloister_protocol::{ApprovalId, UserId, WorkspaceId};
use cloister_store::approvals::Approval;

use super::answering::who_answers;
use crate::error::Fault;
use crate::gates::Gates;

/// As much of everybody's as one person is shown at once.
const MOST: u32 = 500;

impl Gates {
    /// Every question that this person may answer and has not, oldest first: those of their own
    /// agent, and those of others as far as the policies let them.
    pub async fn approvals_for(&self, user: UserId) -> Result<Vec<Approval>, Fault> {
        let person = self.control.people().person(user).await?;
        let own = self.control.store().users().user_by_id(user).await?.workspace;
        let pending = if answers_for_others(&person, own) {
            self.control.store().approvals().pending_everywhere(MOST).await?
        } else {
            self.control.store().approvals().pending_approvals(own).await?
        };
        let mut waiting = Vec::new();
        let mut places = HashMap::new();
        for approval in pending {
            if approval.answers.iter().any(|given| given.user == user) {
                continue;
            }
            let chat = (approval.workspace, approval.chat);
            let place = match places.entry(chat) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => {
                    unknown.insert(self.control.people().place_of_chat(chat.0, chat.1).await?)
                }
            };
            let request = who_answers(&person, place, &approval);
            if self.control.policies().engine().decide(&request).outcome == Outcome::Allow {
                waiting.push(approval);
            }
        }
        Ok(waiting)
    }

    /// What waits for an answer in a workspace.
    pub async fn pending(&self, workspace: WorkspaceId) -> Result<Vec<Approval>, Fault> {
        Ok(self.control.store().approvals().pending_approvals(workspace).await?)
    }

    pub async fn approval(&self, id: ApprovalId) -> Result<Approval, Fault> {
        Ok(self.control.store().approvals().approval(id).await?)
    }
}

/// Whether some role reaches beyond the person's own workspace: the others are spared the look at
/// everybody's questions.
fn answers_for_others(person: &Person, own: WorkspaceId) -> bool {
    person.roles.iter().any(|role| role.scope != Scope::Workspace(own))
}
