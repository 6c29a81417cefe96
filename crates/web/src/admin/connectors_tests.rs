use std::sync::{Arc, Mutex};

use axum::Extension;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use cloister_control::Actor;
use cloister_control::ControlError;
use cloister_control::ports::{SurfaceHost, SurfaceHosts};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{
    AddConnector, AddedConnector, ConnectorState, ConnectorView, Credential, Key, ReconcileReport,
    ResetMode, ResetReport,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::caller::Caller;
use crate::test_world::World;

/// A surface that writes down what it is asked.
#[derive(Default)]
struct Noted(Arc<Mutex<Vec<String>>>);

impl Noted {
    fn note(&self, what: String) {
        self.0.lock().unwrap().push(what);
    }
}

fn view(account: &str) -> ConnectorView {
    ConnectorView {
        surface: "matrix".into(),
        account: account.to_owned(),
        address: "https://matrix.example.org".into(),
        state: ConnectorState::Connected,
        problem: None,
        last_heard_at: None,
        conversations: 0,
        waiting: 0,
        facts: Vec::new(),
        reconciled: None,
    }
}

impl SurfaceHost for Noted {
    fn name(&self) -> &'static str {
        "matrix"
    }

    fn start(&self) -> BoxFuture<'_, Result<(), ControlError>> {
        Box::pin(async { Ok(()) })
    }

    fn add<'a>(
        &'a self,
        actor: &'a Actor,
        new: AddConnector,
    ) -> BoxFuture<'a, Result<AddedConnector, ControlError>> {
        Box::pin(async move {
            let Credential::Password(password) = &new.credential else { panic!("{new:?}") };
            if password.expose() != "right" {
                let message = format!("{} does not take the password", new.address);
                return Err(ControlError::refused(ErrorCode::BadRequest, message));
            }
            self.note(format!("add {} by {actor}", new.account));
            let recovery_key = Some(Key::new("EsTc"));
            Ok(AddedConnector { view: view(&new.account), recovery_key })
        })
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<ConnectorView>, ControlError>> {
        Box::pin(async { Ok(vec![view("@bot:example.org")]) })
    }

    fn remove<'a>(
        &'a self,
        actor: &'a Actor,
        account: &'a str,
    ) -> BoxFuture<'a, Result<(), ControlError>> {
        Box::pin(async move {
            self.note(format!("remove {account} by {actor}"));
            Ok(())
        })
    }

    fn reconcile<'a>(
        &'a self,
        account: &'a str,
    ) -> BoxFuture<'a, Result<ReconcileReport, ControlError>> {
        Box::pin(async move {
            self.note(format!("reconcile {account}"));
            Ok(ReconcileReport::default())
        })
    }

    fn reset<'a>(
        &'a self,
        actor: &'a Actor,
        account: &'a str,
        mode: ResetMode,
        dry_run: bool,
    ) -> BoxFuture<'a, Result<ResetReport, ControlError>> {
        Box::pin(async move {
            self.note(format!("reset {account} {} {dry_run} by {actor}", mode.as_str()));
            Ok(ResetReport { dry_run, ..ResetReport::default() })
        })
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

async fn world() -> (World, Arc<Mutex<Vec<String>>>) {
    let mut world = World::new().await;
    let host = Noted::default();
    let noted = Arc::clone(&host.0);
    world.state.surfaces = SurfaceHosts::new(vec![Arc::new(host)]);
    (world, noted)
}

async fn call(world: &World, as_: Caller, what: (&str, &str), body: Value) -> (StatusCode, Value) {
    let request = Request::builder()
        .method(what.0)
        .uri(format!("/admin/v1/surfaces/{}", what.1))
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    let response = world.admin().layer(Extension(as_)).oneshot(request).await.unwrap();
    let status = response.status();
    let bytes = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

fn bot(password: &str) -> Value {
    json!({
        "address": "https://matrix.example.org",
        "account": "@bot:example.org",
        "credential": { "password": password },
    })
}

/// X9, E71: who runs the platform connects accounts; an operator looks and mends; a member does neither.
#[tokio::test]
async fn a_connector_is_added_by_who_rules_and_by_nobody_else() {
    let (world, noted) = world().await;
    world.add("root").await;
    let (ada, bob) = (world.add("ada").await.user, world.add("bob").await.user);
    world
        .store()
        .users()
        .give_role(&Actor::person("test"), bob.id, ("operator", "platform"), &[])
        .await
        .unwrap();
    let (member, operator) = (Caller::User(ada.id), Caller::User(bob.id));
    let one = "matrix/connectors/@bot:example.org";
    let reset = json!({ "mode": "server-leave-forget" });
    for who in [member, operator] {
        for (what, body) in [
            (("POST", "matrix/connectors".to_owned()), bot("right")),
            (("DELETE", one.to_owned()), Value::Null),
            (("POST", format!("{one}/reset")), reset.clone()),
        ] {
            let (status, said) = call(&world, who, (what.0, &what.1), body).await;
            assert_eq!(status, StatusCode::FORBIDDEN, "{what:?}: {said}");
        }
    }
    let looked = call(&world, member, ("GET", "matrix/connectors"), Value::Null).await;
    assert_eq!(looked.0, StatusCode::FORBIDDEN);
    assert_eq!(*noted.lock().unwrap(), Vec::<String>::new());

    let (status, seen) = call(&world, operator, ("GET", "matrix/connectors"), Value::Null).await;
    assert_eq!((status, &seen[0]["account"]), (StatusCode::OK, &json!("@bot:example.org")));
    let (status, _) =
        call(&world, operator, ("POST", &format!("{one}/reconcile")), Value::Null).await;
    assert_eq!(status, StatusCode::OK);
    let (status, added) =
        call(&world, Caller::Local, ("POST", "matrix/connectors"), bot("right")).await;
    assert_eq!((status, &added["recovery_key"]), (StatusCode::OK, &json!("EsTc")));
    let said = noted.lock().unwrap().clone();
    assert_eq!(said, ["reconcile @bot:example.org", "add @bot:example.org by operator"]);
}

/// A reset leaves an entry before it is done, and a dry run none.
#[tokio::test]
async fn a_reset_is_on_record_and_a_dry_run_is_not() {
    let (world, noted) = world().await;
    let path = "matrix/connectors/@bot:example.org/reset";
    for dry_run in [true, false] {
        let body = json!({ "mode": "local-only", "dry_run": dry_run });
        let (status, report) = call(&world, Caller::Local, ("POST", path), body).await;
        assert_eq!((status, &report["dry_run"]), (StatusCode::OK, &json!(dry_run)), "{report}");
    }
    let entries = world.store().audit().audit_tail(100).await.unwrap();
    let resets: Vec<_> = entries.iter().filter(|e| e.action == "connector.reset").collect();
    assert_eq!(resets.len(), 1, "{resets:?}");
    assert_eq!(resets[0].subject, "matrix @bot:example.org");
    assert_eq!(noted.lock().unwrap().len(), 2);
}

/// What an account logs in with is in no answer, and what is not understood is not repeated.
#[tokio::test]
async fn a_password_does_not_come_back() {
    let (world, _) = world().await;
    let secret = "correct horse battery staple";
    let mut unknown_field = bot(secret);
    unknown_field["pasword"] = json!(secret);
    let mut wrong_shape = bot(secret);
    wrong_shape["credential"] = json!({ "pass": secret });
    for body in [bot(secret), unknown_field, wrong_shape] {
        let (status, said) = call(&world, Caller::Local, ("POST", "matrix/connectors"), body).await;
        assert!(status.is_client_error(), "{status}: {said}");
        assert!(!said.to_string().contains("horse"), "{said}");
    }
    let entries = world.store().audit().audit_tail(100).await.unwrap();
    assert!(!format!("{entries:?}").contains("horse"));
}

#[tokio::test]
async fn a_surface_that_is_not_there_is_named_with_those_that_are() {
    let (world, _) = world().await;
    let (status, said) =
        call(&world, Caller::Local, ("GET", "carrier-pigeon/connectors"), Value::Null).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(said["error"]["fix"], "surfaces with connectors: matrix");
}

/// X5: a bot that serves one person alone serves somebody who is there, and is a person.
#[tokio::test]
async fn an_owner_who_is_not_there_is_named() {
    let (world, noted) = world().await;
    world.add("root").await;
    let club = "book-club".parse().unwrap();
    world.control().people().add_community(&Actor::person("root"), &club).await.unwrap();
    for owner in ["nobody", "book-club", "no such name!"] {
        let mut new = bot("right");
        new["owner"] = json!(owner);
        let (status, said) = call(&world, Caller::Local, ("POST", "matrix/connectors"), new).await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{said}");
        assert!(said["error"]["message"].as_str().unwrap().contains(owner), "{said}");
        assert!(said["error"]["fix"].as_str().unwrap().contains("cloister user list"), "{said}");
    }
    assert!(noted.lock().unwrap().is_empty());
    let mut new = bot("right");
    new["owner"] = json!("root");
    let (status, _) = call(&world, Caller::Local, ("POST", "matrix/connectors"), new).await;
    assert_eq!(status, StatusCode::OK);
}
