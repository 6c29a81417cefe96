//! What the agent asks of egress at its door.

use cloister_protocol::with_causes;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::outlet::Outlet;
use super::search::SearchRequest;
use crate::refusal::{Refusal, shorten};

pub(crate) fn routes<S: Clone + Send + Sync + 'static>(outlet: Arc<Outlet>) -> Router<S> {
    Router::new()
        .route("/ca.pem", get(ca_pem))
        .route("/fetch", post(fetch))
        .route("/search", post(search))
        .route("/egress/refusals", get(refusals))
        .route("/secrets", get(secrets))
        .with_state(outlet)
}

/// The authority whose certificates programs in the sandbox will see.
async fn ca_pem(State(outlet): State<Arc<Outlet>>) -> Result<Response, Refusal> {
    let pem = outlet.authority()?.pem().to_owned();
    Ok(([(header::CONTENT_TYPE, "application/x-pem-file")], pem).into_response())
}

async fn fetch(State(outlet): State<Arc<Outlet>>, body: Bytes) -> Result<Response, Refusal> {
    let asked = read(&body, r#"{"url": "https://example.com/"}"#)?;
    match outlet.fetch(asked).await {
        Ok(page) => Ok(page),
        Err(stopped) => Err(outlet.record(stopped).await.into()),
    }
}

async fn search(State(outlet): State<Arc<Outlet>>, body: Bytes) -> Result<Response, Refusal> {
    let asked: SearchRequest = read(&body, r#"{"query": "words"}"#)?;
    match outlet.search(asked).await {
        Ok(found) => Ok(([(header::CONTENT_TYPE, "application/json")], found).into_response()),
        Err(stopped) => Err(outlet.record(stopped).await.into()),
    }
}

/// The secrets that may be used here: their handles, never their values.
async fn secrets(State(outlet): State<Arc<Outlet>>) -> Result<Response, Refusal> {
    let now = outlet.shelf().look().await;
    let now = now.map_err(|error| Refusal::internal("list the secrets of this task", &error))?;
    Ok(Json(now.listed()).into_response())
}

#[derive(Deserialize)]
struct After {
    #[serde(default)]
    after: u64,
}

async fn refusals(State(outlet): State<Arc<Outlet>>, Query(query): Query<After>) -> Response {
    Json(outlet.refusals_after(query.after)).into_response()
}

fn read<T: DeserializeOwned>(body: &[u8], example: &str) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        Refusal::bad_request(shorten(
            &format!("the request can't be read: {error}", error = with_causes(&error)),
            200,
        ))
        .fix(format!("Send {example}."))
    })
}
