//! Keeps the audit: closes segments, signs checkpoints, shows them to the witnesses, and takes out what has had
//! its time. Entries themselves are written by whoever has the effect, in its own transaction.
//!
//! Promises: there is one sealer, opened at its first use; what fails is said once, and tried again.

mod options;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cloister_protocol::{ErrorCode, Language};
use cloister_store::Actor;
use cloister_store::audit::export::ExportPart;
use cloister_store::audit::record::Extent;
use cloister_store::audit::witness::{Delivery, FileWitness, Witness};
use cloister_store::audit::{
    AuditError, Erasure, ParseRangesError, Ranges, Redaction, Report, Sealer, Verification,
};
use cloister_store::audit::{AuditRow, Entry, Ties};
use cloister_vault::Owner;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::control::part;
use crate::crew::Rounds;
use crate::error::{Failed, Fault, Refusal};
use crate::ports::CheckpointWitness;

pub use options::{AuditOptions, S3Witness, SecretOptions};

/// How long one witness may take for all that it lacks.
const WITNESS_TIME: Duration = Duration::from_secs(30);
/// How often old content is looked for.
const REDACT_EVERY: Duration = Duration::from_secs(3600);

/// What the keeper of the audit is built from.
#[derive(Default)]
pub struct AuditParts {
    pub options: AuditOptions,
    /// Those that are reached over the network.
    pub witnesses: Vec<Arc<dyn CheckpointWitness>>,
}

/// The one sealer, and what it last could not do.
#[derive(Default)]
pub(crate) struct AuditKeeper {
    sealer: tokio::sync::Mutex<Option<Sealer>>,
    troubles: Mutex<Vec<String>>,
    redacted_at: Mutex<Option<Instant>>,
}

impl AuditKeeper {
    fn note(&self, troubles: Vec<String>) {
        let mut known = self.troubles.lock().unwrap_or_else(PoisonError::into_inner);
        for trouble in troubles.iter().filter(|trouble| !known.contains(trouble)) {
            tracing::error!(trouble, "the audit is not kept as it should be");
        }
        *known = troubles;
    }

    /// What went wrong the last time that it was looked after.
    fn troubles(&self) -> Vec<String> {
        self.troubles.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether old content is to be looked for now.
    fn redaction_is_due(&self) -> bool {
        let mut last = self.redacted_at.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.is_none_or(|at| at.elapsed() >= REDACT_EVERY);
        if due {
            *last = Some(Instant::now());
        }
        due
    }
}

/// A witness of another crate, as the store sees it.
struct StoreWitness<'a>(&'a dyn CheckpointWitness);

impl Witness for StoreWitness<'_> {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn keep(&self, delivery: &Delivery) -> Result<(), AuditError> {
        let number = delivery.checkpoint.statement.number;
        let failed =
            |problem| AuditError::Witness { name: self.0.name().to_owned(), number, problem };
        let line = serde_json::to_vec(delivery).map_err(|error| failed(error.to_string()))?;
        self.0.keep(number, &line).await.map_err(failed)
    }
}

pub type AuditKeepError = Failed<AuditRefusal>;

#[derive(Debug, thiserror::Error)]
pub enum AuditRefusal {
    #[error("{0}")]
    NoEntries(ParseRangesError),
}

impl Refusal for AuditRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NoEntries(_) => ErrorCode::BadRequest,
        }
    }

    fn fix(&self, _to: Language) -> Option<String> {
        match self {
            Self::NoEntries(_) => Some("numbers and ranges look like 4,7-9".to_owned()),
        }
    }
}

part! {
    /// The audit, kept.
    pub struct Audit;
}

impl Audit {
    /// What could not be done when it was last tried.
    pub(crate) fn troubles(&self) -> Vec<String> {
        self.control.inner.audit.troubles()
    }

    /// Records something that has no other row: a refusal, an order to a connector.
    pub async fn note(
        &self,
        actor: &Actor,
        action: &'static str,
        subject: &str,
        detail: &str,
    ) -> Result<(), Fault> {
        let entry = Entry::new(actor, action, subject).with(detail);
        Ok(self.control.store().audit().record(entry).await?)
    }

    /// The newest entries of some chains, or those after one.
    pub async fn among(
        &self,
        chains: &[Owner],
        after: Option<i64>,
        count: u32,
    ) -> Result<Vec<AuditRow>, Fault> {
        Ok(self.control.store().audit().audit_among(chains, after, count).await?)
    }

    /// One entry, and what ties it to the one before.
    pub async fn entry(&self, chain: Owner, seq: u64) -> Result<(AuditRow, Ties), Fault> {
        Ok(self.control.store().audit().audit_entry(chain, seq).await?)
    }

    /// The folder of segments and checkpoints.
    pub fn audit_dir(&self) -> PathBuf {
        self.control.layout().root().join("audit")
    }

    /// Works with the one sealer, which is opened first if need be.
    async fn with_sealer<T>(
        &self,
        work: impl AsyncFnOnce(&mut Sealer) -> Result<T, AuditError>,
    ) -> Result<T, AuditError> {
        let mut slot = self.control.inner.audit.sealer.lock().await;
        let mut sealer = match slot.take() {
            Some(sealer) => sealer,
            None => {
                let options = self.control.inner.parts.audit.options.seal();
                let (sealer, repairs) =
                    Sealer::open(self.control.store().clone(), &self.audit_dir(), options).await?;
                for repair in repairs {
                    tracing::warn!(what = repair.what, "the audit was put right after a stop");
                }
                sealer
            }
        };
        let done = work(&mut sealer).await;
        // After a failure it is opened anew, which takes up whatever was cut short.
        if done.is_ok() {
            *slot = Some(sealer);
        }
        done
    }

    /// Keeps the audit until the stop.
    pub(crate) async fn keep_audit(&self, rounds: &Rounds) {
        let every = self.control.inner.parts.audit.options.checkpoint_every();
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            rounds.begins(every);
            tokio::select! {
                () = self.control.inner.stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let mut troubles = Vec::new();
            if let Err(error) = self.redact_old().await {
                troubles.push(Fault::from(error).chain());
            }
            if let Err(error) = self.control.store().secrets().drop_expired_secrets().await {
                troubles.push(Fault::from(error).chain());
            }
            troubles.extend(self.seal_audit().await);
            self.control.inner.audit.note(troubles);
        }
    }

    /// Closes what is to be closed, signs what is new, and shows it to the witnesses; returns what went wrong.
    pub async fn seal_audit(&self) -> Vec<String> {
        let sealed = self.with_sealer(async |sealer| {
            sealer.close_segments().await?;
            sealer.checkpoint().await
        });
        let mut troubles = Vec::new();
        if let Err(error) = sealed.await {
            troubles.push(Fault::from(error).chain());
        }
        let parts = &self.control.inner.parts.audit;
        if let Some(path) = &parts.options.witness_file {
            troubles.extend(self.show_to(&FileWitness::new(path)).await);
        }
        for witness in &parts.witnesses {
            troubles.extend(self.show_to(&StoreWitness(&**witness)).await);
        }
        troubles
    }

    async fn show_to(&self, witness: &impl Witness) -> Option<String> {
        let dir = self.audit_dir();
        let showing = self.control.store().audit().deliver_checkpoints(&dir, witness);
        match timeout(WITNESS_TIME, showing).await {
            Ok(Ok(_taken)) => None,
            Ok(Err(error)) => Some(Fault::from(error).chain()),
            Err(_late) => Some(format!("the witness {} did not answer in time", witness.name())),
        }
    }

    /// Signs what the stop itself recorded.
    pub async fn close_audit(&self, within: Duration) {
        match timeout(within, self.seal_audit()).await {
            Ok(troubles) => self.control.inner.audit.note(troubles),
            Err(_late) => {
                tracing::warn!("the newest audit entries are signed at the next start");
            }
        }
    }

    async fn redact_old(&self) -> Result<(), AuditError> {
        let before = self
            .control
            .inner
            .parts
            .audit
            .options
            .redact_before(self.control.store().clock.now_ms());
        let Some(before) = before.filter(|_| self.control.inner.audit.redaction_is_due()) else {
            return Ok(());
        };
        let why = "older than [audit] redact_after_days";
        let redacting =
            async |sealer: &mut Sealer| sealer.redact_older(&Actor::PLATFORM, before, why).await;
        let redacted = self.with_sealer(redacting).await?;
        if redacted > 0 {
            tracing::info!(entries = redacted, "old audit entries were redacted");
        }
        Ok(())
    }

    /// Takes content out of a chain, which stays whole.
    pub async fn redact_audit(
        &self,
        actor: &Actor,
        chain: Owner,
        entries: &str,
        names_too: bool,
        why: &str,
    ) -> Result<u64, AuditKeepError> {
        let entries: Ranges = entries.parse().map_err(AuditRefusal::NoEntries)?;
        let extent = if names_too { Extent::All } else { Extent::Detail };
        let redaction = Redaction { chain, entries, extent, why: why.to_owned() };
        Ok(self.with_sealer(async |sealer| sealer.redact(actor, &redaction).await).await?)
    }

    pub(crate) async fn erase_audit(&self, actor: &Actor, erasure: &Erasure) -> Result<u64, Fault> {
        let erased = self.with_sealer(async |sealer| sealer.erase(actor, erasure).await).await;
        match erased {
            // There was nothing to erase.
            Err(AuditError::NoSuchEntries { .. }) => Ok(0),
            erased => Ok(erased?),
        }
    }

    /// Some lines of a chain that proves itself; what is new is signed first.
    pub async fn export_audit(&self, chain: Owner, first: u64) -> Result<ExportPart, Fault> {
        if first <= 1 {
            self.with_sealer(async |sealer| sealer.checkpoint().await).await?;
        }
        Ok(self.control.store().audit().export_audit_part(&self.audit_dir(), chain, first).await?)
    }

    /// Verifies all of it, against what a witness kept too if its file is named.
    pub async fn verify_audit(&self, witness: Option<PathBuf>) -> Result<Report, Fault> {
        let what = Verification { witness, ..Verification::of(&self.audit_dir()) };
        Ok(self.control.store().audit().verify_audit(&what).await?)
    }
}
