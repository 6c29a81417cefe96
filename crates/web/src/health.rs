//! Whether the control plane lives, and whether it can work.

use axum::extract::State as Extract;
use axum::http::StatusCode;

use crate::server::State;

pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

pub(crate) async fn readyz(Extract(state): Extract<State>) -> (StatusCode, &'static str) {
    if state.control.stopping() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
    }
    match state.control.store().backlog().await {
        Ok(_) => (StatusCode::OK, "ready\n"),
        Err(error) => {
            tracing::error!(%error, "not ready");
            (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n")
        }
    }
}
