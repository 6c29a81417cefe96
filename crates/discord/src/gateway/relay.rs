//! The gateway, for a client that dials by itself and knows no way out: it dials here, and what it says is passed
//! on to the gateway through the door.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cloister_kit::WayOut;
use cloister_protocol::with_causes;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

/// The longest head of the request with which a connection begins.
const LONGEST_HEAD: usize = 16 << 10;
/// How long a connection may take to begin.
const BEGINS_WITHIN: Duration = Duration::from_secs(60);

/// Where the gateway is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Gateway {
    host: String,
    port: u16,
    tls: bool,
}

/// As long as it lives, what is said at its address is passed on.
pub(super) struct Relay {
    /// The gateway's own address.
    of: String,
    at: String,
    _accepting: JoinSet<()>,
}

impl Relay {
    /// To `ws://HOST[:PORT][/…]` or `wss://…`.
    pub(super) async fn to(url: &str, way_out: &WayOut) -> io::Result<Self> {
        let gateway = gateway(url).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "no address of a gateway")
        })?;
        let rest = url.split_once("://").map_or("", |(_, rest)| rest);
        let path = rest.find(['/', '?']).and_then(|at| rest.get(at..)).unwrap_or_default();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let at = format!("ws://{}{path}", listener.local_addr()?);
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, gateway, way_out.clone()));
        Ok(Self { of: url.to_owned(), at, _accepting: accepting })
    }

    /// Where it is dialled.
    pub(super) fn url(&self) -> &str {
        &self.at
    }

    /// The gateway's own address, where this is the relay's.
    pub(super) fn own(&self, url: &str) -> Option<&str> {
        (url == self.at).then_some(self.of.as_str())
    }
}

fn gateway(url: &str) -> Option<Gateway> {
    let (scheme, rest) = url.split_once("://")?;
    let tls = match scheme {
        "wss" => true,
        "ws" => false,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next().filter(|authority| !authority.is_empty())?;
    let usual = if tls { 443 } else { 80 };
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, usual),
    };
    Some(Gateway { host: host.to_owned(), port, tls })
}

async fn accept(listener: TcpListener, gateway: Gateway, way_out: WayOut) {
    // What is passed on ends with the relay: a client that left it is of no interest.
    let mut under_way = JoinSet::new();
    while let Ok((inside, _)) = listener.accept().await {
        let (gateway, way_out) = (gateway.clone(), way_out.clone());
        under_way.spawn(async move {
            if let Err(error) = pass_on(inside, &gateway, &way_out).await {
                tracing::debug!(error = with_causes(&error), "a connection to the gateway ended");
            }
        });
        while under_way.try_join_next().is_some() {}
    }
}

async fn pass_on(mut inside: TcpStream, to: &Gateway, way_out: &WayOut) -> io::Result<()> {
    inside.set_nodelay(true)?;
    let begun = async {
        let head = head(&mut inside).await?;
        let outside = way_out.dial(&to.host, to.port).await?;
        let mut outside: Box<dyn Both> = match to.tls {
            true => Box::new(secure(&to.host, outside).await?),
            false => Box::new(outside),
        };
        outside.write_all(with_host(&head, to).as_bytes()).await?;
        outside.flush().await?;
        Ok::<_, io::Error>(outside)
    };
    let late = |_elapsed| io::Error::from(io::ErrorKind::TimedOut);
    let mut outside = tokio::time::timeout(BEGINS_WITHIN, begun).await.map_err(late)??;
    tokio::io::copy_bidirectional(&mut inside, &mut outside).await.map(drop)
}

trait Both: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Both for T {}

/// The head of a request, up to the empty line.
async fn head(inside: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() >= LONGEST_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        head.push(inside.read_u8().await?);
    }
    String::from_utf8(head).map_err(|_bytes| io::ErrorKind::InvalidData.into())
}

/// The same, to the host that it is meant for.
fn with_host(head: &str, to: &Gateway) -> String {
    let usual = if to.tls { 443 } else { 80 };
    let host = if to.port == usual { to.host.clone() } else { format!("{}:{}", to.host, to.port) };
    let lines = head.split_inclusive("\r\n").map(|line| {
        let name = line.split(':').next().unwrap_or_default();
        if name.eq_ignore_ascii_case("host") {
            format!("Host: {host}\r\n")
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}

async fn secure<S: AsyncRead + AsyncWrite + Unpin>(
    host: &str,
    stream: S,
) -> io::Result<tokio_rustls::client::TlsStream<S>> {
    static TLS: OnceLock<TlsConnector> = OnceLock::new();
    let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
    TLS.get_or_init(connector).connect(name, stream).await
}

fn connector() -> TlsConnector {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = rustls::ClientConfig::builder().with_root_certificates(roots);
    TlsConnector::from(Arc::new(config.with_no_client_auth()))
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
