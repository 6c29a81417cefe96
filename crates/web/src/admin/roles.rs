//! Roles and identities of people.

use axum::extract::State as Extract;
use cloister_control::account;
use cloister_control::rows::{AccountKind, HeldRole, Identity, User};
use cloister_policy::engine::{
    Assigned, Assignment, PlatformCall, Request, Role, Scope, WorkspaceCall,
};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{AccountName, IdentityView, PersonView, RoleChange, RoleView};

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
    let held = admin.control.accounts().all_roles().await?;
    json(held.into_iter().map(|(user, held)| role_view(&user, held)).collect())
}

pub(super) async fn person_view(admin: &Admin, user: &User) -> Result<PersonView, Failure> {
    let control = &admin.control;
    let roles = control.accounts().roles_of(user.id).await?;
    let identities = control.accounts().identities_of(user.id).await?;
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
    if let Some(id) = scope.workspace() {
        match admin.control.accounts().of(id).await {
            Err(error) if error.code() == ErrorCode::NotFound => {
                return Err(bad(format!("there is no workspace {id}")));
            }
            other => drop(other?),
        }
    }
    Ok(Assignment { role, scope })
}

/// Whether the asker may give (or take) this role.
pub(super) async fn require_assign(
    admin: &Admin,
    asker: &Asker,
    user: &User,
    assignment: &Assignment,
) -> Result<(), Failure> {
    let Assignment { role, scope } = assignment;
    let owner = admin.control.people().owner_of(scope).await?;
    let assigned = Assigned { owner, to_self: asker.user() == user.id };
    let request = Request::assign_role(asker.person(), *role, scope, assigned);
    let Err(refused) = asker.require(&request).await else { return Ok(()) };
    Err(match owner.filter(|owner| *owner != asker.user()) {
        None => refused,
        Some(owner) => {
            let owner = admin.control.accounts().by_id(owner).await?.name;
            refused.fix(format!("ask {owner}, whose workspace it is, or an overlord, to do it"))
        }
    })
}

/// What the asker may know of somebody after a change: of a guest in their own workspace, what they hold there.
async fn changed_view(admin: &Admin, asker: &Asker, user: &User) -> Result<PersonView, Failure> {
    let view = person_view(admin, user).await?;
    if asker.sees(&admin.control.people().place(user.workspace).await?) {
        return Ok(view);
    }
    let home = admin.control.accounts().by_id(asker.user()).await?.workspace;
    let here = |held: &RoleView| {
        held.scope.parse().is_ok_and(|scope: Scope| scope.workspace() == Some(home))
    };
    let roles = view.roles.into_iter().filter(here).collect();
    Ok(PersonView { roles, identities: Vec::new(), ..view })
}

async fn give(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(change): Body<RoleChange>,
) -> Answer<PersonView> {
    let user = super::user(&admin, &name).await?;
    let assignment = assignment(&admin, &user, &change).await?;
    require_assign(&admin, &asker, &user, &assignment).await?;
    admin.control.people().give_role(asker.giver(), &user, &assignment).await?;
    json(changed_view(&admin, &asker, &user).await?)
}

async fn take(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(change): Body<RoleChange>,
) -> Answer<PersonView> {
    let user = super::user(&admin, &name).await?;
    let assignment = assignment(&admin, &user, &change).await?;
    require_assign(&admin, &asker, &user, &assignment).await?;
    admin.control.people().take_role(asker.giver(), &user, &assignment).await?;
    json(changed_view(&admin, &asker, &user).await?)
}

/// Which roles of somebody count when an account of theirs is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// An account that is linked to a user acts as them.
    All,
    /// Whoever takes one away gets nothing by it: that somebody is a guest in a private workspace puts them out of
    /// nobody's reach.
    ButAsGuest,
}

/// Nobody may change the accounts of somebody with roles that they could not give.
pub(super) async fn require_not_above(
    admin: &Admin,
    asker: &Asker,
    user: &User,
    counted: Counted,
) -> Result<(), Failure> {
    if asker.user() == user.id {
        return Ok(());
    }
    let own = Scope::Workspace(user.workspace);
    for held in admin.control.people().person(user.id).await?.roles {
        let as_guest = admin.control.people().owner_of(&held.scope).await?.is_some();
        if held.scope != own && !(as_guest && counted == Counted::ButAsGuest) {
            require_assign(admin, asker, user, &held).await?;
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
    require_not_above(&admin, &asker, &user, Counted::All).await?;
    let display_name = named.display_name.as_deref().unwrap_or_default();
    let account = account(&named.surface, &named.id, display_name)?;
    let newcomer = admin.control.accounts().is_newcomer(user.id).await?;
    admin.control.people().link_identity(asker.actor(), &user, &account).await?;
    if !newcomer {
        admin.control.people().tell_of_link(&linker(&asker, &user), &user, &account).await?;
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
    require_not_above(&admin, &asker, &user, Counted::ButAsGuest).await?;
    let account = account(&named.surface, &named.id, "")?;
    admin.control.people().unlink_identity(asker.actor(), &user, &account).await?;
    json(person_view(&admin, &user).await?)
}
