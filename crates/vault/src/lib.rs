//! Keys and what is sealed under them.
//!
//! Owns: the master key, envelopes, the shape of a secret's binding, the audit's signing key, and private
//! files. Promises: a key or a secret value never prints; what is sealed for one owner, name, version and
//! binding opens as nothing else; without the right master key nothing opens, and nothing is written in
//! the clear instead. No database, no network.

mod binding;
mod canonical;
mod envelope;
mod error;
mod files;
mod keyring;
mod master;
mod owner;
mod secret;
mod signing;

pub use binding::{Binding, BindingError, Form, Host, Placed};
pub use canonical::{Canonical, Digest32};
pub use envelope::{DataKey, SealedDataKey, SecretContext};
pub use error::VaultError;
pub use files::{create_private, replace_file, require_private, sync_dir};
pub use keyring::Keyring;
pub use master::{MasterId, MasterKey, MasterSource};
pub use owner::Owner;
pub use secret::{SecretName, SecretValue};
pub use signing::{KeyId, KeyLog, KeyRecord, PublicKey, Signature, Signer};
