//! People: their invitations, and who their agent is.

use axum::extract::State as Extract;
use cloister_control::Control;
use cloister_protocol::UserName;
use cloister_protocol::admin::{Identity, IdentityChange, Invitation, NewUser};
use cloister_store::StoreError;

use super::{Admin, time};
use crate::auth;
use crate::reply::{Answer, Body, Failure, Path, json};

pub(super) async fn identity(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
) -> Answer<Identity> {
    let user = super::user(&admin, &name).await?;
    json(admin.control.identity(user.workspace)?)
}

pub(super) async fn write_identity(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
    Body(change): Body<IdentityChange>,
) -> Answer<Identity> {
    let user = super::user(&admin, &name).await?;
    let written = admin.control.write_identity(user.workspace, &change)?;
    admin.control.store().close_start(user.id).await?;
    json(written)
}

pub(super) async fn invite(
    Extract(admin): Extract<Admin>,
    Body(new): Body<NewUser>,
) -> Answer<Invitation> {
    let limits = super::users::limits_of(&admin.control, &new)?;
    json(invitation(&admin.control, &admin.url, &new.name, limits).await?)
}

/// A link for a person, who is added with these limits if they are new.
pub(crate) async fn invitation(
    control: &Control,
    url: &str,
    name: &UserName,
    limits: cloister_store::users::UserLimits,
) -> Result<Invitation, Failure> {
    let store = control.store();
    let (user, new) = match store.user(name).await {
        Ok(user) => (user, false),
        Err(StoreError::NotFound { .. }) => (store.add_user(name, limits).await?, true),
        Err(error) => return Err(error.into()),
    };
    store.ensure_first_chat(user.workspace).await?;
    let (token, expires) = auth::new_login_token(control, &user).await?;
    Ok(Invitation {
        user: user.name,
        new,
        link: format!("{url}/invite?token={token}"),
        expires_at: time(expires),
    })
}
