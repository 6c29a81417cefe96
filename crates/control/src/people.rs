//! Who someone is to the policies: the roles they hold, and whose a workspace is.

use cloister_policy::engine::{Assignment, Ownership, Person, Place, Role, Scope};
use cloister_protocol::{UserId, WorkspaceId};

use crate::control::Control;
use crate::error::ControlError;

impl Control {
    /// A user with every role they hold.
    pub async fn person(&self, user: UserId) -> Result<Person, ControlError> {
        let users = self.store().users().await?;
        let mut roles = Vec::new();
        if let Some(known) = users.iter().find(|known| known.id == user) {
            roles.push(Assignment { role: Role::Member, scope: Scope::Workspace(known.workspace) });
        }
        if user.number() == 1 {
            roles.push(Assignment { role: Role::Overlord, scope: Scope::Platform });
        }
        Ok(Person { user, roles })
    }

    /// Where a workspace is, and whose.
    pub async fn place(&self, workspace: WorkspaceId) -> Result<Place, ControlError> {
        let owner = self.store().user_of(workspace).await?.id;
        Ok(Place::workspace(workspace, Ownership::Private { owner }))
    }
}
