//! `/start`: the agent's name and manner, what it should know of the person, a budget. Shown with
//! what is there already; can be skipped, and opened again at any time.

use axum::Form;
use axum::extract::State as Extract;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use cloister_control::{nano_to_usd, usd_to_nano};
use cloister_protocol::admin::{Identity, IdentityChange};
use cloister_protocol::{ErrorBody, ErrorCode, Language};
use cloister_words::say;
use maud::{Markup, html};
use serde::Deserialize;

use super::banner;
use super::session::Viewer;
use super::shell::{Page, Section, page};
use crate::admin::checked_display_name;
use crate::language::phrase;
use crate::reply::Failure;
use crate::server::State;

/// What a new `USER.md` says.
const NOTHING_KNOWN: &str = "Nothing is known yet.";
const MAX_DAILY_USD: f64 = 1e6;

#[derive(Deserialize)]
pub(super) struct Filled {
    /// What the person is called.
    #[serde(default)]
    display_name: Option<String>,
    agent_name: String,
    manner: String,
    about: String,
    seen: String,
    /// What pages and commands speak; empty: what the browser asks for.
    #[serde(default)]
    language: Option<String>,
    /// Only the operator sets a budget.
    daily_usd: Option<String>,
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    viewer: Viewer,
) -> Result<Markup, Failure> {
    let identity = state.control.config().identity(viewer.workspace)?;
    let daily = format!("{}", nano_to_usd(viewer.user.limits.daily_budget));
    Ok(form(&state, &viewer, &identity, &daily, None).await)
}

pub(super) async fn save(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Form(filled): Form<Filled>,
) -> Result<Response, Failure> {
    let change = IdentityChange {
        agent_name: Some(filled.agent_name.clone()),
        manner: Some(filled.manner.clone()),
        about: (!filled.about.trim().is_empty() || !is_new(&state, &viewer)?)
            .then(|| filled.about.clone()),
        seen: Some(filled.seen.clone()),
    };
    let daily = filled.daily_usd.clone().unwrap_or_default();
    let called = filled.display_name.clone();
    let checked = called.as_deref().map(checked_display_name).transpose();
    let saved = match (budget(&viewer, filled.daily_usd.as_deref()), checked) {
        (Err(wrong), _) => Err(wrong),
        (_, Err(wrong)) => Err(wrong.into_body_in(viewer.to)),
        (Ok(budget), Ok(_)) => {
            match state
                .control
                .config()
                .write_identity(&viewer.actor, viewer.workspace, &change)
                .await
            {
                Ok(_) => Ok(budget),
                Err(error) => Err(error.body_in(viewer.to)),
            }
        }
    };
    match saved {
        Ok(budget) => {
            if let Some(called) = called.filter(|called| called.trim() != viewer.user.display_name)
            {
                let (accounts, name) = (state.control.accounts(), &viewer.user.name);
                accounts.set_display_name(&viewer.actor, name, called.trim()).await?;
            }
            if let Some(daily) = budget {
                state
                    .control
                    .tasks()
                    .set_budget(&viewer.actor, &viewer.user.name, Some(daily), None)
                    .await?;
            }
            choose_language(&state, &viewer, filled.language.as_deref()).await?;
            state.control.accounts().close_start(viewer.user.id).await?;
            Ok(Redirect::to("/").into_response())
        }
        Err(error) => {
            // What was typed is not lost; the next save is made knowing what is there now.
            let now = state.control.config().identity(viewer.workspace)?;
            let Filled { agent_name, manner, about, .. } = filled;
            let typed = Identity { agent_name, manner, about, seen: now.seen };
            let page = form(&state, &viewer, &typed, &daily, Some(&error)).await;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
    }
}

pub(super) async fn skip(
    Extract(state): Extract<State>,
    viewer: Viewer,
) -> Result<Redirect, Failure> {
    state.control.accounts().close_start(viewer.user.id).await?;
    Ok(Redirect::to("/"))
}

/// Whether nothing was written about them yet.
fn is_new(state: &State, viewer: &Viewer) -> Result<bool, Failure> {
    Ok(state.control.config().identity(viewer.workspace)?.about == NOTHING_KNOWN)
}

/// Keeps which language this person wants, if that is new.
async fn choose_language(
    state: &State,
    viewer: &Viewer,
    wanted: Option<&str>,
) -> Result<(), Failure> {
    let Some(wanted) = wanted else { return Ok(()) };
    let wanted: Option<Language> = wanted.parse().ok();
    let languages = state.control.people().languages();
    if languages.read_language(viewer.user.id).await?.chosen != wanted {
        languages.choose_language(&viewer.actor, viewer.user.id, wanted).await?;
    }
    Ok(())
}

/// The budget to set, in nano-dollars; none for whoever may not set it.
fn budget(viewer: &Viewer, daily: Option<&str>) -> Result<Option<i64>, ErrorBody> {
    let Some(daily) = daily.filter(|_| viewer.is_operator()) else { return Ok(None) };
    match daily.trim().trim_start_matches('$').parse::<f64>() {
        Ok(usd) if (0.0..=MAX_DAILY_USD).contains(&usd) => Ok(Some(usd_to_nano(usd))),
        Ok(_) | Err(_) => Err(ErrorBody::new(
            ErrorCode::BadRequest,
            say!(viewer.to, "the budget is not an amount in dollars, such as 2.50"),
        )),
    }
}

async fn form(
    state: &State,
    viewer: &Viewer,
    identity: &Identity,
    daily: &str,
    error: Option<&ErrorBody>,
) -> Markup {
    let to = viewer.to;
    let title = &say!(to, "Guided start");
    let languages = state.control.people().languages();
    let chosen = languages.read_language(viewer.user.id).await.unwrap_or_default().chosen;
    let body = html! {
        section.card {
            h1 { (title) }
            p { (say!(to, "A few questions, none of them needed: your agent works without. You can change all of this later.")) }
            @if let Some(error) = error { (super::forms::problem(to, error)) }
            form.stack method="post" action="/start" {
                input type="hidden" name="seen" value=(identity.seen);
                label { (say!(to, "What are you called?"))
                    input name="display_name" maxlength="60" autocomplete="name" placeholder=(viewer.user.name)
                        value=(viewer.user.display_name);
                }
                (language_field(to, chosen))
                label { (say!(to, "What is your agent called?"))
                    input name="agent_name" maxlength="40" autocomplete="off" placeholder=(say!(to, "no name yet"))
                        value=(identity.agent_name);
                }
                label { (say!(to, "How should it be?"))
                    textarea name="manner" rows="5" maxlength="7500" { (identity.manner) }
                }
                label { (say!(to, "What should it know about you?"))
                    // What stands there before anything is known is nothing that a person wrote.
                    textarea name="about" rows="5" maxlength="7500" { @if identity.about != NOTHING_KNOWN { (identity.about) } }
                }
                (budget_field(viewer, daily))
                div.row {
                    button.primary type="submit" { (say!(to, "Save")) }
                    button type="submit" form="skip" { (say!(to, "Skip")) }
                }
            }
            form #skip method="post" action="/start/skip" {}
            p.hint {
                (phrase!(to, "Kept in your workspace as {soul} and {user}, which the agent reads before every answer.",
                    soul = html! { code { "SOUL.md" } }, user = html! { code { "USER.md" } }))
            }
        }
    };
    let banner = banner::scripted(state, viewer).await;
    page(&Page { title, to, place: Section::Start, viewer: Some(viewer), banner }, &body)
}

fn language_field(to: Language, chosen: Option<Language>) -> Markup {
    html! {
        label { (say!(to, "Which language shall pages and commands speak?"))
            select name="language" {
                option value="" { (say!(to, "what my browser asks for")) }
                @for one in Language::ALL {
                    option value=(one) lang=(one) translate="no" selected[chosen == Some(one)] { (one.own_name()) }
                }
            }
        }
    }
}

fn budget_field(viewer: &Viewer, daily: &str) -> Markup {
    let to = viewer.to;
    if !viewer.is_operator() {
        let daily = super::forms::dollars(viewer.user.limits.daily_budget);
        return html! {
            p { (say!(to, "Your budget is ${daily} a day. Whoever runs this machine can change it.", daily)) }
        };
    }
    html! {
        label { (say!(to, "What may it spend on models, in dollars a day?"))
            input name="daily_usd" inputmode="decimal" autocomplete="off" value=(daily);
        }
        p.hint { (say!(to, "At the limit you are asked; without a yes nothing more is spent until the next day (UTC).")) }
    }
}
