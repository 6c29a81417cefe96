//! What every turn asks and hardly anybody changes: read once, and remembered until something is written.
//!
//! Promises: whoever was told that a change is stored finds nobody who still goes by what was before. It rests on two
//! things: this process alone writes, and every write lets everything be forgotten unless it is one of those few that
//! turns make all the time (`Store::begin_turn`), which touch nothing that is remembered.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cloister_protocol::{ChatId, Level, UserId, UserName, WorkKind, WorkspaceId};
use cloister_vault::Owner;

use crate::contexts::{ChatPlace, Context};
use crate::error::StoreError;
use crate::model_choices::ModelChoice;
use crate::models::Model;
use crate::roles::HeldRole;
use crate::secrets::SecretInfo;
use crate::tokens::TokenOwner;
use crate::under_way::TaskUnderWay;
use crate::users::User;

/// Answers to one question that are remembered; beyond it they are read anew.
const MOST: usize = 10_000;

/// Counts what is written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes(Arc<AtomicU64>);

impl Changes {
    /// Something was written: nothing that was read before counts any more.
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn so_far(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// The questions whose answers are remembered.
pub(crate) struct AskedOften {
    pub(crate) sessions: Remembered<String, Option<TokenOwner>>,
    pub(crate) roles: Remembered<UserId, Vec<HeldRole>>,
    pub(crate) users: Remembered<UserName, User>,
    pub(crate) owners: Remembered<WorkspaceId, User>,
    pub(crate) contexts: Remembered<WorkspaceId, Vec<Context>>,
    pub(crate) places_of_chats: Remembered<(WorkspaceId, ChatId), ChatPlace>,
    pub(crate) secrets: Remembered<Owner, Vec<SecretInfo>>,
    pub(crate) chains: Remembered<Level, Vec<Model>>,
    pub(crate) kind_chains: Remembered<WorkKind, Vec<Model>>,
    pub(crate) offered_models: Remembered<(), Vec<Model>>,
    pub(crate) own_models: Remembered<UserId, Vec<Model>>,
    pub(crate) model_choices: Remembered<(WorkspaceId, ChatId), Vec<ModelChoice>>,
    pub(crate) egress_rules: Remembered<UserId, Vec<String>>,
    pub(crate) under_way: Remembered<WorkspaceId, Vec<TaskUnderWay>>,
}

impl AskedOften {
    pub(crate) fn new(changes: &Changes) -> Self {
        Self {
            sessions: Remembered::new(changes),
            roles: Remembered::new(changes),
            users: Remembered::new(changes),
            owners: Remembered::new(changes),
            contexts: Remembered::new(changes),
            places_of_chats: Remembered::new(changes),
            secrets: Remembered::new(changes),
            chains: Remembered::new(changes),
            kind_chains: Remembered::new(changes),
            offered_models: Remembered::new(changes),
            own_models: Remembered::new(changes),
            model_choices: Remembered::new(changes),
            egress_rules: Remembered::new(changes),
            under_way: Remembered::new(changes),
        }
    }
}

/// The answers to one question.
pub(crate) struct Remembered<Q, A> {
    changes: Changes,
    known: Mutex<KnownAnswers<Q, A>>,
}

struct KnownAnswers<Q, A> {
    /// After how many changes the answers were read.
    as_of: u64,
    answers: HashMap<Q, A>,
}

impl<Q: Eq + Hash, A: Clone> Remembered<Q, A> {
    fn new(changes: &Changes) -> Self {
        let known = KnownAnswers { as_of: 0, answers: HashMap::new() };
        Self { changes: changes.clone(), known: Mutex::new(known) }
    }

    /// The answer that is known, or what `read` finds.
    pub(crate) async fn or_read(
        &self,
        question: Q,
        read: impl Future<Output = Result<A, StoreError>>,
    ) -> Result<A, StoreError> {
        // Counted before it is read: what changes meanwhile makes it an answer of before.
        let as_of = self.changes.so_far();
        if let Some(answer) = self.known_as_of(as_of).answers.get(&question) {
            return Ok(answer.clone());
        }
        let answer = read.await?;
        let mut known = self.known_as_of(as_of);
        if known.as_of == as_of {
            if known.answers.len() >= MOST {
                known.answers.clear();
            }
            known.answers.insert(question, answer.clone());
        }
        Ok(answer)
    }

    /// What is known, without what was read before so many changes.
    fn known_as_of(&self, as_of: u64) -> MutexGuard<'_, KnownAnswers<Q, A>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_of < as_of {
            *known = KnownAnswers { as_of, answers: HashMap::new() };
        }
        known
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
