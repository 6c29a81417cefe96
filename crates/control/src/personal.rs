//! All that is one person's: listed and read to be taken away, or erased.
//!
//! An erasure can be cut short anywhere and asked for again: whose it is, is forgotten last. What stays is that
//! there was someone of this id, and the audit chain, without its content.

use std::io::{Read, Seek, SeekFrom};
use std::time::Duration;

use cloister_protocol::UserId;
use cloister_protocol::admin::{Erased, PersonalInventory};
use cloister_store::Actor;
use cloister_store::audit::Erasure;
use cloister_store::users::User;
use tokio::time::{Instant, sleep};

use crate::config::{ConfigError, ConfigScope};
use crate::control::part;
use crate::error::Fault;
use crate::files::{RelPath, remove_tree};

/// How much of a file is read at once.
const PIECE: u64 = 2 << 20;
/// How long processes that are being ended may hold a workspace.
const LET_GO: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);

part! {
    /// All that is one person's.
    pub struct PersonalData;
}

impl PersonalData {
    /// Records that somebody is about to take along what is a person's. It is read after that.
    pub async fn note_export(&self, actor: &Actor, user: &User) -> Result<(), Fault> {
        let platform = self.control.store().platform();
        Ok(platform.note_export(actor, (user.id, user.workspace)).await?)
    }

    /// Some records of a kind, and where the next begin.
    pub async fn records(
        &self,
        user: UserId,
        kind: &str,
        from: u64,
    ) -> Result<(Vec<serde_json::Value>, Option<u64>), Fault> {
        Ok(self.control.store().platform().personal_records(user, kind, from).await?)
    }

    /// What there is of a person.
    pub async fn personal_inventory(&self, user: &User) -> Result<PersonalInventory, Fault> {
        let records = self.control.store().platform().personal_kinds().await?;
        let failed = "the workspace could not be listed";
        let tree = self.control.layout().tree(user.workspace).map_err(Fault::io(failed))?;
        let found = tokio::task::spawn_blocking(move || tree.inventory())
            .await
            .map_err(Fault::interrupted(failed))?
            .map_err(Fault::io(failed))?;
        Ok(PersonalInventory { records, files: found.files, left_out: found.left_out })
    }

    /// A piece of a file of their workspace, and where the next one begins.
    pub fn personal_file(
        &self,
        user: &User,
        path: &str,
        from: u64,
    ) -> Result<(Vec<u8>, Option<u64>), Fault> {
        let failed = || format!("{path:?} could not be read");
        let tree = self.control.layout().tree(user.workspace).map_err(Fault::io(failed()))?;
        let mut file = tree.read(&RelPath::parse(path)?)?;
        let mut piece = Vec::new();
        file.seek(SeekFrom::Start(from))
            .and_then(|_at| file.take(PIECE).read_to_end(&mut piece))
            .map_err(Fault::io(failed()))?;
        let next = (piece.len() as u64 == PIECE).then(|| from.saturating_add(PIECE));
        Ok((piece, next))
    }

    /// Erases a person: their cell, files, records and secrets, and what the audit says of them.
    pub async fn erase_person(
        &self,
        actor: &Actor,
        user: &User,
        why: &str,
    ) -> Result<Erased, ConfigError> {
        let erasure =
            Erasure { user: user.id, names: self.names_of(user).await?, why: why.to_owned() };
        // Nothing new begins.
        self.control.store().users().end_sessions(actor, user.id).await?;
        self.control
            .tasks()
            .cancel_tasks(&Actor::System { part: "an erasure" }, user.workspace, None)
            .await?;
        self.control.cells().stop_cell(actor, user.workspace).await?;
        let objects = self.control.store().platform().personal_objects(user.id).await?;
        for object in &objects {
            remove(|| std::fs::remove_file(self.control.layout().objects().join(object)))?;
        }
        self.remove_workspace(user).await?;
        self.forget_versions(user).await?;
        let mut audit_entries = self.control.audit().erase_audit(actor, &erasure).await?;
        let records = self.control.store().platform().erase_records(actor, user.id).await?;
        // What the erasure itself recorded.
        audit_entries += self.control.audit().erase_audit(actor, &erasure).await?;
        Ok(Erased { user: user.id.to_string(), records, audit_entries })
    }

    /// What the person is called in entries of the platform's chain.
    async fn names_of(&self, user: &User) -> Result<Vec<String>, Fault> {
        let mut names = vec![user.name.to_string()];
        for identity in self.control.store().users().identities_of(user.id).await? {
            let account = identity.account;
            names.push(format!("{} {}", account.surface, account.external_id));
            names.extend([account.external_id, account.display_name]);
        }
        Ok(names)
    }

    /// Forgets what was versioned of the workspace.
    async fn forget_versions(&self, user: &User) -> Result<(), ConfigError> {
        self.control.config().forget_versions(ConfigScope::Workspace(user.workspace)).await
    }

    /// Removes the workspace once nothing in it runs any more.
    async fn remove_workspace(&self, user: &User) -> Result<(), Fault> {
        let deadline = Instant::now() + LET_GO;
        loop {
            let layout = self.control.layout();
            let all = [
                layout.workspace(user.workspace),
                layout.layers().join(user.workspace.to_string()),
                layout.retired(user.workspace),
            ];
            let remove_all = move || all.iter().try_for_each(|dir| remove(|| remove_tree(dir)));
            let removed = tokio::task::spawn_blocking(remove_all).await;
            match removed.map_err(Fault::interrupted("a workspace could not be removed"))? {
                Err(_held) if Instant::now() < deadline => sleep(LOOK_EVERY).await,
                done => return done,
            }
        }
    }
}

/// What is gone already needs no removing.
fn remove(removal: impl FnOnce() -> std::io::Result<()>) -> Result<(), Fault> {
    match removal() {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Fault::io("a file could not be removed")(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
