//! The policies in force: the default ones together with the operator's, `<data>/policies/*.cedar`.
//!
//! Promises: there is always a whole set in force; a set that does not check is never put in its place.

use std::sync::{Arc, PoisonError, RwLock};

use cloister_policy::engine::{Engine, PolicyErrors, Source};

#[derive(Clone, Debug)]
pub struct Policies(Arc<RwLock<Arc<Engine>>>);

impl Policies {
    /// The default policies with those of an operator.
    pub fn new(operator: &[Source<'_>]) -> Result<Self, PolicyErrors> {
        Ok(Self(Arc::new(RwLock::new(Arc::new(Engine::new(operator)?)))))
    }

    /// What decides now. One decision takes one engine: a change in between does not split it.
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Puts another set in force, for every decision from now on.
    pub fn replace(&self, operator: &[Source<'_>]) -> Result<(), PolicyErrors> {
        let engine = Arc::new(Engine::new(operator)?);
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = engine;
        Ok(())
    }
}
