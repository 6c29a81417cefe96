//! Sessions and login links that are opened for somebody.

use axum::Extension;
use axum::extract::State as Extract;
use cloister_control::rows::{User, token_hash};
use cloister_policy::engine::{Request, WorkspaceCall};
use cloister_protocol::admin::{NewSession, Session};
use cloister_protocol::{ErrorCode, UserName};
use schemars::JsonSchema;
use serde::Serialize;

use super::Admin;
use super::authorise::Asker;
use super::pairing::linker;
use super::people::MADE_A_LINK;
use super::route::{About, Route};
use crate::mtls::FromClient;
use crate::reply::{Answer, Body, Failure, Path, json};
use crate::server::operator_session;

pub(super) fn routes() -> Vec<Route> {
    let about = About::Handler(WorkspaceCall::OpenSessionFor.as_str());
    vec![
        Route::post("/admin/v1/sessions", about, new_session),
        Route::post("/admin/v1/login", about, login),
        Route::post(
            "/admin/v1/users/{user}/sessions/end",
            About::Workspace(WorkspaceCall::ChangeSettings),
            end,
        ),
    ]
}

/// The user that the body names, if the asker may come in as them.
async fn stand_in(admin: &Admin, asker: &Asker, name: Option<&UserName>) -> Result<User, Failure> {
    let name = name.ok_or_else(|| {
        Failure::new(ErrorCode::BadRequest, "say for which user: {\"user\": \"name\"}")
    })?;
    let user = asker.find_user(name).await?;
    let place = admin.control.people().place(user.workspace).await?;
    let request = Request::workspace(asker.person(), WorkspaceCall::OpenSessionFor, &place);
    asker.require_of_user(&request, name.as_str(), &place).await?;
    Ok(user)
}

async fn new_session(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    client: Option<Extension<FromClient>>,
    Body(asked): Body<NewSession>,
) -> Answer<Session> {
    let user = stand_in(&admin, &asker, asked.user.as_ref()).await?;
    let session = operator_session(&admin.control, asker.actor(), asked).await?;
    ends_with(&admin, client, &session.token).await?;
    tell(&admin, &asker, &user, "opened a session as you").await?;
    json(session)
}

/// Tells a person that somebody comes in as them. Against whoever runs the machine itself there is no protection,
/// and nothing to be told of.
async fn tell(admin: &Admin, asker: &Asker, user: &User, what: &str) -> Result<(), Failure> {
    if asker.is_local() || admin.control.accounts().is_newcomer(user.id).await? {
        return Ok(());
    }
    Ok(admin.control.people().tell_of_identity(&linker(asker, user), user, what).await?)
}

/// What a machine opened from elsewhere ends when that machine is revoked.
async fn ends_with(
    admin: &Admin,
    client: Option<Extension<FromClient>>,
    token: &str,
) -> Result<(), Failure> {
    if let Some(Extension(FromClient(client))) = client {
        admin.remote.bind_session(&token_hash(token), client).await?;
    }
    Ok(())
}

/// A login link for a user.
#[derive(Serialize, JsonSchema)]
struct LoginUrl {
    login_url: String,
}

async fn login(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    client: Option<Extension<FromClient>>,
    Body(asked): Body<NewSession>,
) -> Answer<LoginUrl> {
    let user = stand_in(&admin, &asker, asked.user.as_ref()).await?;
    let (token, _) = crate::auth::new_login_token(&admin.control, asker.actor(), &user).await?;
    ends_with(&admin, client, &token).await?;
    tell(&admin, &asker, &user, MADE_A_LINK).await?;
    json(LoginUrl { login_url: format!("{}/login?token={token}", admin.url) })
}

#[derive(Serialize, JsonSchema)]
struct Ended {
    ended: u64,
}

/// Ends every session of a user; their sockets close at once.
async fn end(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
) -> Answer<Ended> {
    let user = super::user(&admin, &name).await?;
    let ended = admin.control.sessions().end_all(asker.actor(), user.id).await?;
    json(Ended { ended })
}
