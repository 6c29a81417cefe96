//! What can go wrong with the database.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("the database {path} could not be opened")]
    Open { path: PathBuf, source: sqlx::Error },
    #[error("the database {path} could not be brought to this version's schema")]
    Migrate { path: PathBuf, source: sqlx::migrate::MigrateError },
    #[error("the database {path} is damaged: {found}")]
    Damaged { path: PathBuf, found: String },
    /// Too many wait for the database, or one waited for too long.
    #[error("the database has too much to do to {what}; try again in a moment")]
    Busy { what: &'static str },
    #[error("the database could not {what}")]
    Query { what: &'static str, source: sqlx::Error },
    /// A value in the database that this version can't read.
    #[error("the database holds a {what} that can't be read: {value:?}")]
    Corrupt { what: &'static str, value: String },
    #[error("there is no {what} {name}")]
    NotFound { what: &'static str, name: String },
    #[error("the random source of this machine could not be read")]
    Random(#[source] getrandom::Error),
    #[error("too many {what}")]
    TooMany { what: &'static str },
    #[error("there is a {what} {name} already")]
    Exists { what: &'static str, name: String },
}

/// Names what was tried when a query fails.
pub(crate) trait Tried<T> {
    fn tried(self, what: &'static str) -> Result<T, StoreError>;
}

impl<T> Tried<T> for Result<T, sqlx::Error> {
    fn tried(self, what: &'static str) -> Result<T, StoreError> {
        self.map_err(|source| match source {
            sqlx::Error::PoolTimedOut => StoreError::Busy { what },
            source => StoreError::Query { what, source },
        })
    }
}

pub(crate) fn corrupt(what: &'static str, value: impl ToString) -> StoreError {
    StoreError::Corrupt { what, value: value.to_string() }
}

pub(crate) fn not_found(what: &'static str, name: impl ToString) -> StoreError {
    StoreError::NotFound { what, name: name.to_string() }
}
