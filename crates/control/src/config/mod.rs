//! What steers agents and the platform: identity files, policies and settings, every change a version.

mod error;
mod history;
mod identity;
mod policies;

use crate::control::part;

pub use error::{ConfigError, ConfigRefusal};
pub use history::{ConfigScope, RolledBack, Version, VersionError, finish_interrupted_change};
pub(crate) use history::{History, SettingsCheck, VersionedChange, is_policy_file, unified};
pub use policies::{BadQuestion, CheckedPolicies, Policies, check_policy_files, read_policy_dir};

part! {
    /// The configuration, versioned.
    pub struct Config;
}
