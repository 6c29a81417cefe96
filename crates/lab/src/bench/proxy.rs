//! The broker's share: a request through the proxy of a door, and a model call through it, each beside
//! the same request made directly.

use cloister_store::{Actor, Store};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use axum::routing::get;
use cloister_broker::{DoorServer, Network, NetworkStream};
use cloister_control::UserOptions;
use cloister_control::ports::{Attached, Doors, Egress, OpenDoor, Principal};
use cloister_policy::egress::{AddressClass, Host};
use cloister_protocol::Level;
use cloister_store::models::{KeyRef, Model as ModelRow};
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::Plan;
use super::model::{Manner, Model};
use super::open_gate::OpenLink;
use super::report::{Aim, Row};
use super::talker::broken;
use cloister::CliError;

/// The last words of a model's answer.
const DONE: &[u8] = b"data: [DONE]\n\n";
const PATIENCE: Duration = Duration::from_secs(10);
const WARM_UP: usize = 5;
/// The name under which programs in the sandbox know the origin.
const ORIGIN: &str = "origin.example.com";
const PAGE: &str = "A short page, as an API answers it: {\"ok\": true, \"items\": [1, 2, 3]}\n";

fn failed(error: &dyn std::fmt::Display) -> CliError {
    broken(format!("a request of the bench failed: {error}"))
}

pub(super) async fn measure(plan: &Plan, place: &Path) -> Result<Vec<Row>, CliError> {
    let mut origin = JoinSet::new();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(|e| failed(&e))?;
    let address = listener.local_addr().map_err(|e| failed(&e))?;
    let pages = Router::new().route("/", get(|| async { PAGE }));
    origin.spawn(async move { axum::serve(listener, pages).await });
    let model = Model::start().await?;
    let yard = Yard::new(&place.join("proxy"), address, &model).await?;

    let mut direct = Caller::tcp(address).await?;
    let mut proxied = yard.caller().await?;
    let name = format!("{ORIGIN}:{}", address.port());
    let (at_origin, at_proxy) = (format!("http://{name}/"), "/".to_owned());
    let pages = pairs(plan.warm, async |_number| {
        let direct = direct.time("GET", &at_proxy, &name, Body::empty()).await?;
        Ok((direct, proxied.time("GET", &at_origin, &name, Body::empty()).await?))
    })
    .await?;

    let mut direct = Caller::tcp(model.address()).await?;
    let mut brokered = yard.caller().await?;
    let host = model.address().to_string();
    let path = format!("/{}/v1/chat/completions", Manner::Instant.as_str());
    let calls = pairs(plan.warm, async |number| {
        let ask = || {
            let text = format!("Call {number}: please say something short.");
            let message = serde_json::json!({"role": "user", "content": text});
            Body::from(serde_json::json!({"messages": [message], "stream": true}).to_string())
        };
        let direct = direct.time("POST", &path, &host, ask()).await?;
        Ok((direct, brokered.time("POST", "/v1/chat/completions", "cloister", ask()).await?))
    })
    .await?;
    let mut rows = rows("proxy", "a page", "through the proxy", &pages);
    rows.extend(self::rows("broker", "a model call", "through the broker", &calls));
    Ok(rows)
}

type Pair = (Duration, Duration);

/// Direct and not, right after each other.
async fn pairs(
    count: usize,
    mut pair: impl AsyncFnMut(usize) -> Result<Pair, CliError>,
) -> Result<Vec<Pair>, CliError> {
    let mut pairs = Vec::with_capacity(count);
    for number in 0..count + WARM_UP {
        // A door takes a hundred requests in a second.
        tokio::time::sleep(Duration::from_millis(11)).await;
        let both = pair(number).await?;
        if number >= WARM_UP {
            pairs.push(both);
        }
    }
    Ok(pairs)
}

fn rows(id: &str, what: &str, through: &str, pairs: &[Pair]) -> Vec<Row> {
    let of = |part: fn(&Pair) -> Duration| pairs.iter().map(part).collect::<Vec<_>>();
    let direct = Row::times(&format!("{id}.direct"), &format!("{what}, directly"), of(|p| p.0));
    let door = format!("{what}, {through}");
    let door = Row::times(&format!("{id}.door"), &door, of(|p| p.1)).over(&direct);
    let adds = of(|p| p.1.saturating_sub(p.0));
    let adds = Row::times(&format!("{id}.adds"), &format!("what that adds to {what}"), adds)
        .aim(Aim::AtMost(1.0));
    vec![direct, door, adds]
}

/// A kept connection.
struct Caller {
    sender: SendRequest<Body>,
    _connection: JoinSet<Result<(), hyper::Error>>,
}

impl Caller {
    async fn tcp(address: SocketAddr) -> Result<Self, CliError> {
        let stream = TcpStream::connect(address).await.map_err(|e| failed(&e))?;
        stream.set_nodelay(true).map_err(|e| failed(&e))?;
        Self::over(stream).await
    }

    async fn over(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, CliError> {
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|e| failed(&e))?;
        let mut tasks = JoinSet::new();
        tasks.spawn(connection);
        Ok(Self { sender, _connection: tasks })
    }

    async fn time(
        &mut self,
        method: &str,
        target: &str,
        host: &str,
        body: Body,
    ) -> Result<Duration, CliError> {
        let request = Request::builder()
            .method(method)
            .uri(target)
            .header(header::HOST, host)
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .map_err(|e| failed(&e))?;
        let began = Instant::now();
        let exchange = async {
            self.sender.ready().await?;
            let response = self.sender.send_request(request).await?;
            let status = response.status();
            let (mut body, mut read, mut whole) = (response.into_body(), Vec::new(), None);
            while let Some(frame) = body.frame().await {
                read.extend_from_slice(frame?.data_ref().map_or(&[], |data| data));
                // An agent has all it needs by then; the connection may have more to end.
                if whole.is_none() && read.ends_with(DONE) {
                    whole = Some(began.elapsed());
                }
            }
            Ok::<_, hyper::Error>((status, read, whole.unwrap_or_else(|| began.elapsed())))
        };
        let answered = tokio::time::timeout(PATIENCE, exchange).await;
        let (status, read, time) =
            answered.map_err(|late| failed(&late))?.map_err(|e| failed(&e))?;
        if !status.is_success() {
            return Err(failed(&format!("{status} {}", String::from_utf8_lossy(&read))));
        }
        Ok(time)
    }
}

/// A door as an executor has it, without the sandbox around it.
struct Yard {
    socket: std::path::PathBuf,
    _door: Box<dyn OpenDoor>,
    _doors: DoorServer,
}

impl Yard {
    async fn new(root: &Path, origin: SocketAddr, model: &Model) -> Result<Self, CliError> {
        let layout = cloister::create_layout(root)?;
        let store = Store::open(&layout.database()).await?;
        let name = "owner".parse().map_err(cloister_control::ControlError::from)?;
        let user = store
            .users()
            .add_user(&Actor::Operator, &name, UserOptions::default().limits())
            .await?;
        let rule = format!("http://{ORIGIN}:{}", origin.port());
        store.egress().allow_egress(&Actor::person("bench"), user.id, &rule).await?;
        let row = ModelRow {
            name: "bench".to_owned(),
            base_url: model.base_url(Manner::Instant),
            model: "bench".to_owned(),
            key: KeyRef::None,
            prompt_price: 0,
            completion_price: 0,
            max_output_tokens: 1_000,
            profile: cloister_protocol::ModelProfile::default(),
            settings: cloister_protocol::ModelSettings::default(),
        };
        store.models().add_model(&Actor::person("test"), &row).await?;
        store.models().set_chain(&Actor::person("test"), Level::Coordinator, &[row.name]).await?;
        let options = cloister_broker::Options::new(layout.keys());
        let keys = cloister::unlock(&store, &layout).await?;
        let doors = DoorServer::with_network(
            options,
            cloister_control::Books::new(store, keys),
            Arc::new(Nearby),
        )
        .map_err(|e| failed(&e))?;
        let socket = layout
            .sandbox_run("bench")
            .map_err(CliError::io("the door could not be opened"))?
            .join("door.sock");
        let chat = cloister_protocol::ChatId::from_number(1);
        let who = Principal { user: user.id, workspace: user.workspace, chat, task: None };
        let egress = Egress::Open { only: None, reads_only: false, secrets: None };
        let door = doors
            .open(socket.clone(), who, egress, Arc::new(OpenLink(no_link)))
            .map_err(CliError::io("the door could not be opened"))?;
        Ok(Self { socket, _door: door, _doors: doors })
    }

    async fn caller(&self) -> Result<Caller, CliError> {
        let stream = UnixStream::connect(&self.socket).await.map_err(|e| failed(&e))?;
        Caller::over(stream).await
    }
}

/// An outside in which every name is this machine.
struct Nearby;

impl Network for Nearby {
    fn resolve<'a>(&'a self, _host: &'a Host) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]) })
    }

    fn connect(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<Box<dyn NetworkStream>>> {
        Box::pin(async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn NetworkStream>)
        })
    }

    fn own_addresses(&self) -> io::Result<Vec<IpAddr>> {
        Ok(Vec::new())
    }

    fn judge(&self, _address: IpAddr) -> Result<(), AddressClass> {
        Ok(())
    }

    fn roots(&self) -> io::Result<Vec<CertificateDer<'static>>> {
        Ok(Vec::new())
    }
}

/// A link that nobody speaks on.
fn no_link() -> Attached {
    let (_down, down) = mpsc::channel(1);
    let (up, _up) = mpsc::channel(1);
    Attached { down, up }
}
