//! The books that the broker keeps: which models are asked and what may still be spent on them, the secrets that a
//! request carries, the rules of where to go, and how much went there. It is there before control is, which opens
//! doors through the broker.

use std::sync::atomic::Ordering;

use cloister_policy::engine::Role;
use cloister_protocol::{ChatId, Language, Level, UserId, WorkKind, WorkspaceId};
use cloister_store::Store;
pub use cloister_store::audit::{Entry, Fingerprint};
pub use cloister_store::egress::Traffic;
pub use cloister_store::model_seen::ModelSeen;
pub use cloister_store::models::{KeyRef, Model, key_secret};
pub use cloister_store::secrets::{OpenSecret, SecretError, SecretInfo};
pub use cloister_store::users::User;
pub use cloister_store::{BudgetKind, NewCall, OverBudget, Reservation, Settlement, StoreError};
use cloister_vault::{Keyring, Owner, SecretName, SecretValue};

use crate::error::Fault;
use crate::models::own;

/// The scope of a role that reaches everything.
const PLATFORM: &str = "platform";

/// What the broker reads and writes of the database, and nothing else of it.
#[derive(Clone)]
pub struct Books {
    store: Store,
    keys: Keyring,
    /// What somebody is spoken to in of whom nothing is known.
    language: Language,
}

impl Books {
    /// `keys`: what secrets are sealed under.
    pub fn new(store: Store, keys: Keyring) -> Self {
        Self { store, keys, language: Language::default() }
    }

    /// Speaks this language to people of whom it is not known which is theirs.
    pub fn speaking(self, language: Language) -> Self {
        Self { language, ..self }
    }

    /// The language that somebody is spoken to in.
    pub async fn language_of(&self, user: UserId) -> Result<Language, StoreError> {
        Ok(self.store.users().language(user).await?.best().unwrap_or(self.language))
    }

    /// Whether everything is stopped until released.
    pub fn is_stopped(&self) -> bool {
        self.store.stopped.load(Ordering::SeqCst)
    }

    /// The models that serve a kind of work of a level in a chat, in the order in which they are tried; never empty.
    pub async fn chain_for(
        &self,
        place: (WorkspaceId, ChatId),
        level: Level,
        kind: WorkKind,
    ) -> Result<Vec<Model>, StoreError> {
        self.store.models().chain_for(place, level, kind).await
    }

    /// Keeps what was seen of a model at work.
    pub async fn note_seen(&self, model: &Model, seen: ModelSeen) -> Result<(), StoreError> {
        self.store.models().note_seen(model, seen).await
    }

    /// The key of a model that a person connected for themselves; none where it goes without.
    pub async fn open_own_key(
        &self,
        user: UserId,
        name: &str,
    ) -> Result<Option<SecretValue>, Fault> {
        let models = self.store.models();
        let own = models.own(user).await?.into_iter().find(|model| model.name == name);
        let Some(model) = own else { return Ok(None) };
        let of = own::key_binding(user, &model)?;
        Ok(models.open_own_key(&self.keys, &of).await?)
    }

    /// Holds the most that a call can cost, or says which budget it would exceed.
    pub async fn reserve(
        &self,
        call: &NewCall<'_>,
        amount: i64,
    ) -> Result<Result<Reservation, OverBudget>, StoreError> {
        self.store.tasks().reserve(call, amount).await
    }

    /// Books what a call really used.
    pub async fn settle(
        &self,
        reservation: Reservation,
        settlement: Settlement,
    ) -> Result<(), StoreError> {
        self.store.tasks().settle(reservation, settlement).await
    }

    /// Gives back what a call that reached nobody held.
    pub async fn release(&self, reservation: Reservation) -> Result<(), StoreError> {
        self.store.tasks().release(reservation).await
    }

    /// Whose workspace this is.
    pub async fn owner_of(&self, workspace: WorkspaceId) -> Result<User, StoreError> {
        self.store.users().user_of(workspace).await
    }

    /// Whether somebody is of those who run the platform, and can act upon what only they can.
    pub async fn runs_platform(&self, user: UserId) -> Result<bool, StoreError> {
        const RUNNING: [Role; 3] = [Role::Overlord, Role::Admin, Role::Operator];
        let held = self.store.users().roles_of(user).await?;
        let runs = |role: &str| RUNNING.iter().any(|running| running.as_str() == role);
        Ok(held.iter().any(|held| held.scope == PLATFORM && runs(&held.role)))
    }

    /// Names and bindings of an owner's secrets, never values; versions in grace included.
    pub async fn secrets_of(&self, owner: Owner) -> Result<Vec<SecretInfo>, StoreError> {
        self.store.secrets().of(owner).await
    }

    /// Opens the value in use.
    pub async fn open_secret(
        &self,
        owner: Owner,
        name: &SecretName,
    ) -> Result<OpenSecret, SecretError> {
        self.store.secrets().open_secret(&self.keys, owner, name).await
    }

    /// Opens all of an owner's, versions in grace included.
    pub async fn open_secrets(&self, owner: Owner) -> Result<Vec<OpenSecret>, SecretError> {
        self.store.secrets().open_secrets(&self.keys, owner).await
    }

    /// A user's rules of where to go.
    pub async fn egress_rules(&self, user: UserId) -> Result<Vec<String>, StoreError> {
        self.store.egress().egress_rules(user).await
    }

    /// What went out and came in today.
    pub async fn egress_today(&self, user: UserId) -> Result<Traffic, StoreError> {
        self.store.egress().egress_today(user).await
    }

    pub async fn add_egress_usage(
        &self,
        user: UserId,
        host: &str,
        traffic: Traffic,
    ) -> Result<(), StoreError> {
        self.store.egress().add_egress_usage(user, host, traffic).await
    }

    /// Records something that has no other row, by who did it.
    pub async fn record(&self, entry: Entry) -> Result<(), StoreError> {
        self.store.audit().record(entry).await
    }
}
