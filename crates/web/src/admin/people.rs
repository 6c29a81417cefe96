//! People: their invitations, and who their agent is.

use axum::extract::State as Extract;
use cloister_control::{Actor, Control, Linker};
use cloister_policy::engine::{PlatformCall, Request, WorkspaceCall};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{Identity, IdentityChange, Invitation, NewUser};
use cloister_protocol::{UserId, UserName};

use super::authorise::Asker;
use super::route::{About, Route};
use super::{Admin, time};
use crate::auth;
use crate::reply::{Answer, Body, Failure, Path, json};

/// What somebody is told of a link that others can come in by.
pub(super) const MADE_A_LINK: &str = "made a login link that lets its holder in as you";

pub(super) fn routes() -> Vec<Route> {
    let files = "/admin/v1/users/{user}/identity";
    vec![
        Route::get(files, About::Workspace(WorkspaceCall::ReadIdentity), identity),
        Route::patch(files, About::Workspace(WorkspaceCall::ChangeIdentity), write_identity),
        Route::post("/admin/v1/invitations", About::Platform(PlatformCall::InviteUser), invite),
    ]
}

async fn identity(Extract(admin): Extract<Admin>, Path(name): Path<String>) -> Answer<Identity> {
    let user = super::user(&admin, &name).await?;
    json(admin.control.config().identity(user.workspace)?)
}

async fn write_identity(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(change): Body<IdentityChange>,
) -> Answer<Identity> {
    let user = super::user(&admin, &name).await?;
    let written =
        admin.control.config().write_identity(asker.actor(), user.workspace, &change).await?;
    admin.control.accounts().close_start(user.id).await?;
    json(written)
}

async fn invite(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Body(new): Body<NewUser>,
) -> Answer<Invitation> {
    // A link for somebody who is there already lets its holder in as them.
    if let Ok(known) = admin.control.accounts().named(&new.name).await {
        let place = admin.control.people().place(known.workspace).await?;
        let call = WorkspaceCall::OpenSessionFor;
        asker.require(&Request::workspace(asker.person(), call, &place)).await?;
    }
    let limits = super::users::limits_of(&admin.control, &new)?;
    let invited = invitation(&admin.control, asker.actor(), &admin.url, &new.name, limits).await?;
    if !asker.is_local() {
        tell_of_link(&admin.control, &invited, (asker.user(), asker.actor())).await?;
    }
    json(invited)
}

/// Tells somebody who was here before of a link by which others can come in as them.
async fn tell_of_link(
    control: &Control,
    invited: &Invitation,
    (user, actor): (UserId, &Actor),
) -> Result<(), Failure> {
    let known = control.accounts().named(&invited.user).await?;
    if control.accounts().is_newcomer(known.id).await? {
        return Ok(());
    }
    let by = Linker { user, actor, sure: true };
    Ok(control.people().tell_of_identity(&by, &known, MADE_A_LINK).await?)
}

/// A link for a person, who is added with these limits if they are new.
async fn invitation(
    control: &Control,
    actor: &Actor,
    url: &str,
    name: &UserName,
    limits: cloister_control::rows::UserLimits,
) -> Result<Invitation, Failure> {
    let (user, new) = match control.accounts().named(name).await {
        Ok(user) => (user, false),
        Err(error) if error.code() == ErrorCode::NotFound => {
            (control.accounts().add(actor, name, limits).await?, true)
        }
        Err(error) => return Err(error.into()),
    };
    control.chats().ensure_first_chat(actor, user.workspace).await?;
    let (token, expires) = auth::new_login_token(control, actor, &user).await?;
    Ok(Invitation {
        user: user.name,
        new,
        link: format!("{url}/invite?token={token}"),
        expires_at: time(expires),
    })
}
