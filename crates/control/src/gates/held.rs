//! Files that programs of the person's run, held back when a task landed: the question about them.

use cloister_policy::Class;
use cloister_policy::gate::{Action, Asker, Effect, Surroundings};
use cloister_protocol::{Answer, TaskId};
use cloister_store::Actor;
use cloister_store::approvals::{Allowed, ApprovalKind, NewApproval};
use cloister_store::tasks::Task;
use serde::{Deserialize, Serialize};

use super::asking::MAX_SHOWN_BYTES;
use crate::control::Control;
use crate::error::Fault;
use crate::gates::{GateError, GateRefusal};
use crate::layers::HeldShown;

const WHY: &str = "programs of yours would run it";

/// What a yes lands, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ToLand {
    pub(crate) held_of: TaskId,
    pub(crate) sha256: String,
}

/// Asks whether what a task's landing held back may land. The task itself is over.
pub(crate) async fn ask_to_land(
    control: &Control,
    task: &Task,
    held: HeldShown,
) -> Result<(), Fault> {
    let HeldShown { names, diff, sha256 } = held;
    let origin = control.provenance().labels_of(task.id).await?;
    let sources = origin.untrusted_for(task.person);
    let asker = Asker {
        user: task.person,
        workspace: task.workspace,
        chat: task.chat,
        task: Some(task.id),
        why: String::new(),
        origin,
    };
    let action = Action::ChangeFile { path: names, diff };
    let effect = Effect { action, surroundings: Surroundings::default(), asker };
    let rendered = effect.render(Class::Middle, WHY);
    if rendered.text.len() > MAX_SHOWN_BYTES {
        tracing::warn!(task = %task.id, "what a landing held back is too long to be asked about");
        return Ok(());
    }
    let to_land = ToLand { held_of: task.id, sha256 };
    let failed = "a question could not be put down";
    let proposal = serde_json::to_string(&to_land).map_err(std::io::Error::other);
    control
        .gates()
        .ask_people(NewApproval {
            workspace: task.workspace,
            chat: task.chat,
            task: None,
            user: task.person,
            kind: ApprovalKind::Proposal,
            digest: rendered.digest,
            class: Class::Middle.as_str().to_owned(),
            reason: WHY.to_owned(),
            sources: sources.iter().map(ToString::to_string).collect(),
            people: 1,
            offered: vec![Answer::Allow, Answer::Deny],
            describes: rendered.title.clone(),
            title: rendered.title,
            text: rendered.text,
            template: None,
            host: None,
            call: None,
            proposal: Some(proposal.map_err(Fault::io(failed))?),
            raise: None,
            park: false,
        })
        .await?;
    Ok(())
}

/// Lands what people have allowed, if that is what this answer is about; otherwise gives it back.
pub(super) async fn land_if_allowed(
    control: &Control,
    allowed: Box<Allowed>,
) -> Result<Option<Box<Allowed>>, GateError> {
    let approval = allowed.approval();
    let proposal = approval.proposal.as_deref();
    let to_land = proposal.and_then(|json| serde_json::from_str::<ToLand>(json).ok());
    let Some(to_land) = to_land else { return Ok(Some(allowed)) };
    let by: Vec<&str> = approval.answers.iter().map(|given| given.by.as_str()).collect();
    let actor = Actor::person(by.join(" and "));
    let landed = control.tasks().layers().land_allowed(&actor, &to_land).await;
    control.store().approvals().proposal_applied(approval.id).await?;
    match landed {
        Ok(()) => Ok(None),
        Err(error) => {
            let (approval, path) = (approval.id, format!("what {} left", to_land.held_of));
            tracing::warn!(%approval, error = error.chain(), "what was allowed could not land");
            Err(GateRefusal::FileChanged { approval, path }.into())
        }
    }
}
