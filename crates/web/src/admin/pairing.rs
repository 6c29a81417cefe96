//! Pairing codes: whose one is, and linking its account to a user. Codes come in bodies, which no log has.

use axum::extract::State as Extract;
use cloister_control::{Linker, Linking};
use cloister_policy::engine::{PlatformCall, Request};
use cloister_protocol::admin::{PairingAnswer, PairingCode, PairingView, PersonView};

use cloister_control::rows::User;

use super::authorise::Asker;
use super::roles::{Counted, assignment, person_view, require_assign, require_not_above};
use super::route::{About, Route};
use super::{Admin, time};
use crate::reply::{Answer, Body, json};

pub(super) fn routes() -> Vec<Route> {
    let about = About::Platform(PlatformCall::AnswerPairing);
    vec![
        Route::post("/admin/v1/pairings", about, show),
        Route::post("/admin/v1/pairings/link", about, link),
    ]
}

async fn show(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Body(PairingCode { code }): Body<PairingCode>,
) -> Answer<PairingView> {
    let pairing = admin.control.people().pairing(asker.giver(), &code).await?;
    json(PairingView {
        surface: pairing.account.surface,
        id: pairing.account.external_id,
        display_name: pairing.account.display_name,
        expires_at: time(pairing.expires_at),
    })
}

async fn link(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Body(answer): Body<PairingAnswer>,
) -> Answer<PersonView> {
    let user = asker.find_user(&answer.user).await?;
    require_not_above(&admin, &asker, &user, Counted::All).await?;
    let role = match &answer.role {
        None => None,
        Some(change) => {
            let role = assignment(&admin, &user, change).await?;
            require_assign(&admin, &asker, &user, &role).await?;
            Some(role)
        }
    };
    let linked = admin.control.people().answer_pairing(
        linker(&asker, &user),
        &answer.code,
        &user,
        role.as_ref(),
    );
    let asked = match linked.await? {
        Linking::Linked(_) => None,
        Linking::Asked(approval) => Some(approval),
    };
    json(PersonView { asked, ..person_view(&admin, &user).await? })
}

/// Who links an account to this user: they themselves and overlords need nobody's word.
pub(super) fn linker<'a>(asker: &'a Asker, user: &User) -> Linker<'a> {
    let rules = Request::platform(asker.person(), PlatformCall::LinkIdentity);
    let sure = asker.user() == user.id || asker.may(&rules);
    Linker { user: asker.user(), actor: asker.actor(), sure }
}
