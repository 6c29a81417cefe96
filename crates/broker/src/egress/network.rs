//! The outside: its names, its addresses, and whose certificates are believed.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use cloister_policy::egress::{AddressClass, Host, address_is_public};
use cloister_protocol::with_causes;
use futures_util::future::BoxFuture;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// Names that are looked up at once. A lookup that nobody waits for any more goes on until the
/// system gives it up.
const LOOKUPS: usize = 32;

/// A connection to somewhere outside.
pub trait NetworkStream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin + 'static> NetworkStream for T {}

/// How the broker reaches the outside. Whoever calls bounds the time.
pub trait Network: Send + Sync + 'static {
    /// All addresses of a name.
    fn resolve<'a>(&'a self, host: &'a Host) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;

    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Box<dyn NetworkStream>>>;

    /// The addresses of this machine.
    fn own_addresses(&self) -> io::Result<Vec<IpAddr>>;

    /// Whether an address is outside.
    fn judge(&self, address: IpAddr) -> Result<(), AddressClass> {
        address_is_public(address)
    }

    /// The authorities whose certificates are believed.
    fn roots(&self) -> io::Result<Vec<CertificateDer<'static>>>;
}

/// The network of this machine.
pub struct SystemNetwork {
    lookups: Arc<Semaphore>,
}

impl Default for SystemNetwork {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(LOOKUPS)) }
    }
}

/// Asks the system. With a dot at the end it is a whole name: no search domain is tried, and told of
/// it. The system's hosts file has names without the dot, which is why they are looked for too.
fn look_up(name: &str) -> io::Result<Vec<IpAddr>> {
    let found =
        (format!("{name}."), 0).to_socket_addrs().or_else(|_| (name, 0).to_socket_addrs())?;
    Ok(found.map(|address| address.ip()).collect())
}

impl Network for SystemNetwork {
    fn resolve<'a>(&'a self, host: &'a Host) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let permit = Arc::clone(&self.lookups).acquire_owned().await;
            let permit = permit.map_err(io::Error::other)?;
            let name = host.to_string();
            let looked_up = tokio::task::spawn_blocking(move || {
                let _held_as_long_as_the_system_looks = permit;
                look_up(&name)
            });
            looked_up.await.map_err(io::Error::other)?
        })
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Box<dyn NetworkStream>>> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn NetworkStream>)
        })
    }

    fn own_addresses(&self) -> io::Result<Vec<IpAddr>> {
        let interfaces = if_addrs::get_if_addrs()?;
        Ok(interfaces.into_iter().map(|interface| interface.ip()).collect())
    }

    /// Those of the system, or of `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    fn roots(&self) -> io::Result<Vec<CertificateDer<'static>>> {
        let found = rustls_native_certs::load_native_certs();
        for error in &found.errors {
            tracing::warn!(
                error = with_causes(&error),
                "a certificate authority of the system could not be read"
            );
        }
        Ok(found.certs)
    }
}
