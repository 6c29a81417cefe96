//! The chat page: how many bytes a browser fetches for it, how long the server takes, and when it can be
//! used in a real browser, if one is installed.

use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::Plan;
use super::browser;
use super::report::{Aim, Row, Unit};
use super::talker::{Talker, broken};
use crate::plane::Plane;
use cloister::{CliError, Output};

const PATIENCE: Duration = Duration::from_secs(10);
const MAX_REDIRECTS: usize = 5;

pub(super) async fn measure(
    output: Output,
    plan: &Plan,
    plane: &Plane,
) -> Result<Vec<Row>, CliError> {
    // A page with something on it.
    let user = plane.client().user(None).await?;
    let mut talker = Talker::of_user(plane, user).await?;
    talker.say("Hello!".to_owned()).await?;
    let mut visitor = Visitor::connect(plane.url()).await?;
    let login = plane.login_url().strip_prefix(plane.url()).unwrap_or("/").to_owned();
    visitor.log_in(&login).await?;
    let (page, _) = visitor.open("/").await?;
    let mut bytes = page.body.len();
    let assets = assets(&String::from_utf8_lossy(&page.body));
    for asset in &assets {
        bytes += visitor.get(asset).await?.body.len();
    }
    let (mut pages, mut all) = (Vec::new(), Vec::new());
    for _ in 0..plan.pages {
        let began = Instant::now();
        visitor.get(&page.path).await?;
        pages.push(began.elapsed());
        for asset in &assets {
            visitor.get(asset).await?;
        }
        all.push(began.elapsed());
    }
    #[expect(clippy::cast_precision_loss, reason = "shown to people, rounded anyway")]
    let kilobytes = bytes as f64 / 1000.0;
    let what = format!("the chat page and its {} files", assets.len());
    let mut rows = vec![
        Row::single("page.size", &what, Unit::Kilobytes, kilobytes).aim(Aim::AtMost(100.0)),
        Row::times("page.server", "the chat page, over HTTP", pages),
        Row::times("page.fetch", "the same and its files, one after the other", all),
    ];
    let address = format!("{}{}", plane.url(), page.path);
    match browser::loads(plan.pages, plane.url(), &address, visitor.cookie()).await {
        Ok(Some(times)) => rows.push(
            Row::times("page.interactive", "in Chromium: asked for → can be used", times)
                .aim(Aim::AtMost(200.0)),
        ),
        Ok(None) => output.note("page: Chromium was not found, so `page.interactive` is left out"),
        Err(error) => {
            output.note(&format!("page: Chromium could not be used: {}", error.body.message));
        }
    }
    Ok(rows)
}

struct Fetched {
    path: String,
    body: Bytes,
}

/// A browser without eyes: keeps a connection and its cookies.
struct Visitor {
    sender: SendRequest<Body>,
    host: String,
    cookies: Vec<String>,
    _connection: JoinSet<Result<(), hyper::Error>>,
}

fn failed(error: &dyn std::fmt::Display) -> CliError {
    broken(format!("the chat page could not be fetched: {error}"))
}

impl Visitor {
    async fn connect(url: &str) -> Result<Self, CliError> {
        let host = url.strip_prefix("http://").unwrap_or(url).to_owned();
        let stream = TcpStream::connect(&host).await.map_err(|e| failed(&e))?;
        stream.set_nodelay(true).map_err(|e| failed(&e))?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|e| failed(&e))?;
        let mut tasks = JoinSet::new();
        tasks.spawn(connection);
        Ok(Self { sender, host, cookies: Vec::new(), _connection: tasks })
    }

    fn cookie(&self) -> String {
        self.cookies.join("; ")
    }

    /// Opens a login link and presses its button.
    async fn log_in(&mut self, link: &str) -> Result<(), CliError> {
        let page = String::from_utf8_lossy(&self.get(link).await?.body).into_owned();
        let field = |name: &str| {
            let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\""))?;
            rest.split_once('"').map(|(value, _)| format!("{name}={value}"))
        };
        let (Some(token), Some(shown)) = (field("token"), field("shown")) else {
            return Err(failed(&"the login page has no button"));
        };
        let (status, ..) = self.exchange("/login", Some(format!("{token}&{shown}"))).await?;
        if status.is_redirection() {
            return Ok(());
        }
        Err(failed(&format!("the login answered {status}")))
    }

    /// Follows redirects to a page; also how many there were.
    async fn open(&mut self, path: &str) -> Result<(Fetched, usize), CliError> {
        let mut path = path.to_owned();
        for redirects in 0..MAX_REDIRECTS {
            let (status, location, body) = self.exchange(&path, None).await?;
            match (status.is_success(), location) {
                (true, _) => return Ok((Fetched { path, body }, redirects)),
                (false, Some(next)) if status.is_redirection() => path = next,
                (false, _) => return Err(failed(&format!("{path} answered {status}"))),
            }
        }
        Err(failed(&"it is redirected for ever"))
    }

    async fn get(&mut self, path: &str) -> Result<Fetched, CliError> {
        let (status, _, body) = self.exchange(path, None).await?;
        if !status.is_success() {
            return Err(failed(&format!("{path} answered {status}")));
        }
        Ok(Fetched { path: path.to_owned(), body })
    }

    async fn exchange(
        &mut self,
        path: &str,
        form: Option<String>,
    ) -> Result<(StatusCode, Option<String>, Bytes), CliError> {
        let method = if form.is_some() { Method::POST } else { Method::GET };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, &self.host)
            .header(header::ORIGIN, format!("http://{}", self.host))
            .header(header::COOKIE, self.cookie())
            .header(header::ACCEPT, "text/html,*/*")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form.map_or_else(Body::empty, Body::from))
            .map_err(|e| failed(&e))?;
        let exchange = async {
            self.sender.ready().await?;
            let response = self.sender.send_request(request).await?;
            let (head, body) = response.into_parts();
            Ok::<_, hyper::Error>((head, body.collect().await?.to_bytes()))
        };
        let answered = tokio::time::timeout(PATIENCE, exchange).await;
        let (head, body) = answered.map_err(|late| failed(&late))?.map_err(|e| failed(&e))?;
        for cookie in head.headers.get_all(header::SET_COOKIE) {
            let pair = cookie.to_str().ok().and_then(|cookie| cookie.split(';').next());
            let Some((name, value)) = pair.and_then(|pair| pair.split_once('=')) else { continue };
            self.cookies.retain(|kept| !kept.starts_with(&format!("{name}=")));
            if !value.is_empty() {
                self.cookies.push(format!("{name}={value}"));
            }
        }
        let location = head.headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
        Ok((head.status, location.map(str::to_owned), body))
    }
}

/// The files of ours that a page names.
fn assets(page: &str) -> Vec<String> {
    let quoted = page.split('"').filter(|text| text.starts_with("/static/"));
    let mut files: Vec<String> = quoted.map(str::to_owned).collect();
    files.sort();
    files.dedup();
    files
}
