//! A message as a browser without script posts it: with its files, or as a button that says something.

use axum::body::{Body, to_bytes};
use axum::extract::{Form, FromRequest as _, Request};
use cloister_control::IncomingMessage;
use cloister_policy::engine::ChatCall;
use cloister_protocol::{
    Attachment, ChatId, ErrorCode, MAX_ATTACHMENTS, MAX_TEXT_BYTES, MessageId,
};
use cloister_words::say;
use serde::Deserialize;

use super::session::Viewer;
use crate::agent_socket::SURFACE;
use crate::auth::random_token;
use crate::chat_files::{off_the_way, read_out_of};
use crate::multipart::{Multipart, boundary};
use crate::reply::Failure;
use crate::server::State;

/// A form without files.
const MOST_FORM: usize = 1 << 20;
const MOST_ID: usize = 200;

#[derive(Default, Deserialize)]
struct Posted {
    /// Buttons have none: they are pressed again on purpose.
    #[serde(default)]
    id: String,
    #[serde(default)]
    text: String,
    #[serde(skip)]
    attachments: Vec<Attachment>,
}

/// Takes what a form says in a chat.
pub(super) async fn take(
    state: &State,
    viewer: &Viewer,
    chat: ChatId,
    request: Request,
) -> Result<(), Failure> {
    let posted = match boundary(request.headers()) {
        Some(boundary) => {
            let pieces = request.into_body().into_data_stream();
            let mut form = Multipart::new(pieces, &boundary);
            let read = with_files(state, viewer, chat, &mut form).await;
            if read.is_err() {
                // Who is still sending when the connection is closed never reads why.
                read_out_of(&mut form).await;
            }
            read?
        }
        None => plain(request).await?,
    };
    let Posted { id, text, attachments } = posted;
    if text.trim().is_empty() && attachments.is_empty() {
        return Ok(());
    }
    let id: MessageId = match id.is_empty() {
        true => random_token().map_err(cloister_control::Fault::io("no id could be made"))?,
        false => id,
    }
    .parse()?;
    let message = IncomingMessage {
        surface: SURFACE,
        workspace: viewer.workspace,
        chat,
        id,
        from: viewer.user.name.clone(),
        text,
        attachments: attachments.clone(),
        instead: None,
        heard_in: None,
    };
    let taken = state.control.inbox().receive(message).await;
    if taken.is_err() {
        discard(state, viewer, &attachments);
    }
    taken?;
    Ok(())
}

async fn plain(request: Request) -> Result<Posted, Failure> {
    let (parts, body) = request.into_parts();
    let bad = |why: String| Failure::new(ErrorCode::BadRequest, why);
    let bytes = to_bytes(body, MOST_FORM).await.map_err(|error| bad(error.to_string()))?;
    let request = Request::from_parts(parts, Body::from(bytes));
    match Form::<Posted>::from_request(request, &()).await {
        Ok(Form(posted)) => Ok(posted),
        Err(rejection) => Err(bad(rejection.body_text())),
    }
}

async fn with_files(
    state: &State,
    viewer: &Viewer,
    chat: ChatId,
    form: &mut Multipart,
) -> Result<Posted, Failure> {
    let mut posted = Posted::default();
    let read = fields(state, viewer, chat, form, &mut posted).await;
    if read.is_err() {
        discard(state, viewer, &posted.attachments);
    }
    read.map(|()| posted)
}

async fn fields(
    state: &State,
    viewer: &Viewer,
    chat: ChatId,
    form: &mut Multipart,
    posted: &mut Posted,
) -> Result<(), Failure> {
    while let Some(field) = form.next().await? {
        match (field.name.as_str(), field.file) {
            ("id", None) => posted.id = form.text(MOST_ID).await?,
            // So forms end their lines.
            ("text", None) => {
                posted.text = form.text(MAX_TEXT_BYTES).await?.replace("\r\n", "\n");
            }
            // No file was chosen.
            ("files", Some(name)) if name.is_empty() => {}
            ("files", Some(name)) => {
                if posted.attachments.len() >= MAX_ATTACHMENTS {
                    return Err(Failure::said(ErrorCode::BadRequest, |to| {
                        say!(
                            to,
                            "at most {most} files can come with one message",
                            most = MAX_ATTACHMENTS
                        )
                    }));
                }
                posted.attachments.push(keep(state, viewer, chat, form, &name).await?);
            }
            _ => {
                return Err(Failure::said(ErrorCode::BadRequest, |to| {
                    say!(to, "the form has a field that is none of this page's")
                }));
            }
        }
    }
    Ok(())
}

async fn keep(
    state: &State,
    viewer: &Viewer,
    chat: ChatId,
    form: &mut Multipart,
    name: &str,
) -> Result<Attachment, Failure> {
    let (control, by, place) = (&state.control, viewer.user.id, (viewer.workspace, chat));
    control.people().require_in_chat(by, ChatCall::UploadFile, place.0, place.1).await?;
    let mut upload = control.inbox().upload(by, place, name).await?;
    while let Some(bytes) = form.bytes().await? {
        // A disk that is slow must not hold up everybody else.
        upload = off_the_way(move || Ok(upload.write(&bytes).map(|()| upload)?)).await?;
    }
    Ok(upload.finish().await?)
}

fn discard(state: &State, viewer: &Viewer, files: &[Attachment]) {
    for file in files {
        state.control.inbox().discard_upload(viewer.workspace, file);
    }
}
