//! The executor's way to the network: all of it leads through the door, where the broker decides.
//!
//! Owns: the relay that programs take for an HTTP proxy, what their environment says of it, and what
//! the model is told of refusals and secrets. Promises: nothing of it exists before the first program runs, and a
//! program that used no network costs no request.

mod environment;
mod refusals;
mod relay;
mod secrets;

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use cloister_protocol::with_causes;

use crate::door::{Bounds, Door, DoorError};
use crate::log;

pub(crate) use environment::{HOME, INSTALLERS, PROGRAMS_DIR};
use refusals::Refusals;
use relay::Relay;
use secrets::Secret;

/// Small answers of the broker itself.
const QUICK: Bounds = Bounds { time: Duration::from_secs(10), bytes: 256 << 10 };
/// Where the certificate and the settings of `wget` are, below the directory for temporary files.
const FOLDER: &str = ".cloister";

/// Why programs have no network.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EgressError {
    #[error("port {port} of the sandbox's loopback can't be listened on: {source}")]
    Listen { port: u16, source: io::Error },
    #[error("the certificate of the network can't be had: {0}")]
    Certificate(#[from] DoorError),
    #[error("{} can't be written: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

pub(crate) struct Egress {
    door: Door,
    port: u16,
    folder: PathBuf,
    relay: Option<Relay>,
    /// The one CA whose certificates the broker shows, as PEM.
    certificate: Option<Bytes>,
    refusals: Refusals,
    /// How many connections the relay had when refusals were last asked for.
    looked_at: u64,
    /// The trouble was told.
    told: bool,
    /// What the task may use, as it was when it began.
    secrets: Vec<Secret>,
}

impl Egress {
    /// Nothing happens before a program runs. Port 0 stands for any that is free.
    pub(crate) fn new(door: &Path, port: u16) -> Self {
        Self {
            door: Door::new(door),
            port,
            folder: std::env::temp_dir().join(FOLDER),
            relay: None,
            certificate: None,
            refusals: Refusals::default(),
            looked_at: 0,
            told: false,
            secrets: Vec::new(),
        }
    }

    pub(crate) fn door(&self) -> &Door {
        &self.door
    }

    /// Asks which secrets there are for this task; what the model is told of them. Without an answer
    /// the task goes on without secrets.
    pub(crate) async fn learn_secrets(&mut self) -> Option<String> {
        let asked = self.door.get("/secrets", QUICK).await;
        match asked.map(|answered| serde_json::from_slice(&answered.body)) {
            Ok(Ok(secrets)) => self.secrets = secrets,
            Ok(Err(error)) => {
                log::line(format_args!("the secrets can't be read: {}", with_causes(&error)))
            }
            Err(error) => {
                log::line(format_args!("the secrets can't be had: {}", with_causes(&error)))
            }
        }
        secrets::told(&self.secrets)
    }

    /// What a program must know to use the network.
    pub(crate) async fn environment(
        &mut self,
    ) -> Result<Vec<(Cow<'static, str>, String)>, EgressError> {
        let port = match &self.relay {
            Some(relay) => relay.port(),
            None => {
                let relay = Relay::start(self.door.path(), self.port)
                    .await
                    .map_err(|source| EgressError::Listen { port: self.port, source })?;
                self.relay.insert(relay).port()
            }
        };
        let certificate = match &self.certificate {
            Some(certificate) => certificate.clone(),
            None => {
                let got = self.door.get("/ca.pem", QUICK).await?.body;
                self.certificate.insert(got).clone()
            }
        };
        // Programs own this directory too, and may have cleared it.
        let files = environment::Files::below(&self.folder);
        files.write(&certificate).map_err(|(path, source)| EgressError::Write { path, source })?;
        Ok(environment::variables(port, &files, &self.secrets))
    }

    /// What the model is to be told after a program has run; nothing when all is well.
    pub(crate) async fn after_program(&mut self, trouble: Option<EgressError>) -> Option<String> {
        if let Some(trouble) = trouble {
            let first = !std::mem::replace(&mut self.told, true);
            return first.then(|| format!("[programs have no network: {trouble}]"));
        }
        let connections = self.relay.as_ref().map_or(0, Relay::connections);
        if connections == self.looked_at {
            return None;
        }
        self.looked_at = connections;
        self.new_refusals().await
    }

    /// A request through the door was refused and told: it is not told once more with a program.
    pub(crate) async fn refusal_was_told(&mut self) {
        self.new_refusals().await;
    }

    async fn new_refusals(&mut self) -> Option<String> {
        let asked = self.door.get(&self.refusals.path(), QUICK).await;
        match asked.map(|answered| self.refusals.take(&answered.body)) {
            Ok(Ok(told)) => told,
            Ok(Err(error)) => {
                log::line(format_args!("the refusals can't be read: {}", with_causes(&error)));
                None
            }
            Err(error) => {
                log::line(format_args!("the refusals can't be had: {}", with_causes(&error)));
                None
            }
        }
    }
}
