//! Roles and identities of people.

use axum::extract::State as Extract;
use cloister_control::account;
use cloister_policy::engine::{Assignment, PlatformCall, Request, Role, Scope, WorkspaceCall};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{AccountName, IdentityView, PersonView, RoleChange, RoleView};
use cloister_store::StoreError;
use cloister_store::identities::Identity;
use cloister_store::roles::HeldRole;
use cloister_store::users::{AccountKind, User};

use super::authorise::Asker;
use super::pairing::linker;
use super::route::{About, Route};
use super::{Admin, time};
use crate::reply::{Answer, Body, Failure, Path, json};

pub(super) fn routes() -> Vec<Route> {
    let assign = About::Handler("assign_role");
    let (link_call, unlink_call) = (PlatformCall::LinkIdentity, PlatformCall::UnlinkIdentity);
    vec![
        Route::get("/admin/v1/roles", About::Platform(PlatformCall::ListUsers), list),
        Route::get(
            "/admin/v1/users/{user}/person",
            About::Workspace(WorkspaceCall::ShowUser),
            show,
        ),
        Route::post("/admin/v1/users/{user}/roles", assign, give),
        Route::post("/admin/v1/users/{user}/roles/take", assign, take),
        Route::post("/admin/v1/users/{user}/identities", About::Platform(link_call), link),
        Route::post(
            "/admin/v1/users/{user}/identities/unlink",
            About::Platform(unlink_call),
            unlink,
        ),
    ]
}

fn role_view(user: &cloister_protocol::UserName, held: HeldRole) -> RoleView {
    RoleView {
        user: user.clone(),
        role: held.role,
        scope: held.scope,
        given_by: held.given_by,
        given_at: time(held.given_at),
    }
}

fn identity_view(identity: Identity) -> IdentityView {
    IdentityView {
        surface: identity.account.surface,
        id: identity.account.external_id,
        display_name: identity.account.display_name,
        linked_by: identity.linked_by,
        linked_at: time(identity.linked_at),
    }
}

async fn list(Extract(admin): Extract<Admin>) -> Answer<Vec<RoleView>> {
    let held = admin.control.store().all_roles().await?;
    json(held.into_iter().map(|(user, held)| role_view(&user, held)).collect())
}

pub(super) async fn person_view(admin: &Admin, user: &User) -> Result<PersonView, Failure> {
    let store = admin.control.store();
    let roles = store.roles_of(user.id).await?;
    let identities = store.identities_of(user.id).await?;
    Ok(PersonView {
        name: user.name.clone(),
        kind: match user.kind {
            AccountKind::Person => "person".to_owned(),
            AccountKind::Community => "community".to_owned(),
        },
        workspace: user.workspace,
        roles: roles.into_iter().map(|held| role_view(&user.name, held)).collect(),
        identities: identities.into_iter().map(identity_view).collect(),
        asked: None,
    })
}

async fn show(Extract(admin): Extract<Admin>, Path(name): Path<String>) -> Answer<PersonView> {
    let user = super::user(&admin, &name).await?;
    json(person_view(&admin, &user).await?)
}

/// The role that a body names, in a scope that exists.
pub(super) async fn assignment(
    admin: &Admin,
    user: &User,
    change: &RoleChange,
) -> Result<Assignment, Failure> {
    let bad = |message: String| Failure::new(ErrorCode::BadRequest, message);
    let role: Role = change
        .role
        .parse()
        .map_err(|error: cloister_policy::engine::ParseRoleError| bad(error.to_string()))?;
    let scope = match &change.scope {
        None => Scope::Workspace(user.workspace),
        Some(text) => text
            .parse()
            .map_err(|error: cloister_policy::engine::ParseRoleError| bad(error.to_string()))?,
    };
    let workspace = match &scope {
        Scope::Platform | Scope::Model(_) => None,
        Scope::Workspace(id)
        | Scope::Context(id, _)
        | Scope::Skill(id, _)
        | Scope::Tool(id, _)
        | Scope::Mailbox(id, _) => Some(*id),
    };
    if let Some(id) = workspace {
        match admin.control.store().user_of(id).await {
            Err(StoreError::NotFound { .. }) => {
                return Err(bad(format!("there is no workspace {id}")));
            }
            other => drop(other?),
        }
    }
    Ok(Assignment { role, scope })
}

/// Whether the asker may give (or take) this role.
pub(super) async fn require_assign(
    asker: &Asker,
    user: &User,
    assignment: &Assignment,
) -> Result<(), Failure> {
    let to_self = asker.user() == user.id;
    let Assignment { role, scope } = assignment;
    asker.require(&Request::assign_role(asker.person(), *role, scope, to_self)).await
}

async fn give(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(change): Body<RoleChange>,
) -> Answer<PersonView> {
    let user = super::user(&admin, &name).await?;
    let assignment = assignment(&admin, &user, &change).await?;
    require_assign(&asker, &user, &assignment).await?;
    admin.control.give_role(&user, &assignment, asker.name()).await?;
    json(person_view(&admin, &user).await?)
}

async fn take(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(change): Body<RoleChange>,
) -> Answer<PersonView> {
    let user = super::user(&admin, &name).await?;
    let assignment = assignment(&admin, &user, &change).await?;
    require_assign(&asker, &user, &assignment).await?;
    admin.control.take_role(&user, &assignment, asker.name()).await?;
    json(person_view(&admin, &user).await?)
}

/// An account that is linked to a user acts as them: nobody may link one to somebody with roles that
/// they could not give.
pub(super) async fn require_not_above(
    admin: &Admin,
    asker: &Asker,
    user: &User,
) -> Result<(), Failure> {
    if asker.user() == user.id {
        return Ok(());
    }
    let own = Scope::Workspace(user.workspace);
    for held in admin.control.person(user.id).await?.roles {
        if held.scope != own {
            require_assign(asker, user, &held).await?;
        }
    }
    Ok(())
}

async fn link(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(named): Body<AccountName>,
) -> Answer<PersonView> {
    let user = super::user(&admin, &name).await?;
    require_not_above(&admin, &asker, &user).await?;
    let display_name = named.display_name.as_deref().unwrap_or_default();
    let account = account(&named.surface, &named.id, display_name)?;
    let newcomer = admin.control.store().is_newcomer(user.id).await?;
    admin.control.link_identity(&user, &account, asker.name()).await?;
    if !newcomer {
        admin.control.tell_of_link(&user, &linker(&asker, &user), &account).await?;
    }
    json(person_view(&admin, &user).await?)
}

async fn unlink(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(named): Body<AccountName>,
) -> Answer<PersonView> {
    let user = super::user(&admin, &name).await?;
    require_not_above(&admin, &asker, &user).await?;
    let account = account(&named.surface, &named.id, "")?;
    admin.control.unlink_identity(&user, &account, asker.name()).await?;
    let what = format!("unlinked your account {} on {}", account.external_id, account.surface);
    admin.control.tell_of_identity(&user, &linker(&asker, &user), &what).await?;
    json(person_view(&admin, &user).await?)
}
