//! Secrets of people and of the platform. A value goes in, and no call answers with one.

use axum::extract::State as Extract;
use cloister_control::rows::{NewSecret as Kept, SecretInfo};
use cloister_policy::engine::{PlatformCall, SecretCall, WorkspaceCall};
use cloister_protocol::admin::{
    MasterRotated, NewSecret, SecretBinding, SecretForm, SecretRotation, SecretView,
};
use cloister_vault::{Binding, BindingError, Form, Host, Owner, SecretName, SecretValue};
use serde::Deserialize;

use super::authorise::Asker;
use super::route::{About, Route};
use super::{Admin, time};
use crate::reply::{Answer, Body, Failure, Path, json};

pub(super) fn routes() -> Vec<Route> {
    let all = "/admin/v1/users/{user}/secrets";
    let one = "/admin/v1/users/{user}/secrets/{secret}";
    let value = "/admin/v1/users/{user}/secrets/{secret}/rotate";
    let (platform, platform_one) = ("/admin/v1/secrets", "/admin/v1/secrets/{secret}");
    let platform_value = "/admin/v1/secrets/{secret}/rotate";
    let settings = About::Platform(PlatformCall::ChangeSettings);
    vec![
        Route::get(all, About::Workspace(WorkspaceCall::ListSecrets), list),
        Route::put(one, About::Secret(SecretCall::Set), set),
        Route::patch(one, About::Secret(SecretCall::Set), bind),
        Route::delete(one, About::Secret(SecretCall::Remove), remove),
        Route::post(value, About::Secret(SecretCall::Rotate), rotate),
        Route::get(platform, About::Platform(PlatformCall::ReadSettings), list),
        Route::put(platform_one, settings, set),
        Route::patch(platform_one, settings, bind),
        Route::delete(platform_one, settings, remove),
        Route::post(platform_value, settings, rotate),
        Route::post(
            "/admin/v1/master-key/rotate",
            About::Platform(PlatformCall::RotateMasterKey),
            rotate_master,
        ),
    ]
}

/// Whose secrets a path is about; without a user, the platform's.
#[derive(Deserialize)]
struct Whose {
    user: Option<String>,
}

#[derive(Deserialize)]
struct Which {
    user: Option<String>,
    secret: SecretName,
}

async fn owner(admin: &Admin, user: Option<&str>) -> Result<Owner, Failure> {
    match user {
        Some(name) => Ok(Owner::User(super::user(admin, name).await?.id)),
        None => Ok(Owner::Platform),
    }
}

fn view(secret: SecretInfo) -> SecretView {
    let form = match secret.binding.form().clone() {
        Form::Header { name, template } => SecretForm::Header { name, template },
        Form::Query { name } => SecretForm::Query { name },
        Form::Basic { user } => SecretForm::Basic { user },
    };
    let hosts = secret.binding.hosts().iter().map(ToString::to_string).collect();
    SecretView {
        owner: secret.owner.to_string(),
        name: secret.name.to_string(),
        version: secret.version,
        binding: SecretBinding { hosts, form },
        set_by: secret.set_by,
        set_at: time(secret.set_at),
        expires_at: secret.expires_at.map(time),
    }
}

fn binding(said: SecretBinding) -> Result<Binding, Failure> {
    let wrong = |error: BindingError| {
        Failure::new(cloister_protocol::ErrorCode::BadRequest, error.to_string())
    };
    let hosts = said.hosts.iter().map(|host| host.parse::<Host>());
    let hosts = hosts.collect::<Result<Vec<Host>, BindingError>>().map_err(wrong)?;
    let form = match said.form {
        SecretForm::Header { name, template } => Form::Header { name, template },
        SecretForm::Query { name } => Form::Query { name },
        SecretForm::Basic { user } => Form::Basic { user },
    };
    Binding::new(hosts, form).map_err(wrong)
}

async fn list(
    Extract(admin): Extract<Admin>,
    Path(Whose { user }): Path<Whose>,
) -> Answer<Vec<SecretView>> {
    let owner = owner(&admin, user.as_deref()).await?;
    let secrets = admin.control.secrets().list(owner).await?;
    json(secrets.into_iter().map(view).collect())
}

async fn set(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(Which { user, secret }): Path<Which>,
    Body(new): Body<NewSecret>,
) -> Answer<SecretView> {
    let new = Kept {
        owner: owner(&admin, user.as_deref()).await?,
        name: secret,
        binding: binding(new.binding)?,
        value: value(&new.value),
    };
    json(view(admin.control.secrets().set_secret(asker.actor(), new).await?))
}

fn value(given: &cloister_protocol::admin::Key) -> SecretValue {
    SecretValue::from(given.expose().to_owned())
}

async fn bind(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(Which { user, secret }): Path<Which>,
    Body(said): Body<SecretBinding>,
) -> Answer<SecretView> {
    let owner = owner(&admin, user.as_deref()).await?;
    let bound = admin
        .control
        .secrets()
        .rebind_secret(asker.actor(), (owner, &secret), binding(said)?)
        .await?;
    json(view(bound))
}

async fn rotate(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(Which { user, secret }): Path<Which>,
    Body(rotation): Body<SecretRotation>,
) -> Answer<SecretView> {
    let owner = owner(&admin, user.as_deref()).await?;
    let (new, grace) = (value(&rotation.value), rotation.grace_s);
    let rotated =
        admin.control.secrets().rotate_secret(asker.actor(), (owner, &secret), new, grace).await?;
    json(view(rotated))
}

async fn remove(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(Which { user, secret }): Path<Which>,
) -> Answer<Vec<SecretView>> {
    let owner = owner(&admin, user.as_deref()).await?;
    admin.control.secrets().remove_secret(asker.actor(), (owner, &secret)).await?;
    let secrets = admin.control.secrets().list(owner).await?;
    json(secrets.into_iter().map(view).collect())
}

async fn rotate_master(Extract(admin): Extract<Admin>, asker: Asker) -> Answer<MasterRotated> {
    let (done, next) = admin.control.secrets().rotate_master(asker.actor()).await?;
    json(MasterRotated {
        from: done.from.to_string(),
        to: done.to.to_string(),
        data_keys: done.data_keys,
        next,
    })
}
