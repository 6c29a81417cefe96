//! Secrets and their handles: each test runs the attack and looks where the value went.

use std::io::Write;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use cloister_control::ports::{Egress, Gated};
use cloister_store::Actor;
use cloister_vault::{Form, Owner, SecretValue};
use http_body_util::Full;
use hyper::Request;
use serde_json::json;

use super::client::{Got, Session, Sni, request};
use super::world::{Net, OpenNet, all, fast};

const VALUE: &str = "canary-7fK2/pq+Zx9~Lm4=value";

fn bearer() -> Form {
    Form::Header { name: "authorization".to_owned(), template: "Bearer {}".to_owned() }
}

/// `forge` is bound to allowed.test as a bearer token.
async fn forge() -> Net {
    let net = Net::new(&["http://allowed.test", "allowed.test", "a.test", "b.test"]).await;
    net.secret("forge", &["allowed.test"], bearer(), VALUE).await;
    net
}

async fn tunnel(door: &OpenNet, host: &str) -> Session {
    door.client.tunnel(&format!("{host}:443"), Sni::Says(host)).await.unwrap()
}

fn with_header(host: &str, path: &str, name: &str, value: &str) -> Request<Full<Bytes>> {
    let mut request = request("GET", path, host, "");
    let name: hyper::header::HeaderName = name.parse().unwrap();
    request.headers_mut().insert(name, value.parse().unwrap());
    request
}

fn shown(got: &Got) -> String {
    format!("{:?}\n{}", got.headers, got.text())
}

/// Every way in which the value is searched for.
fn gives_away(text: &[u8]) -> bool {
    let base64 = STANDARD.encode(VALUE);
    let percent: String = url::form_urlencoded::byte_serialize(VALUE.as_bytes()).collect();
    [VALUE, "canary-7fK2", base64.trim_end_matches('='), &percent]
        .iter()
        .any(|value| text.windows(value.len()).any(|window| window == value.as_bytes()))
}

/// S1: the three forms, each swapped at the bound host only after the gate knew of it.
#[tokio::test]
async fn a_handle_in_its_place_is_swapped_for_the_value() {
    let net = forge().await;
    net.secret("key", &["allowed.test"], Form::Query { name: "key".into() }, VALUE).await;
    net.secret("login", &["a.test"], Form::Basic { user: "ada".into() }, VALUE).await;
    let door = net.open();
    let mut allowed = tunnel(&door, "allowed.test").await;
    let value = format!("Bearer {}", door.handle("forge").await);
    let got = allowed.ask(with_header("allowed.test", "/", "authorization", &value)).await;
    assert_eq!(got.status, 200);
    let path = format!("/page?x=1&key={}", door.handle("key").await);
    assert_eq!(allowed.get(&path, "allowed.test").await.status, 200);
    let login = STANDARD.encode(format!("ada:{}", door.handle("login").await));
    let login = with_header("a.test", "/", "authorization", &format!("Basic {login}"));
    assert_eq!(tunnel(&door, "a.test").await.ask(login).await.status, 200);
    let seen = net.internet.seen();
    assert_eq!(seen[0].headers["authorization"], format!("Bearer {VALUE}"));
    assert_eq!(seen[1].path, "/page?x=1&key=canary-7fK2%2Fpq%2BZx9%7ELm4%3Dvalue");
    let login = STANDARD.encode(format!("ada:{VALUE}"));
    assert_eq!(seen[2].headers["authorization"], format!("Basic {login}"));
    let gated = door.told.gated();
    let names: Vec<&[String]> = gated.iter().map(|outward| outward.secrets.as_slice()).collect();
    assert_eq!(names, [["forge"], ["key"], ["login"]]);
    // The same question whichever door asks it: no handle is part of it.
    assert!(!format!("{gated:?}").contains("clsec_"));
    assert_eq!(gated[1].query.as_deref(), Some("x=1&key=[secret key]"));
    let used = net.audited("secret.use").await;
    assert_eq!(used[0], ("forge".to_owned(), "coordinator: allowed.test".to_owned()));
    assert_eq!(used.len(), 3);
}

/// S1: what the sandbox is told of a secret.
#[tokio::test]
async fn the_list_names_everything_but_the_value() {
    let net = forge().await;
    let door = net.open();
    let listed = door.client.request("GET", "/secrets", "").await.json().await;
    let handle = listed[0]["handle"].as_str().unwrap().to_owned();
    assert_eq!(
        listed,
        json!([{
            "name": "forge", "env": "CLOISTER_SECRET_FORGE", "handle": handle,
            "hosts": ["allowed.test"], "form": "header authorization: Bearer {}",
            "how": "the header authorization: Bearer $CLOISTER_SECRET_FORGE",
        }])
    );
    let closed = net.open_with("closed.sock", Egress::Closed, None);
    assert_eq!(closed.client.request("GET", "/secrets", "").await.json().await, json!([]));
    let none = Egress::Open { only: None, reads_only: false, secrets: Some(Vec::new()) };
    let none = net.open_with("none.sock", none, None);
    assert_eq!(none.handle("forge").await, "");
    let some = Egress::Open { only: None, reads_only: false, secrets: Some(vec!["forge".into()]) };
    let some = net.open_with("some.sock", some, None);
    assert_ne!(some.handle("forge").await, handle, "each door has its own");
}

/// E50: a handle anywhere but in its place stops the request, and the person hears of it.
#[tokio::test]
async fn e50_a_handle_out_of_place_is_never_swapped() {
    let net = forge().await;
    let door = net.open();
    let handle = door.handle("forge").await;
    let bearer = format!("Bearer {handle}");
    let login = STANDARD.encode(format!("ada:{handle}"));
    let mut body = request("POST", "/", "allowed.test", format!("token={handle}"));
    body.headers_mut().insert("content-type", "text/plain".parse().unwrap());
    let attacks = [
        ("a.test", with_header("a.test", "/", "authorization", &bearer)),
        ("allowed.test", body),
        ("allowed.test", request("GET", &format!("/{handle}"), "allowed.test", "")),
        ("allowed.test", request("GET", &format!("/?key={handle}"), "allowed.test", "")),
        ("allowed.test", with_header("allowed.test", "/", "x-token", &bearer)),
        ("allowed.test", with_header("allowed.test", "/", "authorization", &handle)),
        ("allowed.test", with_header("allowed.test", "/", "authorization", &format!("{bearer} x"))),
        (
            "allowed.test",
            with_header("allowed.test", "/", "authorization", &format!("Basic {login}")),
        ),
        (
            "allowed.test",
            with_header("allowed.test", "/", "referer", &format!("https://x/{handle}")),
        ),
    ];
    let count = attacks.len();
    for (host, attack) in attacks {
        let what = format!("{attack:?}");
        let got = tunnel(&door, host).await.ask(attack).await;
        assert_eq!(got.status, 403, "{what}");
        assert!(got.text().contains("the secret forge can't be used like this"), "{}", got.text());
    }
    // Without encryption it goes nowhere either.
    let plain = with_header("allowed.test", "http://allowed.test/", "authorization", &bearer);
    assert_eq!(door.client.plain().await.ask(plain).await.status, 403);
    let fetched = json!({"url": "https://a.test/", "secret": "forge"}).to_string();
    assert_eq!(door.client.request("POST", "/fetch", fetched).await.status, 403);
    net.internet.assert_untouched();
    assert!(door.told.gated().is_empty(), "nobody is even asked");
    let audited = net.audited("secret.misused").await;
    assert!(audited.len() >= 4 && audited.len() <= count + 2, "{audited:?}");
    assert!(door.told.refusals().iter().all(|told| told.reason.contains("the secret forge")));
    assert!(!door.told.refusals().is_empty());
    assert!(net.audited("secret.use").await.is_empty());
}

/// E51: after its door, at another door, of another user, guessed: worth nothing.
#[tokio::test]
async fn e51_a_handle_is_worth_nothing_elsewhere() {
    let net = forge().await;
    let first = net.open_with("first.sock", all(), None);
    let mut handles = vec![first.handle("forge").await];
    let other = net.open_with("other.sock", all(), None);
    handles.push(format!("clsec_{}", "a".repeat(32)));
    let narrow = Egress::Open { only: None, reads_only: false, secrets: Some(Vec::new()) };
    let narrow = net.open_with("narrow.sock", narrow, None);
    for handle in &handles {
        for door in [&other, &narrow] {
            let bearer = format!("Bearer {handle}");
            let attack = with_header("allowed.test", "/", "authorization", &bearer);
            let got = tunnel(door, "allowed.test").await.ask(attack).await;
            assert_eq!(got.status, 401, "{}", got.text());
        }
    }
    drop(first.door);
    let again = net.open_with("first.sock", all(), None);
    let attack =
        with_header("allowed.test", "/", "authorization", &format!("Bearer {}", handles[0]));
    assert_eq!(tunnel(&again, "allowed.test").await.ask(attack).await.status, 401);
    net.internet.assert_untouched();
    assert_eq!(net.audited("secret.unknown").await.len(), 3, "once for each door");
    assert!(!other.told.refusals().is_empty());
    // A secret that is gone takes its handle with it.
    let handle = other.handle("forge").await;
    let owner = Owner::User(net.user.id);
    net.store
        .secrets()
        .remove_secret(&Actor::person("test"), owner, &"forge".parse().unwrap())
        .await
        .unwrap();
    let late = with_header("allowed.test", "/", "authorization", &format!("Bearer {handle}"));
    assert_eq!(tunnel(&other, "allowed.test").await.ask(late).await.status, 401);
}

/// E52: a host that says the secret back. That it could is shown by what the host got.
#[tokio::test]
async fn e52_a_secret_that_comes_back_is_masked() {
    let net = forge().await;
    let door = net.open();
    let bearer = format!("Bearer {}", door.handle("forge").await);
    let mut session = tunnel(&door, "allowed.test").await;
    for page in ["/echo/", "/echo-slowly/", "/echo-denied/", "/echo-head/", "/echo-elsewhere/"] {
        let mut echo = with_header("allowed.test", page, "authorization", &bearer);
        echo.headers_mut().insert("accept-encoding", "gzip, br".parse().unwrap());
        echo.headers_mut().insert("range", "bytes=0-3".parse().unwrap());
        let got = session.ask(echo).await;
        assert!(!gives_away(shown(&got).as_bytes()), "{page}: {got:?}");
        assert!(shown(&got).contains("[secret forge]"), "{page}: {got:?}");
    }
    for seen in net.internet.seen() {
        assert_eq!(seen.headers["authorization"], format!("Bearer {VALUE}"));
        assert_eq!(seen.headers["accept-encoding"], "identity");
        assert!(!seen.headers.contains_key("range"), "a value in pieces would not be recognised");
    }
    // One that answers so that nothing can be found is not passed on.
    let zipped = with_header("allowed.test", "/echo-zipped/", "authorization", &bearer);
    let got = session.ask(zipped).await;
    assert_eq!(got.status, 502);
    assert!(!gives_away(shown(&got).as_bytes()));
    let masked = net.audited("secret.masked").await;
    assert_eq!(
        masked,
        [
            ("forge".to_owned(), "an answer of allowed.test".to_owned()),
            ("forge".to_owned(), "the head of an answer of allowed.test".to_owned()),
        ]
    );
    // What came in is told without it too.
    assert!(door.told.came_in().iter().all(|content| !gives_away(&content.text)));
}

/// E52: also where another page, asked without the secret, has it.
#[tokio::test]
async fn a_secret_that_comes_from_elsewhere_is_masked_for_every_task() {
    let net = forge().await;
    let none = Egress::Open { only: None, reads_only: false, secrets: Some(Vec::new()) };
    let door = net.open_with("none.sock", none, None);
    let mut session = tunnel(&door, "b.test").await;
    let leaked = with_header("b.test", "/echo/", "x-leak", VALUE);
    let got = session.ask(leaked).await;
    assert!(got.text().contains("x-leak: [secret forge]"), "{}", got.text());
    // A new value counts at once, and the old one until its grace is over.
    let (owner, name) = (Owner::User(net.user.id), "forge".parse().unwrap());
    let new = SecretValue::from("brand-new-value-1".to_owned());
    net.store
        .secrets()
        .rotate_secret(&Actor::person("test"), &net.keys, (owner, &name), new, 60_000)
        .await
        .unwrap();
    for value in [VALUE, "brand-new-value-1"] {
        let got = session.ask(with_header("b.test", "/echo/", "x-leak", value)).await;
        assert!(got.text().contains("x-leak: [secret forge]"), "{}", got.text());
    }
}

/// E53: errors, redirects and refusals have nothing of a secret in them.
#[tokio::test]
async fn e53_what_goes_wrong_says_nothing_of_a_secret() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let mut options = fast();
    options.egress.first_byte_ms = 200;
    let rules = ["allowed.test", "a.test", "b.test", "untrusted.test"];
    let net = Net::with(options, &rules).await;
    net.internet.public("untrusted.test");
    let hosts = ["allowed.test", "untrusted.test"];
    net.secret("forge", &hosts, bearer(), VALUE).await;
    net.secret("key", &hosts, Form::Query { name: "key".into() }, VALUE).await;
    let door = net.open();
    let bearer = format!("Bearer {}", door.handle("forge").await);
    let key = door.handle("key").await;
    let mut sandbox = Vec::new();
    for (host, page) in [
        ("allowed.test", "/echo-denied/"),
        ("allowed.test", "/never/"),
        ("allowed.test", "/switch/"),
        ("untrusted.test", "/"),
    ] {
        let path = format!("{page}?key={key}");
        let both = with_header(host, &path, "authorization", &bearer);
        let got = tunnel(&door, host).await.ask(both).await;
        assert_ne!(got.status, 200, "{host}{page}");
        sandbox.extend_from_slice(shown(&got).as_bytes());
    }
    // A redirect that has the secret in it, followed here and by a program.
    for page in ["echo-elsewhere", "redirect/https://b.test/x", "redirect//echo/"] {
        let asked = json!({"url": format!("https://allowed.test/{page}"), "secret": "forge"});
        let answer = door.client.request("POST", "/fetch", asked.to_string()).await;
        sandbox.extend_from_slice(format!("{:?}", answer.headers).as_bytes());
        sandbox.extend_from_slice(answer.body().await.as_bytes());
    }
    door.told.judge(|_| Gated::Refused { reason: "no".to_owned(), approval: None });
    let refused = with_header("allowed.test", "/", "authorization", &bearer);
    sandbox.extend_from_slice(
        shown(&tunnel(&door, "allowed.test").await.ask(refused).await).as_bytes(),
    );
    assert!(!gives_away(&sandbox));
    for seen in net.internet.seen() {
        let has = gives_away(format!("{seen:?}").as_bytes());
        assert_eq!(has, seen.host == "allowed.test", "{seen:?}");
    }
    let again: Vec<_> = net.internet.seen().into_iter().filter(|s| s.path == "/echo/").collect();
    assert_eq!(again.len(), 1, "to the same host it goes along");
    assert!(again[0].headers["authorization"].contains(VALUE));
    let logged = log.0.lock().unwrap().clone();
    assert!(!logged.is_empty() && !gives_away(&logged), "the log has the secret");
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// E49: after very many uses, no byte that the sandbox saw and no file on disk has the value.
#[tokio::test]
async fn e49_a_canary_is_found_nowhere() {
    let net = forge().await;
    let door = net.open();
    let bearer = format!("Bearer {}", door.handle("forge").await);
    let mut session = tunnel(&door, "allowed.test").await;
    let mut sandbox = Vec::new();
    for number in 0..500 {
        let page = ["/echo/", "/echo-slowly/", "/echo-denied/", "/echo-head/"][number % 4];
        let got = session.ask(with_header("allowed.test", page, "authorization", &bearer)).await;
        sandbox.extend_from_slice(shown(&got).as_bytes());
    }
    assert_eq!(net.internet.seen().len(), 500);
    assert!(net.internet.seen().iter().all(|seen| seen.headers["authorization"].contains(VALUE)));
    assert!(!gives_away(&sandbox));
    assert_eq!(net.audited("secret.use").await.len(), 500);
    for entry in std::fs::read_dir(net.dir.path()).unwrap().flatten() {
        if entry.file_type().unwrap().is_file() {
            let bytes = std::fs::read(entry.path()).unwrap();
            assert!(!gives_away(&bytes), "{}", entry.path().display());
        }
    }
}

/// E76: what one user's secret masks and opens is nobody else's.
#[tokio::test]
async fn e76_secrets_of_one_user_are_not_those_of_another() {
    let net = forge().await;
    let mine = net.open_with("mine.sock", all(), None);
    let limits = cloister_store::users::UserLimits {
        quota_bytes: 1 << 30,
        max_executors: 2,
        daily_budget: 1,
        task_budget: 1,
    };
    let other = net
        .store
        .users()
        .add_user(&Actor::Operator, &"eve".parse().unwrap(), limits)
        .await
        .unwrap();
    net.store
        .egress()
        .allow_egress(&Actor::person("test"), other.id, "allowed.test")
        .await
        .unwrap();
    let theirs = net.open_as("theirs.sock", &other);
    assert_eq!(theirs.handle("forge").await, "");
    let bearer = format!("Bearer {}", mine.handle("forge").await);
    let attack = with_header("allowed.test", "/", "authorization", &bearer);
    assert_eq!(tunnel(&theirs, "allowed.test").await.ask(attack).await.status, 401);
    let guess = with_header("allowed.test", "/echo/", "x-guess", VALUE);
    let got = tunnel(&theirs, "allowed.test").await.ask(guess).await;
    assert!(got.text().contains(VALUE), "no oracle for what others have");
}

/// S2: no entry, no use.
#[tokio::test]
async fn a_use_that_can_not_be_audited_does_not_happen() {
    let net = forge().await;
    let door = net.open();
    let bearer = format!("Bearer {}", door.handle("forge").await);
    let mut session = tunnel(&door, "allowed.test").await;
    assert_eq!(session.get("/", "allowed.test").await.status, 200);
    net.break_audit();
    let with = with_header("allowed.test", "/", "authorization", &bearer);
    assert_eq!(session.ask(with).await.status, 403);
    assert_eq!(net.internet.seen().len(), 1);
}
