//! Models and the chain of each level.

use axum::extract::State as Extract;
use cloister_control::{ControlError, Looked};
use cloister_policy::engine::{ModelCall, PlatformCall};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{
    Chain, KindView, ModelChange, ModelPlace, ModelView, NewModel, PresetView, TestedModel,
};
use cloister_protocol::{Level, WorkKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Admin;
use super::authorise::Asker;
use super::route::{About, Route};
use crate::reply::{Answer, Body, Failure, Path, Query, json};

pub(super) fn routes() -> Vec<Route> {
    let (all, one) = ("/admin/v1/models", "/admin/v1/models/{model}");
    let model = About::Model;
    vec![
        Route::get(all, model(ModelCall::Show), list),
        Route::post(all, model(ModelCall::Add), add),
        // It calls an address that the body names, with a key: as much as adding it.
        Route::post("/admin/v1/models/ids", model(ModelCall::Add), ids),
        // It asks servers on this machine.
        Route::get("/admin/v1/presets", model(ModelCall::Add), presets),
        Route::get(one, model(ModelCall::Show), show),
        // It calls the model's own address with the model's own key, and offers it to people: as much as adding it.
        Route::patch(one, model(ModelCall::Add), change),
        Route::delete(one, model(ModelCall::Remove), remove),
        Route::post("/admin/v1/models/{model}/test", model(ModelCall::Test), test),
        Route::put(
            "/admin/v1/levels/{level}",
            About::Platform(PlatformCall::SetLevelModels),
            use_chain,
        ),
        Route::get("/admin/v1/kinds", model(ModelCall::Show), kinds),
        Route::put(
            "/admin/v1/kinds/{kind}",
            About::Platform(PlatformCall::SetLevelModels),
            use_for,
        ),
    ]
}

async fn list(Extract(admin): Extract<Admin>) -> Answer<Vec<ModelView>> {
    let mut views = Vec::new();
    for model in admin.control.models().all().await? {
        views.push(admin.control.models().model_view(model).await?);
    }
    json(views)
}

async fn show(Extract(admin): Extract<Admin>, Path(name): Path<String>) -> Answer<ModelView> {
    let model = admin.control.models().named(&name).await?;
    json(admin.control.models().model_view(model).await?)
}

async fn add(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Body(new): Body<NewModel>,
) -> Answer<ModelView> {
    let before = admin.control.people().readers().await?;
    let connected =
        admin.control.models().connect_model(asker.actor(), &*admin.upstream, new).await?;
    admin.control.people().tell_of_readers(asker.user(), &before).await?;
    json(admin.control.models().model_view(connected.model).await?)
}

/// Which models an endpoint has.
async fn ids(Extract(admin): Extract<Admin>, Body(place): Body<ModelPlace>) -> Answer<Vec<String>> {
    let base_url = cloister_control::base_url(&place.base_url).map_err(ControlError::from)?;
    let ids = admin.upstream.model_ids(&base_url, place.key.as_ref()).await;
    json(ids.map_err(Failure::from)?)
}

/// Whether servers at other ports than the usual ones are looked for, too.
#[derive(Deserialize, JsonSchema)]
struct Everywhere {
    #[serde(default)]
    all_ports: bool,
}

/// Where models are, and which of these places are on this machine and answer.
async fn presets(
    Extract(admin): Extract<Admin>,
    Query(Everywhere { all_ports }): Query<Everywhere>,
) -> Answer<Vec<PresetView>> {
    let looked = if all_ports { Looked::AtAllPorts } else { Looked::AtUsualPorts };
    json(admin.control.models().presets(&*admin.upstream, looked).await)
}

/// Changes what is said of a model, and whether it is on offer.
async fn change(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(change): Body<ModelChange>,
) -> Answer<ModelView> {
    let before = admin.control.people().readers().await?;
    let models = admin.control.models();
    let model = models.change_model(asker.actor(), &*admin.upstream, &name, change).await?;
    admin.control.people().tell_of_readers(asker.user(), &before).await?;
    json(admin.control.models().model_view(model).await?)
}

async fn remove(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
) -> Answer<Removed> {
    let before = admin.control.people().readers().await?;
    admin.control.models().remove(asker.actor(), &name).await?;
    admin.control.people().tell_of_readers(asker.user(), &before).await?;
    json(Removed { removed: name })
}

#[derive(Serialize, JsonSchema)]
struct Removed {
    removed: String,
}

async fn test(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
) -> Answer<TestedModel> {
    let models = admin.control.models();
    json(models.test_model(asker.actor(), &*admin.upstream, &name).await?)
}

#[derive(Serialize, JsonSchema)]
struct ChainView {
    level: Level,
    models: Vec<String>,
}

async fn use_chain(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(level): Path<String>,
    Body(chain): Body<Chain>,
) -> Answer<ChainView> {
    let level: Level = level.parse().map_err(|error: cloister_protocol::ParseLevelError| {
        Failure::new(ErrorCode::BadRequest, error.to_string())
    })?;
    let before = admin.control.people().readers().await?;
    admin.control.models().use_chain(asker.actor(), level, &chain.models).await?;
    admin.control.people().tell_of_readers(asker.user(), &before).await?;
    json(ChainView { level, models: chain.models })
}

/// Which models were set for each kind of work.
async fn kinds(Extract(admin): Extract<Admin>) -> Answer<Vec<KindView>> {
    json(admin.control.models().kinds().await?)
}

async fn use_for(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(kind): Path<String>,
    Body(chain): Body<Chain>,
) -> Answer<KindView> {
    let kind: WorkKind = kind.parse().map_err(|error: cloister_protocol::ParseKindError| {
        Failure::new(ErrorCode::BadRequest, error.to_string())
    })?;
    let before = admin.control.people().readers().await?;
    admin.control.models().use_for(asker.actor(), kind, &chain.models).await?;
    admin.control.people().tell_of_readers(asker.user(), &before).await?;
    json(KindView { kind, models: chain.models })
}
