//! Grants: what people allowed for longer than once.

use std::collections::HashMap;

use axum::extract::State as Extract;
use cloister_policy::engine::WorkspaceCall;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{GrantDetail, GrantView};

use super::Admin;
use super::authorise::Asker;
use super::route::{About, Route};
use crate::reply::{Answer, Failure, Path, json};

pub(super) fn routes() -> Vec<Route> {
    use About::Workspace;
    let (all, one) = ("/admin/v1/users/{user}/grants", "/admin/v1/users/{user}/grants/{grant}");
    vec![
        Route::get(all, Workspace(WorkspaceCall::ListGrants), list),
        Route::get(one, Workspace(WorkspaceCall::ListGrants), show),
        Route::delete(one, Workspace(WorkspaceCall::RevokeGrant), revoke),
    ]
}

async fn list(Extract(admin): Extract<Admin>, Path(name): Path<String>) -> Answer<Vec<GrantView>> {
    let user = super::user(&admin, &name).await?;
    json(admin.control.gates().grants(user.workspace).await?)
}

async fn show(
    Extract(admin): Extract<Admin>,
    Path((name, grant)): Path<(String, String)>,
) -> Answer<GrantDetail> {
    let user = super::user(&admin, &name).await?;
    let id = number(&grant)?;
    let grants = admin.control.gates().grants(user.workspace).await?;
    let grant = grants.into_iter().find(|grant| grant.id == id).ok_or_else(|| {
        Failure::new(ErrorCode::NotFound, format!("there is no grant G{id}"))
            .fix("`cloister grant list` shows those that are left")
    })?;
    let asked = admin.control.gates().approval(grant.approval).await?;
    json(GrantDetail { grant, title: asked.title, text: asked.text })
}

async fn revoke(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path((name, grant)): Path<(String, String)>,
) -> Answer<HashMap<&'static str, u32>> {
    let user = super::user(&admin, &name).await?;
    let id = number(&grant)?;
    asker.noted(admin.control.gates().revoke_grant(asker.user(), user.workspace, id).await).await?;
    json(HashMap::from([("revoked", id)]))
}

/// A grant as people write it: `G3` or `3`.
pub(crate) fn number(text: &str) -> Result<u32, Failure> {
    text.trim_start_matches(['G', 'g']).parse().map_err(|error| {
        Failure::new(ErrorCode::BadRequest, format!("{text:?} names no grant: {error}"))
    })
}
