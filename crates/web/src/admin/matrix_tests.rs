//! Who may make which call: every line of the table, really made by somebody of every role, on what is
//! theirs and on what is not, compared with the reviewed text file `tests/authorization-matrix.txt`.
//!
//! `make matrix` writes the file anew; what changed in it is what changed in who may do what.

use std::fmt::Write as _;

use axum::Extension;
use axum::body::Body;
use axum::http::{Method, Request, StatusCode};
use cloister_control::Actor;
use cloister_control::rows::AccountKind;
use cloister_policy::engine::Role;
use cloister_protocol::admin::NewUser;
use futures_util::future::join_all;
use serde_json::{Value, json};
use tower::ServiceExt;

use super::route::{About, Call};
use crate::caller::Caller;
use crate::reply::Refused;
use crate::test_world::{Belongings, World};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/authorization-matrix.txt");

const HEAD: &str = "\
# Who may make which admin call. Written by `make matrix` from the table of calls and the default policies;
# a test makes every one of these calls and compares.
#
# nobody    no caller is known
# local     whoever runs the machine, on its own socket, in another's workspace
# ROLE/own  a person with this role in their own workspace and no other role at all
# ROLE/oth  a person with this role on the whole platform, in another's private workspace; `none` is a
#           plain user, who is a member of their own workspace
# ROLE/com  a person with this role in a community, about that community; `none` has no role there
#
# ok: the call is carried out (or fails for a reason of its own). 401: nobody. 403: not allowed, and the
# person may know that it is there. 404: it must look as if it were not there.
";

/// One column of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Nobody,
    Own(Option<Role>),
    Other(Option<Role>),
    Community(Option<Role>),
    Local,
}

impl Who {
    fn all() -> Vec<Self> {
        let roles = || std::iter::once(None).chain(Role::ALL.into_iter().map(Some));
        let each = roles().flat_map(|role| [Self::Own(role), Self::Other(role)]);
        let community = [None, Some(Role::Viewer), Some(Role::Member), Some(Role::Admin)];
        let community = community.into_iter().map(Self::Community);
        std::iter::once(Self::Nobody).chain(each).chain(community).chain([Self::Local]).collect()
    }

    fn name(self) -> String {
        let role = |role: Option<Role>| role.map_or("none", Role::as_str);
        match self {
            Self::Nobody => "nobody".to_owned(),
            Self::Own(held) => format!("{}/own", role(held)),
            Self::Other(held) => format!("{}/oth", role(held)),
            Self::Community(held) => format!("{}/com", role(held)),
            Self::Local => "local".to_owned(),
        }
    }
}

/// Somebody of one column, and whom their calls are about.
struct Scene {
    world: World,
    caller: Option<Caller>,
    target: Belongings,
    /// The roles of the caller as they must stay.
    roles: Vec<String>,
}

impl Scene {
    async fn new(who: Who) -> Self {
        let world = World::new().await;
        world.add("root").await;
        let (ada, bob) = (world.add("ada").await, world.add("bob").await);
        let (store, user) = (world.store(), ada.user.id);
        let own = format!("workspace:{}", ada.user.workspace);
        let club = world.add_club("book-club", &bob.user).await;
        let shared = format!("workspace:{}", club.user.workspace);
        let mut scope = None;
        match who {
            Who::Own(role) => {
                store
                    .users()
                    .take_role(&Actor::person("test"), user, ("member", &own), &[])
                    .await
                    .unwrap();
                scope = role.map(|role| (role, own.as_str()));
            }
            Who::Other(role) => scope = role.map(|role| (role, "platform")),
            Who::Community(role) => scope = role.map(|role| (role, shared.as_str())),
            Who::Nobody | Who::Local => {}
        }
        if let Some((role, scope)) = scope {
            store
                .users()
                .give_role(&Actor::person("test"), user, (role.as_str(), scope), &[])
                .await
                .unwrap();
        }
        let (caller, target) = match who {
            Who::Nobody => (None, bob),
            Who::Local => (Some(Caller::Local), bob),
            Who::Own(_) => (Some(Caller::User(user)), ada),
            Who::Other(_) => (Some(Caller::User(user)), bob),
            Who::Community(_) => (Some(Caller::User(user)), club),
        };
        let mut scene = Self { world, caller, target, roles: Vec::new() };
        scene.roles = scene.held().await;
        scene
    }

    async fn held(&self) -> Vec<String> {
        let Some(Caller::User(user)) = self.caller else { return Vec::new() };
        let held = self.world.store().users().roles_of(user).await.unwrap();
        held.into_iter().map(|held| format!("{}@{}", held.role, held.scope)).collect()
    }

    /// Whether the calls so far have left the scene as it was, as far as decisions go.
    async fn is_whole(&self) -> bool {
        let user = self.world.store().users().user(&self.target.user.name).await;
        let task = self.world.store().tasks().task(self.target.task).await;
        user.is_ok() && task.is_ok() && self.held().await == self.roles
    }

    async fn call(&self, call: &Call) -> String {
        let mut router = self.world.admin();
        if let Some(caller) = self.caller {
            router = router.layer(Extension(caller));
        }
        let request = Request::builder()
            .method(call.method.clone())
            .uri(self.path(call))
            .header("content-type", "application/json")
            // Claims that nobody may take for true (E72).
            .header("x-forwarded-user", "root")
            .header("x-user-id", "u1")
            .body(Body::from(self.body(call).to_string()))
            .unwrap();
        let response = router.oneshot(request).await.unwrap();
        let status = response.status();
        if response.extensions().get::<Refused>().is_some() {
            return status.as_u16().to_string();
        }
        let undecided =
            matches!(call.about, About::Handler(_)) && status == StatusCode::BAD_REQUEST;
        let (method, path) = (&call.method, call.path);
        assert!(!undecided, "{method} {path}: say a body that reaches its decision, in `body`");
        "ok".to_owned()
    }

    fn path(&self, call: &Call) -> String {
        let Belongings { user, task, approval } = &self.target;
        // A community is no person: who is given a role in it is.
        let is_community = user.kind == AccountKind::Community;
        let gives = call.method == Method::POST && call.path.contains("/roles");
        let named = if is_community && gives { "bob".to_owned() } else { user.name.to_string() };
        let parts = call.path.split('/').map(|part| match part {
            "{user}" => named.clone(),
            "{workspace}" => user.workspace.to_string(),
            "{chain}" => user.id.to_string(),
            "{chat}" => "C1".to_owned(),
            "{agent}" => "a1".to_owned(),
            "{task}" => task.to_string(),
            "{approval}" => approval.to_string(),
            "{level}" => "executor".to_owned(),
            "{kind}" => "research".to_owned(),
            "{surface}" => "matrix".to_owned(),
            "{account}" => "@bot:example.org".to_owned(),
            "{entry}" | "{grant}" | "{client}" | "{version}" => "1".to_owned(),
            "{model}" | "{name}" | "{context}" | "{secret}" | "{skill}" | "{tool}" => {
                "thing".to_owned()
            }
            part if part.starts_with('{') => panic!("say what {part} is, for the matrix"),
            part => part.to_owned(),
        });
        let query = match call.path {
            "/admin/v1/tasks" => format!("?user={}&user_id=u1", user.name),
            _ => "?user_id=u1&isOwner=true".to_owned(),
        };
        format!("{}{query}", parts.collect::<Vec<_>>().join("/"))
    }

    /// What a call is sent, where its decision needs a body.
    fn body(&self, call: &Call) -> Value {
        let name = &self.target.user.name;
        match (call.method.as_str(), call.path) {
            ("POST", "/admin/v1/sessions" | "/admin/v1/login") => json!({ "user": name }),
            ("PATCH", "/admin/v1/users/{user}/egress") => json!({ "allow": ["example.org"] }),
            ("POST", "/admin/v1/users/{user}/roles" | "/admin/v1/users/{user}/roles/take") => {
                json!({ "role": "viewer", "scope": format!("workspace:{}", self.target.user.workspace) })
            }
            ("POST", "/admin/v1/users/{user}/approvals/{approval}") => {
                json!({ "answer": "allow", "digest": "0".repeat(64) })
            }
            ("PATCH", "/admin/v1/users/{user}/chats/{chat}") => json!({ "archived": true }),
            ("POST", "/admin/v1/client/renew") => json!({ "request": "" }),
            _ => json!({}),
        }
    }
}

async fn column(who: Who, calls: &[Call]) -> (Who, Vec<String>) {
    let mut scene = Scene::new(who).await;
    let mut column = Vec::new();
    for call in calls {
        column.push(scene.call(call).await);
        if call.method != Method::GET && !scene.is_whole().await {
            scene = Scene::new(who).await;
        }
    }
    (who, column)
}

async fn matrix() -> String {
    let calls: Vec<Call> = super::table().into_iter().map(|route| route.call).collect();
    let columns = join_all(Who::all().into_iter().map(|who| column(who, &calls))).await;
    let mut text = format!("{HEAD}\n{:<70}", "");
    for (who, _) in &columns {
        write!(text, " {:<13}", who.name()).unwrap();
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    for (row, Call { method, path, about, .. }) in calls.iter().enumerate() {
        let line = format!("{method} {path} ({})", about.action());
        write!(text, "{line:<70}").unwrap();
        let cells: Vec<&String> = columns.iter().map(|(_, column)| &column[row]).collect();
        for cell in &cells {
            write!(text, " {cell:<13}").unwrap();
        }
        let known = cells.iter().skip(1);
        assert!(known.clone().any(|cell| *cell != "ok"), "nobody is ever refused {method} {path}");
        assert_eq!(cells[0], "401", "{method} {path} answers who is not known");
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

/// E71: every (role × call × own/other) pair, made for real, is exactly what the matrix says.
#[tokio::test]
async fn e71_every_call_is_decided_as_the_matrix_says() {
    crate::session_matrix_tests::holds(FILE, &matrix().await, "who may do what");
}

async fn answer(scene: &Scene, method: &str, path: &str, body: Value) -> (StatusCode, Value) {
    let mut router = scene.world.admin();
    if let Some(caller) = scene.caller {
        router = router.layer(Extension(caller));
    }
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    let response = router.oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// E71: what a person may not know of is answered word for word as what is not there.
#[tokio::test]
async fn another_user_looks_like_nobody() {
    let scene = Scene::new(Who::Other(None)).await;
    for (hidden, missing) in [
        ("/admin/v1/users/bob/chats", "/admin/v1/users/bab/chats"),
        ("/admin/v1/users/bob/egress", "/admin/v1/users/bab/egress"),
        ("/admin/v1/tasks?user=bob", "/admin/v1/tasks?user=bab"),
        ("/admin/v1/workspaces/bob", "/admin/v1/workspaces/bab"),
    ] {
        let (status, hidden) = answer(&scene, "GET", hidden, Value::Null).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        let (status, missing) = answer(&scene, "GET", missing, Value::Null).await;
        assert_eq!(status, StatusCode::NOT_FOUND);
        assert_eq!(hidden.to_string().replace("bob", "bab"), missing.to_string());
    }
    let task = scene.target.task;
    let (status, hidden) =
        answer(&scene, "GET", &format!("/admin/v1/tasks/{task}"), Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let (_, missing) = answer(&scene, "GET", "/admin/v1/tasks/T999", Value::Null).await;
    assert_eq!(hidden.to_string().replace(&task.to_string(), "T999"), missing.to_string());
}

/// E79: an operator runs things, and reads nobody's content; each try is on record.
#[tokio::test]
async fn e79_an_operator_reads_no_content_no_secrets_and_no_audit() {
    let scene = Scene::new(Who::Other(Some(Role::Operator))).await;
    let (status, _) = answer(&scene, "GET", "/admin/v1/users/bob", Value::Null).await;
    assert_eq!(status, StatusCode::OK, "an operator sees state");
    let refused = [
        ("GET", "/admin/v1/users/bob/chats/C1".to_owned()),
        ("GET", "/admin/v1/users/bob/identity".to_owned()),
        ("GET", format!("/admin/v1/tasks/{}", scene.target.task)),
        ("GET", "/admin/v1/users/bob/secrets".to_owned()),
        ("GET", "/admin/v1/users/bob/audit".to_owned()),
        ("POST", "/admin/v1/users/bob/audit/redactions".to_owned()),
        ("GET", "/admin/v1/users/bob/data".to_owned()),
        ("POST", "/admin/v1/login".to_owned()),
    ];
    for (method, path) in &refused {
        let (status, body) = answer(&scene, method, path, json!({ "user": "bob" })).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{method} {path}: {body}");
        let message = body["error"]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("not allowed: "), "{message}");
    }
    let entries = scene.world.store().audit().audit_tail(100).await.unwrap();
    let entries = entries.iter().filter(|entry| entry.action == "admin.refused");
    let subjects: Vec<&str> =
        entries.filter(|entry| entry.actor == "ada").map(|entry| entry.subject.as_str()).collect();
    assert_eq!(subjects.len(), refused.len(), "{subjects:?}");
    assert!(subjects.contains(&"GET /admin/v1/users/{user}/chats/{chat}"), "{subjects:?}");
}

/// I1: nobody raises themselves, admins make no admins, the last overlord stays.
#[tokio::test]
async fn roles_are_given_downwards_only() {
    let scene = Scene::new(Who::Other(Some(Role::Admin))).await;
    let give = |user: &str, role: &str, scope: &str| {
        let path = format!("/admin/v1/users/{user}/roles");
        let body = json!({ "role": role, "scope": scope });
        let scene = &scene;
        async move { answer(scene, "POST", &path, body).await.0 }
    };
    assert_eq!(give("bob", "operator", "platform").await, StatusCode::OK);
    for role in ["admin", "overlord"] {
        assert_eq!(give("bob", role, "platform").await, StatusCode::FORBIDDEN, "{role}");
    }
    for role in ["operator", "admin", "overlord"] {
        assert_eq!(give("ada", role, "platform").await, StatusCode::FORBIDDEN, "{role} to self");
    }
    assert_eq!(give("bob", "member", "workspace:w99").await, StatusCode::BAD_REQUEST);
    assert_eq!(give("bob", "emperor", "platform").await, StatusCode::BAD_REQUEST);

    let take = json!({ "role": "overlord", "scope": "platform" });
    let path = "/admin/v1/users/root/roles/take";
    assert_eq!(answer(&scene, "POST", path, take.clone()).await.0, StatusCode::FORBIDDEN);
    let local = Scene { caller: Some(Caller::Local), ..scene };
    assert_eq!(answer(&local, "POST", path, take).await.0, StatusCode::CONFLICT);
}

/// I2: an admin can't get at who is above them by linking an account, or by a link for them.
#[tokio::test]
async fn an_admin_gets_no_way_in_as_an_overlord() {
    let scene = Scene::new(Who::Other(Some(Role::Admin))).await;
    let account = json!({ "surface": "matrix", "id": "@mallory:example.org" });
    let link = |name: &str| format!("/admin/v1/users/{name}/identities");
    for name in ["bob", "root"] {
        let (status, _) = answer(&scene, "POST", &link(name), account.clone()).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{name}");
    }

    let control = scene.world.control();
    let code = control.people().begin_pairing("matrix", "@m:example.org", "root").await.unwrap();
    let pair = json!({ "code": code, "user": "root" });
    let (status, _) = answer(&scene, "POST", "/admin/v1/pairings/link", pair).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let raised = json!({
        "code": code, "user": "bob", "role": { "role": "overlord", "scope": "platform" }
    });
    let (status, _) = answer(&scene, "POST", "/admin/v1/pairings/link", raised).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    assert!(
        scene.world.store().users().identity("matrix", "@m:example.org").await.unwrap().is_none()
    );

    let invite = NewUser {
        name: "root".parse().unwrap(),
        quota_mb: None,
        executors: None,
        daily_usd: None,
        task_usd: None,
    };
    let invite = serde_json::to_value(invite).unwrap();
    let (status, _) = answer(&scene, "POST", "/admin/v1/invitations", invite).await;
    assert_eq!(
        status,
        StatusCode::FORBIDDEN,
        "a link for who is there already is a way in as them"
    );
}

/// I2: codes show who it is, work once, and can't be guessed at leisure.
#[tokio::test]
async fn a_pairing_code_is_shown_then_used_once_and_guesses_are_slowed_down() {
    let scene = Scene::new(Who::Other(Some(Role::Admin))).await;
    let control = scene.world.control();
    let code = control.people().begin_pairing("matrix", "@eve:example.org", "Eve").await.unwrap();
    let typed = code.to_lowercase().replace('-', " ");
    let (status, shown) =
        answer(&scene, "POST", "/admin/v1/pairings", json!({ "code": typed })).await;
    assert_eq!(status, StatusCode::OK, "{shown}");
    assert_eq!(shown["id"], "@eve:example.org");

    let link =
        json!({ "code": code, "user": "bob", "role": { "role": "operator", "scope": "platform" } });
    let (status, person) = answer(&scene, "POST", "/admin/v1/pairings/link", link.clone()).await;
    assert_eq!(status, StatusCode::OK, "{person}");
    assert_eq!(person["identities"][0]["id"], "@eve:example.org");
    let bob = control.people().person(scene.target.user.id).await.unwrap();
    assert!(bob.roles.iter().any(|held| held.role == Role::Operator), "the role applies at once");
    let (status, _) = answer(&scene, "POST", "/admin/v1/pairings/link", link).await;
    assert_eq!(status, StatusCode::NOT_FOUND);

    let mut last = StatusCode::OK;
    for _ in 0..10 {
        let wrong = json!({ "code": "AAAA-AAAA" });
        last = answer(&scene, "POST", "/admin/v1/pairings", wrong).await.0;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    let entries = scene.world.store().audit().audit_tail(100).await.unwrap();
    assert!(entries.iter().any(|entry| entry.action == "pairing.wrong" && entry.actor == "ada"));
}

/// I2: what a member of a community may not do in its rooms, they may not do past them: only who administers it
/// opens, puts away and stops what all use. What is a member's own there stays theirs.
#[tokio::test]
async fn a_member_directs_a_community_by_http_no_more_than_in_its_rooms() {
    let chats = "/admin/v1/users/book-club/chats";
    let (chat, cancel) = (format!("{chats}/C1"), "/admin/v1/users/book-club/tasks/cancel");
    let member = Scene::new(Who::Community(Some(Role::Member))).await;
    for (method, path, body) in [
        ("POST", chats, json!({ "title": "mine" })),
        ("PATCH", &chat, json!({ "archived": true })),
        ("PATCH", &chat, json!({ "title": "mine", "archived": false })),
        ("POST", cancel, json!({})),
    ] {
        let (status, said) = answer(&member, method, path, body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{method} {path}: {said}");
    }
    let store = member.world.store();
    let there = store.chats().of(member.target.user.workspace).await.unwrap();
    let [only] = there.as_slice() else { panic!("{there:?}") };
    assert!(!only.archived && only.title != "mine", "{only:?}");
    let open = store.tasks().open_tasks(member.target.user.workspace).await.unwrap();
    assert_eq!(open.len(), 1, "somebody else's work goes on");
    let (status, _) = answer(&member, "PATCH", &chat, json!({ "title": "books" })).await;
    assert_eq!(status, StatusCode::OK, "as /rename in the room");

    let admin = Scene::new(Who::Community(Some(Role::Admin))).await;
    for (method, path, body) in [
        ("POST", chats, json!({ "title": "more" })),
        ("PATCH", &chat, json!({ "archived": true })),
        ("POST", cancel, json!({})),
    ] {
        let (status, said) = answer(&admin, method, path, body).await;
        assert_eq!(status, StatusCode::OK, "{method} {path}: {said}");
    }
}
