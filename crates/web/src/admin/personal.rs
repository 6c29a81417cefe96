//! All that is one person's: taken away, or erased.

use axum::extract::State as Extract;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cloister_control::Actor;
use cloister_control::rows::User;
use cloister_policy::engine::WorkspaceCall;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{
    Erase, Erased, PersonalFilePart, PersonalInventory, PersonalRecords,
};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Admin;
use super::authorise::Asker;
use super::route::{About, Route};
use crate::reply::{Answer, Body, Failure, Path, Query, json};

pub(super) fn routes() -> Vec<Route> {
    let export = About::Workspace(WorkspaceCall::ExportData);
    let erase_path = "/admin/v1/users/{user}/erase";
    vec![
        Route::get("/admin/v1/users/{user}/data", export, inventory),
        Route::get("/admin/v1/users/{user}/data/records", export, records),
        Route::get("/admin/v1/users/{user}/data/file", export, file),
        Route::post(erase_path, About::Workspace(WorkspaceCall::EraseData), erase),
    ]
}

async fn inventory(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
) -> Answer<PersonalInventory> {
    let user = exported(&admin, &asker, &name).await?;
    json(admin.control.personal_data().personal_inventory(&user).await?)
}

#[derive(Deserialize, JsonSchema)]
struct Kind {
    kind: String,
    #[serde(default)]
    from: u64,
}

async fn records(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Query(Kind { kind, from }): Query<Kind>,
) -> Answer<PersonalRecords> {
    let user = exported(&admin, &asker, &name).await?;
    let (records, next) = admin.control.personal_data().records(user.id, &kind, from).await?;
    json(PersonalRecords { records, next })
}

#[derive(Deserialize, JsonSchema)]
struct Piece {
    path: String,
    #[serde(default)]
    from: u64,
}

async fn file(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Query(Piece { path, from }): Query<Piece>,
) -> Answer<PersonalFilePart> {
    let user = exported(&admin, &asker, &name).await?;
    let control = admin.control.clone();
    let read = tokio::task::spawn_blocking(move || {
        control.personal_data().personal_file(&user, &path, from)
    })
    .await;
    let read = read.map_err(|error| Failure::new(ErrorCode::Internal, error.to_string()))?;
    let (bytes, next) = read?;
    json(PersonalFilePart { base64: STANDARD.encode(bytes), next })
}

/// Whose data is exported, once that is on record.
async fn exported(admin: &Admin, asker: &Asker, name: &str) -> Result<User, Failure> {
    let user = super::user(admin, name).await?;
    admin.control.personal_data().note_export(asker.actor(), &user).await?;
    Ok(user)
}

async fn erase(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(asked): Body<Erase>,
) -> Answer<Erased> {
    let user = super::user(&admin, &name).await?;
    if asked.confirm != name {
        let message = "the name in `confirm` is not that of the user: nothing was erased";
        return Err(Failure::new(ErrorCode::BadRequest, message));
    }
    let by = Actor::person(asker.user());
    let why = if asked.why.is_empty() { "asked for" } else { asked.why.as_str() };
    json(admin.control.personal_data().erase_person(&by, &user, why).await?)
}
