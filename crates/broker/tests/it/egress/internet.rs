//! A fake internet: names with answers, and servers that record all that reaches them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use cloister_broker::{Network, NetworkStream};
use cloister_policy::egress::{AddressClass, Host, address_is_public};
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::git;

/// Ports at which servers speak TLS.
const TLS_PORTS: [u16; 2] = [443, 8443];
pub(crate) const PUBLIC: &str = "93.184.216.34";

/// A request as a server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) host: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Bytes,
}

pub(crate) struct Internet {
    names: Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>,
    own: Mutex<Vec<IpAddr>>,
    resolved: Mutex<Vec<String>>,
    dialled: Mutex<Vec<SocketAddr>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    bytes: Arc<AtomicUsize>,
    wire: Arc<Mutex<Vec<u8>>>,
    /// Addresses at which nobody answers.
    dead: Mutex<Vec<IpAddr>>,
    /// A folder with git repositories, which any host serves.
    repositories: Arc<Mutex<Option<PathBuf>>>,
    servers: Mutex<JoinSet<()>>,
    tls: TlsAcceptor,
    root: CertificateDer<'static>,
    /// Takes every address for one outside, as a broker without the check would.
    gullible: AtomicBool,
}

impl Internet {
    pub(crate) fn new() -> Arc<Self> {
        let (root, tls) = authority();
        Arc::new(Self {
            names: Mutex::default(),
            own: Mutex::default(),
            resolved: Mutex::default(),
            dialled: Mutex::default(),
            seen: Arc::default(),
            bytes: Arc::default(),
            wire: Arc::default(),
            dead: Mutex::default(),
            repositories: Arc::default(),
            servers: Mutex::default(),
            tls,
            root,
            gullible: AtomicBool::new(false),
        })
    }

    /// Gives a name its answers, one after the other; the last one stays.
    pub(crate) fn name(&self, host: &str, answers: &[&[&str]]) {
        let answers = answers
            .iter()
            .map(|answer| answer.iter().map(|address| address.parse().unwrap()).collect())
            .collect();
        self.names.lock().unwrap().insert(host.to_owned(), answers);
    }

    pub(crate) fn public(&self, host: &str) {
        self.name(host, &[&[PUBLIC]]);
    }

    pub(crate) fn own_address(&self, address: &str) {
        self.own.lock().unwrap().push(address.parse().unwrap());
    }

    pub(crate) fn be_gullible(&self) {
        self.gullible.store(true, Ordering::SeqCst);
    }

    pub(crate) fn resolved(&self) -> Vec<String> {
        self.resolved.lock().unwrap().clone()
    }

    pub(crate) fn dialled(&self) -> Vec<String> {
        self.dialled.lock().unwrap().iter().map(ToString::to_string).collect()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// What has reached any server, in bytes on the wire.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::SeqCst)
    }

    /// What has reached any server, byte by byte, since this was last asked.
    pub(crate) fn take_wire(&self) -> Vec<u8> {
        std::mem::take(&mut self.wire.lock().unwrap())
    }

    /// Nobody answers at this address any more.
    pub(crate) fn kill(&self, address: &str) {
        self.dead.lock().unwrap().push(address.parse().unwrap());
    }

    pub(crate) fn serve_repositories(&self, folder: &Path) {
        *self.repositories.lock().unwrap() = Some(folder.to_owned());
    }

    #[track_caller]
    pub(crate) fn assert_untouched(&self) {
        assert_eq!(self.resolved(), Vec::<String>::new(), "a name was looked up");
        self.assert_not_dialled();
    }

    #[track_caller]
    pub(crate) fn assert_not_dialled(&self) {
        assert_eq!(self.dialled(), Vec::<String>::new(), "something was dialled");
        assert_eq!(self.bytes(), 0, "something was sent");
    }

    async fn serve(
        stream: DuplexStream,
        tls: Option<TlsAcceptor>,
        seen: Arc<Mutex<Vec<Seen>>>,
        repositories: Option<PathBuf>,
    ) {
        let service = service_fn(move |request| {
            let (seen, repositories) = (Arc::clone(&seen), repositories.clone());
            async move {
                Ok::<_, Infallible>(match repositories {
                    Some(folder) => git::answer(&folder, &seen, request).await,
                    None => answer(&seen, request).await,
                })
            }
        });
        let mut http = hyper::server::conn::http1::Builder::new();
        http.auto_date_header(false);
        match tls {
            None => drop(http.serve_connection(TokioIo::new(stream), service).await),
            Some(tls) => {
                if let Ok(stream) = tls.accept(stream).await {
                    drop(http.serve_connection(TokioIo::new(stream), service).await);
                }
            }
        }
    }
}

impl Network for Internet {
    fn resolve<'a>(&'a self, host: &'a Host) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            self.resolved.lock().unwrap().push(host.to_string());
            let mut names = self.names.lock().unwrap();
            let answers = names
                .get_mut(host.as_str())
                .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such name"))?;
            let answer = answers.front().cloned().unwrap_or_default();
            if answers.len() > 1 {
                answers.pop_front();
            }
            Ok(answer)
        })
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Box<dyn NetworkStream>>> {
        Box::pin(async move {
            self.dialled.lock().unwrap().push(address);
            if self.dead.lock().unwrap().contains(&address.ip()) {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let (ours, theirs) = tokio::io::duplex(256 << 10);
            let tls = TLS_PORTS.contains(&address.port()).then(|| self.tls.clone());
            let seen = Arc::clone(&self.seen);
            let repositories = self.repositories.lock().unwrap().clone();
            self.servers.lock().unwrap().spawn(Self::serve(theirs, tls, seen, repositories));
            let (bytes, wire) = (Arc::clone(&self.bytes), Arc::clone(&self.wire));
            let stream = Recorded { stream: ours, bytes, wire };
            Ok(Box::new(stream) as Box<dyn NetworkStream>)
        })
    }

    fn own_addresses(&self) -> io::Result<Vec<IpAddr>> {
        Ok(self.own.lock().unwrap().clone())
    }

    fn judge(&self, address: IpAddr) -> Result<(), AddressClass> {
        if self.gullible.load(Ordering::SeqCst) { Ok(()) } else { address_is_public(address) }
    }

    fn roots(&self) -> io::Result<Vec<CertificateDer<'static>>> {
        Ok(vec![self.root.clone()])
    }
}

/// One authority, and one certificate for all hosts but those of `.untrusted.test`.
fn authority() -> (CertificateDer<'static>, TlsAcceptor) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = params.self_signed(&key).unwrap().der().clone();
    let issuer = Issuer::new(params, key);
    let hosts = ["allowed.test", "*.allowed.test", "other.test", "a.test", "b.test", "c.test"];
    let hosts = hosts.map(str::to_owned).to_vec();
    let host_key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(hosts).unwrap().signed_by(&host_key, &issuer).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(host_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    (root, TlsAcceptor::from(Arc::new(config)))
}

struct Recorded {
    stream: DuplexStream,
    bytes: Arc<AtomicUsize>,
    wire: Arc<Mutex<Vec<u8>>>,
}

impl AsyncRead for Recorded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Recorded {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = std::task::ready!(Pin::new(&mut self.stream).poll_write(context, data))?;
        self.bytes.fetch_add(written, Ordering::SeqCst);
        self.wire.lock().unwrap().extend_from_slice(data.get(..written).unwrap());
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The one web site of this internet; its pages do what their names say.
async fn answer(seen: &Mutex<Vec<Seen>>, request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let header = |name: &str| {
        let value = parts.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let host = header("host");
    let mut headers = BTreeMap::new();
    for (name, value) in &parts.headers {
        headers.insert(name.to_string(), value.to_str().unwrap_or("?").to_owned());
    }
    let path = parts.uri.to_string();
    let read = body.collect().await.map(|body| body.to_bytes());
    let body = read.as_ref().map_or(0, Bytes::len);
    let method = parts.method.to_string();
    let all: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    let said = format!("{path}\n{}\n", all.join("\n"));
    let content = read.as_ref().map(Bytes::clone).unwrap_or_default();
    let now = Seen { method, host: host.clone(), path: path.clone(), headers, body: content };
    seen.lock().unwrap().push(now);
    if read.is_err() {
        return Response::new(Body::empty());
    }
    let (page, argument) = path.trim_start_matches('/').split_once('/').unwrap_or((&path, ""));
    match page {
        "echo" | "echo-slowly" | "echo-denied" | "echo-zipped" | "echo-elsewhere" | "echo-head" => {
            echo(page, &said)
        }
        _ => page_of(page, argument, &host, body).await,
    }
}

/// Pages that say back what they were asked with.
fn echo(page: &str, said: &str) -> Response<Body> {
    let response = Response::builder().header("content-type", "text/plain");
    let body = Body::from(said.to_owned());
    let one_line = said.replace('\n', " ");
    let response = match page {
        "echo-slowly" => {
            let letters: Vec<Bytes> =
                said.as_bytes().chunks(3).map(Bytes::copy_from_slice).collect();
            let letters = stream::iter(letters).map(Ok::<_, Infallible>);
            response.body(Body::from_stream(letters))
        }
        "echo-denied" => response.status(401).body(body),
        "echo-zipped" => response.header("content-encoding", "gzip").body(body),
        "echo-elsewhere" => {
            let place = format!("https://b.test/?{}", one_line.replace(' ', "_"));
            response.status(302).header("location", place).body(Body::empty())
        }
        "echo-head" => response.header("x-said", one_line).body(Body::from("ok")),
        _ => response.body(body),
    };
    response.unwrap()
}

async fn page_of(page: &str, argument: &str, host: &str, body: usize) -> Response<Body> {
    let number = || argument.parse::<usize>().unwrap_or(0);
    let response = Response::builder();
    let response = match page {
        "redirect" => response.status(302).header("location", argument).body(Body::empty()),
        "hop" => {
            let next = format!("/hop/{}", number() + 1);
            response.status(302).header("location", next).body(Body::empty())
        }
        "big" => {
            let piece = Bytes::from(vec![b'x'; 64 << 10]);
            let pieces = number() / piece.len();
            let pieces = stream::repeat(piece).take(pieces).map(Ok::<_, Infallible>);
            response.header("content-length", number()).body(Body::from_stream(pieces))
        }
        "endless" => {
            let pieces = stream::repeat(Ok::<_, Infallible>(Bytes::from(vec![b'x'; 1 << 10])));
            response.body(Body::from_stream(pieces))
        }
        "chunked" => {
            let pieces = stream::iter(["one ", "two ", "three"]);
            let pieces = pieces.map(|piece| Ok::<_, Infallible>(Bytes::from(piece)));
            response.body(Body::from_stream(pieces))
        }
        "never" => std::future::pending().await,
        "drip" => {
            let first = stream::iter([Ok::<_, Infallible>(Bytes::from("drip"))]);
            response.body(Body::from_stream(first.chain(stream::pending())))
        }
        "headers" => response.header("x-large", "x".repeat(number())).body(Body::from("ok")),
        "gzip" => response
            .header("content-encoding", "gzip")
            .header("content-type", "text/plain")
            .body(Body::from(vec![0x1f_u8, 0x8b, 8, 0])),
        "switch" => response.status(101).header("upgrade", "x").body(Body::empty()),
        "spoof" => response
            .header("x-cloister-refusal", "forged")
            .header("connection", "x-hop")
            .header("x-hop", "1")
            .header("alt-svc", "h3=\":443\"")
            .body(Body::from("spoof")),
        "length" => response.body(Body::from(body.to_string())),
        _ => response
            .header("content-type", "text/html")
            .body(Body::from(format!("hello from {host}"))),
    };
    response.unwrap()
}
