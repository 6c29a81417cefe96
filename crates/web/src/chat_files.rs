//! Files up and down.

use axum::body::{Body, BodyDataStream};
use axum::extract::State as Extract;
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use cloister_control::{ControlError, Download, Upload};
use cloister_policy::engine::{ChatCall, WorkspaceCall};
use cloister_protocol::{Attachment, ChatId, ErrorCode, WorkspaceId};
use futures_util::StreamExt;
use serde::Deserialize;
use tokio_util::io::ReaderStream;

use crate::auth::{session_for_reading, session_of};
use crate::multipart::Multipart;
use crate::reply::{Answer, Failure, Path, Query, json};
use crate::server::State;

/// How long an upload may stand still.
const IDLE: std::time::Duration = std::time::Duration::from_secs(30);

/// How long, and how much, is read of an upload that is refused.
const READ_OUT_WITHIN: std::time::Duration = std::time::Duration::from_secs(10);
const MOST_READ_OUT: usize = 64 << 20;

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
    let (owner, _) = session_of(&state, &headers, None, workspace).await?;
    let chat: ChatId = chat.parse()?;
    state
        .control
        .people()
        .require_in_chat(owner.user, ChatCall::UploadFile, workspace, chat)
        .await?;
    let mut pieces = body.into_data_stream();
    let taken = match state.control.inbox().upload(owner.user, (workspace, chat), &name).await {
        Ok(upload) => take_in(&mut pieces, upload).await,
        Err(refused) => Err(refused.into()),
    };
    if taken.is_err() {
        tokio::time::timeout(READ_OUT_WITHIN, read_out(&mut pieces)).await.ok();
    }
    json(taken?)
}

async fn take_in(pieces: &mut BodyDataStream, mut upload: Upload) -> Result<Attachment, Failure> {
    loop {
        let piece = tokio::time::timeout(IDLE, pieces.next()).await.map_err(|late| {
            Failure::new(ErrorCode::BadRequest, format!("the upload stood still: {late}"))
        })?;
        match piece {
            None => return Ok(upload.finish().await?),
            // A disk that is slow must not hold up everybody else.
            Some(Ok(bytes)) => {
                upload = off_the_way(move || Ok(upload.write(&bytes).map(|()| upload)?)).await?;
            }
            Some(Err(error)) => {
                return Err(Failure::new(
                    ErrorCode::BadRequest,
                    format!("the upload broke off: {error}"),
                ));
            }
        }
    }
}

/// Who is still sending when the connection is closed never reads why: what comes is let go for a while.
async fn read_out(pieces: &mut BodyDataStream) {
    let mut left = MOST_READ_OUT;
    while let Some(Ok(piece)) = pieces.next().await {
        let Some(rest) = left.checked_sub(piece.len()) else { return };
        left = rest;
    }
}

/// The same of a form with files.
pub(crate) async fn read_out_of(form: &mut Multipart) {
    let reading = async {
        let mut left = MOST_READ_OUT;
        while let Ok(Some(bytes)) = form.bytes().await {
            let Some(rest) = left.checked_sub(bytes.len()) else { return };
            left = rest;
        }
    };
    tokio::time::timeout(READ_OUT_WITHIN, reading).await.ok();
}

/// Does what may wait for the disk where nobody else waits for it.
pub(crate) async fn off_the_way<T: Send + 'static>(
    job: impl FnOnce() -> Result<T, ControlError> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(job).await {
        Ok(done) => Ok(done?),
        Err(join) => Err(Failure::new(ErrorCode::Internal, format!("an upload broke off: {join}"))),
    }
}

pub(crate) async fn download(
    Extract(state): Extract<State>,
    Path((workspace, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let workspace: WorkspaceId = workspace.parse()?;
    let owner = session_for_reading(&state, &headers, workspace).await?;
    let call = WorkspaceCall::ReadFiles;
    state.control.people().require_in_workspace(owner.user, call, workspace).await?;
    let file = state.control.inbox().download(owner.user, workspace, &id).await?;
    Ok(inert(file, &[]))
}

/// What the agent made or a person sent can be shown in a page as what it is only if it is nothing but that.
const SHOWN_IN_PLACE: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
/// Played, and never opened.
const PLAYED: [&str; 5] = ["audio/webm", "audio/ogg", "audio/mp4", "audio/mpeg", "audio/wav"];

/// A file that a person sent to a chat, for who may read there.
pub(crate) async fn incoming(
    Extract(state): Extract<State>,
    Path((workspace, chat, name)): Path<(String, String, String)>,
    headers: HeaderMap,
) -> Result<Response, Failure> {
    let (workspace, chat): (WorkspaceId, ChatId) = (workspace.parse()?, chat.parse()?);
    let owner = session_for_reading(&state, &headers, workspace).await?;
    let call = ChatCall::DownloadFile;
    state.control.people().require_in_chat(owner.user, call, workspace, chat).await?;
    let mut file = state.control.inbox().incoming((workspace, chat), &name).await?;
    let known = |kinds: &[&str]| kinds.contains(&file.mime.as_str());
    if !known(&SHOWN_IN_PLACE) && !known(&PLAYED) {
        "application/octet-stream".clone_into(&mut file.mime);
    }
    Ok(inert(file, &SHOWN_IN_PLACE))
}

/// A file as an answer that no browser takes for a page of ours; it is opened in place only if it is of these kinds.
fn inert(file: Download, in_place: &[&str]) -> Response {
    let body = Body::from_stream(ReaderStream::new(tokio::fs::File::from_std(file.file)));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    let mime = HeaderValue::from_str(&file.mime)
        .unwrap_or(HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::CONTENT_TYPE, mime);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(file.size));
    if !in_place.contains(&file.mime.as_str()) {
        headers.insert(header::CONTENT_DISPOSITION, disposition(&file.name));
    }
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("sandbox; default-src 'none'"),
    );
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // No other site's page gets it as a picture, a script or anything else.
    headers.insert(
        HeaderName::from_static("cross-origin-resource-policy"),
        HeaderValue::from_static("same-origin"),
    );
    response
}

/// `attachment`, with the file's name in the one spelling that takes every name.
fn disposition(name: &str) -> HeaderValue {
    let mut value = "attachment; filename*=UTF-8''".to_owned();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            value.push(char::from(byte));
        } else {
            value.push_str(&format!("%{byte:02X}"));
        }
    }
    HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("attachment"))
}
