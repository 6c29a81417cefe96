//! What can go wrong with keys and what is sealed under them. No variant carries a value.

use std::path::PathBuf;

use crate::master::MasterId;

#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("the random source of this machine could not be read")]
    Random(#[source] getrandom::Error),
    #[error("{what} {path} could not be {tried}")]
    File { what: &'static str, tried: &'static str, path: PathBuf, source: std::io::Error },
    #[error(
        "{what} {path} can be read by others (mode {mode:o}): run `chmod 600 {path}`, and replace the key if \
         someone may have read it"
    )]
    Exposed { what: &'static str, path: PathBuf, mode: u32 },
    #[error(
        "there is no master key at {path}: put the key file back; nothing can be opened without it"
    )]
    NoMaster { path: PathBuf },
    #[error("{from} does not hold a master key: expected 64 hexadecimal digits")]
    NotAMaster { from: String },
    #[error("the command for the master key, {program:?}, could not be run")]
    Command { program: String, source: std::io::Error },
    #[error("the command for the master key, {program:?}, {problem}")]
    CommandFailed { program: String, problem: String },
    #[error("the master key {wanted} is needed, but it is not loaded (loaded: {loaded})")]
    WrongMaster { wanted: MasterId, loaded: String },
    /// The key is wrong, or the sealed bytes are not what was sealed here.
    #[error("{what} does not open: it was changed, moved, or sealed under another key")]
    DoesNotOpen { what: String },
    #[error("{what} could not be sealed")]
    NotSealed { what: String },
    #[error("the signing key {path} can't be read: {problem}")]
    BadSigner { path: PathBuf, problem: &'static str },
    #[error("the key record {number} does not hold: {problem}")]
    BadKeyRecord { number: u64, problem: &'static str },
}
