//! Machines where this one is enrolled: their identities under `<config>/cloister/remotes/NAME/`, kept
//! fresh by themselves.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, Method};
use cloister_pki::{ENROL_PROTOCOL, Identity, Invitation, Moment, NewKey, PkiError};
use cloister_protocol::admin::clients::{ClientCertificate, Enrol, Renew};
use cloister_protocol::{ErrorCode, UserName, with_causes};
use cloister_store::Clock;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::client::{read, request};
use crate::line;
use crate::output::{CliError, UNAVAILABLE};

/// How long a connection and its handshake may take.
const DIAL_TIME: Duration = Duration::from_secs(15);
/// How long enrolment and renewal may take.
const ANSWER_TIME: Duration = Duration::from_secs(30);
const IDENTITY: &str = "identity.json";
/// The file that names the machine that is meant when none is.
const DEFAULT: &str = "default";

/// Where the identities of this account are.
pub struct Remotes(PathBuf);

impl Remotes {
    pub fn new(config_dir: &Path) -> Self {
        Self(config_dir.join("remotes"))
    }

    fn identity_path(&self, name: &str) -> PathBuf {
        self.0.join(name).join(IDENTITY)
    }

    /// The machine that is meant when none is named.
    pub(crate) fn default_name(&self) -> Option<String> {
        let name = std::fs::read_to_string(self.0.join(DEFAULT)).ok()?;
        Some(name.trim().to_owned()).filter(|name| is_name(name))
    }

    /// Opens the way to a machine; a certificate that grows old is renewed on the way.
    pub async fn open(&self, name: &str) -> Result<Arc<Machine>, CliError> {
        let unknown = || {
            CliError::new(ErrorCode::NotFound, format!("this machine is not enrolled at {name:?}"))
                .fix("`cloister admin invite USER` there, then `cloister admin enroll` here")
        };
        if !is_name(name) {
            return Err(unknown());
        }
        let path = self.identity_path(name);
        let identity = Identity::load(&path).map_err(failed)?.ok_or_else(unknown)?;
        let now = now();
        if identity.has_ended(now) {
            return Err(CliError::new(
                ErrorCode::Unauthorized,
                format!("the certificate for {name} has expired: it was not used for too long"),
            )
            .fix("`cloister admin invite USER` there, then `cloister admin enroll` here again"));
        }
        let due = identity.is_due(now);
        let machine = Arc::new(Machine::new(name.to_owned(), path, identity)?);
        if due && let Err(error) = machine.renew().await {
            tracing::debug!(error = error.body.message, "the certificate could not be renewed yet");
        }
        Ok(machine)
    }

    /// Every machine where this one is enrolled.
    pub(crate) fn list(&self) -> Result<Vec<(String, Identity)>, CliError> {
        let entries = match std::fs::read_dir(&self.0) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(CliError::io(format!("{}", self.0.display()))(error)),
        };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_name(&name)
                && let Some(identity) =
                    Identity::load(&self.identity_path(&name)).map_err(failed)?
            {
                found.push((name, identity));
            }
        }
        found.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(found)
    }

    /// Enrols this machine with an invitation and keeps what it was given.
    pub async fn enrol(
        &self,
        invitation: &Invitation,
        device: &str,
        name: &str,
        default: bool,
    ) -> Result<Identity, CliError> {
        if !is_name(name) {
            let message = format!("{name:?} can't be the name of a machine");
            return Err(CliError::new(ErrorCode::BadRequest, message)
                .fix("choose one of letters, digits, '-', '_' and '.' with --as NAME"));
        }
        let key = NewKey::make().map_err(failed)?;
        let asked = Enrol {
            invitation: invitation.number,
            secret: invitation.secret.clone(),
            name: device.to_owned(),
            request: key.request().map_err(failed)?,
        };
        let tls = cloister_pki::enrolling_client(invitation.fingerprint).map_err(failed)?;
        let stream = dial(&invitation.address, tls).await;
        let stream = stream.map_err(|error| unreachable(&invitation.address, &error))?;
        if stream.get_ref().1.alpn_protocol() != Some(ENROL_PROTOCOL) {
            let error = io::Error::other("there is no admin listener");
            return Err(unreachable(&invitation.address, &error));
        }
        let request = request(Method::POST, "/enroll/v1/clients", Some(&asked))?;
        let reply = timeout(ANSWER_TIME, line::exchange(stream, request)).await;
        let reply = reply
            .map_err(|late| unreachable(&invitation.address, &late))?
            .map_err(|error| unreachable(&invitation.address, error.as_ref()))?;
        let issued: ClientCertificate = read(reply.status, &reply.body)?;
        let identity = key.with(&invitation.address, issued);
        identity.save(&self.identity_path(name)).map_err(failed)?;
        if default {
            cloister_pki::write_private(&self.0.join(DEFAULT), name.as_bytes()).map_err(failed)?;
        }
        Ok(identity)
    }
}

/// A machine where this one is enrolled.
pub struct Machine {
    name: String,
    path: PathBuf,
    identity: Mutex<(Identity, Arc<ClientConfig>)>,
}

impl Machine {
    fn new(name: String, path: PathBuf, identity: Identity) -> Result<Self, CliError> {
        let tls = Arc::new(identity.tls().map_err(failed)?);
        Ok(Self { name, path, identity: Mutex::new((identity, tls)) })
    }

    fn identity(&self) -> MutexGuard<'_, (Identity, Arc<ClientConfig>)> {
        self.identity.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whom this machine is enrolled for.
    pub(crate) fn user(&self) -> UserName {
        self.identity().0.user.clone()
    }

    pub(crate) async fn dial(&self) -> io::Result<TlsStream<TcpStream>> {
        let (address, tls) = {
            let identity = self.identity();
            (identity.0.address.clone(), Arc::clone(&identity.1))
        };
        dial_with(&address, tls).await
    }

    /// Gets the next certificate, for a new key.
    async fn renew(&self) -> Result<(), CliError> {
        let key = NewKey::make().map_err(failed)?;
        let asked = Renew { request: key.request().map_err(failed)? };
        let request = request(Method::POST, "/admin/v1/client/renew", Some(&asked))?;
        let stream = self.dial().await.map_err(|error| self.unreachable(&error))?;
        let reply = timeout(ANSWER_TIME, line::exchange(stream, request)).await;
        let reply = reply
            .map_err(|late| self.unreachable(&late))?
            .map_err(|error| self.unreachable(error.as_ref()))?;
        let issued: ClientCertificate = read(reply.status, &reply.body)?;
        let address = self.identity().0.address.clone();
        let identity = key.with(&address, issued);
        let tls = Arc::new(identity.tls().map_err(failed)?);
        identity.save(&self.path).map_err(failed)?;
        *self.identity() = (identity, tls);
        Ok(())
    }

    /// Does what the answer asks for beside the answer: a new certificate, when the root changes.
    pub(crate) async fn heed(&self, headers: &HeaderMap) {
        if headers.contains_key(cloister_web::RENEW_HEADER)
            && let Err(error) = self.renew().await
        {
            tracing::debug!(error = error.body.message, "the certificate could not be renewed yet");
        }
    }

    pub(crate) fn unreachable(&self, error: &(dyn std::error::Error + 'static)) -> CliError {
        unreachable(&self.name, error)
    }
}

async fn dial(address: &str, tls: ClientConfig) -> io::Result<TlsStream<TcpStream>> {
    dial_with(address, Arc::new(tls)).await
}

async fn dial_with(address: &str, tls: Arc<ClientConfig>) -> io::Result<TlsStream<TcpStream>> {
    let connect = async {
        let stream = TcpStream::connect(address).await?;
        TlsConnector::from(tls).connect(cloister_pki::server_name(), stream).await
    };
    let late = |_elapsed: tokio::time::error::Elapsed| io::Error::from(io::ErrorKind::TimedOut);
    timeout(DIAL_TIME, connect).await.map_err(late)?
}

/// The whole chain of causes, and what to do about the ones that people meet.
fn unreachable(place: &str, error: &(dyn std::error::Error + 'static)) -> CliError {
    let text = with_causes(error);
    let fix = if text.contains("UnknownIssuer") {
        "it is not the machine that the invitation or the certificate is for; ask for a new invitation"
    } else if text.contains("Revoked") || text.contains("alert") {
        "this machine was revoked, or its certificate has ended; ask for a new invitation"
    } else {
        "see that `cloister up` runs there and that its admin listener can be reached from here"
    };
    CliError::new(ErrorCode::Refused, format!("{place} can't be reached: {text}"))
        .fix(fix)
        .exit(UNAVAILABLE)
}

fn failed(error: PkiError) -> CliError {
    CliError::new(ErrorCode::Internal, with_causes(&error))
}

fn now() -> Moment {
    Moment::from_ms(Clock.now_ms())
}

/// A name that is one directory, and not the file beside them.
fn is_name(name: &str) -> bool {
    let fits = (1..=64).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte));
    fits && !name.starts_with('.') && name != DEFAULT
}
