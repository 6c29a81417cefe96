//! The way to the gateway: through the connector's door where there is one, with TLS to the gateway itself.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cloister_kit::WayOut;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// How long a connection may take to begin.
const BEGINS_WITHIN: Duration = Duration::from_secs(60);
/// The version that is spoken, as text.
const SPOKEN: &str = "/?v=10&encoding=json";
/// The most that is taken at once: what a large server is comes in one piece.
const LONGEST: usize = 64 << 20;

/// What is said between the two ends, whatever is below.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

pub(super) type Socket = WebSocketStream<Box<dyn Wire>>;

/// Where the gateway is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Gateway {
    host: String,
    port: u16,
    tls: bool,
}

/// Connects to `ws://HOST[:PORT][/…]` or `wss://…`.
pub(super) async fn dial(url: &str, way_out: Option<&WayOut>) -> io::Result<Socket> {
    let gateway = gateway(url)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no address of a gateway"))?;
    let begun = async {
        let outside: Box<dyn Wire> = match way_out {
            Some(way_out) => Box::new(way_out.dial(&gateway.host, gateway.port).await?),
            None => Box::new(directly(&gateway).await?),
        };
        let outside: Box<dyn Wire> = match gateway.tls {
            true => Box::new(secure(&gateway.host, outside).await?),
            false => outside,
        };
        let config = WebSocketConfig::default();
        let config = config.max_message_size(Some(LONGEST)).max_frame_size(Some(LONGEST));
        let asked = format!("{}{SPOKEN}", url.trim_end_matches('/'));
        let begun = Box::pin(client_async_with_config(asked, outside, Some(config))).await;
        begun.map(|(socket, _)| socket).map_err(io::Error::other)
    };
    let late = |_elapsed| io::Error::new(io::ErrorKind::TimedOut, "nobody answered");
    tokio::time::timeout(BEGINS_WITHIN, begun).await.map_err(late)?
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

async fn directly(to: &Gateway) -> io::Result<TcpStream> {
    let host = to.host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((host, to.port)).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
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
#[path = "dial_tests.rs"]
mod tests;
