//! The master key at start: where the settings say it is, and what to do when it is not there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cloister_control::{MasterSettings, SecretOptions, SecretsRefusal};
use cloister_protocol::{ErrorCode, with_causes};
use cloister_store::Store;
use cloister_store::secrets::{MasterPlace, SecretError};
use cloister_vault::{Keyring, MasterSource, VaultError};

use crate::config::Config;
use crate::output::{BAD_CONFIG, CliError, UNAVAILABLE};

/// Where the key is when the settings say nothing.
fn usual(data: &Path) -> PathBuf {
    data.join("master.key")
}

/// Loads the key, and makes one at the very first start. Without the right one nothing starts: there is no
/// other way to a secret, and no weaker one.
pub(crate) async fn unlock(
    store: &Store,
    data: &Path,
    options: &SecretOptions,
) -> Result<Keyring, CliError> {
    let place = options.place(usual(data)).map_err(|error| {
        CliError::new(ErrorCode::BadRequest, error.to_string())
            .fix("docs/operating.md lists every setting")
            .exit(BAD_CONFIG)
    })?;
    let locked = |error: SecretError| locked(&error, &place);
    if let MasterSource::File(path) = &place.current {
        store.secrets().create_master(path).await.map_err(locked)?;
    }
    store.secrets().unlock(&place).await.map_err(locked)
}

/// What the settings say now: they may have been changed since the start.
pub(crate) fn settings(data: &Path) -> MasterSettings {
    let data = data.to_owned();
    Arc::new(move || {
        let wrong = SecretsRefusal::Settings;
        let options = Config::load(&data).map_err(|error| wrong(error.body.message))?.secrets;
        let place = options.place(usual(&data)).map_err(|error| wrong(error.to_string()))?;
        Ok((place, options.names_next()))
    })
}

fn locked(error: &SecretError, place: &MasterPlace) -> CliError {
    let message = format!("nothing was started: {}", with_causes(error));
    let right = match &place.current {
        MasterSource::File(path) => format!("put the right key back at {}", path.display()),
        MasterSource::Command(_) => {
            "see that [secrets] master_command in cloister.toml prints the right key".to_owned()
        }
    };
    let fix = match error {
        SecretError::Vault(VaultError::Exposed { path, .. }) => {
            format!("chmod 600 {}", path.display())
        }
        SecretError::WrongMaster { .. } | SecretError::Vault(_) => format!(
            "{right} (from your backup, or by `[secrets] master_file` or `master_command`); there is no other way to \
             start on this data directory"
        ),
        SecretError::Store(_)
        | SecretError::Binding(_)
        | SecretError::NoSecret { .. }
        | SecretError::NoIncoming { .. } => "see the cause above".to_owned(),
    };
    CliError::new(ErrorCode::Refused, message).fix(fix).exit(UNAVAILABLE)
}
