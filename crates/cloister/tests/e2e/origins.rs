//! What a page of somebody else can make a browser do here: nothing.

use cloister_protocol::ErrorCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::browsing::Browsing;
use crate::world::World;

/// A browser that is logged in: its cookie, and the requests it can be made to send.
struct Browser {
    address: String,
    cookie: String,
}

impl Browser {
    async fn log_in(world: &World) -> Self {
        let address = world.stack.address().get().unwrap();
        let path = world.stack.login_url().split_once(&address).unwrap().1.to_owned();
        let mut browser = Self { address, cookie: String::new() };
        let own = browser.address.clone();
        let mut person = Browsing::new(world.stack.login_url());
        let page = person.get(&path).await;
        let form = format!("token={}&shown={}", page.field("token"), page.field("shown"));
        browser.cookie = person.cookies();
        let from = format!("http://{own}");
        let typed = ("content-type", "application/x-www-form-urlencoded");
        let said = [("origin", from.as_str()), typed];
        let (status, head) = browser.send_form("/login", &own, &said, &form).await;
        assert_eq!(status, 303, "{head}");
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
        for attribute in ["httponly", "samesite=lax", "path=/"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        browser.cookie = cookie.split(';').next().unwrap().to_owned();
        browser
    }

    /// The status and the head of the answer.
    async fn send(
        &self,
        method: &str,
        path: &str,
        host: &str,
        headers: &[(&str, &str)],
    ) -> (u16, String) {
        self.exchange(method, path, host, headers, "").await
    }

    async fn send_form(
        &self,
        path: &str,
        host: &str,
        headers: &[(&str, &str)],
        form: &str,
    ) -> (u16, String) {
        self.exchange("POST", path, host, headers, form).await
    }

    async fn exchange(
        &self,
        method: &str,
        path: &str,
        host: &str,
        headers: &[(&str, &str)],
        form: &str,
    ) -> (u16, String) {
        let more: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let cookie = format!("cookie: {}\r\n", self.cookie);
        let length = form.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{cookie}{more}content-length: {length}\r\n\r\n{form}"
        );
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut seen = Vec::new();
        while !seen.windows(4).any(|window| window == b"\r\n\r\n") {
            assert!(stream.read_buf(&mut seen).await.unwrap() > 0, "no answer");
        }
        let head = String::from_utf8_lossy(&seen).to_ascii_lowercase();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head)
    }
}

const SOCKET: [(&str, &str); 4] = [
    ("connection", "upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// E75: a page on another origin opens the socket or posts, with the cookie that the browser adds.
#[tokio::test]
async fn a_page_of_another_origin_gets_nothing_done() {
    let world = World::start().await;
    let browser = Browser::log_in(&world).await;
    let own = browser.address.clone();
    let (ours, evil) = (format!("http://{own}"), "http://evil.example");
    let agent = "/cells/w1/v1/agent_ws/C1/";
    let socket = |origin| [&SOCKET[..], &[("origin", origin)]].concat();
    assert_eq!(browser.send("GET", agent, &own, &socket(&ours)).await.0, 101, "our own page");
    assert_eq!(browser.send("GET", agent, &own, &socket(evil)).await.0, 403);
    assert_eq!(browser.send("GET", agent, &own, &socket("null")).await.0, 403);
    assert_eq!(browser.send("GET", agent, &own, &SOCKET).await.0, 403, "no origin at all");
    let upload = "/cells/w1/v1/chats/C1/files?name=x";
    for path in ["/chats", "/logout", "/start/skip", "/chats/C1/archive", upload] {
        let posts = [
            vec![("origin", evil)],
            vec![("sec-fetch-site", "cross-site"), ("origin", ours.as_str())],
            vec![("sec-fetch-site", "same-site")],
            vec![],
        ];
        for headers in posts {
            let (status, head) = browser.send("POST", path, &own, &headers).await;
            assert_eq!(status, 403, "{path} {headers:?}: {head}");
        }
    }
}

/// E75: a name that somebody made to point at this machine: same origin to the browser, not to us.
#[tokio::test]
async fn a_rebound_name_gets_nothing_at_all() {
    let world = World::start().await;
    let browser = Browser::log_in(&world).await;
    let port = browser.address.rsplit_once(':').unwrap().1;
    let host = format!("evil.example:{port}");
    let origin = format!("http://{host}");
    let same = [("origin", origin.as_str()), ("sec-fetch-site", "same-origin")];
    let socket = [&SOCKET[..], &same].concat();
    let agent = "/cells/w1/v1/agent_ws/C1/";
    assert_eq!(browser.send("GET", agent, &host, &socket).await.0, 403);
    for path in ["/", "/chats/C1", "/login", "/metrics", "/status", "/people"] {
        let (status, _) = browser.send("GET", path, &host, &same).await;
        assert_eq!(status, 403, "{path}");
    }
    for path in ["/chats", "/logout", "/api/v1/sessions"] {
        let (status, _) = browser.send("POST", path, &host, &same).await;
        assert_eq!(status, 403, "{path}");
    }
    assert_eq!(browser.send("GET", "/healthz", &host, &[]).await.0, 200, "for monitors");
    // A program that brings its own token is no browser.
    let session = world.stack.session("owner").await.unwrap();
    let bearer = format!("Bearer {}", session.token);
    let by_token = [&SOCKET[..], &[("authorization", bearer.as_str())]].concat();
    assert_eq!(browser.send("GET", agent, &host, &by_token).await.0, 101);
    let page = world.stack.http("GET", "/", None, Vec::new()).await.unwrap();
    assert_ne!(
        page.json::<cloister_protocol::ErrorEnvelope>().ok().map(|e| e.error.code),
        Some(ErrorCode::Forbidden)
    );
}

/// E75: another site sends a browser to a link of the attacker's own. It shows whose it is; the
/// person stays who they are, and the link stays unused.
#[tokio::test]
async fn a_link_of_another_site_logs_nobody_in() {
    let world = World::start().await;
    let victim = Browser::log_in(&world).await;
    world.json(&["user", "add", "mallory"]).await;
    let link = world.json(&["login-url", "--user", "mallory"]).await;
    let link = link["login_url"].as_str().unwrap().to_owned();
    let path = link.split_once(&victim.address).unwrap().1;
    let own = victim.address.clone();
    for site in ["cross-site", "same-site", "none"] {
        let (status, head) = victim.send("GET", path, &own, &[("sec-fetch-site", site)]).await;
        assert_eq!(status, 200, "{head}");
        let port = own.rsplit_once(':').unwrap().1;
        assert!(!head.contains(&format!("set-cookie: cloister-{port}=")), "{head}");
    }
    let (status, head) = victim.send("GET", "/chats/C1", &own, &[]).await;
    assert_eq!(status, 200, "still who they were: {head}");
    // And whoever the link is for can still use it.
    Browsing::new(&link).log_in(&link).await;
}
