//! `/model/own`: a person connects a model with a key of their own. Everything here is an admin call of theirs, about
//! themselves. The key goes in and never comes out.

use axum::Form;
use axum::extract::State as Extract;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use cloister_control::PRESETS;
use cloister_policy::engine::{PlatformCall, Request as Policy};
use cloister_protocol::admin::{BudgetView, Key, ModelView, NewModel};
use cloister_protocol::{ErrorBody, Language, ModelSettings};
use cloister_words::{say, text_of};
use maud::{Markup, html};
use serde::Deserialize;

use super::banner;
use super::calls::Calls;
use super::session::Viewer;
use super::shell::{Page, Section, page};
use crate::language::phrase;
use crate::reply::Failure;
use crate::server::State;

/// What was filled in. The key is a type that can't print itself.
#[derive(Deserialize)]
pub(super) struct Filled {
    name: String,
    base_url: String,
    key: Key,
    model: String,
}

#[derive(Deserialize)]
pub(super) struct Unwanted {
    name: String,
}

/// What the form shows; there is no key in it.
#[derive(Default)]
struct Typed {
    name: String,
    base_url: String,
    model: String,
    problem: Option<ErrorBody>,
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    viewer: Viewer,
) -> Result<Markup, Failure> {
    form(&state, &viewer, &Typed::default()).await
}

pub(super) async fn connect(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Form(filled): Form<Filled>,
) -> Result<Response, Failure> {
    let Filled { name, base_url, key, model } = filled;
    let new = NewModel {
        name: name.trim().to_owned(),
        base_url: base_url.clone(),
        model: model.trim().to_owned(),
        key: Some(key).filter(|key| !key.expose().trim().is_empty()),
        key_env: None,
        prompt_usd: None,
        completion_usd: None,
        max_output_tokens: None,
        replace: true,
        keep_key: true,
        keep_settings: true,
        untested: false,
        settings: ModelSettings::default(),
    };
    let calls = Calls::of(&state, &viewer);
    match calls.send::<ModelView>(Method::POST, &path(&viewer), &new).await {
        Ok(_connected) => Ok(Redirect::to("/model/own").into_response()),
        Err(problem) => {
            let typed = Typed { name, base_url, model, problem: Some(problem) };
            let page = form(&state, &viewer, &typed).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
    }
}

pub(super) async fn remove(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Form(Unwanted { name }): Form<Unwanted>,
) -> Result<Response, Failure> {
    let path = format!("{}/{name}", path(&viewer));
    let calls = Calls::of(&state, &viewer);
    match calls.send::<Vec<ModelView>>(Method::DELETE, &path, &()).await {
        Ok(_left) => Ok(Redirect::to("/model/own").into_response()),
        Err(problem) => {
            let typed = Typed { problem: Some(problem), ..Typed::default() };
            let page = form(&state, &viewer, &typed).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
    }
}

fn path(viewer: &Viewer) -> String {
    format!("users/{}/models", viewer.user.name)
}

async fn form(state: &State, viewer: &Viewer, typed: &Typed) -> Result<Markup, Failure> {
    let calls = Calls::of(state, viewer);
    let own: Vec<ModelView> = calls.get(&path(viewer)).await?;
    let budget: Option<BudgetView> =
        calls.get(&format!("users/{}/budget", viewer.user.name)).await.ok();
    let spent = budget.map_or(0.0, |budget| budget.own_spent_usd);
    let person = state.control.people().person(viewer.user.id).await?;
    let anywhere = Policy::platform(&person, PlatformCall::SetLevelModels);
    let anywhere = state.control.people().require(&anywhere).is_ok();
    let to = viewer.to;
    let title = &say!(to, "Models of your own");
    let body = html! {
        section.card {
            h1 { (title) }
            @if let Some(problem) = &typed.problem { (super::forms::problem(to, problem)) }
            @if own.is_empty() { p { (say!(to, "You have connected none.")) } }
            ul { @for model in &own { li { (one(to, model)) } } }
            @if spent > 0.0 { p { (say!(to, "About ${spent} today, on your own bill.", spent = format!("{spent:.4}"))) } }
        }
        section.card { (fields(to, typed, anywhere)) }
    };
    let banner = banner::scripted(state, viewer).await;
    let around = Page { title, to, place: Section::OwnModels, viewer: Some(viewer), banner };
    Ok(page(&around, &body))
}

fn one(to: Language, model: &ModelView) -> Markup {
    html! {
        (phrase!(to, "{name}: {model} at {place}", name = html! { strong translate="no" { (model.name) } },
            model = html! { code { (model.model) } }, place = html! { code { (model.base_url) } }))
        " "
        form.inline method="post" action="/model/own/remove" {
            input type="hidden" name="name" value=(model.name);
            button type="submit" { (say!(to, "Remove")) span.unseen translate="no" { " " (model.name) } }
        }
    }
}

fn fields(to: Language, typed: &Typed, anywhere: bool) -> Markup {
    let places = || PRESETS.iter().filter(|place| !place.is_local());
    html! {
        h2 { (say!(to, "Connect one")) }
        form.stack method="post" action="/model/own" autocomplete="off" {
            label { (say!(to, "What you call it"))
                input name="name" required maxlength="64" autocapitalize="none" value=(typed.name) placeholder=(say!(to, "mine"));
            }
            label { (say!(to, "Where it is"))
                @if anywhere {
                    input name="base_url" type="url" required list="places" value=(typed.base_url)
                        placeholder="https://openrouter.ai/api/v1";
                } @else {
                    // Others are refused.
                    select name="base_url" required {
                        @for place in places() {
                            option value=(place.base_url) selected[place.base_url == typed.base_url] { (text_of(to, place.title)) }
                        }
                    }
                }
            }
            @if anywhere { datalist #places { @for place in places() { option value=(place.base_url) { (text_of(to, place.title)) } } } }
            label { (say!(to, "Your key")) input name="key" type="password" autocomplete="off" placeholder="sk-…"; }
            label { (say!(to, "Model id there"))
                input name="model" required autocapitalize="none" value=(typed.model) placeholder="z-ai/glm-4.6";
            }
            button.primary type="submit" { (say!(to, "Test and connect")) }
        }
        p.hint {
            (phrase!(to, "It answers in all your chats, and nobody else's. Your key is sealed and goes to that place alone; what it costs is on your own bill, in no budget here. {command} in a chat chooses another.",
                command = html! { code { "/model" } }))
        }
        details {
            summary { (say!(to, "Where to get a key")) }
            ul { @for place in places() {
                li {
                    (text_of(to, place.title)) ": " code { (place.base_url) } ", "
                    a href=(place.key_url) rel="noreferrer" { (say!(to, "get a key")) span.unseen { ": " (text_of(to, place.title)) } }
                }
            } }
        }
    }
}
