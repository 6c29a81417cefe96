//! Admin calls of the person who looks at a page: the same table, policies and audit as for any other client of theirs,
//! so that a page can neither show nor do what they may not.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode, header};
use cloister_control::People;
use cloister_policy::engine::{
    Assigned, Person, Place, Request as Policy, Role, Scope, WorkspaceCall,
};
use cloister_protocol::{ErrorBody, ErrorCode, ErrorEnvelope, Language, UserId, WorkspaceId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tower::ServiceExt as _;

use super::session::Viewer;
use crate::admin::admin_routes;
use crate::caller::Caller;
use crate::reply::{Failure, Told};
use crate::server::State;

/// No answer that a page shows is longer.
const LONGEST: usize = 4 << 20;

/// What the policies let who looks at a page do in one workspace: a page offers nothing that would be refused.
pub(super) struct May<'a> {
    people: &'a People,
    person: Person,
    place: Place,
}

impl<'a> May<'a> {
    pub(super) async fn of(
        state: &'a State,
        viewer: &Viewer,
        workspace: WorkspaceId,
    ) -> Result<Self, Failure> {
        let people = state.control.people();
        let person = people.person(viewer.user.id).await?;
        Ok(Self { people, person, place: people.place(workspace).await? })
    }

    pub(super) fn call(&self, call: WorkspaceCall) -> bool {
        self.people.require(&Policy::workspace(&self.person, call, &self.place)).is_ok()
    }

    /// Give or take this role, of whoever owns the workspace.
    pub(super) async fn assign(
        &self,
        role: Role,
        scope: &Scope,
        to: UserId,
    ) -> Result<bool, Failure> {
        let owner = self.people.owner_of(scope).await?;
        let assigned = Assigned { owner, to_self: self.person.user == to };
        Ok(self.people.require(&Policy::assign_role(&self.person, role, scope, assigned)).is_ok())
    }
}

pub(super) struct Calls {
    router: Router,
    user: UserId,
    /// What refusals are said in.
    to: Language,
}

impl Calls {
    pub(super) fn of(state: &State, viewer: &Viewer) -> Self {
        Self { router: admin_routes(state), user: viewer.user.id, to: viewer.to }
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ErrorBody> {
        self.send(Method::GET, path, &()).await
    }

    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ErrorBody> {
        let failed = |what: String| ErrorBody::new(ErrorCode::Internal, what);
        let body = match method {
            Method::GET => Body::empty(),
            _ => Body::from(serde_json::to_vec(body).map_err(|e| failed(e.to_string()))?),
        };
        let request = Request::builder()
            .method(method)
            .uri(format!("/admin/v1/{path}"))
            .header(header::CONTENT_TYPE, "application/json")
            .extension(Caller::User(self.user))
            .body(body)
            .map_err(|error| failed(error.to_string()))?;
        let answer = match self.router.clone().oneshot(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        let status = answer.status();
        let told = answer.extensions().get::<Told>().cloned().unwrap_or_default();
        let bytes =
            to_bytes(answer.into_body(), LONGEST).await.map_err(|e| failed(e.to_string()))?;
        if status == StatusCode::OK {
            return serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()));
        }
        let said: Result<ErrorEnvelope, _> = serde_json::from_slice(&bytes);
        let said = said.map(|envelope| told.body_in(self.to, envelope.error));
        Err(said.unwrap_or_else(|_| failed(format!("it was answered with {status}"))))
    }
}
