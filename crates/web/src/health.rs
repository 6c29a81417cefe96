//! Whether the control plane lives, and whether it can work.

use axum::Json;
use axum::extract::State as Extract;
use axum::http::StatusCode;
use cloister_control::Readiness;

use crate::server::State;

pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Each thing that a message needs, what was found, and what to do about it.
pub(crate) async fn readyz(Extract(state): Extract<State>) -> (StatusCode, Json<Readiness>) {
    let readiness = state.control.status().readiness().await;
    let status = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(readiness))
}
