use axum::http::{HeaderName, Method, Request};
use cloister_control::Actor;
use cloister_control::ControlError;
use cloister_control::ports::SurfaceHost;
use cloister_protocol::admin::{
    AddConnector, AddedConnector, ConnectorView, ReconcileReport, ResetMode, ResetReport,
};
use futures_util::future::BoxFuture;
use tower::ServiceExt;

use super::*;
use crate::public_router;
use crate::test_world::World;

const PATH: &str = "/hooks/telegram/bot-1";
const RIGHT: &str = "the-right-secret";

/// A surface that takes deliveries for one bot, and keeps them.
#[derive(Default)]
struct Taking {
    taken: Arc<Mutex<Vec<Vec<u8>>>>,
}

fn not_asked<T>() -> BoxFuture<'static, Result<T, ControlError>> {
    Box::pin(async { Err(ControlError::refused(ErrorCode::Internal, "nobody asks this")) })
}

impl SurfaceHost for Taking {
    fn name(&self) -> &'static str {
        "telegram"
    }

    fn start(&self) -> BoxFuture<'_, Result<(), ControlError>> {
        not_asked()
    }

    fn add<'a>(
        &'a self,
        _: &'a Actor,
        _: AddConnector,
    ) -> BoxFuture<'a, Result<AddedConnector, ControlError>> {
        not_asked()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<ConnectorView>, ControlError>> {
        not_asked()
    }

    fn remove<'a>(&'a self, _: &'a Actor, _: &'a str) -> BoxFuture<'a, Result<(), ControlError>> {
        not_asked()
    }

    fn reconcile<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<ReconcileReport, ControlError>> {
        not_asked()
    }

    fn reset<'a>(
        &'a self,
        _: &'a Actor,
        _: &'a str,
        _: ResetMode,
        _: bool,
    ) -> BoxFuture<'a, Result<ResetReport, ControlError>> {
        not_asked()
    }

    fn expects(&self, name: &str, secret_header: Option<&str>) -> Result<(), WebhookAnswer> {
        match (name, secret_header) {
            ("bot-1", Some(RIGHT)) => Ok(()),
            ("bot-1", _) => Err(WebhookAnswer::Forbidden),
            _ => Err(WebhookAnswer::NotFound),
        }
    }

    fn webhook<'a>(&'a self, hook: Webhook<'a>) -> BoxFuture<'a, WebhookAnswer> {
        let answer = match (hook.name, hook.secret_header) {
            ("bot-1", Some(RIGHT)) if hook.body == b"full" => WebhookAnswer::TryAgain,
            ("bot-1", Some(RIGHT)) => {
                self.taken.lock().unwrap().push(hook.body.to_vec());
                WebhookAnswer::Taken
            }
            ("bot-1", _) => WebhookAnswer::Forbidden,
            _ => WebhookAnswer::NotFound,
        };
        Box::pin(std::future::ready(answer))
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

struct Hooked {
    _world: World,
    router: Router,
    taken: Arc<Mutex<Vec<Vec<u8>>>>,
    /// Where calls come from.
    from: IpAddr,
}

struct Answered {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
}

impl Hooked {
    async fn new() -> Self {
        let mut world = World::new().await;
        let host = Taking::default();
        let taken = Arc::clone(&host.taken);
        world.state.surfaces = SurfaceHosts::new(vec![Arc::new(host)]);
        let router = public_router(world.state.clone());
        Self { _world: world, router, taken, from: [192, 0, 2, 7].into() }
    }

    async fn call(
        &self,
        (method, path): (Method, &str),
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Answered {
        let mut request = Request::builder().method(method).uri(path);
        // What a platform sends: the name it was given, and no sign of a browser of ours.
        request = request.header(header::HOST, "hooks.elsewhere.example");
        for (name, value) in headers {
            request = request.header(name.parse::<HeaderName>().unwrap(), *value);
        }
        let mut request = request.body(body.into()).unwrap();
        request.extensions_mut().insert(ConnectInfo(Peer(Some(self.from))));
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        Answered { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
    }

    async fn post(&self, path: &str, headers: &[(&str, &str)], body: impl Into<Body>) -> Answered {
        self.call((Method::POST, path), headers, body).await
    }

    fn taken(&self) -> usize {
        self.taken.lock().unwrap().len()
    }
}

/// X5: what Telegram delivers reaches its surface whole, without a session and under whatever name.
#[tokio::test]
async fn a_delivery_with_the_right_secret_is_taken() {
    let hooked = Hooked::new().await;
    let answer = hooked.post(PATH, &[(SECRET, RIGHT)], "{\"update_id\": 1}").await;
    assert_eq!((answer.status, answer.body.as_str()), (StatusCode::OK, ""));
    assert_eq!(*hooked.taken.lock().unwrap(), [b"{\"update_id\": 1}".to_vec()]);
    let largest = vec![b'x'; MAX_BODY];
    assert_eq!(hooked.post(PATH, &[(SECRET, RIGHT)], largest).await.status, StatusCode::OK);
    let later = hooked.post(PATH, &[(SECRET, RIGHT)], "full").await;
    assert_eq!(later.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(later.headers.contains_key(header::RETRY_AFTER), "it is to be sent again");
    assert_eq!(hooked.taken(), 2);
}

/// X5, E81: without the secret, with a wrong one or with two, nothing is taken; nor with a session of somebody's.
#[tokio::test]
async fn a_delivery_that_does_not_prove_itself_is_not_taken() {
    let hooked = Hooked::new().await;
    let attacks: [&[(&str, &str)]; 5] = [
        &[],
        &[(SECRET, "a-wrong-secret")],
        &[(SECRET, RIGHT), (SECRET, "a-wrong-secret")],
        &[("authorization", RIGHT)],
        &[("cookie", "cloister-8484=session"), ("sec-fetch-site", "same-origin")],
    ];
    for headers in attacks {
        let answer = hooked.post(PATH, headers, "{}").await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{headers:?}");
        assert!(!answer.body.contains(RIGHT), "{}", answer.body);
        assert!(!answer.headers.contains_key(header::SET_COOKIE));
    }
    assert_eq!(hooked.taken(), 0);
}

/// What is not there answers as every address that is not: an unknown bot, a surface without hooks, none at all.
#[tokio::test]
async fn what_is_not_there_answers_the_same_way() {
    let hooked = Hooked::new().await;
    let nowhere = hooked.post("/no-such-page-at-all", &[], "{}").await;
    let long = format!("/hooks/telegram/{}", "x".repeat(500));
    let odd = "/hooks/telegram/%ff%00";
    for path in ["/hooks/telegram/bot-2", "/hooks/matrix/bot-1", "/hooks/pigeon/bot-1", odd, &long]
    {
        for headers in [&[(SECRET, RIGHT)][..], &[]] {
            let answer = hooked.post(path, headers, "{}").await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
            assert_eq!(answer.body, nowhere.body, "{path}");
        }
    }
    let slash = hooked.post("/hooks/telegram/bot-1/", &[(SECRET, RIGHT)], "{}").await;
    assert_eq!(slash.status, StatusCode::NOT_FOUND, "nothing is redirected");
    assert_eq!(hooked.taken(), 0);
}

#[tokio::test]
async fn only_posts_that_are_not_too_large_are_read() {
    let hooked = Hooked::new().await;
    for method in [Method::GET, Method::PUT, Method::DELETE, Method::PATCH, Method::HEAD] {
        let answer = hooked.call((method.clone(), PATH), &[(SECRET, RIGHT)], "{}").await;
        assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED, "{method}");
    }
    let huge = vec![b'x'; MAX_BODY + 1];
    let answer = hooked.post(PATH, &[(SECRET, RIGHT)], huge).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(hooked.taken(), 0);
}

/// A body that never comes to an end.
fn endless() -> Body {
    Body::from_stream(futures_util::stream::pending::<Result<Bytes, std::io::Error>>())
}

/// X11, the attack: who does not know the secret trickles bodies, as many as there are places. None is read, and
/// what the platform delivers meanwhile is taken.
#[tokio::test]
async fn a_stranger_holds_no_place() {
    let hooked = Hooked::new().await;
    let strangers = async {
        for _ in 0..AT_ONCE * 2 {
            let answer = hooked.post(PATH, &[(SECRET, "a-wrong-secret")], endless()).await;
            assert_eq!(answer.status, StatusCode::FORBIDDEN);
            let answer = hooked.post("/hooks/telegram/bot-2", &[], endless()).await;
            assert_eq!(answer.status, StatusCode::NOT_FOUND);
        }
    };
    tokio::time::timeout(BODY_TIME, strangers).await.expect("they are answered at once");
    assert_eq!(hooked.post(PATH, &[(SECRET, RIGHT)], "{}").await.status, StatusCode::OK);
}

/// X11: one address has only some of the places, and gives them back.
#[tokio::test]
async fn one_address_has_only_some_of_the_places() {
    let (mut hooked, held) = (Hooked::new().await, Hooked::new().await);
    tokio::time::pause();
    let slow = (0..AT_ONCE_EACH).map(|_| hooked.post(PATH, &[(SECRET, RIGHT)], endless()));
    let slow = futures_util::future::join_all(slow);
    let one_more = async {
        let answer = hooked.post(PATH, &[(SECRET, RIGHT)], "{}").await;
        assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
        assert!(answer.headers.contains_key(header::RETRY_AFTER));
    };
    let (slow, ()) = tokio::join!(slow, one_more);
    assert!(slow.iter().all(|answer| answer.status == StatusCode::REQUEST_TIMEOUT));
    assert_eq!(hooked.post(PATH, &[(SECRET, RIGHT)], "{}").await.status, StatusCode::OK);
    let slow = (0..AT_ONCE_EACH).map(|_| held.post(PATH, &[(SECRET, RIGHT)], endless()));
    hooked.router = held.router.clone();
    hooked.from = [192, 0, 2, 8].into();
    let another = hooked.post(PATH, &[(SECRET, RIGHT)], "{}");
    let (_, another) = tokio::join!(futures_util::future::join_all(slow), another);
    assert_eq!(another.status, StatusCode::OK, "another address is not held up");
}

/// X11: one address calls only so often; others are not held up by it.
#[test]
fn each_address_calls_only_so_often() {
    let callers = Callers::default();
    let now = Instant::now();
    let (one, other): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let took = (0..PER_WINDOW * 2).filter(|_| callers.take(Some(one), now)).count();
    assert_eq!(took, PER_WINDOW as usize);
    assert!(callers.take(Some(other), now));
    assert!(callers.take(Some(one), now + WINDOW), "it may again, after a while");
    for number in 0..u32::try_from(MAX_ADDRESSES).unwrap() * 2 {
        callers.take(Some(IpAddr::from(number.to_be_bytes())), now);
    }
    assert!(callers.all().len() <= MAX_ADDRESSES + 1, "the memory has a bound");
}

/// A caller's address is what is seen of it; only a proxy on this machine may say another.
#[test]
fn who_calls_can_not_be_made_up_from_outside() {
    let mut headers = HeaderMap::new();
    headers.insert(FORWARDED_FOR, HeaderValue::from_static("198.51.100.9, 203.0.113.5"));
    let outside: IpAddr = [192, 0, 2, 1].into();
    assert_eq!(caller(Peer(Some(outside)), &headers), Some(outside));
    let proxy: IpAddr = [127, 0, 0, 1].into();
    let seen_by_the_proxy: IpAddr = [203, 0, 113, 5].into();
    assert_eq!(caller(Peer(Some(proxy)), &headers), Some(seen_by_the_proxy));
    assert_eq!(caller(Peer(Some(proxy)), &HeaderMap::new()), Some(proxy));
    assert_eq!(caller(Peer(None), &headers), None);
}
