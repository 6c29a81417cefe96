//! Roles that are given and taken. Whom that concerns and who did not do it is told: the person whose role it is,
//! and the owner of the private workspace that it holds in.

use cloister_policy::engine::{Assignment, Role, Scope};
use cloister_policy::legible;
use cloister_protocol::UserId;
use cloister_store::Actor;
use cloister_store::outbox::OutboxItem;
use cloister_store::roles::{Concerned, TakenRole};
use cloister_store::users::{AccountKind, User};

use crate::error::Fault;
use crate::people::{People, PeopleError, PeopleRefusal};

/// Who gives or takes a role.
#[derive(Clone, Copy, Debug)]
pub struct Giver<'a> {
    pub user: UserId,
    pub actor: &'a Actor,
}

/// What is done to a role, as people are told.
#[derive(Clone, Copy, Debug)]
pub(super) enum Change {
    Give,
    Take,
}

impl People {
    /// Whose private workspace a scope is, or is in. The policies ask for it wherever a role is given.
    pub async fn owner_of(&self, scope: &Scope) -> Result<Option<UserId>, Fault> {
        match scope.workspace() {
            Some(workspace) => Ok(self.place(workspace).await?.owner()),
            None => Ok(None),
        }
    }

    /// Gives a person a role; it counts from the next decision on. Says whether it is new to them.
    pub async fn give_role(
        &self,
        by: Giver<'_>,
        user: &User,
        assignment: &Assignment,
    ) -> Result<bool, PeopleError> {
        super::require_person(user)?;
        let concerned = self.concerned(Change::Give, user, assignment, by).await?;
        let (role, scope) = (assignment.role.as_str(), assignment.scope.to_string());
        let given = self
            .control
            .store()
            .users()
            .give_role(by.actor, user.id, (role, &scope), &concerned)
            .await?;
        self.access().changed();
        let new = given.is_some();
        self.tell_concerned(given.unwrap_or_default());
        Ok(new)
    }

    /// Takes a role away, and with it what it holds open.
    pub async fn take_role(
        &self,
        by: Giver<'_>,
        user: &User,
        assignment: &Assignment,
    ) -> Result<(), PeopleError> {
        let concerned = self.concerned(Change::Take, user, assignment, by).await?;
        let (role, scope) = (assignment.role.as_str(), assignment.scope.to_string());
        match self
            .control
            .store()
            .users()
            .take_role(by.actor, user.id, (role, &scope), &concerned)
            .await?
        {
            TakenRole::Taken(told) => {
                self.access().changed();
                self.tell_concerned(told);
                Ok(())
            }
            TakenRole::NotHeld => {
                let (name, role) = (user.name.clone(), assignment.to_string());
                Err(PeopleRefusal::RoleNotHeld { name, role }.into())
            }
            TakenRole::LastOverlord => {
                Err(PeopleRefusal::LastOverlord { name: user.name.clone() }.into())
            }
        }
    }

    /// Who is told of a change, but for who makes it. Somebody who was never here is told of no role of their own:
    /// that is how they were invited.
    pub(super) async fn concerned(
        &self,
        change: Change,
        user: &User,
        assignment: &Assignment,
        by: Giver<'_>,
    ) -> Result<Vec<Concerned>, Fault> {
        let mut concerned = Vec::new();
        let is_person = user.kind == AccountKind::Person;
        if is_person
            && user.id != by.user
            && !self.control.store().users().is_newcomer(user.id).await?
        {
            concerned.push(self.concern(user, to_holder(change, user, assignment, by)).await?);
        }
        let owner = self.owner_of(&assignment.scope).await?;
        if let Some(owner) = owner.filter(|owner| *owner != by.user && *owner != user.id) {
            let owner = self.control.store().users().user_by_id(owner).await?;
            concerned.push(self.concern(&owner, to_owner(change, user, assignment, by)).await?);
        }
        Ok(concerned)
    }

    async fn concern(&self, user: &User, text: String) -> Result<Concerned, Fault> {
        let chat = (user.workspace, self.control.store().users().last_chat(user.workspace).await?);
        Ok(Concerned { user: user.id, chat, text })
    }

    pub(super) fn tell_concerned(&self, told: Vec<OutboxItem>) {
        told.into_iter().for_each(|item| self.control.hub().say_stored(item));
    }
}

fn to_holder(change: Change, user: &User, assignment: &Assignment, by: Giver<'_>) -> String {
    let Assignment { role, scope } = assignment;
    let there = match scope {
        Scope::Platform => "on the platform".to_owned(),
        inside => format!("in {}", legible(&inside.to_string())),
    };
    let done = match change {
        Change::Give => format!("{} gave you the role {role} {there}", by.actor.shown()),
        Change::Take => format!("{} took the role {role} {there} from you", by.actor.shown()),
    };
    format!(
        "{done}. If you did not want this, tell whoever runs this: `cloister user show {}` lists your roles.",
        user.name
    )
}

fn to_owner(change: Change, user: &User, assignment: &Assignment, by: Giver<'_>) -> String {
    let Assignment { role, scope } = assignment;
    let scope = scope.to_string();
    let (name, scope) = (&user.name, legible(&scope));
    let (done, undo) = match change {
        Change::Give => (format!("gave {name} the role {role} in"), "take"),
        Change::Take => (format!("took the role {role} from {name} in"), "give"),
    };
    let undo = match role {
        Role::Viewer | Role::Member => {
            format!("`cloister role {undo} {name} {role} --scope {scope}` undoes it, or tell")
        }
        Role::Operator | Role::Admin | Role::Overlord => "tell".to_owned(),
    };
    let reach = match (change, role) {
        (Change::Give, Role::Overlord) => " They can read and do everything there.",
        (Change::Give | Change::Take, _) => " What you write and keep there stays yours alone.",
    };
    format!(
        "{} {done} your private workspace ({scope}).{reach} If you did not want this, {undo} whoever runs this.",
        by.actor.shown()
    )
}

#[cfg(test)]
#[path = "roles_tests.rs"]
mod tests;
