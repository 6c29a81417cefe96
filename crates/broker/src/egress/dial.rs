//! From a name to a connection. The addresses that were checked are the addresses that are dialled:
//! a name is looked up once per connection, and nothing after that looks it up again. What a person is
//! asked about is looked up before, and goes to no other address than those that they were shown.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

use cloister_policy::egress::{Destination, Scheme};
use cloister_protocol::{WorkspaceId, with_causes};
use hyper_util::rt::TokioIo;
use rustls::CertificateError;
use rustls::pki_types::ServerName;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::network::{Network, NetworkStream};
use super::options::EgressOptions;
use super::pins::{PinnedHostError, Pins};
use super::stopped::{Denied, Failure, Stopped};
use super::tls;

/// Addresses of one name that are tried.
const TRIED: usize = 8;
/// More answers than this are no honest name.
const ANSWERS: usize = 64;

pub(super) type Connection = TokioIo<Box<dyn NetworkStream>>;

pub(super) struct Dialer {
    network: Arc<dyn Network>,
    options: EgressOptions,
    pinned: Pins,
    tls: OnceLock<TlsConnector>,
}

impl Dialer {
    pub(super) fn new(
        network: Arc<dyn Network>,
        options: EgressOptions,
    ) -> Result<Self, PinnedHostError> {
        let pinned = Pins::new(&options.hosts)?;
        Ok(Self { network, options, pinned, tls: OnceLock::new() })
    }

    /// Whether the operator said where this is, for tasks of this workspace.
    pub(super) fn is_pinned(&self, to: &Destination, workspace: WorkspaceId) -> bool {
        self.pinned.address(to, workspace).is_some()
    }

    /// Connects to a destination that the rules allow, with verified TLS where its scheme says so; at
    /// one of these addresses and nowhere else, where a person has decided on them.
    pub(super) async fn dial(
        &self,
        to: &Destination,
        workspace: WorkspaceId,
        decided: Option<&[IpAddr]>,
    ) -> Result<(Connection, IpAddr), Stopped> {
        let pinned = self.pinned.address(to, workspace);
        let addresses = match decided {
            None => self.find(to, workspace).await?,
            Some(decided) if pinned.is_some_and(|pinned| *decided == [pinned]) => decided.to_vec(),
            // What was outside when it was looked up may be this machine's own by now.
            Some(decided) => {
                self.check(to, decided)?;
                decided.to_vec()
            }
        };
        let (stream, at) = self.connect(to, &addresses).await?;
        match to.scheme {
            Scheme::Http => Ok((TokioIo::new(stream), at)),
            Scheme::Https => Ok((self.secure(to, stream).await?, at)),
        }
    }

    /// Where a host is: addresses that may be dialled, all of them.
    pub(super) async fn find(
        &self,
        to: &Destination,
        workspace: WorkspaceId,
    ) -> Result<Vec<IpAddr>, Stopped> {
        if let Some(address) = self.pinned.address(to, workspace) {
            return Ok(vec![address]);
        }
        let asked = timeout(self.options.connect(), self.network.resolve(&to.host)).await;
        let found = match asked {
            Ok(Ok(found)) if found.is_empty() => {
                return Err(Failure::bad_gateway(format!("{} has no address", to.host)).into());
            }
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                tracing::debug!(error = with_causes(&error), host = %to.host, "a name was not found");
                return Err(Failure::bad_gateway(format!("{} was not found", to.host)).into());
            }
            Err(_elapsed) => {
                let message = format!("looking up {} took too long", to.host);
                return Err(Failure::timeout(message).into());
            }
        };
        self.check(to, &found)?;
        let mut addresses = found;
        addresses.truncate(TRIED);
        Ok(addresses)
    }

    /// One bad address among good ones is enough: nobody says which one a retry would get.
    fn check(&self, to: &Destination, found: &[IpAddr]) -> Result<(), Denied> {
        let denied = |kind, reason: String| Denied::new(kind, &to.authority(), reason);
        if found.len() > ANSWERS {
            return Err(denied("bad_address", "it has too many addresses".to_owned()));
        }
        let own = self.network.own_addresses().map_err(|error| {
            tracing::error!(
                error = with_causes(&error),
                "the addresses of this machine could not be read"
            );
            denied("internal", "the addresses of this machine could not be read".to_owned())
        })?;
        for address in found {
            if let Err(class) = self.network.judge(*address) {
                let reason = format!("one of its addresses is {class}");
                tracing::debug!(%address, host = %to.host, reason, "a host has a bad address");
                return Err(denied("bad_address", reason));
            }
            if own.contains(address) || self.options.own_addresses.contains(address) {
                let reason = "one of its addresses is this machine's own";
                return Err(denied("bad_address", reason.to_owned()));
            }
        }
        Ok(())
    }

    async fn connect(
        &self,
        to: &Destination,
        addresses: &[IpAddr],
    ) -> Result<(Box<dyn NetworkStream>, IpAddr), Stopped> {
        let mut why = "it has no address".to_owned();
        for address in addresses {
            let place = SocketAddr::new(*address, to.port);
            match timeout(self.options.connect(), self.network.connect(place)).await {
                Ok(Ok(stream)) => return Ok((stream, *address)),
                Ok(Err(error)) => why = error.kind().to_string(),
                Err(_elapsed) => why = "connecting took too long".to_owned(),
            }
        }
        let message = format!("{} could not be reached: {why}", to.authority());
        Err(Failure::bad_gateway(message).into())
    }

    async fn secure(
        &self,
        to: &Destination,
        stream: Box<dyn NetworkStream>,
    ) -> Result<Connection, Stopped> {
        let failed = |why: &str| {
            let message = format!("there is no secure connection to {}: {why}", to.authority());
            Stopped::from(Failure::bad_gateway(message))
        };
        let name = ServerName::try_from(to.host.to_string()).map_err(|error| {
            tracing::debug!(error = with_causes(&error), "a host has no name that TLS knows");
            failed("its name can't be asked for")
        })?;
        let connector = self.connector().map_err(|why| failed(&why))?;
        match timeout(self.options.connect(), connector.connect(name, stream)).await {
            Ok(Ok(stream)) => Ok(TokioIo::new(Box::new(stream))),
            Ok(Err(error)) => {
                tracing::debug!(error = with_causes(&error), host = %to.host, "there is no secure connection");
                Err(failed(why_not_secure(&error)))
            }
            Err(_elapsed) => Err(failed("it took too long")),
        }
    }

    /// Made when the first connection needs it: reading the system's authorities takes a while.
    fn connector(&self) -> Result<TlsConnector, String> {
        if let Some(connector) = self.tls.get() {
            return Ok(connector.clone());
        }
        let roots = self.network.roots().map_err(|error| with_causes(&error))?;
        let connector = tls::connector(roots).map_err(|error| with_causes(&error))?;
        Ok(self.tls.get_or_init(|| connector).clone())
    }
}

/// In words of ours. What is wrong with a certificate can be said with names that stand in it, and whoever made
/// it chose them: they would reach the sandbox without a mark.
fn why_not_secure(error: &io::Error) -> &'static str {
    let tls = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
    let Some(tls) = tls else { return "the connection broke" };
    let rustls::Error::InvalidCertificate(wrong) = tls else {
        return "it speaks no TLS that is spoken here";
    };
    match wrong {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate does not hold yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is for another name"
        }
        CertificateError::UnknownIssuer => "its certificate is from nobody who is trusted here",
        CertificateError::Revoked => "its certificate was revoked",
        _ => "its certificate is not accepted",
    }
}
