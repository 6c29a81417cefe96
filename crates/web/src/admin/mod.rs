//! The admin API: what the operator can see and change. It is served on a Unix socket that only the
//! operator's account can open, and used in-process by a CLI that finds no control plane running.

mod cells;
mod chats;
mod egress;
mod models;
mod people;
mod status;
mod tasks;
mod users;

use std::sync::Arc;

use axum::extract::State as Extract;
use axum::routing::{get, post, put};
use axum::{Extension, Router};
use cloister_control::Control;
use cloister_control::ports::Upstream;
use cloister_protocol::admin::{NewSession, Session};
use cloister_store::StoreError;

use crate::caller::Caller;
use crate::reply::{Answer, Body, Failure, json};
use crate::server::{operator_session, with_envelopes};

pub(crate) use chats::checked_title;
pub(crate) use people::invitation;
pub(crate) use status::status;

/// What admin handlers have.
#[derive(Clone)]
pub(crate) struct Admin {
    control: Control,
    upstream: Arc<dyn Upstream>,
    url: String,
}

/// The admin API alone, for a command that finds no control plane running.
pub fn admin_router(control: Control, upstream: Arc<dyn Upstream>) -> Router {
    with_envelopes(admin_routes(control, upstream, String::new()).layer(Extension(Caller::Local)))
}

pub(crate) fn admin_routes(control: Control, upstream: Arc<dyn Upstream>, url: String) -> Router {
    Router::new()
        .route("/admin/v1/status", get(status::show))
        .route("/admin/v1/sessions", post(new_session))
        .route("/admin/v1/login", post(login))
        .route("/admin/v1/users", get(users::list).post(users::add))
        .route("/admin/v1/users/{user}", get(users::show).patch(users::change))
        .route("/admin/v1/users/{user}/budget", get(users::budget))
        .route(
            "/admin/v1/users/{user}/identity",
            get(people::identity).patch(people::write_identity),
        )
        .route("/admin/v1/invitations", post(people::invite))
        .route("/admin/v1/users/{user}/egress", get(egress::show).patch(egress::change))
        .route("/admin/v1/users/{user}/egress/usage", get(egress::usage))
        .route("/admin/v1/users/{user}/cell", get(cells::show))
        .route("/admin/v1/users/{user}/cell/stop", post(cells::stop))
        .route("/admin/v1/users/{user}/chats", get(chats::list).post(chats::add))
        .route("/admin/v1/users/{user}/chats/{chat}", get(chats::show).patch(chats::change))
        .route("/admin/v1/users/{user}/approvals", get(tasks::approvals))
        .route("/admin/v1/users/{user}/approvals/{approval}", post(tasks::answer))
        .route("/admin/v1/users/{user}/tasks/cancel", post(tasks::cancel))
        .route("/admin/v1/tasks", get(tasks::list))
        .route("/admin/v1/tasks/{task}", get(tasks::show))
        .route("/admin/v1/tasks/{task}/cancel", post(tasks::cancel_one))
        .route("/admin/v1/tasks/{task}/retry", post(tasks::retry))
        .route("/admin/v1/models", get(models::list).post(models::add))
        .route("/admin/v1/models/ids", post(models::ids))
        .route("/admin/v1/models/{model}", get(models::show).delete(models::remove))
        .route("/admin/v1/models/{model}/test", post(models::test))
        .route("/admin/v1/levels/{level}", put(models::use_chain))
        .with_state(Admin { control, upstream, url })
}

/// A time of the database, as people and programs read it.
pub(crate) fn time(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms)
        .map_or_else(|_out_of_range| ms.to_string(), |t| t.to_string())
}

async fn new_session(
    Extract(admin): Extract<Admin>,
    Body(asked): Body<NewSession>,
) -> Answer<Session> {
    json(operator_session(&admin.control, asked).await?)
}

/// A login link for a user.
#[derive(serde::Serialize)]
struct LoginUrl {
    login_url: String,
}

async fn login(Extract(admin): Extract<Admin>, Body(asked): Body<NewSession>) -> Answer<LoginUrl> {
    let name = asked.user.ok_or_else(|| {
        Failure::new(cloister_protocol::ErrorCode::BadRequest, "say for which user")
    })?;
    let user = admin.control.store().user(&name).await?;
    let (token, _) = crate::auth::new_login_token(&admin.control, &user).await?;
    json(LoginUrl { login_url: format!("{}/login?token={token}", admin.url) })
}

/// The user of a path, by name.
async fn user(admin: &Admin, name: &str) -> Result<cloister_store::users::User, Failure> {
    let name: cloister_protocol::UserName = name.parse()?;
    match admin.control.store().user(&name).await {
        Err(StoreError::NotFound { what, name }) => {
            Err(Failure::from(StoreError::NotFound { what, name })
                .fix("`cloister user list` shows who there is, `cloister user add NAME` adds one"))
        }
        other => Ok(other?),
    }
}
