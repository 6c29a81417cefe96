//! A fake internet: the calling thread and everything it starts from then on live in a network of
//! their own, whose only other end is a server with public addresses that records every byte.
//!
//! Names come from an `/etc/hosts` of its own (only this thread and what it starts sees it); all other
//! names are asked of a name server that records the question and never answers. Needs root and `ip`.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::UnshareFlags;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

const NEAR: &str = "93.184.216.1";
const NAME_SERVER: &str = "93.184.216.53";
/// The hosts have this with 100, 101, … at the end.
const NETWORK: &str = "93.184.216";
const MAX_HEAD_BYTES: usize = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub enum InternetError {
    #[error("{what}")]
    Io { what: String, source: io::Error },
    #[error("`{command}` failed: {output}")]
    Command { command: String, output: String },
    #[error("the certificates could not be made")]
    Certificate(#[from] rcgen::Error),
    #[error("the far side did not start: {0}")]
    FarSide(String),
}

fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> InternetError {
    let what = what.into();
    move |source| InternetError::Io { what, source }
}

/// What is served on every host, by path: a content type and the bytes.
pub type Site = BTreeMap<String, (&'static str, Vec<u8>)>;

/// What the far side saw: per address the bytes that came, TLS as plain text, and every name asked for.
#[derive(Clone, Debug, Default)]
struct Seen(Arc<Mutex<HashMap<String, Vec<u8>>>>);

impl Seen {
    fn add(&self, at: &str, bytes: &[u8]) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.entry(at.to_owned()).or_default().extend_from_slice(bytes);
    }
}

pub struct Internet {
    dir: TempDir,
    addresses: BTreeMap<String, String>,
    seen: Seen,
    stop: Option<oneshot::Sender<()>>,
    far: Option<JoinHandle<()>>,
}

impl Internet {
    /// Moves the calling thread into it. Call this before a runtime is built on the thread.
    pub fn enter(hosts: &[&str], site: Site) -> Result<Self, InternetError> {
        let dir = tempfile::tempdir().map_err(io("a temporary directory could not be made"))?;
        let addresses: BTreeMap<String, String> = hosts
            .iter()
            .zip(100..)
            .map(|(host, last)| ((*host).to_owned(), format!("{NETWORK}.{last}")))
            .collect();
        let tls = certificates(hosts, &dir.path().join("ca.pem"))?;
        let errno = |error: rustix::io::Errno| io::Error::from(error);
        unshare(UnshareFlags::NEWNET | UnshareFlags::NEWNS)
            .map_err(errno)
            .map_err(io("a network of its own could not be made (root is needed)"))?;
        replace_names(dir.path(), &addresses)?;
        let seen = Seen::default();
        let (stop, stopped) = oneshot::channel();
        let far = far_side(&addresses, Arc::new(site), tls, &seen, stopped)?;
        Ok(Self { dir, addresses, seen, stop: Some(stop), far: Some(far) })
    }

    /// The certificate that the hosts' are signed with.
    pub fn roots(&self) -> PathBuf {
        self.dir.path().join("ca.pem")
    }

    pub fn address(&self, host: &str) -> IpAddr {
        let known = self.addresses.get(host).and_then(|address| address.parse().ok());
        known.unwrap_or(IpAddr::from([0, 0, 0, 0]))
    }

    /// Every byte that came to a host.
    pub fn seen_by(&self, host: &str) -> Vec<u8> {
        let seen = self.seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(&self.address(host).to_string()).cloned().unwrap_or_default()
    }

    /// Every byte that came anywhere, the name server included.
    pub fn seen(&self) -> Vec<u8> {
        let seen = self.seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.values().flatten().copied().collect()
    }
}

impl Drop for Internet {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(far) = self.far.take() {
            far.join().ok();
        }
    }
}

/// Gives the calling thread namespaces of its own.
#[expect(deprecated, reason = "unsafe only for shared descriptors, which are left alone here")]
fn unshare(what: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(what)
}

fn certificates(hosts: &[&str], ca_path: &Path) -> Result<Arc<ServerConfig>, InternetError> {
    let mut ca = CertificateParams::new(Vec::new())?;
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;
    std::fs::write(ca_path, ca.pem()).map_err(io("the CA could not be written"))?;
    let names: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let key = KeyPair::generate()?;
    let leaf = CertificateParams::new(names)?.signed_by(&key, &ca)?;
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let far = |error: tokio_rustls::rustls::Error| InternetError::FarSide(error.to_string());
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(far)?
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key.into())
        .map_err(far)?;
    Ok(Arc::new(config))
}

/// Puts own files in place of `/etc/hosts` and `/etc/resolv.conf`, for this thread and its children.
fn replace_names(dir: &Path, addresses: &BTreeMap<String, String>) -> Result<(), InternetError> {
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private)
        .map_err(|error| io("the mounts could not be detached")(error.into()))?;
    let mut hosts = String::from("127.0.0.1 localhost\n");
    for (host, address) in addresses {
        // The second form is that of a whole name, which no search domain is added to.
        hosts.push_str(&format!("{address} {host} {host}.\n"));
    }
    let resolver = format!("nameserver {NAME_SERVER}\noptions timeout:1 attempts:1\n");
    for (name, text) in [("hosts", hosts), ("resolv.conf", resolver)] {
        let own = dir.join(name);
        std::fs::write(&own, text).map_err(io(format!("{name} could not be written")))?;
        rustix::mount::mount_bind(&own, Path::new("/etc").join(name))
            .and_then(|()| {
                let flags = MountFlags::BIND | MountFlags::RDONLY;
                rustix::mount::mount_remount(Path::new("/etc").join(name), flags, c"")
            })
            .map_err(|error| io(format!("/etc/{name} could not be replaced"))(error.into()))?;
    }
    Ok(())
}

fn ip(arguments: &str) -> Result<(), InternetError> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the network of a test is made with the usual tool"
    )]
    let output = Command::new("ip").args(arguments.split_whitespace()).output();
    let output =
        output.map_err(io("`ip` could not be started (scripts/setup test installs it)"))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(InternetError::Command { command: format!("ip {arguments}"), output: told })
}

/// Starts the far side on a thread with a network of its own and joins the two.
fn far_side(
    addresses: &BTreeMap<String, String>,
    site: Arc<Site>,
    tls: Arc<ServerConfig>,
    seen: &Seen,
    stopped: oneshot::Receiver<()>,
) -> Result<JoinHandle<()>, InternetError> {
    let far_addresses: Vec<String> = addresses.values().cloned().collect();
    let seen = seen.clone();
    let (made, is_made) = mpsc::sync_channel(1);
    let (joined, is_joined) = mpsc::sync_channel::<()>(1);
    let (ready, is_ready) = mpsc::sync_channel(1);
    let far = std::thread::spawn(move || {
        let unshared = unshare(UnshareFlags::NEWNET);
        let tid = rustix::thread::gettid().as_raw_nonzero();
        if made.send(unshared.map(|()| tid)).is_err() || is_joined.recv().is_err() {
            return;
        }
        let served = far_network(&far_addresses).and_then(|()| {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(io("no runtime for the far side"))
        });
        let runtime = match served {
            Ok(runtime) => runtime,
            Err(error) => {
                ready.send(Err(error)).ok();
                return;
            }
        };
        runtime.block_on(async {
            let mut serving = JoinSet::new();
            let listening = listen(&mut serving, &site, &tls, &seen).await;
            ready.send(listening.map_err(io("the far side could not listen"))).ok();
            stopped.await.ok();
        });
    });
    let gone = || InternetError::FarSide("its thread ended".to_owned());
    let tid = is_made.recv().map_err(|_ended| gone())?;
    let tid = tid.map_err(|error| io("the far side has no network of its own")(error.into()))?;
    ip("link set lo up")?;
    ip("link add near type veth peer name far")?;
    let process = std::process::id();
    ip(&format!("link set far netns /proc/{process}/task/{tid}/ns/net"))?;
    ip(&format!("addr add {NEAR}/24 dev near"))?;
    ip("link set near up")?;
    ip("route add default dev near")?;
    joined.send(()).map_err(|_ended| gone())?;
    is_ready.recv().map_err(|_ended| gone())??;
    Ok(far)
}

fn far_network(addresses: &[String]) -> Result<(), InternetError> {
    ip("link set lo up")?;
    for address in addresses.iter().map(String::as_str).chain([NAME_SERVER]) {
        ip(&format!("addr add {address}/24 dev far"))?;
    }
    ip("link set far up")?;
    // Whatever else is sent here has also arrived, and is recorded.
    ip("route add local 0.0.0.0/0 dev lo")
}

async fn listen(
    serving: &mut JoinSet<()>,
    site: &Arc<Site>,
    tls: &Arc<ServerConfig>,
    seen: &Seen,
) -> io::Result<()> {
    let plain = TcpListener::bind("0.0.0.0:80").await?;
    let secure = TcpListener::bind("0.0.0.0:443").await?;
    let names = UdpSocket::bind("0.0.0.0:53").await?;
    let acceptor = TlsAcceptor::from(Arc::clone(tls));
    for (listener, acceptor) in [(plain, None), (secure, Some(acceptor))] {
        let (site, seen) = (Arc::clone(site), seen.clone());
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let work = connection(stream, acceptor.clone(), Arc::clone(&site), seen.clone());
                connections.spawn(async move { work.await.unwrap_or_default() });
            }
        });
    }
    let seen = seen.clone();
    serving.spawn(async move {
        let mut question = [0u8; 2_048];
        while let Ok(count) = names.recv(&mut question).await {
            seen.add(NAME_SERVER, question.get(..count).unwrap_or_default());
        }
    });
    Ok(())
}

async fn connection(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    site: Arc<Site>,
    seen: Seen,
) -> io::Result<()> {
    let at = stream.local_addr()?.ip().to_string();
    seen.add(&at, b"[connection]");
    match acceptor {
        None => answer(stream, &at, &site, &seen).await,
        Some(acceptor) => answer(acceptor.accept(stream).await?, &at, &site, &seen).await,
    }
}

/// Answers request after request with what the site holds.
async fn answer(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    at: &str,
    site: &Site,
    seen: &Seen,
) -> io::Result<()> {
    let mut head = Vec::new();
    loop {
        let mut buffer = [0u8; 4_096];
        let count = stream.read(&mut buffer).await?;
        let bytes = buffer.get(..count).unwrap_or_default();
        if bytes.is_empty() || head.len() > MAX_HEAD_BYTES {
            return Ok(());
        }
        seen.add(at, bytes);
        head.extend_from_slice(bytes);
        if !head.ends_with(b"\r\n\r\n") {
            continue;
        }
        let text = String::from_utf8_lossy(&head).into_owned();
        let target = text.split_whitespace().nth(1).unwrap_or_default();
        let path = target.split('?').next().unwrap_or_default();
        let (status, (kind, body)) = match site.get(path) {
            Some(found) => ("200 OK", found.clone()),
            None => ("404 Not Found", ("text/plain", b"nothing here\n".to_vec())),
        };
        let length = body.len();
        let start = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(start.as_bytes()).await?;
        if !text.starts_with("HEAD ") {
            stream.write_all(&body).await?;
        }
        stream.flush().await?;
        head.clear();
    }
}
