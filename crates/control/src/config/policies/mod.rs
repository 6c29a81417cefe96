//! The policies in force: the default ones together with the operator's, `<data>/policies/*.cedar`.
//!
//! Promises: there is always a whole set in force; a set that does not check is never put in its
//! place. An operator's files add to the default policies: without files, those hold alone.

mod changing;
mod explain;
mod files;

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use cloister_policy::engine::{Engine, PolicyErrors, Source};
use cloister_protocol::admin::PolicyFile;

pub use changing::CheckedPolicies;
pub use explain::BadQuestion;
use files::sources;
pub use files::{check as check_policy_files, read_dir as read_policy_dir};

/// Policies with the files that they come from.
#[derive(Debug)]
struct InForce {
    engine: Arc<Engine>,
    files: Arc<Vec<PolicyFile>>,
    /// Milliseconds since 1970; not known for those of the start.
    since: Option<i64>,
}

#[derive(Clone, Debug)]
pub struct Policies(Arc<RwLock<InForce>>);

impl Policies {
    /// The default policies with those of an operator.
    pub fn new(operator: &[Source<'_>]) -> Result<Self, PolicyErrors> {
        let file = |source: &Source<'_>| PolicyFile {
            name: source.file.to_owned(),
            text: source.text.to_owned(),
        };
        let files = operator.iter().map(file).collect();
        Ok(Self::of(Engine::new(operator)?, files))
    }

    /// The default policies with those of a directory.
    pub fn load(dir: &Path) -> Result<Self, PolicyErrors> {
        let files = read_policy_dir(dir)?;
        Ok(Self::of(Engine::new(&sources(&files))?, files))
    }

    fn of(engine: Engine, files: Vec<PolicyFile>) -> Self {
        let in_force = InForce { engine: Arc::new(engine), files: Arc::new(files), since: None };
        Self(Arc::new(RwLock::new(in_force)))
    }

    /// What decides now. One decision takes one engine: a change in between does not split it.
    pub fn engine(&self) -> Arc<Engine> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).engine)
    }

    /// The operator's files that are in force, and since when.
    fn files(&self) -> (Arc<Vec<PolicyFile>>, Option<i64>) {
        let in_force = self.0.read().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&in_force.files), in_force.since)
    }

    /// Puts another set in force, for every decision from now on.
    fn replace(&self, files: Vec<PolicyFile>, now: i64) -> Result<(), PolicyErrors> {
        let engine = Arc::new(Engine::new(&sources(&files))?);
        let in_force = InForce { engine, files: Arc::new(files), since: Some(now) };
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = in_force;
        Ok(())
    }
}

#[cfg(test)]
#[path = "policies_tests.rs"]
mod tests;
