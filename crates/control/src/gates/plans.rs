//! Plans: what a task means to do, put to a person before it changes anything.

use cloister_policy::Class;
use cloister_policy::gate::{Reading, visible};
use cloister_policy::reach::CellRequest;
use cloister_protocol::Answer;
use cloister_store::approvals::{Approval, ApprovalKind, NewApproval};
use cloister_store::tasks::Task;
use sha2::{Digest, Sha256};

use crate::cells::Admitted;
use crate::gates::{GateError, Gates};

/// A plan that a task proposes.
pub(crate) struct NewPlan<'a> {
    pub(crate) task: &'a Task,
    pub(crate) text: &'a str,
}

impl Gates {
    /// Puts a plan to people and lets its task wait. The same plan again is the same question.
    pub(crate) async fn ask_for_plan(
        &self,
        leave: Admitted,
        plan: NewPlan<'_>,
    ) -> Result<Approval, GateError> {
        leave.to(CellRequest::ProposePlan)?;
        let NewPlan { task, text } = plan;
        let digest: String =
            Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let title = format!("Plan for task {}: {}", task.id, task.title);
        Ok(self
            .ask_people(NewApproval {
                workspace: task.workspace,
                chat: task.chat,
                task: Some(task.id),
                user: task.person,
                kind: ApprovalKind::Plan,
                digest,
                class: Class::Middle.as_str().to_owned(),
                reason: "a plan is put to you before anything is changed".to_owned(),
                sources: Vec::new(),
                people: 1,
                offered: vec![Answer::Allow, Answer::Deny, Answer::DenyAndStop],
                title: visible(&title, Reading::Prose),
                text: visible(text, Reading::Prose),
                describes: String::new(),
                template: None,
                host: None,
                call: None,
                proposal: None,
                raise: None,
                park: true,
            })
            .await?)
    }
}
