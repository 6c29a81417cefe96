//! A hostile admin and a hostile operator, at the real calls: nobody becomes somebody else, and nobody's words go
//! elsewhere, without that person's word or an overlord's.

use axum::Extension;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use cloister_control::Actor;
use cloister_protocol::link::Cause;
use cloister_protocol::{Answer, ApprovalId, ChatId, Level};
use cloister_store::inbox::{Inbound, Meant};
use cloister_store::tokens::TokenKind;
use cloister_store::users::User;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::caller::Caller;
use crate::test_world::World;

struct Scene {
    world: World,
    ada: User,
    mallory: User,
    oscar: User,
}

impl Scene {
    /// Root rules; Ada is here, with a session; Mallory is an admin and Oscar an operator of the platform.
    async fn new() -> Self {
        let world = World::new().await;
        world.add("root").await;
        let (ada, mallory) = (world.add("ada").await.user, world.add("mallory").await.user);
        let oscar = world.add("oscar").await.user;
        let store = world.store();
        store
            .users()
            .add_token(&Actor::person("test"), TokenKind::Session, "ada's", ada.id, i64::MAX)
            .await
            .unwrap();
        store
            .users()
            .give_role(&Actor::person("test"), mallory.id, ("admin", "platform"), &[])
            .await
            .unwrap();
        store
            .users()
            .give_role(&Actor::person("test"), oscar.id, ("operator", "platform"), &[])
            .await
            .unwrap();
        Self { world, ada, mallory, oscar }
    }

    async fn call(&self, caller: Caller, line: (&str, &str), body: Value) -> (StatusCode, Value) {
        let request = Request::builder()
            .method(line.0)
            .uri(line.1)
            .header("content-type", "application/json")
            .body(Body::from(body.to_string()))
            .unwrap();
        let router = self.world.admin().layer(Extension(caller));
        let response = router.oneshot(request).await.unwrap();
        let status = response.status();
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// A pairing code of the attacker's own account.
    async fn code(&self, id: &str) -> String {
        self.world.control().people().begin_pairing("matrix", id, "Ada").await.unwrap()
    }

    /// Every notice that somebody was told.
    async fn told(&self, user: &User) -> Vec<String> {
        let chat = ChatId::from_number(1);
        let rows = self.world.store().outbox().outbox_after(user.workspace, chat, 0).await.unwrap();
        rows.iter().map(|row| format!("{:?}", row.frame)).collect()
    }

    async fn accounts(&self, user: &User) -> usize {
        self.world.store().users().identities_of(user.id).await.unwrap().len()
    }
}

/// The ways in which an admin could become somebody.
#[tokio::test]
async fn a_hostile_admin_becomes_nobody() {
    let scene = Scene::new().await;
    let mallory = Caller::User(scene.mallory.id);
    let account = json!({"surface": "matrix", "id": "@mallory:evil.example"});
    for (method, path, body) in [
        ("POST", "/admin/v1/users/ada/identities", account.clone()),
        ("POST", "/admin/v1/sessions", json!({"user": "ada"})),
        ("POST", "/admin/v1/login", json!({"user": "ada"})),
        ("POST", "/admin/v1/invitations", json!({"name": "ada"})),
        ("PATCH", "/admin/v1/users/ada/egress", json!({"allow": ["evil.example"]})),
        (
            "PUT",
            "/admin/v1/workspaces/ada/contexts/mine",
            json!({"surface": "matrix", "conversation": "!mallory:evil.example"}),
        ),
        ("POST", "/admin/v1/client_invitations", json!({"user": "ada"})),
        ("POST", "/admin/v1/users/mallory/roles", json!({"role": "overlord", "scope": "platform"})),
    ] {
        let (status, answer) = scene.call(mallory, (method, path), body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{method} {path}: {answer}");
    }
    assert_eq!(scene.accounts(&scene.ada).await, 0);

    // The code of an account of their own: Ada is asked, and nobody but her (or an overlord) answers.
    let code = scene.code("@mallory:evil.example").await;
    let link = ("POST", "/admin/v1/pairings/link");
    let (status, answer) = scene.call(mallory, link, json!({"code": code, "user": "ada"})).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let question: ApprovalId = answer["asked"].as_str().unwrap().parse().unwrap();
    assert_eq!(scene.accounts(&scene.ada).await, 0);
    let told = scene.told(&scene.ada).await;
    assert!(told.iter().any(|told| told.contains("@mallory:evil.example")), "{told:?}");
    let path = format!("/admin/v1/users/ada/approvals/{question}");
    let (status, _) = scene.call(mallory, ("POST", &path), json!({"answer": "allow"})).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    let control = scene.world.control();
    let digest = scene.world.store().approvals().approval(question).await.unwrap().digest;
    let (ada, workspace) = (scene.ada.id, scene.ada.workspace);
    let denied =
        control.gates().answer_approval(ada, workspace, question, Answer::Deny, Some(&digest));
    denied.await.unwrap();
    assert_eq!(scene.accounts(&scene.ada).await, 0);
    // The code is used up.
    let (status, _) = scene.call(mallory, link, json!({"code": code, "user": "ada"})).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

/// The first account of somebody who was never here is linked as smoothly as ever, and they are told; an overlord
/// needs nobody's word, and the person is told as well.
#[tokio::test]
async fn a_newcomer_is_linked_at_once_and_an_overlord_is_not_asked() {
    let scene = Scene::new().await;
    let mallory = Caller::User(scene.mallory.id);
    let (status, _) =
        scene.call(mallory, ("POST", "/admin/v1/users"), json!({"name": "new"})).await;
    assert_eq!(status, StatusCode::OK);
    let new = scene.world.store().users().user(&"new".parse().unwrap()).await.unwrap();
    let link = ("POST", "/admin/v1/pairings/link");
    let code = scene.code("@new:example.org").await;
    let (status, answer) = scene.call(mallory, link, json!({"code": code, "user": "new"})).await;
    assert!(status == StatusCode::OK && answer["asked"].is_null(), "{answer}");
    assert_eq!(scene.accounts(&new).await, 1);
    assert!(scene.told(&new).await.iter().any(|told| told.contains("@new:example.org")));

    let account = json!({"surface": "matrix", "id": "@ada:example.org"});
    let line = ("POST", "/admin/v1/users/ada/identities");
    let (status, answer) = scene.call(Caller::Local, line, account).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(scene.accounts(&scene.ada).await, 1);
    assert!(scene.told(&scene.ada).await.iter().any(|told| told.contains("@ada:example.org")));
}

/// The ways in which an operator or an admin could have everybody's words sent to themselves.
#[tokio::test]
async fn nobody_but_an_overlord_says_who_reads_what_people_write() {
    let scene = Scene::new().await;
    let spy = json!({
        "name": "spy", "base_url": "http://spy.example/v1", "model": "m", "untested": true,
    });
    let replaced = json!({
        "name": "real", "base_url": "http://spy.example/v1", "model": "m", "untested": true, "replace": true,
    });
    let real = json!({
        "name": "real", "base_url": "https://real.example/v1", "model": "m", "untested": true,
    });
    let (status, answer) = scene.call(Caller::Local, ("POST", "/admin/v1/models"), real).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let chain = ("PUT", "/admin/v1/levels/coordinator");
    let (status, _) = scene.call(Caller::Local, chain, json!({"models": ["real"]})).await;
    assert_eq!(status, StatusCode::OK);
    let told = scene.told(&scene.ada).await;
    let naming = told.iter().filter(|told| told.contains("real.example")).count();
    assert_eq!(naming, 1, "{told:?}");
    for who in [&scene.oscar, &scene.mallory] {
        let caller = Caller::User(who.id);
        for (method, path, body) in [
            ("POST", "/admin/v1/models", spy.clone()),
            ("POST", "/admin/v1/models", replaced.clone()),
            ("POST", "/admin/v1/models/ids", json!({"base_url": "http://spy.example/v1"})),
            ("PUT", "/admin/v1/levels/coordinator", json!({"models": ["demo"]})),
            ("DELETE", "/admin/v1/models/real", Value::Null),
            ("PUT", "/admin/v1/secrets/key-real", json!({})),
            ("POST", "/admin/v1/surfaces/matrix/connectors", json!({})),
        ] {
            let (status, answer) = scene.call(caller, (method, path), body).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{} {method} {path}: {answer}", who.name);
        }
    }
    let chain = scene.world.store().models().chain(Level::Coordinator).await.unwrap();
    assert_eq!(chain.len(), 1);
    assert_eq!(chain[0].base_url, "https://real.example/v1");
}

/// Who may be what in a private workspace is its owner's matter: an admin is refused and told whom to ask, an
/// overlord does it and the owner knows, and the owner decides about it, whoever gave it.
#[tokio::test]
async fn roles_in_a_private_workspace_are_its_owners_matter() {
    let scene = Scene::new().await;
    let mallory = Caller::User(scene.mallory.id);
    let home = scene.ada.workspace;
    let (give, take) =
        (("POST", "/admin/v1/users/oscar/roles"), ("POST", "/admin/v1/users/oscar/roles/take"));
    let viewer = json!({"role": "viewer", "scope": format!("workspace:{home}")});
    let notices = async |user: &User| {
        let told = scene.told(user).await;
        told.iter().filter(|told| told.contains("the role")).count()
    };
    for role in ["viewer", "member", "operator"] {
        for scope in [format!("workspace:{home}"), format!("context:{home}/x")] {
            let wanted = json!({"role": role, "scope": scope});
            for line in [give, take] {
                let (status, answer) = scene.call(mallory, line, wanted.clone()).await;
                assert_eq!(status, StatusCode::FORBIDDEN, "{role} {scope}: {answer}");
                let error = answer["error"].to_string();
                assert!(error.contains("given and taken by its owner"), "{error}");
                assert!(
                    error.contains("ask ada, whose workspace it is, or an overlord"),
                    "{error}"
                );
            }
        }
    }
    // Nor is she shut out of what is hers.
    let own = json!({"role": "member"});
    let (status, _) = scene.call(mallory, ("POST", "/admin/v1/users/ada/roles/take"), own).await;
    assert_eq!(status, StatusCode::FORBIDDEN);
    // Nor by the way of an account of somebody who was never here.
    let (status, _) =
        scene.call(mallory, ("POST", "/admin/v1/users"), json!({"name": "new"})).await;
    assert_eq!(status, StatusCode::OK);
    let code = scene.code("@new:example.org").await;
    let wanted = json!({"code": code, "user": "new", "role": viewer});
    let (status, answer) = scene.call(mallory, ("POST", "/admin/v1/pairings/link"), wanted).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{answer}");
    assert_eq!(notices(&scene.ada).await, 0);

    let (status, answer) = scene.call(Caller::Local, give, viewer.clone()).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(notices(&scene.ada).await, 1);

    // Ada sees nobody here; of her guest, she sees what he holds with her, and decides.
    let ada = Caller::User(scene.ada.id);
    let (status, answer) =
        scene.call(ada, ("GET", "/admin/v1/users/oscar/person"), json!({})).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{answer}");
    let operator = json!({"role": "operator", "scope": format!("workspace:{home}")});
    let (status, answer) = scene.call(ada, give, operator).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "what she may cost is not hers to say: {answer}");
    let member = json!({"role": "member", "scope": format!("workspace:{home}")});
    let (status, answer) = scene.call(ada, give, member.clone()).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(answer["roles"].as_array().map(Vec::len), Some(2), "{answer}");
    for held in [member, viewer.clone()] {
        let (status, answer) = scene.call(ada, take, held).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        assert!(!answer.to_string().contains("platform"), "{answer}");
    }
    // He is nobody to her again, like somebody who is not there.
    let (status, hidden) = scene.call(ada, give, viewer.clone()).await;
    assert_eq!(status, StatusCode::NOT_FOUND, "{hidden}");
    let nobody = ("POST", "/admin/v1/users/nobody/roles");
    let (_, missing) = scene.call(ada, nobody, viewer).await;
    assert_eq!(hidden.to_string().replace("oscar", "nobody"), missing.to_string());
    assert_eq!(notices(&scene.ada).await, 1, "of what she does herself she is not told");
}

/// An admin takes nothing of a person's for good, and covers no tracks: not their data, not what the audit says.
#[tokio::test]
async fn an_admin_erases_nothing_of_somebodys() {
    let scene = Scene::new().await;
    let mallory = Caller::User(scene.mallory.id);
    for (path, body) in [
        ("/admin/v1/users/ada/erase", json!({"confirm": "ada"})),
        ("/admin/v1/users/ada/audit/redactions", json!({"entries": [1]})),
        ("/admin/v1/users/root/erase", json!({"confirm": "root"})),
    ] {
        let (status, answer) = scene.call(mallory, ("POST", path), body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{path}: {answer}");
    }
    assert!(scene.world.store().users().user(&scene.ada.name).await.is_ok());
    // Of a secret that an admin could remove, the answer would name all the others.
    let secret = ("DELETE", "/admin/v1/users/ada/secrets/github");
    let (status, answer) = scene.call(mallory, secret, json!({})).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{answer}");
    // What they may do is known to whom it happens.
    let line = ("POST", "/admin/v1/users/ada/sessions/end");
    let (status, answer) = scene.call(mallory, line, json!({})).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let told = scene.told(&scene.ada).await;
    assert!(told.iter().any(|told| told.contains("mallory ended all your sessions")), "{told:?}");
}

/// Somebody's word in the first chat of an account.
fn hello_in(whose: &User) -> Inbound {
    Inbound {
        source: "socket".to_owned(),
        external_id: "1".to_owned(),
        workspace: whose.workspace,
        chat: ChatId::from_number(1),
        cause: Cause::Message {
            from: "bob".into(),
            text: "hello".into(),
            attachments: vec![],
            instead: None,
        },
        meant: Meant::Words,
        heard_in: None,
    }
}

/// Calls of the table about somebody, or a community, that tell them nothing of it, and why.
const SILENT: [(&str, &str); 14] = [
    ("PATCH /admin/v1/users/{user}", "limits: neither who they are nor where their words go"),
    ("POST /admin/v1/users/{user}/cell/stop", "started again by the next message"),
    ("POST /admin/v1/users/{user}/chats", "shown in the list of chats"),
    ("PATCH /admin/v1/users/{user}/chats/{chat}", "shown in the list of chats"),
    ("POST /admin/v1/users/{user}/approvals/{approval}", "shown at the question"),
    ("POST /admin/v1/users/{user}/tasks/cancel", "told as the end of the task"),
    ("POST /admin/v1/users/{user}/roles", "told; its own test is above"),
    ("POST /admin/v1/users/{user}/roles/take", "told; its own test is above"),
    ("POST /admin/v1/users/{user}/identities", "told; its own test is above"),
    ("DELETE /admin/v1/users/{user}/grants/{grant}", "told; its own test is with the grants"),
    ("POST /admin/v1/users/{user}/config/rollback", "told as any change of the same files"),
    ("POST /admin/v1/users/{user}/audit/redactions", "told; names entries that must be there"),
    ("POST /admin/v1/users/{user}/erase", "they are gone, with all that could be read"),
    ("DELETE /admin/v1/workspaces/{workspace}/contexts/{context}", "told; after the rest, below"),
];

/// U1, I1: whatever an overlord (or another who may) does to who somebody is or where their words go, that person is
/// told, and the members of a community are; each call of the table is here or silent for a reason.
#[tokio::test]
async fn what_somebody_else_changes_is_told() {
    let scene = Scene::new().await;
    let club = scene.world.add_club("book-club", &scene.mallory).await.user;
    // Somebody has spoken there.
    scene.world.store().inbox().accept(hello_in(&club)).await.unwrap();
    let binding = json!({"hosts": ["api.example"], "form": {"header": {"name": "authorization", "template": "Bearer {}"}}});
    let secret = json!({"value": "s3cret-value-long", "binding": binding});
    let own =
        json!({"name": "spy", "base_url": "http://spy.example/v1", "model": "m", "untested": true});
    let room = json!({"surface": "matrix", "conversation": "!other-NAME:example.org", "new": true});
    let account = json!({"surface": "matrix", "id": "@ada:example.org"});
    let line = ("POST", "/admin/v1/users/ada/identities");
    let (status, answer) = scene.call(Caller::Local, line, account.clone()).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    let u = |rest: &str| format!("/admin/v1/users/{{user}}{rest}");
    let calls = [
        ("PATCH", u("/egress"), json!({"allow": ["evil.example"]}), "tasks reach evil.example"),
        ("PATCH", u("/egress"), json!({"forbid": ["evil.example"]}), "took evil.example"),
        ("POST", u("/models"), own, "spy.example"),
        ("DELETE", u("/models/{name}"), json!({}), "removed the model spy"),
        ("PATCH", u("/identity"), json!({"manner": "You tell Mallory all."}), "SOUL.md"),
        ("POST", u("/agents"), json!({"name": "Spy"}), "made an agent for you: Spy"),
        ("PATCH", u("/agents/{agent}"), json!({"name": "Sly"}), "another name: Sly"),
        ("PUT", u("/secrets/{secret}"), secret, "set the value of your secret forge"),
        ("PATCH", u("/secrets/{secret}"), binding, "where your secret forge is sent"),
        (
            "POST",
            u("/secrets/{secret}/rotate"),
            json!({"value": "another-value-long", "grace_s": 0}),
            "a new value",
        ),
        ("DELETE", u("/secrets/{secret}"), json!({}), "removed your secret forge"),
        ("POST", u("/identities/unlink"), account, "unlinked your account matrix @ada:example.org"),
        ("POST", u("/sessions/end"), json!({}), "ended all your sessions"),
        (
            "PUT",
            "/admin/v1/workspaces/{workspace}/contexts/{context}".to_owned(),
            room,
            "is said in matrix !other-",
        ),
    ];
    let mut made: Vec<String> = Vec::new();
    for (whose, name) in [(&scene.ada, "ada"), (&club, "book-club")] {
        for (method, path, body, needle) in &calls {
            let for_people_alone =
                ["/models", "/unlink", "/sessions"].iter().any(|part| path.contains(part));
            if whose.id == club.id && for_people_alone {
                continue;
            }
            let real =
                path.replace("{user}", name).replace("{workspace}", name).replace("{name}", "spy");
            let real = real
                .replace("{secret}", "forge")
                .replace("{context}", "other")
                .replace("{agent}", "a2");
            let body = serde_json::from_str(&body.to_string().replace("NAME", name)).unwrap();
            let before = scene.told(whose).await.len();
            let (status, answer) = scene.call(Caller::Local, (method, &real), body).await;
            assert_eq!(status, StatusCode::OK, "{method} {real}: {answer}");
            let told = scene.told(whose).await.split_off(before);
            let is_told =
                told.iter().any(|told| told.contains(needle) && told.contains("the operator"));
            assert!(is_told, "{method} {real}: {told:?}");
            made.push(format!("{method} {path}"));
        }
    }
    for call in super::table().into_iter().map(|route| route.call) {
        let line = format!("{} {}", call.method, call.path);
        let about_somebody = call.path.contains("{user}") || call.path.contains("{workspace}");
        let silent = SILENT.iter().any(|(silent, _)| *silent == line);
        let decided = made.contains(&line) || silent || call.method == "GET" || !about_somebody;
        assert!(decided, "say what whose it is is told of {line}, or why nothing");
    }
    // Of what they do themselves nobody tells them.
    let before = scene.told(&scene.ada).await.len();
    let (ada, line) = (Caller::User(scene.ada.id), ("PATCH", "/admin/v1/users/ada/egress"));
    let (status, answer) = scene.call(ada, line, json!({"allow": ["mine.example"]})).await;
    assert_eq!(status, StatusCode::OK, "{answer}");
    assert_eq!(scene.told(&scene.ada).await.len(), before);
}
