//! Models that people connect for themselves. A key goes in, and no call answers with one.

use axum::extract::State as Extract;
use cloister_control::{Addresses, own_view};
use cloister_policy::engine::{PlatformCall, Request, WorkspaceCall};
use cloister_protocol::admin::{ModelView, NewModel};
use serde::Deserialize;

use super::Admin;
use super::authorise::Asker;
use super::route::{About, Route};
use crate::reply::{Answer, Body, Path, json};

pub(super) fn routes() -> Vec<Route> {
    let (all, one) = ("/admin/v1/users/{user}/models", "/admin/v1/users/{user}/models/{name}");
    let change = About::Workspace(WorkspaceCall::ChangeOwnModels);
    vec![
        Route::get(all, About::Workspace(WorkspaceCall::ListOwnModels), list),
        Route::post(all, change, add),
        Route::delete(one, change, remove),
    ]
}

#[derive(Deserialize)]
struct Which {
    user: String,
    name: String,
}

async fn list(Extract(admin): Extract<Admin>, Path(user): Path<String>) -> Answer<Vec<ModelView>> {
    let user = super::user(&admin, &user).await?;
    json(admin.control.models().own(&user).await?)
}

async fn add(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(user): Path<String>,
    Body(new): Body<NewModel>,
) -> Answer<ModelView> {
    let user = super::user(&admin, &user).await?;
    // Who may connect models for everybody may name any address here, too.
    let anywhere = Request::platform(asker.person(), PlatformCall::SetLevelModels);
    let addresses = if asker.may(&anywhere) { Addresses::Any } else { Addresses::Known };
    let models = admin.control.models();
    let whose = (&user, addresses);
    let connected = models.connect_own(asker.actor(), &*admin.upstream, whose, new).await;
    json(own_view(asker.noted(connected).await?.model))
}

async fn remove(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(Which { user, name }): Path<Which>,
) -> Answer<Vec<ModelView>> {
    let user = super::user(&admin, &user).await?;
    admin.control.models().remove_own(asker.actor(), &user, &name).await?;
    json(admin.control.models().own(&user).await?)
}
