//! The admin API: what people who run things can see and change, one file per resource.
//!
//! It is served on a Unix socket that only the operator's account can open, and used in-process by a CLI
//! that finds no control plane running. Every call is a line of `table`, and runs only once the policies
//! have allowed it to whoever calls.

mod agents;
mod audit;
mod authorise;
mod cells;
mod chats;
mod clients;
mod config;
mod connectors;
mod describe;
mod egress;
mod grants;
mod models;
mod own_models;
mod pairing;
mod people;
mod personal;
mod policies;
mod refusals;
mod roles;
pub(crate) mod route;
mod secrets;
mod sessions;
mod status;
mod stop;
mod tasks;
mod users;
mod workspaces;

use std::sync::Arc;

use axum::{Extension, Router};
use cloister_control::Control;
use cloister_control::ports::{SurfaceHosts, Upstream};
use cloister_protocol::ErrorCode;

use crate::caller::Caller;
use crate::mtls::Remote;
use crate::reply::Failure;
use crate::server::{State, with_envelopes};
use refusals::Refusals;
use route::Route;

pub use audit::report as audit_report;
pub(crate) use chats::checked_title;
pub(crate) use grants::number as grant_number;
pub(crate) use status::status;
pub(crate) use users::checked_display_name;

/// What admin handlers have.
#[derive(Clone)]
pub(crate) struct Admin {
    control: Control,
    upstream: Arc<dyn Upstream>,
    url: String,
    refusals: Refusals,
    remote: Remote,
    surfaces: SurfaceHosts,
}

/// The admin API alone, for a command that finds no control plane running.
pub fn admin_router(
    control: Control,
    upstream: Arc<dyn Upstream>,
    remote: Remote,
    surfaces: SurfaceHosts,
) -> Router {
    let (url, refusals) = (String::new(), Refusals::default());
    let admin = Admin { control, upstream, url, refusals, remote, surfaces };
    with_envelopes(route::router(table(), &admin).layer(Extension(Caller::Local)))
}

/// The admin API for a listener, which says who calls by a `Caller` on every request.
pub(crate) fn admin_routes(state: &State) -> Router {
    let State { control, upstream, url, remote, surfaces, .. } = state.clone();
    let refusals = Refusals::default();
    route::router(table(), &Admin { control, upstream, url, refusals, remote, surfaces })
}

/// Every admin call, by resource.
pub(crate) fn table() -> Vec<Route> {
    std::iter::empty()
        .chain(status::routes())
        .chain(sessions::routes())
        .chain(users::routes())
        .chain(people::routes())
        .chain(roles::routes())
        .chain(pairing::routes())
        .chain(workspaces::routes())
        .chain(egress::routes())
        .chain(cells::routes())
        .chain(chats::routes())
        .chain(agents::routes())
        .chain(tasks::routes())
        .chain(grants::routes())
        .chain(models::routes())
        .chain(own_models::routes())
        .chain(secrets::routes())
        .chain(audit::routes())
        .chain(personal::routes())
        .chain(clients::routes())
        .chain(policies::routes())
        .chain(config::routes())
        .chain(connectors::routes())
        .chain(stop::routes())
        .collect()
}

/// A time of the database, as people and programs read it.
pub(crate) fn time(ms: i64) -> String {
    jiff::Timestamp::from_millisecond(ms)
        .map_or_else(|_out_of_range| ms.to_string(), |t| t.to_string())
}

/// The user of a path, by name.
async fn user(admin: &Admin, name: &str) -> Result<cloister_control::rows::User, Failure> {
    let name: cloister_protocol::UserName = name.parse()?;
    match admin.control.accounts().named(&name).await {
        Err(error) if error.code() == ErrorCode::NotFound => Err(Failure::from(error)
            .fix("`cloister user list` shows who there is, `cloister user add NAME` adds one")),
        other => Ok(other?),
    }
}

#[cfg(test)]
#[path = "hostile_tests.rs"]
mod hostile_tests;
#[cfg(test)]
#[path = "matrix_tests.rs"]
mod matrix_tests;
