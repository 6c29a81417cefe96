//! Machines that administer from elsewhere, and the authority that vouches for them.

use axum::Extension;
use axum::extract::State as Extract;
use cloister_policy::engine::PlatformCall;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::clients::{
    CaView, ClientCertificate, ClientInvitation, ClientView, FinishRotation, NewClientInvitation,
    Renew,
};

use super::Admin;
use super::authorise::Asker;
use super::route::{About, Route};
use crate::mtls::FromClient;
use crate::reply::{Answer, Body, Failure, Path, json};

pub(super) fn routes() -> Vec<Route> {
    let enrol = About::Platform(PlatformCall::EnrollAdmin);
    let revoke = About::Platform(PlatformCall::RevokeAdmin);
    let ca = About::Platform(PlatformCall::ManageCa);
    vec![
        Route::post("/admin/v1/client_invitations", enrol, invite),
        Route::get("/admin/v1/clients", revoke, list),
        Route::delete("/admin/v1/clients/{client}", revoke, end),
        Route::post("/admin/v1/client/renew", About::Handler("renew_client"), renew),
        Route::get("/admin/v1/openapi.json", About::Platform(PlatformCall::ReadStatus), describe),
        Route::get("/admin/v1/ca", ca, show),
        Route::post("/admin/v1/ca/rotate", ca, rotate),
        Route::post("/admin/v1/ca/rollback", ca, rollback),
        Route::post("/admin/v1/ca/finish", ca, finish),
    ]
}

async fn invite(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Body(new): Body<NewClientInvitation>,
) -> Answer<ClientInvitation> {
    let user = super::user(&admin, new.user.as_str()).await?;
    json(admin.remote.invite(asker.actor(), &user).await?)
}

async fn list(Extract(admin): Extract<Admin>) -> Answer<Vec<ClientView>> {
    json(admin.remote.clients().await?)
}

async fn end(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(client): Path<String>,
) -> Answer<ClientView> {
    let revoked = admin.remote.revoke(asker.actor(), client.parse()?).await?;
    // Its sessions are over, and so is what was opened with them elsewhere.
    admin.control.people().access_changed();
    json(revoked)
}

/// A machine renews its own certificate: which one it is, its connection says.
async fn renew(
    Extract(admin): Extract<Admin>,
    client: Option<Extension<FromClient>>,
    Body(asked): Body<Renew>,
) -> Answer<ClientCertificate> {
    let Some(Extension(FromClient(client))) = client else {
        let message = "only an enrolled machine can renew its certificate";
        return Err(Failure::new(ErrorCode::Forbidden, message));
    };
    json(admin.remote.renew(client, &asked.request).await?)
}

/// What this API is.
async fn describe() -> Answer<serde_json::Value> {
    json(crate::openapi::openapi())
}

async fn show(Extract(admin): Extract<Admin>) -> Answer<CaView> {
    json(admin.remote.ca().await?)
}

async fn rotate(Extract(admin): Extract<Admin>, asker: Asker) -> Answer<CaView> {
    json(admin.remote.rotate(asker.actor()).await?)
}

async fn rollback(Extract(admin): Extract<Admin>, asker: Asker) -> Answer<CaView> {
    json(admin.remote.rollback(asker.actor()).await?)
}

async fn finish(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Body(asked): Body<FinishRotation>,
) -> Answer<CaView> {
    json(admin.remote.finish(asker.actor(), asked.force).await?)
}
