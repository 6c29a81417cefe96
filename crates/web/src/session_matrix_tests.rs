//! Who may reach which page, socket and file: every public route, with a session of everybody, compared
//! with the reviewed text file `tests/session-matrix.txt`. `make matrix` writes it anew.

use std::fmt::Write as _;

use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use cloister_control::Actor;
use cloister_protocol::{ChatId, SendFile};
use cloister_store::audit::Fingerprint;
use cloister_store::tokens::{TokenKind, token_hash};
use cloister_store::users::User;
use tower::ServiceExt;

use crate::auth::new_session_token;
use crate::logins::LoginThrottle;
use crate::peer::Peer;
use crate::test_world::{Belongings, World};
use crate::{State, public_router};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/session-matrix.txt");

const HEAD: &str = "\
# Who reaches which public route. Written by `make matrix`; a test makes every one of these calls and compares.
#
# nobody    no session           expired   a session that has expired      ended   one that was logged out
# own       the session of the user whose workspace the path names; viewer, none: the same of a user with
#           this role in their own workspace, and with none
# other     another user's session
# overlord  the session of who runs the platform
#
# ok: answered (or it fails for a reason of its own). login: sent to the login page. Pages are about the
# session's own workspace, so that there `other` sees their own.
";

/// What is for everybody: it says nothing of anybody, or takes a token of its own.
const OPEN: [&str; 10] = [
    "/healthz",
    "/readyz",
    "/metrics",
    "/api/v1/sessions",
    "/login",
    "/invite",
    "/logout",
    "/static/{file}",
    "/worker.js",
    "/hooks/{surface}/{name}",
];

/// Reading it leaves an entry in the audit, and nothing else.
const AUDITED: &str = "/cells/{workspace}/v1/artifacts/{id}";

/// The public routes, as the sources declare them.
fn routes() -> Vec<(&'static str, &'static str)> {
    let mut found = Vec::new();
    for source in
        [include_str!("server.rs"), include_str!("pages/mod.rs"), include_str!("hooks.rs")]
    {
        for declared in source.split(".route(").skip(1) {
            let path = declared.split('"').nth(1).unwrap();
            for (method, word) in [("GET", "get("), ("POST", "post(")] {
                if declared.split_once(path).unwrap().1.contains(word) {
                    found.push((method, path));
                }
            }
        }
    }
    assert!(found.len() > 25, "the routes could not be read: {found:?}");
    found
}

const WHO: [&str; 8] = ["own", "viewer", "other", "overlord", "nobody", "expired", "ended", "none"];

struct Sessions {
    world: World,
    own: Belongings,
    viewer: Belongings,
    none: Belongings,
    other: User,
    root: User,
    artifact: String,
}

impl Sessions {
    async fn new() -> Self {
        let world = World::new().await;
        let root = world.add("root").await.user;
        let (own, other) = (world.add("ada").await, world.add("bob").await.user);
        let artifact = "0".repeat(32);
        let file = SendFile {
            path: "report.txt".into(),
            name: "report.txt".into(),
            mime: "text/plain".into(),
            size: 1,
            url: None,
            turn: None,
            task: None,
        };
        let place = (own.user.workspace, ChatId::from_number(1));
        let file = (&file, &Fingerprint::of(b"x"));
        let turn = cloister_protocol::TurnId::of_message(1);
        let sent = world.store().outbox().send_artifact(
            &artifact,
            place,
            (&turn, None),
            file,
            ("test", "1"),
        );
        sent.await.unwrap();
        std::fs::write(world.control().layout().objects().join(&artifact), "x").unwrap();
        let (viewer, none) = (world.add("vera").await, world.add("nora").await);
        for Belongings { user, .. } in [&viewer, &none] {
            let scope = format!("workspace:{}", user.workspace);
            world
                .store()
                .users()
                .take_role(&Actor::person("test"), user.id, ("member", &scope), &[])
                .await
                .unwrap();
        }
        let scope = format!("workspace:{}", viewer.user.workspace);
        world
            .store()
            .users()
            .give_role(&Actor::person("test"), viewer.user.id, ("viewer", &scope), &[])
            .await
            .unwrap();
        Self { world, own, viewer, none, other, root, artifact }
    }

    /// Whose workspace the path names.
    fn belongings(&self, who: &str) -> &Belongings {
        match who {
            "viewer" => &self.viewer,
            "none" => &self.none,
            _ => &self.own,
        }
    }

    /// A session for one call: a call may end it.
    async fn token(&self, who: &str) -> Option<String> {
        let user = match who {
            "nobody" => return None,
            "overlord" => &self.root,
            "other" => &self.other,
            _ => &self.belongings(who).user,
        };
        let control = self.world.control();
        let (token, _) =
            new_session_token(control, &Actor::person("test"), user, None).await.unwrap();
        match who {
            "ended" => {
                control.sessions().end(&Actor::person("test"), &token_hash(&token)).await.unwrap()
            }
            "expired" => {
                control.sessions().end(&Actor::person("test"), &token_hash(&token)).await.unwrap();
                let (kind, past) = (TokenKind::Session, control.clock().now_ms() - 1);
                control
                    .sessions()
                    .begin(&Actor::person("test"), (kind, &token_hash(&token)), user.id, past)
                    .await
                    .unwrap();
            }
            _ => {}
        }
        Some(token)
    }

    async fn call(&self, method: &str, path: &str, who: &str) -> String {
        let own = [("sec-fetch-site", "same-origin")];
        let response = self.send(method, path, who, &own).await;
        let to = response.headers().get(header::LOCATION).and_then(|to| to.to_str().ok());
        match response.status() {
            StatusCode::SEE_OTHER if to == Some("/login") => "login".to_owned(),
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => {
                response.status().as_u16().to_string()
            }
            _ => "ok".to_owned(),
        }
    }

    /// One request of a browser; `said`: what it says of where that comes from.
    async fn send(&self, method: &str, path: &str, who: &str, said: &[(&str, &str)]) -> Response {
        let token = self.token(who).await;
        self.send_with(method, path, who, token, said).await
    }

    async fn send_with(
        &self,
        method: &str,
        path: &str,
        who: &str,
        token: Option<String>,
        said: &[(&str, &str)],
    ) -> Response {
        let whose = self.belongings(who);
        let parts = path.split('/').map(|part| match part {
            "{workspace}" => whose.user.workspace.to_string(),
            "{chat}" => "C1".to_owned(),
            "{id}" => self.artifact.clone(),
            "{approval}" => whose.approval.to_string(),
            "{task}" => whose.task.to_string(),
            "{grant}" => "1".to_owned(),
            "{user}" => whose.user.name.to_string(),
            "{model}" => "x".to_owned(),
            "{agent}" => "a1".to_owned(),
            "{turn}" => "t-1".to_owned(),
            "{file}" => "app.css".to_owned(),
            "{surface}" => "telegram".to_owned(),
            "{name}" => "bot".to_owned(),
            part if part.starts_with('{') => panic!("say what {part} is, for the matrix"),
            part => part.to_owned(),
        });
        let mut request = Request::builder()
            .method(method)
            .uri(parts.collect::<Vec<_>>().join("/"))
            .header(header::HOST, "127.0.0.1:8484")
            .header(header::ACCEPT, "text/html")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("x-forwarded-user", "root");
        if let Some(token) = token {
            request = request.header(header::COOKIE, format!("cloister-8484={token}"));
        }
        for (name, value) in said {
            request = request.header(*name, *value);
        }
        let form = "answer=deny&digest=0&title=x&text=x&name=x&base_url=x&model=x&key=x\
                    &daily_usd=x&task_usd=x&quota_mb=x&role=x&confirm=x&kind=talk&models=x&offered=true\
                    &temperature=1&effort=&window=&max_output=&prompt_usd=&completion_usd=&manner=x&removed=false";
        let mut request = request.body(Body::from(form)).unwrap();
        request.extensions_mut().insert(ConnectInfo(Peer(Some([192, 0, 2, 1].into()))));
        // Nobody is slowed down for what the calls before have tried.
        let (logins, pace) = (LoginThrottle::default(), Default::default());
        let state = State { logins, pace, ..self.world.state.clone() };
        public_router(state).oneshot(request).await.unwrap()
    }
}

async fn matrix() -> String {
    let sessions = Sessions::new().await;
    let mut text = format!("{HEAD}\n{:<50}", "");
    for who in WHO {
        write!(text, " {who:<9}").unwrap();
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    for (method, path) in routes() {
        let line = format!("{method} {path}");
        write!(text, "{line:<50}").unwrap();
        for who in WHO {
            let cell = sessions.call(method, path, who).await;
            let known = ["own", "viewer", "other", "overlord"].contains(&who);
            assert!(
                known || OPEN.contains(&path) || ["login", "401", "403"].contains(&cell.as_str()),
                "{method} {path} answers {who} with {cell}"
            );
            write!(text, " {cell:<9}").unwrap();
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

#[expect(
    clippy::disallowed_methods,
    reason = "the file is written when the environment asks for it"
)]
fn is_to_be_written() -> bool {
    std::env::var_os("CLOISTER_WRITE_MATRIX").is_some()
}

/// Compares a matrix with its reviewed file, or writes it when that was asked for.
pub(crate) fn holds(file: &str, found: &str, what: &str) {
    if is_to_be_written() {
        return std::fs::write(file, found).unwrap();
    }
    let expected = std::fs::read_to_string(file).unwrap_or_default();
    let differ = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
    assert!(
        found == expected,
        "{what} has changed; look at it, then `make matrix`. First: {differ:#?}"
    );
}

/// E71: every public route, with a session of everybody, is exactly what the matrix says.
#[tokio::test]
async fn e71_sessions_reach_what_the_matrix_says() {
    holds(FILE, &matrix().await, "who reaches what");
}

/// E75, for every public route: reading it changes nothing, whoever made the browser read; and what another site's
/// page makes a logged-in browser post changes nothing either.
#[tokio::test]
async fn e75_nothing_changes_by_reading_or_for_another_site() {
    let sessions = Sessions::new().await;
    let evil = [
        vec![("sec-fetch-site", "cross-site"), ("origin", "https://evil.example")],
        vec![("sec-fetch-site", "same-site"), ("origin", "http://127.0.0.1:9")],
        vec![("origin", "https://evil.example")],
        vec![("origin", "null")],
    ];
    let own = vec![("sec-fetch-site", "same-origin")];
    for (method, path) in routes() {
        let reads = method == "GET";
        for who in ["own", "overlord", "nobody"] {
            // A person's own browser says it in every way; for the others the newest is enough.
            let evil = if reads || who != "own" { &evil[..1] } else { &evil[..] };
            for said in evil.iter().chain(reads.then_some(&own)) {
                let token = sessions.token(who).await;
                let before = sessions.world.kept();
                let response = sessions.send_with(method, path, who, token, said).await;
                let changed = before != sessions.world.kept();
                assert!(!changed || path == AUDITED, "{method} {path} {who} {said:?}");
                let cookies = response.headers().get_all(header::SET_COOKIE);
                assert_eq!(cookies.iter().count(), 0, "{method} {path} {who} {said:?}");
                let refused = [StatusCode::FORBIDDEN, StatusCode::NOT_FOUND];
                assert!(reads || refused.contains(&response.status()), "{method} {path} {said:?}");
            }
        }
    }
}
