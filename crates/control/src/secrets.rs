//! Secrets of people and of the platform, and the master key they are sealed under.

use std::sync::Arc;

use cloister_protocol::{ErrorCode, Language};
use cloister_store::Actor;
use cloister_store::secrets::{MasterPlace, NewSecret, RotationDone, SecretInfo};
use cloister_vault::{Binding, MasterKey, MasterSource, Owner, SecretName, SecretValue};

use crate::control::part;
use crate::error::{Failed, Fault, Refusal};

/// How many secrets one owner may have.
const MOST_SECRETS: usize = 500;
/// The longest that an old value is still known.
const LONGEST_GRACE_S: u64 = 30 * 24 * 3600;

/// Where the settings say that the master key is, looked up each time: they may have been changed. The flag
/// says whether they name the key that is to replace it.
pub type MasterSettings =
    Arc<dyn Fn() -> Result<(MasterPlace, bool), SecretsRefusal> + Send + Sync>;

pub type SecretsError = Failed<SecretsRefusal>;

#[derive(Debug, thiserror::Error)]
pub enum SecretsRefusal {
    #[error("{owner} has {MOST_SECRETS} secrets already")]
    TooMany { owner: Owner },
    #[error("the time of grace is at most {LONGEST_GRACE_S} seconds")]
    TooMuchGrace,
    #[error("the master key comes from a command, and the settings name none to replace it")]
    NoNextMaster,
    /// Where the master key is can't be told from the settings.
    #[error("{0}")]
    Settings(String),
}

impl Refusal for SecretsRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::TooMany { .. } => ErrorCode::Conflict,
            Self::TooMuchGrace | Self::NoNextMaster | Self::Settings(_) => ErrorCode::BadRequest,
        }
    }

    fn fix(&self, _to: Language) -> Option<String> {
        let fix = match self {
            Self::TooMany { .. } => "`cloister secret rm NAME` removes one",
            Self::NoNextMaster => {
                "put next_command or next_file under [secrets] in cloister.toml, and try again"
            }
            Self::TooMuchGrace | Self::Settings(_) => return None,
        };
        Some(fix.to_owned())
    }
}

part! {
    /// The secrets.
    pub struct Secrets;
}

impl Secrets {
    /// Names and bindings of an owner's secrets, never values.
    pub async fn list(&self, owner: Owner) -> Result<Vec<SecretInfo>, Fault> {
        Ok(self.control.store().secrets().of(owner).await?)
    }

    /// Sets a secret; what it was before is gone.
    pub async fn set_secret(
        &self,
        actor: &Actor,
        new: NewSecret,
    ) -> Result<SecretInfo, SecretsError> {
        let there = self.control.store().secrets().of(new.owner).await?;
        if there.len() >= MOST_SECRETS && there.iter().all(|secret| secret.name != new.name) {
            return Err(SecretsRefusal::TooMany { owner: new.owner }.into());
        }
        Ok(self.control.store().secrets().set_secret(actor, self.control.keys(), new).await?)
    }

    /// Gives a secret a new value; the old one is still known for the time of grace.
    pub async fn rotate_secret(
        &self,
        actor: &Actor,
        whose: (Owner, &SecretName),
        value: SecretValue,
        grace_s: u64,
    ) -> Result<SecretInfo, SecretsError> {
        if grace_s > LONGEST_GRACE_S {
            return Err(SecretsRefusal::TooMuchGrace.into());
        }
        let grace_ms = i64::try_from(grace_s.saturating_mul(1000)).unwrap_or(i64::MAX);
        Ok(self
            .control
            .store()
            .secrets()
            .rotate_secret(actor, self.control.keys(), whose, value, grace_ms)
            .await?)
    }

    /// Changes where a secret may be used.
    pub async fn rebind_secret(
        &self,
        actor: &Actor,
        whose: (Owner, &SecretName),
        binding: Binding,
    ) -> Result<SecretInfo, Fault> {
        Ok(self
            .control
            .store()
            .secrets()
            .rebind_secret(actor, self.control.keys(), whose, binding)
            .await?)
    }

    pub async fn remove_secret(
        &self,
        actor: &Actor,
        (owner, name): (Owner, &SecretName),
    ) -> Result<(), Fault> {
        Ok(self.control.store().secrets().remove_secret(actor, owner, name).await?)
    }

    /// Replaces the master key while all goes on: by the one that the settings name, or by a new one in the
    /// same file. What was cut short goes on from where it was. Says what is to be changed in the settings.
    pub async fn rotate_master(
        &self,
        actor: &Actor,
    ) -> Result<(RotationDone, Option<String>), SecretsError> {
        let _one_at_a_time = self.control.inner.rotating.lock().await;
        let (place, named) = (self.control.inner.parts.master)()?;
        match (&place.current, &place.incoming) {
            (MasterSource::File(path), _) if !named => {
                let done = self
                    .control
                    .store()
                    .secrets()
                    .rotate_master_file(actor, self.control.keys(), path)
                    .await?;
                Ok((done, None))
            }
            (_, Some(next)) if named => {
                let key = self.load_master(next.clone()).await?;
                let done = self
                    .control
                    .store()
                    .secrets()
                    .rotate_master_to(actor, self.control.keys(), key)
                    .await?;
                self.control.keys().drop_others();
                let next = "in cloister.toml, under [secrets], give next_file or next_command the name \
                            master_file or master_command, in the place of the one that is there";
                Ok((done, Some(next.to_owned())))
            }
            (MasterSource::File(_) | MasterSource::Command(_), _) => {
                Err(SecretsRefusal::NoNextMaster.into())
            }
        }
    }

    async fn load_master(&self, source: MasterSource) -> Result<MasterKey, Fault> {
        let loading = tokio::task::spawn_blocking(move || MasterKey::load(&source));
        let loaded = loading.await.map_err(Fault::interrupted("the key was not read"))?;
        Ok(loaded.map_err(cloister_store::secrets::SecretError::from)?)
    }
}
