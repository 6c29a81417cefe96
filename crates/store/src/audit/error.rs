//! What can go wrong with segments, checkpoints and witnesses.

use std::path::PathBuf;

use cloister_vault::{Owner, VaultError};

use crate::error::StoreError;

#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    #[error("the audit rows could not be used")]
    Store(#[from] StoreError),
    #[error("the audit's signing key could not be used")]
    Key(#[from] VaultError),
    #[error("the audit file {path} could not be {tried}")]
    File { tried: &'static str, path: PathBuf, source: std::io::Error },
    #[error(
        "segment {number} of chain {chain} can't be written: the database's entries {first} to {last} do not hold"
    )]
    NotGenuine { chain: Owner, number: u64, first: u64, last: u64 },
    #[error("the checkpoints in {path} do not hold ({problem}): run `cloister audit verify`")]
    Checkpoints { path: PathBuf, problem: String },
    #[error("entries {ranges} of chain {chain} are not there")]
    NoSuchEntries { chain: Owner, ranges: String },
    #[error("the witness {name} did not take checkpoint {number}: {problem}")]
    Witness { name: String, number: u64, problem: String },
    #[error("a worker of the audit did not end")]
    Worker(#[source] tokio::task::JoinError),
}

pub(super) fn file(
    tried: &'static str,
    path: impl Into<PathBuf>,
) -> impl FnOnce(std::io::Error) -> AuditError {
    let path = path.into();
    move |source| AuditError::File { tried, path, source }
}

/// Runs what waits for the disk where it holds nobody up.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AuditError> + Send + 'static,
) -> Result<T, AuditError> {
    tokio::task::spawn_blocking(work).await.map_err(AuditError::Worker)?
}
