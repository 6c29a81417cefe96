//! The admin listener over real TLS: who gets in, who does not, and who is thrown out.

use std::net::SocketAddr;
use std::time::Duration;

use cloister_pki::{ADMIN_PROTOCOL, ClientName, Identity, NewKey, enrolling_client, server_name};
use cloister_policy::engine::Role;
use cloister_protocol::admin::UserView;
use cloister_protocol::admin::clients::{Enrol, Renew};
use cloister_protocol::{ErrorEnvelope, UserId};
use rustls::ClientConfig;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::test_world::World;

const PATIENCE: Duration = Duration::from_secs(20);
/// E74: how long a revoked client may stay.
const AT_ONCE: Duration = Duration::from_secs(1);

type Stream = TlsStream<TcpStream>;

/// A control plane whose admin listener runs.
struct Listening {
    world: World,
    address: SocketAddr,
    _serving: JoinSet<std::io::Result<()>>,
}

impl Listening {
    /// With `ada`, who runs it.
    async fn start() -> Self {
        let world = World::new().await;
        world.add("ada").await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let remote = world.state.remote.clone();
        remote.is_at(&listener).unwrap();
        let mut serving = JoinSet::new();
        serving.spawn(remote.serve(listener, world.state.clone(), CancellationToken::new()));
        Self { world, address, _serving: serving }
    }

    fn remote(&self) -> &Remote {
        &self.world.state.remote
    }

    async fn invitation(&self, user: &str) -> Invitation {
        let user = self.world.store().users().user(&user.parse().unwrap()).await.unwrap();
        let made = self.remote().invite(&Actor::Operator, &user).await.unwrap();
        made.invitation.expose().parse().unwrap()
    }

    async fn dial(&self, config: ClientConfig) -> std::io::Result<Stream> {
        let stream = TcpStream::connect(self.address).await?;
        TlsConnector::from(Arc::new(config)).connect(server_name(), stream).await
    }

    /// Whether a handshake leads to an answer, whatever it is.
    async fn lets_in(&self, config: ClientConfig) -> bool {
        let Ok(mut stream) = self.dial(config).await else { return false };
        // The client believes the handshake is over before the server has looked at its certificate.
        exchange(&mut stream, "GET", "/healthz", None::<&()>).await.is_ok()
    }

    async fn try_enrol(&self, invitation: &Invitation) -> Result<Identity, ErrorEnvelope> {
        let key = NewKey::make().unwrap();
        let asked = Enrol {
            invitation: invitation.number,
            secret: invitation.secret.clone(),
            name: "laptop".to_owned(),
            request: key.request().unwrap(),
        };
        let tls = enrolling_client(invitation.fingerprint).unwrap();
        let mut stream = self.dial(tls).await.unwrap();
        let answer =
            exchange(&mut stream, "POST", "/enroll/v1/clients", Some(&asked)).await.unwrap();
        match answer.status {
            200 => Ok(key.with(&invitation.address, serde_json::from_slice(&answer.body).unwrap())),
            _ => Err(serde_json::from_slice(&answer.body).unwrap()),
        }
    }

    async fn enrol(&self, user: &str) -> Identity {
        self.try_enrol(&self.invitation(user).await).await.unwrap()
    }

    /// One call with a certificate.
    async fn call(
        &self,
        identity: &Identity,
        method: &str,
        path: &str,
        body: Option<&impl Serialize>,
    ) -> Answered {
        let mut stream = self.dial(identity.tls().unwrap()).await.unwrap();
        exchange(&mut stream, method, path, body).await.unwrap()
    }

    async fn get(&self, identity: &Identity, path: &str) -> Answered {
        self.call(identity, "GET", path, None::<&()>).await
    }

    async fn renew(&self, identity: &Identity) -> Identity {
        let key = NewKey::make().unwrap();
        let asked = Renew { request: key.request().unwrap() };
        let answer = self.call(identity, "POST", "/admin/v1/client/renew", Some(&asked)).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        key.with(&identity.address, serde_json::from_slice(&answer.body).unwrap())
    }

    /// A certificate of our own root for whatever a test wants.
    fn forge(&self, name: ClientName, expires: Moment) -> Identity {
        let key = NewKey::make().unwrap();
        let request = SigningRequest::parse(&key.request().unwrap()).unwrap();
        let remote = self.remote();
        let authority = remote.authority();
        let begins = Moment::from_ms(0);
        let certificate = authority.issue_client(&request, name, begins, expires).unwrap();
        key.with(
            "here:1",
            ClientCertificate {
                user: "ada".parse().unwrap(),
                client: name.client,
                certificate,
                roots: authority.roots_pem(),
                issued_at: 0,
                expires_at: expires.ms(),
            },
        )
    }
}

struct Answered {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answered {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One request on a connection that stays open, by hand: every byte is the test's own.
async fn exchange(
    stream: &mut Stream,
    method: &str,
    path: &str,
    body: Option<&impl Serialize>,
) -> std::io::Result<Answered> {
    let body = body.map(|body| serde_json::to_vec(body).unwrap()).unwrap_or_default();
    // Who it claims to be counts for nothing.
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: here\r\nx-forwarded-user: u1\r\nx-user-id: u1\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    read_answer(stream).await
}

async fn read_answer(stream: &mut Stream) -> std::io::Result<Answered> {
    let mut seen = Vec::new();
    let reading = async {
        loop {
            if let Some(end) = seen.windows(4).position(|window| window == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&seen[..end]).to_ascii_lowercase();
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
                if seen.len() >= end + 4 + length {
                    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
                    return Ok(Answered { status, head, body: seen.split_off(end + 4) });
                }
            }
            if stream.read_buf(&mut seen).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
    };
    timeout(PATIENCE, reading).await.unwrap()
}

/// How long it takes until a connection ends.
async fn ends(stream: &mut Stream) -> Duration {
    let begun = tokio::time::Instant::now();
    let mut rest = Vec::new();
    drop(timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("it never ended"));
    begun.elapsed()
}

/// D1: enrolment with a one-time secret, then the admin API as the person the machine is enrolled for.
#[tokio::test]
async fn an_enrolled_machine_administers_as_its_person_and_as_nobody_else() {
    let here = Listening::start().await;
    here.world.add("bob").await;
    let (ada, bob) = (here.enrol("ada").await, here.enrol("bob").await);
    let users: Vec<UserView> =
        serde_json::from_slice(&here.get(&ada, "/admin/v1/users").await.body).unwrap();
    assert!(users.iter().any(|user| user.name.as_str() == "bob"));
    // E72: bob says in headers that he is ada.
    let refused = here.get(&bob, "/admin/v1/status").await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    let hidden = here.get(&bob, "/admin/v1/users/ada/chats").await;
    assert!([403, 404].contains(&hidden.status), "{}", hidden.text());
    let own = here.get(&bob, "/admin/v1/users/bob/chats").await;
    assert_eq!(own.status, 200, "{}", own.text());
    let invite = json!({"user": "bob"});
    let more = here.call(&bob, "POST", "/admin/v1/client_invitations", Some(&invite)).await;
    assert_eq!(more.status, 403, "{}", more.text());
}

/// E79: the operator role runs things and reads nobody's content, also from elsewhere.
#[tokio::test]
async fn an_operator_reads_no_content_from_elsewhere() {
    let here = Listening::start().await;
    let oscar = here.world.add("oscar").await.user;
    let store = here.world.store();
    store
        .users()
        .give_role(&Actor::Operator, oscar.id, (Role::Operator.as_str(), "platform"), &[])
        .await
        .unwrap();
    let oscar = here.enrol("oscar").await;
    assert_eq!(here.get(&oscar, "/admin/v1/status").await.status, 200);
    for path in ["/admin/v1/users/ada/chats/C1", "/admin/v1/users/ada/identity"] {
        let refused = here.get(&oscar, path).await;
        assert_eq!(refused.status, 403, "{path}: {}", refused.text());
    }
}

/// E73: everything that is not a good certificate of an enrolled client ends in the handshake.
#[tokio::test]
async fn the_handshake_refuses_everybody_else() {
    let here = Listening::start().await;
    let good = here.enrol("ada").await;
    assert!(here.lets_in(good.tls().unwrap()).await);

    let mut nobody = enrolling_client(here.remote().authority().fingerprint()).unwrap();
    nobody.alpn_protocols = vec![ADMIN_PROTOCOL.to_vec()];
    assert!(!here.lets_in(nobody.clone()).await, "no certificate");
    nobody.alpn_protocols = vec![ADMIN_PROTOCOL.to_vec(), cloister_pki::ENROL_PROTOCOL.to_vec()];
    assert!(!here.lets_in(nobody.clone()).await, "no certificate, and both protocols");
    nobody.alpn_protocols = Vec::new();
    assert!(!here.lets_in(nobody).await, "no certificate, and no protocol");

    let name = ClientName { user: UserId::from_number(1), client: good.client };
    let later = here.remote().now().after(Duration::from_secs(600));
    assert!(here.lets_in(here.forge(name, later).tls().unwrap()).await, "the forge works");
    let past = here.remote().now().before(Duration::from_secs(1));
    assert!(!here.lets_in(here.forge(name, past).tls().unwrap()).await, "expired");
    let stranger = ClientName { client: ClientId::from_number(99), ..name };
    assert!(!here.lets_in(here.forge(stranger, later).tls().unwrap()).await, "never enrolled");
    let as_bob = ClientName { user: UserId::from_number(2), ..name };
    assert!(!here.lets_in(here.forge(as_bob, later).tls().unwrap()).await, "another's name");

    let elsewhere = Listening::start().await;
    let theirs = elsewhere.enrol("ada").await;
    assert!(!here.lets_in(theirs.tls().unwrap()).await, "another authority");

    here.remote().revoke(&Actor::Operator, good.client).await.unwrap();
    assert!(!here.lets_in(good.tls().unwrap()).await, "revoked");
}

/// E73: TLS 1.2 is not spoken, with or without a certificate.
#[tokio::test]
async fn tls_1_2_is_refused() {
    let here = Listening::start().await;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS12])
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let refused = here.dial(config).await.unwrap_err();
    assert!(refused.to_string().contains("ProtocolVersion"), "{refused}");
}

/// A connection without a certificate reaches enrolment and nothing else.
#[tokio::test]
async fn a_stranger_reaches_nothing_but_enrolment() {
    let here = Listening::start().await;
    let pin = here.remote().authority().fingerprint();
    let paths =
        ["/admin/v1/users", "/admin/v1/openapi.json", "/admin/v1/client/renew", "/readyz", "/"];
    let mut stream = here.dial(enrolling_client(pin).unwrap()).await.unwrap();
    for path in paths.into_iter().chain(["/cells/w1/v1/agent_ws/C1/", "/login", "/enroll/v1"]) {
        let answer = exchange(&mut stream, "GET", path, None::<&()>).await.unwrap();
        assert_eq!(answer.status, 404, "{path}: {}", answer.text());
    }
    let answer =
        exchange(&mut stream, "POST", "/admin/v1/users", Some(&json!({"name": "eve"}))).await;
    assert_eq!(answer.unwrap().status, 404);
}

/// D1: a secret works once, for its time, and not by guessing; refusals are in the audit trail.
#[tokio::test]
async fn an_invitation_can_be_neither_reused_nor_guessed() {
    let here = Listening::start().await;
    let invitation = here.invitation("ada").await;
    here.try_enrol(&invitation).await.unwrap();
    let again = here.try_enrol(&invitation).await.unwrap_err();
    assert_eq!(again.error.code, ErrorCode::Unauthorized);
    let unused = here.invitation("ada").await;
    let guess = Invitation { secret: Key::new("0".repeat(64)), ..unused.clone() };
    let mut last = again;
    for _ in 0..12 {
        last = here.try_enrol(&guess).await.unwrap_err();
    }
    assert_eq!(last.error.code, ErrorCode::Busy, "guessing is slowed down");
    let right = here.try_enrol(&unused).await.unwrap_err();
    assert_eq!(right.error.code, ErrorCode::Busy, "also the right one, meanwhile");
    let entries = here.world.store().audit().audit_tail(50).await.unwrap();
    let refusals = entries.iter().filter(|entry| entry.action == "client.enroll_refused");
    assert_eq!(refusals.count(), 10);
    let text = format!("{entries:?}");
    assert!(!text.contains(unused.secret.expose()), "a secret is in the audit trail");
}

/// E74: whatever a client has open ends within a second of its revocation, and so do its sessions.
#[tokio::test]
async fn a_revoked_client_is_thrown_out_at_once() {
    let here = Listening::start().await;
    let (ada, other) = (here.enrol("ada").await, here.enrol("ada").await);
    let tls = || ada.tls().unwrap();
    let mut idle = here.dial(tls()).await.unwrap();
    exchange(&mut idle, "GET", "/healthz", None::<&()>).await.unwrap();
    let opened = exchange(&mut idle, "POST", "/admin/v1/sessions", Some(&json!({"user": "ada"})))
        .await
        .unwrap();
    let session: Value = serde_json::from_slice(&opened.body).unwrap();
    let token = session["token"].as_str().unwrap();

    let mut socket = here.dial(tls()).await.unwrap();
    let upgrade = format!(
        "GET /cells/w1/v1/agent_ws/C1/ HTTP/1.1\r\nhost: here\r\nauthorization: Bearer {token}\r\n\
         connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    socket.write_all(upgrade.as_bytes()).await.unwrap();
    assert_eq!(read_answer(&mut socket).await.unwrap().status, 101);

    let mut half = here.dial(tls()).await.unwrap();
    half.write_all(b"POST /admin/v1/users HTTP/1.1\r\nhost: here\r\ncontent-length: 100\r\n\r\n{")
        .await
        .unwrap();
    let mut bystander = here.dial(other.tls().unwrap()).await.unwrap();
    exchange(&mut bystander, "GET", "/healthz", None::<&()>).await.unwrap();

    // Not by a call: as if another had changed the database.
    here.world.store().clients().revoke_client(&Actor::Operator, ada.client).await.unwrap();
    let took = tokio::join!(ends(&mut idle), ends(&mut socket), ends(&mut half));
    for took in [took.0, took.1, took.2] {
        assert!(took < AT_ONCE, "it took {took:?}");
    }
    let hash = token_hash(token);
    assert!(
        here.world.store().users().session_owner(&hash).await.unwrap().is_none(),
        "its session"
    );
    let alive = exchange(&mut bystander, "GET", "/healthz", None::<&()>).await.unwrap();
    assert_eq!(alive.status, 200, "another client of the same person goes on");
}

/// S3: a connection does not outlive the certificate it was opened with.
#[tokio::test]
async fn a_connection_ends_with_its_certificate() {
    let here = Listening::start().await;
    let ada = here.enrol("ada").await;
    let name = ClientName { user: UserId::from_number(1), client: ada.client };
    let soon = here.remote().now().after(Duration::from_secs(2));
    let mut stream = here.dial(here.forge(name, soon).tls().unwrap()).await.unwrap();
    exchange(&mut stream, "GET", "/healthz", None::<&()>).await.unwrap();
    assert!(ends(&mut stream).await < Duration::from_secs(4));
}

/// E80: each phase of a rotation with clients from before and since; rolling back; and the end of the
/// old root's trust, for open connections too.
#[tokio::test]
async fn a_rotation_has_no_outage_and_ends_the_old_trust() {
    let here = Listening::start().await;
    let remote = here.remote();
    let (before, sleeper) = (here.enrol("ada").await, here.enrol("ada").await);
    let early = here.invitation("ada").await;
    let renewed_header = |answer: &Answered| answer.head.contains("cloister-renew: 1");
    assert!(!renewed_header(&here.get(&before, "/admin/v1/ca").await));

    remote.rotate(&Actor::Operator).await.unwrap();
    let asked = here.get(&before, "/admin/v1/ca").await;
    assert_eq!(asked.status, 200);
    assert!(renewed_header(&asked), "it is told to renew");
    let since = here.enrol("ada").await;
    assert!(!renewed_header(&here.get(&since, "/admin/v1/ca").await));
    here.try_enrol(&early).await.unwrap();

    remote.rollback(&Actor::Operator).await.unwrap();
    for identity in [&before, &since, &here.enrol("ada").await] {
        assert_eq!(here.get(identity, "/admin/v1/ca").await.status, 200);
    }
    let refused = remote.finish(&Actor::Operator, false).await;
    assert!(refused.is_err(), "it would lock somebody out");
    let since = here.renew(&since).await;
    remote.finish(&Actor::Operator, true).await.unwrap();
    assert_eq!(here.get(&since, "/admin/v1/ca").await.status, 200);

    remote.rotate(&Actor::Operator).await.unwrap();
    let before = here.renew(&before).await;
    let mut held = here.dial(sleeper.tls().unwrap()).await.unwrap();
    exchange(&mut held, "GET", "/healthz", None::<&()>).await.unwrap();
    remote.finish(&Actor::Operator, true).await.unwrap();
    assert!(ends(&mut held).await < AT_ONCE, "what the old root opened is closed");
    assert_eq!(here.get(&before, "/admin/v1/ca").await.status, 200);
    assert!(!here.lets_in(sleeper.tls().unwrap()).await, "the old root's trust has ended");
    let actions = here.world.store().audit().audit_tail(100).await.unwrap();
    for action in ["ca.rotate", "ca.rollback", "ca.finish"] {
        assert!(actions.iter().any(|entry| entry.action == action), "{action} left no entry");
    }
}

/// A machine renews for itself: its next certificate is for the same client, whatever it asks for.
#[tokio::test]
async fn a_client_renews_its_own_certificate_and_no_other() {
    let here = Listening::start().await;
    let first = here.enrol("ada").await;
    let second = here.renew(&first).await;
    assert_eq!(first.client, second.client);
    assert_eq!(here.get(&second, "/admin/v1/ca").await.status, 200);
    assert_eq!(here.get(&first, "/admin/v1/ca").await.status, 200, "until it ends by itself");
    let clients = here.remote().clients().await.unwrap();
    assert_eq!(clients.len(), 1);
}
