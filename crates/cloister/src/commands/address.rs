//! Where the control plane listens, and the address that people are given.

use std::io;
use std::net::SocketAddr;

use cloister_protocol::ErrorCode;
use tokio::net::TcpListener;

use crate::output::{BAD_CONFIG, CliError, Output};

const DEFAULT: ([u8; 4], u16) = ([127, 0, 0, 1], 8484);
const MACHINES: ([u8; 4], u16) = ([127, 0, 0, 1], 8485);
/// How many ports after the usual one are tried.
const NEIGHBOURS: u16 = 20;

/// Listens where it was told to, or at the usual address. When the usual port is taken, one nearby
/// will do: nobody chose it.
pub(super) async fn listen(
    chosen: Option<SocketAddr>,
    output: Output,
) -> Result<TcpListener, CliError> {
    if let Some(address) = chosen {
        return TcpListener::bind(address).await.map_err(|error| taken(address, &error));
    }
    let usual = SocketAddr::from(DEFAULT);
    let first = match TcpListener::bind(usual).await {
        Ok(listener) => return Ok(listener),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => error,
        Err(error) => return Err(taken(usual, &error)),
    };
    for step in 1..=NEIGHBOURS {
        let nearby = SocketAddr::new(usual.ip(), usual.port() + step);
        if let Ok(listener) = TcpListener::bind(nearby).await {
            output.note(&format!(
                "{usual} is taken by another program; listening on {nearby} instead. --listen \
                 ADDR:PORT, or `listen = \"ADDR:PORT\"` in cloister.toml, settles on one."
            ));
            return Ok(listener);
        }
    }
    Err(taken(usual, &first))
}

/// Listens for other machines: where it was told to, or at the usual address, or wherever there is room.
pub(super) async fn listen_for_machines(
    chosen: Option<SocketAddr>,
) -> Result<TcpListener, CliError> {
    if let Some(address) = chosen {
        return TcpListener::bind(address).await.map_err(|error| {
            let message = format!("{address} can't be listened on: {error}");
            CliError::new(ErrorCode::Conflict, message)
                .fix("choose another `[admin] listen` in cloister.toml, or `enabled = false`")
        });
    }
    let usual = SocketAddr::from(MACHINES);
    for step in 0..=NEIGHBOURS {
        let nearby = SocketAddr::new(usual.ip(), usual.port() + step);
        if let Ok(listener) = TcpListener::bind(nearby).await {
            return Ok(listener);
        }
    }
    let anywhere = SocketAddr::new(usual.ip(), 0);
    TcpListener::bind(anywhere).await.map_err(|error| taken(usual, &error))
}

fn taken(address: SocketAddr, error: &io::Error) -> CliError {
    let fix = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program listens there (`ss -ltnp` says which): stop it, or choose another \
             address with --listen ADDR:PORT (port 0 takes a free one)"
        }
        io::ErrorKind::PermissionDenied => "choose a port from 1024 on, with --listen ADDR:PORT",
        _ => "choose an address of this machine with --listen ADDR:PORT",
    };
    CliError::new(ErrorCode::Conflict, format!("{address} can't be listened on: {error}")).fix(fix)
}

/// The address that links start with: as it was said, or where it listens.
pub(super) fn public_url(
    said: Option<&str>,
    listener: &TcpListener,
    output: Output,
) -> Result<String, CliError> {
    if let Some(url) = said {
        return checked(url)
            .map_err(|why| CliError::new(ErrorCode::BadRequest, why).exit(BAD_CONFIG));
    }
    let mut bound = listener.local_addr().map_err(CliError::io("the listener has no address"))?;
    if bound.ip().is_unspecified() {
        let everywhere = bound;
        bound.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        output.note(&format!(
            "listening on every address of this machine ({everywhere}). Links say http://{bound}, which \
             works here only; for people elsewhere say how they reach it: --url https://your.address, \
             or `url = \"https://your.address\"` in cloister.toml."
        ));
    }
    Ok(format!("http://{bound}"))
}

/// A URL that links can start with: a scheme, a host, perhaps a port.
pub(crate) fn checked(url: &str) -> Result<String, String> {
    let url = url.trim().trim_end_matches('/');
    let expected = "expected http:// or https:// and a host, such as https://cloister.example";
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let plain = |rest: &str| {
        !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b".-:[]".contains(&b))
    };
    match rest {
        Some(rest) if plain(rest) => Ok(url.to_owned()),
        Some(_) | None => Err(format!("{url:?} is not an address for links: {expected}")),
    }
}
