//! A small internet on this machine's loopback: a few hosts over TLS that serve what scenarios put
//! there and remember every request, and a search engine.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::serve::Listener;
use bytes::Bytes;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::failed;
use cloister::CliError;

/// Every host, by its name before `.test`. `evil` is one that no rule allows.
pub(super) const HOSTS: [&str; 10] =
    ["site", "docs", "shop", "api", "git", "mail", "pay", "attacker", "search", "evil"];
/// Those that the rules of every user in here allow.
pub(super) const ALLOWED: [&str; 8] =
    ["site", "docs", "shop", "api", "git", "mail", "pay", "attacker"];

const HTTPS: u16 = 443;
const HANDSHAKE: Duration = Duration::from_secs(5);
const MAX_BODY: usize = 1 << 20;

/// A page, or another thing that a server answers with.
#[derive(Clone, Debug)]
pub(super) struct Page {
    status: u16,
    kind: &'static str,
    location: Option<String>,
    body: Bytes,
}

impl Page {
    fn new(kind: &'static str, body: impl Into<Bytes>) -> Self {
        Self { status: 200, kind, location: None, body: body.into() }
    }

    pub(super) fn html(body: &str) -> Self {
        Self::new("text/html; charset=utf-8", format!("<!doctype html><body>{body}</body>"))
    }

    pub(super) fn text(body: &str) -> Self {
        Self::new("text/plain; charset=utf-8", body.to_owned())
    }

    pub(super) fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    pub(super) fn redirect(to: &str) -> Self {
        Self { location: Some(to.to_owned()), ..Self::text("moved").status(302) }
    }

    /// One result of a search.
    pub(super) fn found(title: &str, extract: &str) -> Self {
        let hit =
            serde_json::json!({"title": title, "url": "https://site.test/", "content": extract});
        Self::new("application/json", serde_json::json!({"results": [hit]}).to_string())
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::OK);
        let mut response =
            (status, [(header::CONTENT_TYPE, self.kind)], Body::from(self.body)).into_response();
        let location = self.location.and_then(|to| header::HeaderValue::from_str(&to).ok());
        if let Some(location) = location {
            response.headers_mut().insert(header::LOCATION, location);
        }
        response
    }
}

/// A request as it arrived: its line, its headers, its body.
#[derive(Clone, Debug)]
pub(super) struct Arrived {
    /// The host's name before `.test`; with what stood before it, for names below a host.
    pub(super) host: String,
    pub(super) text: String,
}

#[derive(Default)]
struct Shared {
    pages: Mutex<HashMap<(String, String), Page>>,
    arrived: Mutex<Vec<Arrived>>,
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Dropping it ends it.
pub(super) struct Internet {
    shared: Arc<Shared>,
    address: SocketAddr,
    search: SocketAddr,
    roots: PathBuf,
    _servers: JoinSet<io::Result<()>>,
}

impl Internet {
    /// `more`: further names that lead here.
    pub(super) async fn start(place: &Path, more: &[String]) -> Result<Self, CliError> {
        let (listener, address) = listen().await.map_err(CliError::io("no server could listen"))?;
        let roots = place.join("roots.pem");
        let acceptor = acceptor(&roots, more)?;
        let search = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
        let search_address = search.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared::default());
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let searching = Router::new().fallback(found).with_state(Arc::clone(&shared));
        let mut servers = JoinSet::new();
        servers.spawn(async move { axum::serve(Secure { listener, acceptor }, router).await });
        servers.spawn(async move { axum::serve(search, searching).await });
        Ok(Self { shared, address, search: search_address, roots, _servers: servers })
    }

    /// What follows a host in an address.
    pub(super) fn suffix(&self) -> String {
        match self.address.port() {
            HTTPS => String::new(),
            port => format!(":{port}"),
        }
    }

    pub(super) fn roots(&self) -> &Path {
        &self.roots
    }

    /// The settings with which a control plane finds all of it.
    pub(super) fn config(&self, more: &[String]) -> String {
        let names = HOSTS.iter().map(|host| format!("{host}.test")).chain(more.iter().cloned());
        let (address, port) = (self.address.ip(), self.address.port());
        let pins: Vec<String> =
            names.map(|name| format!("\"{name}:{port}\" = \"{address}\"\n")).collect();
        let search = self.search;
        format!(
            "[search]\nprovider = \"searxng\"\nurl = \"http://{search}\"\n[egress.hosts]\n{}",
            pins.concat()
        )
    }

    pub(super) fn serve(&self, host: &str, path: &str, page: Page) {
        lock(&self.shared.pages).insert((host.to_owned(), path.to_owned()), page);
    }

    /// Every request so far that has this text in it.
    pub(super) fn with(&self, matches: impl Fn(&Arrived) -> bool) -> Vec<Arrived> {
        lock(&self.shared.arrived).iter().filter(|one| matches(one)).cloned().collect()
    }
}

/// The usual port where this account may have it, on a loopback address that no other run uses.
async fn listen() -> io::Result<(TcpListener, SocketAddr)> {
    let [_, _, high, low] = std::process::id().to_be_bytes();
    let own = IpAddr::V4(Ipv4Addr::new(127, 97, high, low.max(1)));
    let listener = match TcpListener::bind((own, HTTPS)).await {
        Ok(listener) => listener,
        Err(_taken_or_forbidden) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?,
    };
    let address = listener.local_addr()?;
    Ok((listener, address))
}

fn acceptor(roots: &Path, more: &[String]) -> Result<TlsAcceptor, CliError> {
    let mut ca = CertificateParams::default();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca =
        CertifiedIssuer::self_signed(ca, KeyPair::generate().map_err(failed)?).map_err(failed)?;
    std::fs::write(roots, ca.pem()).map_err(failed)?;
    let names = HOSTS.iter().map(|host| format!("{host}.test")).chain(more.iter().cloned());
    let key = KeyPair::generate().map_err(failed)?;
    let leaf = CertificateParams::new(names.collect::<Vec<_>>())
        .and_then(|leaf| leaf.signed_by(&key, &ca))
        .map_err(failed)?;
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key.into())
        .map_err(failed)?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Connections after their handshake.
struct Secure {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Secure {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, from) = Listener::accept(&mut self.listener).await;
            let shaking = tokio::time::timeout(HANDSHAKE, self.acceptor.accept(stream)).await;
            if let Ok(Ok(stream)) = shaking {
                return (stream, from);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.unwrap_or_default().split(':').next().unwrap_or_default();
    let host = host.strip_suffix(".test").unwrap_or(host).to_owned();
    let path = request.uri().path().to_owned();
    let text = record(&shared, &host, request).await;
    let known = lock(&shared.pages).get(&(host.clone(), path.clone())).cloned();
    match known.or_else(|| standing(&host, &path, &text)) {
        Some(page) => page.into_response(),
        None => Page::text("nothing here\n").status(404).into_response(),
    }
}

/// What hosts answer by themselves.
fn standing(host: &str, path: &str, request: &str) -> Option<Page> {
    match (host, path) {
        // An honest mistake of an API, and a gift for whoever wants its keys.
        ("api", "/echo") => Some(Page::text(request)),
        ("git", _) => super::repository::answer(path).map(|(kind, bytes)| Page::new(kind, bytes)),
        ("site" | "search", _) => None,
        _ => Some(Page::text("ok\n")),
    }
}

async fn found(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let text = record(&shared, "search", request).await;
    let pages = lock(&shared.pages);
    let hit = pages
        .iter()
        .find(|((host, path), _)| host == "search" && text.contains(path.trim_start_matches('/')));
    let page = hit
        .map_or_else(|| Page::found("Kettles", "a page about kettles"), |(_, page)| page.clone());
    page.into_response()
}

/// Remembers a request, whole, as text.
async fn record(shared: &Shared, host: &str, request: Request) -> String {
    let (parts, body) = request.into_parts();
    let mut text = format!("{} {}\n", parts.method, parts.uri);
    for (name, value) in &parts.headers {
        text.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
    }
    let body = axum::body::to_bytes(body, MAX_BODY).await.unwrap_or_default();
    text.push('\n');
    text.push_str(&String::from_utf8_lossy(&body));
    lock(&shared.arrived).push(Arrived { host: host.to_owned(), text: text.clone() });
    text
}
