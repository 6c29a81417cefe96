//! The authority: its roots on disk, which of them issues, and the phases of a rotation.
//!
//! `rotate` makes a new root that issues from then on, beside the old one, which stays trusted and is
//! crossed with it: who knows either can verify what the other issued. `rollback` lets the old one issue
//! again. `finish` ends the trust in whichever does not issue. Each step is one file put in place.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use serde::{Deserialize, Serialize};

use crate::certificate::{Presented, ServerIdentity, SigningRequest, is_server_name, issue_client};
use crate::clock::Moment;
use crate::error::PkiError;
use crate::files::{create_dir, read_private, write_private};
use crate::name::ClientName;
use crate::root::{Fingerprint, Root, certificate_file, key_file};

const STATE: &str = "state.json";
/// How long the listener's certificate is good for; it is made anew well before.
pub(crate) const SERVER_LIFE: Duration = Duration::from_secs(30 * 24 * 3600);

/// What `state.json` says.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// The number of the root that issues.
    issuing: u32,
    /// The other root that is trusted, while a rotation is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    other: Option<u32>,
    /// The newest number that was given away; none is used twice.
    newest: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// One root is trusted, and issues.
    Settled,
    /// The newer root issues; the older is trusted still.
    Rotating,
    /// The older root issues again; the newer is trusted still.
    RolledBack,
}

pub struct Authority {
    dir: PathBuf,
    issuing: Root,
    other: Option<Root>,
    newest: u32,
}

impl Authority {
    /// Opens the authority in a directory, and makes one if there is none.
    pub fn open(dir: &Path, now: Moment) -> Result<Self, PkiError> {
        create_dir(dir)?;
        let path = dir.join(STATE);
        let Some(text) = read_private(&path)? else {
            let issuing = Root::create(dir, 1, now)?;
            write_state(dir, State { issuing: 1, other: None, newest: 1 })?;
            return Ok(Self { dir: dir.to_owned(), issuing, other: None, newest: 1 });
        };
        let state: State = serde_json::from_str(&text)
            .map_err(|error| PkiError::Corrupt { path, why: error.to_string() })?;
        let other = state.other.map(|number| Root::load(dir, number)).transpose()?;
        let issuing = Root::load(dir, state.issuing)?;
        Ok(Self { dir: dir.to_owned(), issuing, other, newest: state.newest })
    }

    pub fn phase(&self) -> Phase {
        match &self.other {
            None => Phase::Settled,
            Some(other) if other.number < self.issuing.number => Phase::Rotating,
            Some(_) => Phase::RolledBack,
        }
    }

    /// A new root issues from now on; the one before stays trusted.
    pub fn rotate(&mut self, now: Moment) -> Result<(), PkiError> {
        if self.other.is_some() {
            return Err(PkiError::Phase {
                why: "a rotation is under way already",
                fix: "`cloister admin ca finish` ends it",
            });
        }
        let number = self.newest.saturating_add(1);
        let new = Root::create(&self.dir, number, now)?;
        let other = Some(self.issuing.number);
        write_state(&self.dir, State { issuing: number, other, newest: number })?;
        self.newest = number;
        self.other = Some(std::mem::replace(&mut self.issuing, new));
        Ok(())
    }

    /// The root before issues again. What the newer one issued stays good until `finish`.
    pub fn rollback(&mut self) -> Result<(), PkiError> {
        let (Phase::Rotating, Some(old)) = (self.phase(), self.other.as_mut()) else {
            return Err(PkiError::Phase {
                why: "no rotation is under way that could be rolled back",
                fix: "`cloister admin ca status` shows where it is",
            });
        };
        let (issuing, other) = (old.number, Some(self.issuing.number));
        write_state(&self.dir, State { issuing, other, newest: self.newest })?;
        std::mem::swap(&mut self.issuing, old);
        Ok(())
    }

    /// Ends the trust in the root that does not issue, and forgets its key.
    pub fn finish(&mut self) -> Result<(), PkiError> {
        let Some(ended) = self.other.as_ref().map(|root| root.number) else {
            return Err(PkiError::Phase {
                why: "no rotation is under way",
                fix: "`cloister admin ca rotate` begins one",
            });
        };
        // Once this is on disk the old one is not trusted, whatever becomes of its files.
        let issuing = self.issuing.number;
        write_state(&self.dir, State { issuing, other: None, newest: self.newest })?;
        self.other = None;
        for file in [key_file(ended), certificate_file(ended)] {
            let path = self.dir.join(file);
            let gone = std::fs::remove_file(&path);
            gone.map_err(|source| PkiError::File { what: "removed", path, source })?;
        }
        Ok(())
    }

    /// The roots that are trusted; the first of them issues.
    pub(crate) fn roots(&self) -> impl Iterator<Item = &Root> {
        std::iter::once(&self.issuing).chain(&self.other)
    }

    /// Number, fingerprint and end of each trusted root; the first of them issues.
    pub fn trusted(&self) -> Vec<(u32, Fingerprint, Moment)> {
        self.roots().map(|root| (root.number, root.fingerprint(), root.expires)).collect()
    }

    pub fn issuing(&self) -> u32 {
        self.issuing.number
    }

    /// What a new client compares.
    pub fn fingerprint(&self) -> Fingerprint {
        self.issuing.fingerprint()
    }

    /// The certificates of the trusted roots, as PEM.
    pub fn roots_pem(&self) -> String {
        self.roots().map(Root::pem).collect()
    }

    /// Which trusted root has issued a certificate, by what the certificate says.
    pub fn root_of(&self, presented: &Presented) -> Option<u32> {
        self.roots().find(|root| root.name == presented.issuer).map(|root| root.number)
    }

    /// When a certificate ends that is issued now.
    pub fn client_expiry(&self, now: Moment, life: Duration) -> Moment {
        now.after(life).min(self.issuing.expires)
    }

    /// A certificate for a client, as PEM.
    pub fn issue_client(
        &self,
        request: &SigningRequest,
        name: ClientName,
        now: Moment,
        expires: Moment,
    ) -> Result<String, PkiError> {
        issue_client(&self.issuing, request, name, (now, expires))
    }

    /// A fresh certificate for the listener, with everything that leads to it from any trusted root.
    pub fn issue_server(&self, names: &[String], now: Moment) -> Result<ServerIdentity, PkiError> {
        if let Some(bad) = names.iter().find(|name| !is_server_name(name)) {
            let why = format!("{bad:?} is no name of a machine");
            return Err(PkiError::BadRequest { why });
        }
        let mut above: Vec<CertificateDer<'static>> = Vec::new();
        if let Some(other) = &self.other {
            above.push(self.issuing.crossed_by(other, now)?);
        }
        above.extend(self.roots().map(|root| root.certificate.clone()));
        ServerIdentity::issue(&self.issuing, above, names, (now, SERVER_LIFE))
    }
}

fn write_state(dir: &Path, state: State) -> Result<(), PkiError> {
    let path = dir.join(STATE);
    let json = serde_json::to_vec(&state)
        .map_err(|error| PkiError::Corrupt { path: path.clone(), why: error.to_string() })?;
    write_private(&path, &json)
}

#[cfg(test)]
#[path = "authority_tests.rs"]
mod tests;
