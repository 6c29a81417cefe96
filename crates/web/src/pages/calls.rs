//! Admin calls of the person who looks at a page: the same table, policies and audit as for any other client of theirs,
//! so that a page can neither show nor do what they may not.

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode, header};
use cloister_protocol::{ErrorBody, ErrorCode, ErrorEnvelope, UserId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tower::ServiceExt as _;

use super::session::Viewer;
use crate::admin::admin_routes;
use crate::caller::Caller;
use crate::server::State;

/// No answer that a page shows is longer.
const LONGEST: usize = 4 << 20;

pub(super) struct Calls {
    router: Router,
    user: UserId,
}

impl Calls {
    pub(super) fn of(state: &State, viewer: &Viewer) -> Self {
        Self { router: admin_routes(state), user: viewer.user.id }
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
        let bytes =
            to_bytes(answer.into_body(), LONGEST).await.map_err(|e| failed(e.to_string()))?;
        if status == StatusCode::OK {
            return serde_json::from_slice(&bytes).map_err(|error| failed(error.to_string()));
        }
        let said: Result<ErrorEnvelope, _> = serde_json::from_slice(&bytes);
        Err(said.map_or_else(|_| failed(format!("it was answered with {status}")), |e| e.error))
    }
}
