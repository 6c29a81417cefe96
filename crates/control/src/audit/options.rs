//! The settings of the audit and of the master key.

use std::path::PathBuf;
use std::time::Duration;

use cloister_store::audit::SealOptions;
use cloister_store::secrets::MasterPlace;
use cloister_vault::MasterSource;
use serde::Deserialize;

const DAY_MS: i64 = 24 * 3600 * 1000;

/// `[audit]` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditOptions {
    /// A segment is closed when it has this many entries,
    pub segment_entries: u64,
    /// or when its first one is this old.
    pub segment_s: u64,
    /// How often what is new is signed and shown to the witnesses.
    pub checkpoint_s: u64,
    /// What entries say in detail is taken out after this many days; 0: never.
    pub redact_after_days: u32,
    /// A file on another machine's disk, or on one that is only appended to.
    pub witness_file: Option<PathBuf>,
    /// An address that every checkpoint is posted to,
    pub witness_webhook: Option<String>,
    /// and a variable of the environment with the bearer token for it.
    pub witness_webhook_token_env: Option<String>,
    pub witness_s3: Option<S3Witness>,
}

impl Default for AuditOptions {
    fn default() -> Self {
        Self {
            segment_entries: 4096,
            segment_s: 24 * 3600,
            checkpoint_s: 60,
            redact_after_days: 0,
            witness_file: None,
            witness_webhook: None,
            witness_webhook_token_env: None,
            witness_s3: None,
        }
    }
}

/// `[audit.witness_s3]`: a bucket that keeps every checkpoint as an object.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct S3Witness {
    /// Such as `https://s3.eu-central-1.amazonaws.com`.
    pub endpoint: String,
    pub bucket: String,
    #[serde(default)]
    pub prefix: String,
    #[serde(default = "usual_region")]
    pub region: String,
    pub access_key: String,
    /// Where the secret half of the key is: a variable of the environment,
    pub secret_key_env: Option<String>,
    /// or a secret of the platform.
    pub secret_key_secret: Option<String>,
}

fn usual_region() -> String {
    "us-east-1".to_owned()
}

impl AuditOptions {
    pub(crate) fn seal(&self) -> SealOptions {
        SealOptions {
            segment_entries: self.segment_entries.max(1),
            segment_age: Duration::from_secs(self.segment_s),
        }
    }

    pub(crate) fn checkpoint_every(&self) -> Duration {
        Duration::from_secs(self.checkpoint_s.max(1))
    }

    /// Entries from before this time say no more than they must.
    pub(crate) fn redact_before(&self, now: i64) -> Option<i64> {
        let days = i64::from(self.redact_after_days);
        (days > 0).then(|| now.saturating_sub(days.saturating_mul(DAY_MS)))
    }
}

/// `[secrets]` of the configuration: where the master key is, and the one that is to replace it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SecretOptions {
    /// A file that only its owner may read.
    pub master_file: Option<PathBuf>,
    /// A program and its arguments that print the key.
    pub master_command: Vec<String>,
    /// The same of the key that is to replace it.
    pub next_file: Option<PathBuf>,
    pub next_command: Vec<String>,
}

#[derive(Debug, thiserror::Error)]
#[error("[secrets]: set {file} or {command}, not both")]
pub struct TwoSources {
    file: &'static str,
    command: &'static str,
}

impl SecretOptions {
    /// Where the keys are; `usual` is the file when nothing is said.
    pub fn place(&self, usual: PathBuf) -> Result<MasterPlace, TwoSources> {
        let current = source(
            self.master_file.as_ref(),
            &self.master_command,
            "master_file",
            "master_command",
        )?;
        let next =
            source(self.next_file.as_ref(), &self.next_command, "next_file", "next_command")?;
        let current = current.unwrap_or(MasterSource::File(usual));
        Ok(match (current, next) {
            (MasterSource::File(path), None) => MasterPlace::file(&path),
            (current, incoming) => MasterPlace { current, incoming },
        })
    }

    /// Whether the key that is to replace the present one is named in the settings.
    pub fn names_next(&self) -> bool {
        self.next_file.is_some() || !self.next_command.is_empty()
    }
}

fn source(
    path: Option<&PathBuf>,
    words: &[String],
    file: &'static str,
    command: &'static str,
) -> Result<Option<MasterSource>, TwoSources> {
    match (path, words) {
        (Some(_), [_, ..]) => Err(TwoSources { file, command }),
        (Some(path), []) => Ok(Some(MasterSource::File(path.clone()))),
        (None, [_, ..]) => Ok(Some(MasterSource::Command(words.to_vec()))),
        (None, []) => Ok(None),
    }
}
