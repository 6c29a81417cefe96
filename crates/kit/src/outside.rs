//! The way out of a connector's sandbox: its door leads to the hosts of its platform and nowhere else. For HTTP
//! clients there is a proxy beside it, which takes their requests through the door.

use cloister_protocol::with_causes;
use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1 as client;
use hyper::header::{CONNECTION, HOST, HeaderName, HeaderValue};
use hyper::http::uri::{Authority, PathAndQuery, Uri};
use hyper::server::conn::http1 as server;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

/// How long a host may take until it is connected to.
const DIALLED_WITHIN: Duration = Duration::from_secs(60);
/// The longest answer of the door.
const LONGEST_ANSWER: usize = 2048;
const HTTP_PORT: u16 = 80;
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");

type Body = BoxBody<Bytes, hyper::Error>;

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct WayOut {
    door: Arc<PathBuf>,
    proxy: Arc<str>,
    tasks: TaskTracker,
}

impl WayOut {
    /// Opens the proxy beside the door, for as long as the runtime lives.
    pub async fn open(door: &Path) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let proxy = format!("http://{}", listener.local_addr()?);
        let (door, tasks) = (Arc::new(door.to_owned()), TaskTracker::new());
        let way_out = Self { door, proxy: proxy.into(), tasks };
        way_out.tasks.spawn(way_out.clone().serve(listener));
        Ok(way_out)
    }

    /// The proxy's address, for HTTP clients.
    pub fn proxy(&self) -> &str {
        &self.proxy
    }

    /// Connects to a host of the platform.
    pub async fn dial(&self, host: &str, port: u16) -> io::Result<UnixStream> {
        let dialled = async {
            let mut stream = UnixStream::connect(&*self.door).await?;
            let asked = format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\n");
            stream.write_all(asked.as_bytes()).await?;
            let answer = head(&mut stream).await?;
            let (status, reason) = answer.split_once("\r\n").unwrap_or((&answer, ""));
            if status.split_whitespace().nth(1) == Some("200") {
                return Ok(stream);
            }
            let reason = reason.trim_start_matches("x-reason: ").trim();
            let reason = if reason.is_empty() { status } else { reason };
            Err(io::Error::new(io::ErrorKind::ConnectionRefused, reason.to_owned()))
        };
        let late = |_elapsed| io::Error::new(io::ErrorKind::TimedOut, "nobody answered");
        tokio::time::timeout(DIALLED_WITHIN, dialled).await.map_err(late)?
    }

    async fn serve(self, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => drop(self.tasks.spawn(self.clone().serve_one(stream))),
                // Out of descriptors, most likely: some are given back.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    async fn serve_one(self, stream: TcpStream) {
        stream.set_nodelay(true).ok();
        let kept = Arc::new(Kept { way_out: self, to: Mutex::default() });
        let service = service_fn(move |request| {
            let kept = Arc::clone(&kept);
            async move { Ok::<_, Infallible>(kept.take(request).await) }
        });
        let connection = server::Builder::new().serve_connection(TokioIo::new(stream), service);
        // Whoever asked sees how it ended.
        connection.with_upgrades().await.ok();
    }
}

/// One connection of a client, and the one that it has outside.
struct Kept {
    way_out: WayOut,
    to: Mutex<Option<(Authority, client::SendRequest<Incoming>)>>,
}

impl Kept {
    async fn take(&self, request: Request<Incoming>) -> Response<Body> {
        let done = if request.method() == Method::CONNECT {
            self.tunnel(request).await
        } else {
            self.forward(request).await
        };
        done.unwrap_or_else(|why| {
            let mut response = Response::new(full(why));
            *response.status_mut() = StatusCode::BAD_GATEWAY;
            response
        })
    }

    async fn tunnel(&self, request: Request<Incoming>) -> Result<Response<Body>, String> {
        let to = request.uri().authority().ok_or("a tunnel to nowhere")?;
        let port = to.port_u16().ok_or("a tunnel to no port")?;
        let mut outside = self.way_out.dial(to.host(), port).await.map_err(|e| with_causes(&e))?;
        self.way_out.tasks.spawn(async move {
            if let Ok(upgraded) = hyper::upgrade::on(request).await {
                let mut inside = TokioIo::new(upgraded);
                // Both ends see how it ended.
                tokio::io::copy_bidirectional(&mut inside, &mut outside).await.ok();
            }
        });
        Ok(Response::new(full(String::new())))
    }

    /// Sends a request in the clear to the host that it names.
    async fn forward(&self, mut request: Request<Incoming>) -> Result<Response<Body>, String> {
        let to = request.uri().authority().ok_or("a request to nowhere")?.clone();
        let path = request.uri().path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        *request.uri_mut() = Uri::from(path);
        let headers = request.headers_mut();
        headers.remove(PROXY_CONNECTION);
        headers.remove(CONNECTION);
        if let Ok(host) = HeaderValue::from_str(to.as_str()) {
            headers.insert(HOST, host);
        }
        let mut kept = self.to.lock().await;
        let fits = kept.as_ref().is_some_and(|(known, sender)| *known == to && sender.is_ready());
        if !fits {
            *kept = Some((to.clone(), self.connect(&to).await.map_err(|e| with_causes(&e))?));
        }
        let Some((_, sender)) = kept.as_mut() else { return Err("nobody is there".to_owned()) };
        let answer = sender.send_request(request).await.map_err(|error| with_causes(&error))?;
        drop(kept);
        Ok(answer.map(BodyExt::boxed))
    }

    fn connect<'a>(
        &'a self,
        to: &'a Authority,
    ) -> BoxFuture<'a, io::Result<client::SendRequest<Incoming>>> {
        Box::pin(async move {
            let port = to.port_u16().unwrap_or(HTTP_PORT);
            let stream = self.way_out.dial(to.host(), port).await?;
            let (sender, connection) =
                client::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
            self.way_out.tasks.spawn(async move { connection.await.ok() });
            Ok(sender)
        })
    }
}

fn full(text: String) -> Body {
    Full::new(Bytes::from(text)).map_err(|never| match never {}).boxed()
}

/// What the door answers, up to the empty line, and nothing of what follows.
async fn head(stream: &mut UnixStream) -> io::Result<String> {
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() >= LONGEST_ANSWER {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the door says too much"));
        }
        answer.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&answer).trim().to_owned())
}
