//! What `/model` shows below its form: every model with what was found out and said of it, who does what, and what runs on
//! this machine. Each form of it is an admin call of the operator who looks.

use axum::Form;
use axum::extract::{Path, State as Extract};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use cloister_protocol::admin::{Chain, KindView, ModelChange, ModelSetting, ModelView, PresetView};
use cloister_protocol::{Effort, ErrorBody, ErrorCode, ToolForm, WorkKind};
use maud::{Markup, html};
use serde::Deserialize;

use super::calls::Calls;
use super::model;
use super::session::Viewer;
use crate::reply::Failure;
use crate::server::State;

const EFFORTS: [Effort; 4] = [Effort::Minimal, Effort::Low, Effort::Medium, Effort::High];

/// What the operator typed; what is empty is as if nobody had said it.
#[derive(Deserialize)]
pub(super) struct TypedSettings {
    temperature: String,
    effort: String,
    window: String,
    max_output: String,
    prompt_usd: String,
    completion_usd: String,
}

#[derive(Deserialize)]
pub(super) struct TypedChain {
    kind: WorkKind,
    models: String,
}

#[derive(Deserialize)]
pub(super) struct Offering {
    offered: bool,
}

pub(super) async fn change(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(name): Path<String>,
    Form(typed): Form<TypedSettings>,
) -> Result<Response, Failure> {
    let tried = match typed.read() {
        Ok(change) => patch(&state, &viewer, &name, &change).await,
        Err(problem) => Err(problem),
    };
    after(&state, &viewer, tried).await
}

pub(super) async fn offer(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(name): Path<String>,
    Form(Offering { offered }): Form<Offering>,
) -> Result<Response, Failure> {
    let change = ModelChange { offered: Some(offered), ..ModelChange::default() };
    let tried = patch(&state, &viewer, &name, &change).await;
    after(&state, &viewer, tried).await
}

pub(super) async fn chain(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Form(TypedChain { kind, models }): Form<TypedChain>,
) -> Result<Response, Failure> {
    let names = models.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty());
    let chain = Chain { models: names.map(str::to_owned).collect() };
    let calls = Calls::of(&state, &viewer);
    let tried = calls.send::<KindView>(Method::PUT, &format!("kinds/{kind}"), &chain).await;
    after(&state, &viewer, tried.map(drop)).await
}

async fn patch(
    state: &State,
    viewer: &Viewer,
    name: &str,
    change: &ModelChange,
) -> Result<(), ErrorBody> {
    let calls = Calls::of(state, viewer);
    calls.send::<ModelView>(Method::PATCH, &format!("models/{name}"), change).await.map(drop)
}

/// Back to the page, or the page with what is wrong.
async fn after(
    state: &State,
    viewer: &Viewer,
    tried: Result<(), ErrorBody>,
) -> Result<Response, Failure> {
    match tried {
        Ok(()) => Ok(Redirect::to("/model").into_response()),
        Err(problem) => {
            let page = model::with_problem(state, viewer, problem).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
    }
}

impl TypedSettings {
    fn read(&self) -> Result<ModelChange, ErrorBody> {
        let mut change = ModelChange {
            temperature: number(&self.temperature)?,
            effort: EFFORTS.into_iter().find(|effort| effort.as_str() == self.effort),
            window_tokens: number(&self.window)?,
            max_output_tokens: number(&self.max_output)?,
            prompt_usd: number(&self.prompt_usd)?,
            completion_usd: number(&self.completion_usd)?,
            ..ModelChange::default()
        };
        let both_prices = change.prompt_usd.is_none() && change.completion_usd.is_none();
        let missing = [
            (change.temperature.is_none(), ModelSetting::Temperature),
            (change.effort.is_none(), ModelSetting::Effort),
            (change.window_tokens.is_none(), ModelSetting::Window),
            (change.max_output_tokens.is_none(), ModelSetting::MaxOutput),
            (both_prices, ModelSetting::Prices),
        ];
        change.unset =
            missing.into_iter().filter(|(is, _)| *is).map(|(_, setting)| setting).collect();
        Ok(change)
    }
}

fn number<T: std::str::FromStr>(typed: &str) -> Result<Option<T>, ErrorBody> {
    let typed = typed.trim().trim_start_matches('$');
    if typed.is_empty() {
        return Ok(None);
    }
    let wrong = |_unreadable: T::Err| {
        ErrorBody::new(ErrorCode::BadRequest, format!("{typed:?} is not such a number"))
    };
    typed.parse().map(Some).map_err(wrong)
}

/// All that is below the form. Who may only look sees no form, and not what runs on this machine.
pub(super) async fn shown(state: &State, viewer: &Viewer) -> Result<Markup, Failure> {
    let calls = Calls::of(state, viewer);
    let models: Vec<ModelView> = calls.get("models").await?;
    let kinds: Vec<KindView> = calls.get("kinds").await?;
    let changes = viewer.is_operator();
    let places: Vec<PresetView> = if changes { calls.get("presets").await? } else { Vec::new() };
    let found = places.iter().filter(|place| !place.models.is_empty());
    Ok(html! {
        section.card {
            h2 { "Models" }
            @for model in models.iter().filter(|model| !model.base_url.is_empty()) { (one(model, changes)) }
            @if models.iter().all(|model| model.base_url.is_empty()) { p { "None is connected." } }
        }
        section.card { (who_does_what(&kinds, changes)) }
        @if changes {
            section.card {
                h2 { "On this machine" }
                @for place in found.clone() { (here(place)) }
                @if found.count() == 0 { p { "No server with models answers at the usual ports." } }
            }
        }
    })
}

fn one(model: &ModelView, changes: bool) -> Markup {
    let kinds = model.kinds.iter().map(|kind| kind.as_str());
    let mut used: Vec<&str> = model.levels.iter().map(String::as_str).chain(kinds).collect();
    used.extend(model.offered.then_some("who chooses it"));
    let used = if used.is_empty() { "nobody".to_owned() } else { used.join(", ") };
    let action = format!("/model/{}", model.name);
    html! {
        details id={ "model-" (model.name) } {
            summary { strong { (model.name) } ": " code { (model.model) } ", used by " (used) }
            p { (found_out(model)) }
            @if changes { (changing(model, &action)) }
        }
    }
}

fn changing(model: &ModelView, action: &str) -> Markup {
    html! {
        (settings(model, action))
        form.inline method="post" action={ (action) "/first" } {
            button type="submit" { "Use it first" span.unseen { ": " (model.name) } }
        }
        " "
        form.inline method="post" action={ (action) "/offer" } {
            input type="hidden" name="offered" value=(!model.offered);
            button type="submit" {
                @if model.offered { "Offer it no longer" } @else { "Let people choose it" }
                span.unseen { ": " (model.name) }
            }
        }
    }
}

fn found_out(model: &ModelView) -> String {
    let profile = &model.profile;
    if profile.is_empty() {
        return format!("At {}. It was never tried.", model.base_url);
    }
    let tools = match profile.tools {
        Some(ToolForm::None) => "calls no tools",
        Some(ToolForm::Native | ToolForm::Text | ToolForm::Described) => "calls tools",
        None => "tools not known",
    };
    let sees = match profile.vision {
        Some(true) => "sees pictures",
        Some(false) => "sees no pictures",
        None => "pictures not known",
    };
    let mut known = vec![tools.to_owned(), sees.to_owned()];
    known.extend(profile.window_tokens.map(|tokens| format!("a window of {tokens} tokens")));
    known.extend(profile.tokens_per_second.map(|rate| format!("{rate} tokens/s")));
    format!("At {}: {}.", model.base_url, known.join(", "))
}

fn settings(model: &ModelView, action: &str) -> Markup {
    let said = &model.settings;
    let field = |name: &str, label: &str, value: Option<String>| {
        html! { label { (label) input name=(name) inputmode="decimal" autocomplete="off" value=[value]; } }
    };
    html! {
        form.stack method="post" action={ (action) "/settings" } {
            (field("temperature", "Temperature, from 0 to 2", said.temperature.map(|n| n.to_string())))
            label { "Effort" select name="effort" {
                option value="" { "as the model likes" }
                @for effort in EFFORTS {
                    option selected[said.effort == Some(effort)] { (effort.as_str()) }
                }
            } }
            (field("window", "Window, in tokens", said.window_tokens.map(|n| n.to_string())))
            (field("max_output", "Longest answer, in tokens", Some(model.max_output_tokens.to_string())))
            (field("prompt_usd", "Dollars per million tokens in", Some(model.prompt_usd.to_string())))
            (field("completion_usd", "Dollars per million tokens out", Some(model.completion_usd.to_string())))
            button type="submit" { "Save" span.unseen { " " (model.name) } }
        }
        p.hint { "What is left empty is found out, or left to the model." }
    }
}

fn who_does_what(kinds: &[KindView], changes: bool) -> Markup {
    html! {
        h2 { "Who does what" }
        table {
            thead { tr { th { "Kind of work" } th { "Models, in order" } } }
            tbody {
                @for KindView { kind, models } in kinds {
                    tr {
                        td { (kind) }
                        td { @if models.is_empty() { "as above" } @else { (models.join(", then ")) } }
                    }
                }
            }
        }
        @if changes {
            form.stack method="post" action="/model/chain" {
                label { "Kind of work" select name="kind" {
                    @for kind in WorkKind::ALL { option { (kind) } }
                } }
                label { "Models, in order"
                    input name="models" autocomplete="off" autocapitalize="none" placeholder="main, fallback";
                }
                button type="submit" { "Set" }
            }
        }
        p.hint {
            "Talk is answering people, work is doing tasks. Summaries, research and pictures are done by those of talk and "
            "work as long as they have none of their own; empty takes a choice back."
        }
    }
}

fn here(place: &PresetView) -> Markup {
    html! {
        p { (place.title) ": " code { (place.base_url) } }
        ul {
            @for id in &place.models {
                li {
                    code { (id) } " "
                    form.inline method="post" action="/model" {
                        input type="hidden" name="name" value=(place.name);
                        input type="hidden" name="base_url" value=(place.base_url);
                        input type="hidden" name="model" value=(id);
                        button type="submit" { "Connect" span.unseen { " " (id) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "model_list_tests.rs"]
mod tests;
