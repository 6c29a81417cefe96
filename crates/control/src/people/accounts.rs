//! The accounts: people and communities as they are known here, what they may spend, and what they were offered.

use cloister_protocol::{UserId, UserName, WorkspaceId};
use cloister_store::identities::Identity;
use cloister_store::roles::HeldRole;
use cloister_store::users::{User, UserLimits};
use cloister_store::{Actor, BudgetState, UsageRow};

use crate::control::part;
use crate::error::Fault;

part! {
    /// The accounts of people and communities.
    pub struct Accounts;
}

impl Accounts {
    pub async fn all(&self) -> Result<Vec<User>, Fault> {
        Ok(self.control.store().users().all().await?)
    }

    pub async fn named(&self, name: &UserName) -> Result<User, Fault> {
        Ok(self.control.store().users().user(name).await?)
    }

    pub async fn by_id(&self, user: UserId) -> Result<User, Fault> {
        Ok(self.control.store().users().user_by_id(user).await?)
    }

    /// Whose workspace this is.
    pub async fn of(&self, workspace: WorkspaceId) -> Result<User, Fault> {
        Ok(self.control.store().users().user_of(workspace).await?)
    }

    /// A person as who acts, by their name.
    pub(crate) async fn acting(&self, user: UserId) -> Result<Actor, Fault> {
        Ok(Actor::recognised(user, self.by_id(user).await?.name, None))
    }

    /// Makes a person, their workspace and its first chat.
    pub async fn add(
        &self,
        actor: &Actor,
        name: &UserName,
        limits: UserLimits,
    ) -> Result<User, Fault> {
        let user = self.control.store().users().add_user(actor, name, limits).await?;
        self.control.chats().ensure_first_chat(actor, user.workspace).await?;
        Ok(user)
    }

    pub async fn set_limits(
        &self,
        actor: &Actor,
        name: &UserName,
        limits: UserLimits,
    ) -> Result<User, Fault> {
        let changed = self.control.store().users().set_limits(actor, name, limits).await?;
        // With more to spend, what waited for an answer goes on.
        self.control.tasks().look();
        Ok(changed)
    }

    /// What a user is called from now on; empty: by their name.
    pub async fn set_display_name(
        &self,
        actor: &Actor,
        name: &UserName,
        called: &str,
    ) -> Result<User, Fault> {
        Ok(self.control.store().users().set_display_name(actor, name, called).await?)
    }

    /// What a user has spent of today's budget.
    pub async fn budget_state(&self, user: UserId) -> Result<BudgetState, Fault> {
        Ok(self.control.store().tasks().budget_state(user).await?)
    }

    /// What a user's model calls came to, by day, level and model.
    pub async fn usage(&self, user: UserId) -> Result<Vec<UsageRow>, Fault> {
        Ok(self.control.store().tasks().usage(Some(user), None).await?)
    }

    /// The same of models that they connected, and pay for, themselves.
    pub async fn own_usage(&self, user: UserId) -> Result<Vec<UsageRow>, Fault> {
        Ok(self.control.store().tasks().own_usage(Some(user), None).await?)
    }

    /// What those came to today, in nano-dollars.
    pub async fn own_spent_today(&self, user: UserId) -> Result<i64, Fault> {
        Ok(self.control.store().tasks().own_spent_today(Some(user)).await?)
    }

    /// Whether somebody was never here.
    pub async fn is_newcomer(&self, user: UserId) -> Result<bool, Fault> {
        Ok(self.control.store().users().is_newcomer(user).await?)
    }

    pub async fn roles_of(&self, user: UserId) -> Result<Vec<HeldRole>, Fault> {
        Ok(self.control.store().users().roles_of(user).await?)
    }

    /// Who holds which role, of everybody.
    pub async fn all_roles(&self) -> Result<Vec<(UserName, HeldRole)>, Fault> {
        Ok(self.control.store().users().all_roles().await?)
    }

    /// The accounts on surfaces that are somebody's.
    pub async fn identities_of(&self, user: UserId) -> Result<Vec<Identity>, Fault> {
        Ok(self.control.store().users().identities_of(user).await?)
    }

    /// Whether the guided start is to be offered.
    pub async fn offers_start(&self, user: UserId) -> Result<bool, Fault> {
        Ok(self.control.store().users().offers_start(user).await?)
    }

    /// From here on the guided start is offered, unless it was before.
    pub async fn begin_start_offer(&self, user: UserId) -> Result<(), Fault> {
        Ok(self.control.store().users().begin_start_offer(user).await?)
    }

    /// The guided start was used or skipped.
    pub async fn close_start(&self, user: UserId) -> Result<(), Fault> {
        Ok(self.control.store().users().close_start(user).await?)
    }
}
