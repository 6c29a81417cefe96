//! Files up and down.

use axum::body::Body;
use axum::extract::State as Extract;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use cloister_protocol::{Attachment, ChatId, ErrorCode, WorkspaceId};
use futures_util::StreamExt;
use serde::Deserialize;
use tokio_util::io::ReaderStream;

use crate::auth::{bearer, require_session};
use crate::reply::{Answer, Failure, Path, Query, json};
use crate::server::State;

/// How long an upload may stand still.
const IDLE: std::time::Duration = std::time::Duration::from_secs(30);

#[derive(Deserialize)]
pub(crate) struct UploadName {
    #[serde(default)]
    name: String,
}

pub(crate) async fn upload(
    Extract(state): Extract<State>,
    Path((workspace, chat)): Path<(String, String)>,
    Query(UploadName { name }): Query<UploadName>,
    headers: HeaderMap,
    body: Body,
) -> Answer<Attachment> {
    let workspace: WorkspaceId = workspace.parse()?;
    require_session(&state.control, bearer(&headers), workspace).await?;
    let chat: ChatId = chat.parse()?;
    let mut upload = state.control.upload(workspace, chat, &name).await?;
    let mut pieces = body.into_data_stream();
    loop {
        let piece = tokio::time::timeout(IDLE, pieces.next()).await.map_err(|late| {
            Failure::new(ErrorCode::BadRequest, format!("the upload stood still: {late}"))
        })?;
        match piece {
            None => break,
            Some(Ok(bytes)) => upload.write(&bytes)?,
            Some(Err(error)) => {
                return Err(Failure::new(
                    ErrorCode::BadRequest,
                    format!("the upload broke off: {error}"),
                ));
            }
        }
    }
    json(upload.finish()?)
}

pub(crate) async fn download(
    Extract(state): Extract<State>,
    Path((workspace, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let workspace: WorkspaceId = workspace.parse()?;
    require_session(&state.control, bearer(&headers), workspace).await?;
    let file = state.control.download(workspace, &id).await?;
    let body = Body::from_stream(ReaderStream::new(tokio::fs::File::from_std(file.file)));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    let mime = HeaderValue::from_str(&file.mime)
        .unwrap_or(HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_TYPE, mime);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(file.size));
    // What an agent made is never shown as a page of ours.
    headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}
