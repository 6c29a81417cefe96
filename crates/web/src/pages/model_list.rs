//! What `/model` shows below its form: every model with what was found out and said of it, who does what, and what runs on
//! this machine. Each form of it is an admin call of the operator who looks.

use axum::Form;
use axum::extract::{Path, State as Extract};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use cloister_protocol::admin::{Chain, KindView, ModelChange, ModelSetting, ModelView, PresetView};
use cloister_protocol::{Effort, ErrorBody, ErrorCode, Language, ToolForm, WorkKind};
use cloister_words::{noted, say, text_of};
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
    #[serde(default)]
    first_byte: String,
    #[serde(default)]
    idle: String,
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
    let tried = match typed.read(viewer.to) {
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
    fn read(&self, to: Language) -> Result<ModelChange, ErrorBody> {
        let mut change = ModelChange {
            temperature: number(to, &self.temperature)?,
            effort: EFFORTS.into_iter().find(|effort| effort.as_str() == self.effort),
            window_tokens: number(to, &self.window)?,
            first_byte_seconds: number(to, &self.first_byte)?,
            idle_seconds: number(to, &self.idle)?,
            max_output_tokens: number(to, &self.max_output)?,
            prompt_usd: number(to, &self.prompt_usd)?,
            completion_usd: number(to, &self.completion_usd)?,
            ..ModelChange::default()
        };
        let both_prices = change.prompt_usd.is_none() && change.completion_usd.is_none();
        let missing = [
            (change.temperature.is_none(), ModelSetting::Temperature),
            (change.effort.is_none(), ModelSetting::Effort),
            (change.window_tokens.is_none(), ModelSetting::Window),
            (change.first_byte_seconds.is_none(), ModelSetting::FirstByte),
            (change.idle_seconds.is_none(), ModelSetting::Idle),
            (change.max_output_tokens.is_none(), ModelSetting::MaxOutput),
            (both_prices, ModelSetting::Prices),
        ];
        change.unset =
            missing.into_iter().filter(|(is, _)| *is).map(|(_, setting)| setting).collect();
        Ok(change)
    }
}

fn number<T: std::str::FromStr>(to: Language, typed: &str) -> Result<Option<T>, ErrorBody> {
    let typed = typed.trim().trim_start_matches('$');
    if typed.is_empty() {
        return Ok(None);
    }
    let wrong = |_unreadable: T::Err| {
        let said = format!("{typed:?}");
        ErrorBody::new(ErrorCode::BadRequest, say!(to, "{said} is not such a number", said))
    };
    typed.parse().map(Some).map_err(wrong)
}

/// All that is below the form. Who may only look sees no form, and not what runs on this machine.
pub(super) async fn shown(
    state: &State,
    viewer: &Viewer,
    all_ports: bool,
) -> Result<Markup, Failure> {
    let calls = Calls::of(state, viewer);
    let models: Vec<ModelView> = calls.get("models").await?;
    let kinds: Vec<KindView> = calls.get("kinds").await?;
    let changes = viewer.is_operator();
    let path = if all_ports { "presets?all_ports=true" } else { "presets" };
    let places: Vec<PresetView> = if changes { calls.get(path).await? } else { Vec::new() };
    let found = places.iter().filter(|place| !place.models.is_empty());
    let to = viewer.to;
    Ok(html! {
        section.card {
            h2 { (say!(to, "Models")) }
            @for model in models.iter().filter(|model| !model.base_url.is_empty()) { (one(to, model, changes)) }
            @if models.iter().all(|model| model.base_url.is_empty()) { p { (say!(to, "None is connected.")) } }
        }
        section.card { (who_does_what(to, &kinds, changes)) }
        @if changes {
            section.card {
                h2 { (say!(to, "On this machine")) }
                @for place in found.clone() { (here(to, place, &models)) }
                @if found.count() == 0 { p {
                    @if all_ports { (say!(to, "No server of this machine says that it has models.")) }
                    @else { (say!(to, "No server with models answers at the usual ports.")) }
                } }
                @if !all_ports { p { a href="/model?all_ports=true" { (say!(to, "Look at all ports")) } } }
            }
        }
    })
}

/// A kind of work in a word.
fn kind_of(to: Language, kind: WorkKind) -> &'static str {
    let word = match kind {
        WorkKind::Talk => noted!("Talking"),
        WorkKind::Work => noted!("Working"),
        WorkKind::Summarise => noted!("Summaries"),
        WorkKind::Research => noted!("Research"),
        WorkKind::Vision => noted!("Pictures"),
    };
    text_of(to, word)
}

/// What a level of an agent is called.
fn level_of(to: Language, level: &str) -> &str {
    match level {
        "coordinator" => text_of(to, noted!("who talks")),
        "executor" => text_of(to, noted!("who works")),
        other => other,
    }
}

fn one(to: Language, model: &ModelView, changes: bool) -> Markup {
    let kinds = model.kinds.iter().map(|kind| kind_of(to, *kind));
    let levels = model.levels.iter().map(|level| level_of(to, level));
    let mut used: Vec<&str> = levels.chain(kinds).collect();
    used.extend(model.offered.then_some(text_of(to, noted!("who chooses it"))));
    let used = if used.is_empty() { say!(to, "nobody") } else { used.join(", ") };
    let action = format!("/model/{}", model.name);
    html! {
        details id={ "model-" (model.name) } {
            summary { strong translate="no" { (model.name) } ": " code { (model.model) } ", " (say!(to, "used by: {used}", used)) }
            p { (found_out(to, model)) }
            @if changes { (changing(to, model, &action)) }
        }
    }
}

fn changing(to: Language, model: &ModelView, action: &str) -> Markup {
    html! {
        (settings(to, model, action))
        p { a href={ "/model?again=" (model.name) } { (say!(to, "Change its address, key or id")) span.unseen translate="no" { ": " (model.name) } } }
        form.inline method="post" action={ (action) "/first" } {
            button type="submit" { (say!(to, "Use it first")) span.unseen translate="no" { ": " (model.name) } }
        }
        " "
        form.inline method="post" action={ (action) "/offer" } {
            input type="hidden" name="offered" value=(!model.offered);
            button type="submit" {
                @if model.offered { (say!(to, "Offer it no longer")) } @else { (say!(to, "Let people choose it")) }
                span.unseen translate="no" { ": " (model.name) }
            }
        }
    }
}

fn found_out(to: Language, model: &ModelView) -> String {
    let profile = &model.profile;
    if profile.is_empty() {
        return say!(to, "At {place}. It was never tried.", place = model.base_url);
    }
    let tools = match profile.tools {
        Some(ToolForm::None) => say!(to, "calls no tools"),
        Some(ToolForm::Native | ToolForm::Text | ToolForm::Described) => {
            say!(to, "calls tools")
        }
        None => say!(to, "tools not known"),
    };
    let sees = match profile.vision {
        Some(true) => say!(to, "sees pictures"),
        Some(false) => say!(to, "sees no pictures"),
        None => say!(to, "pictures not known"),
    };
    let mut known = vec![tools, sees];
    known
        .extend(profile.window_tokens.map(|n| say!(to, "a window of {tokens} tokens", tokens = n)));
    known.extend(profile.tokens_per_second.map(|rate| say!(to, "{rate} tokens/s", rate)));
    say!(to, "At {place}: {known}.", place = model.base_url, known = known.join(", "))
}

fn settings(to: Language, model: &ModelView, action: &str) -> Markup {
    let said = &model.settings;
    let field = |name: &str, label: String, value: Option<String>| {
        html! { label { (label) input name=(name) inputmode="decimal" autocomplete="off" value=[value]; } }
    };
    html! {
        form.stack method="post" action={ (action) "/settings" } {
            (field("temperature", say!(to, "Temperature, from 0 to 2"), said.temperature.map(|n| n.to_string())))
            label { (say!(to, "Effort")) select name="effort" {
                option value="" { (say!(to, "as the model likes")) }
                @for effort in EFFORTS {
                    option value=(effort.as_str()) selected[said.effort == Some(effort)] { (effort_of(to, effort)) }
                }
            } }
            (field("window", say!(to, "Window, in tokens"), said.window_tokens.map(|n| n.to_string())))
            (field("first_byte", say!(to, "Seconds until its first word, at most"), said.first_byte_seconds.map(|n| n.to_string())))
            (field("idle", say!(to, "Seconds of silence in an answer, at most"), said.idle_seconds.map(|n| n.to_string())))
            (field("max_output", say!(to, "Longest answer, in tokens"), Some(model.max_output_tokens.to_string())))
            (field("prompt_usd", say!(to, "Dollars per million tokens in"), Some(model.prompt_usd.to_string())))
            (field("completion_usd", say!(to, "Dollars per million tokens out"), Some(model.completion_usd.to_string())))
            button type="submit" { (say!(to, "Save")) span.unseen translate="no" { " " (model.name) } }
        }
        p.hint { (say!(to, "What is left empty is found out, or left to the model.")) }
    }
}

fn effort_of(to: Language, effort: Effort) -> &'static str {
    let word = match effort {
        Effort::Minimal => noted!("minimal"),
        Effort::Low => noted!("low"),
        Effort::Medium => noted!("medium"),
        Effort::High => noted!("high"),
    };
    text_of(to, word)
}

fn who_does_what(to: Language, kinds: &[KindView], changes: bool) -> Markup {
    let then = say!(to, ", then ");
    html! {
        h2 { (say!(to, "Who does what")) }
        table {
            thead {
                tr {
                    th scope="col" { (say!(to, "Kind of work")) }
                    th scope="col" { (say!(to, "Models, in order")) }
                }
            }
            tbody {
                @for KindView { kind, models } in kinds {
                    tr {
                        td { (kind_of(to, *kind)) }
                        td { @if models.is_empty() { (say!(to, "as above")) } @else { span translate="no" { (models.join(&then)) } } }
                    }
                }
            }
        }
        @if changes {
            form.stack method="post" action="/model/chain" {
                label { (say!(to, "Kind of work")) select name="kind" {
                    @for kind in WorkKind::ALL { option value=(kind) { (kind_of(to, kind)) } }
                } }
                label { (say!(to, "Models, in order"))
                    input name="models" autocomplete="off" autocapitalize="none" placeholder="main, fallback";
                }
                button type="submit" { (say!(to, "Set")) }
            }
        }
        p.hint {
            (say!(to, "Talking is answering people, working is doing tasks. Summaries, research and pictures are done by the models of those two as long as they have none of their own; empty takes a choice back."))
        }
    }
}

/// The name under which a model of a server is connected: the one that it has, or one that none has.
fn name_for(place: &PresetView, id: &str, models: &[ModelView]) -> String {
    let same = |model: &&ModelView| model.base_url == place.base_url && model.model == id;
    if let Some(there) = models.iter().find(same) {
        return there.name.clone();
    }
    let taken: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
    model::free_name(&place.name, &taken)
}

fn here(to: Language, place: &PresetView, models: &[ModelView]) -> Markup {
    let known = cloister_control::preset(&place.name).map(|preset| preset.title);
    let title = text_of(to, known.unwrap_or(noted!("Another server on this machine")));
    html! {
        p { (title) ": " code { (place.base_url) } }
        ul {
            @for id in &place.models {
                li {
                    code { (id) } " "
                    form.inline method="post" action="/model" {
                        input type="hidden" name="name" value=(name_for(place, id, models));
                        input type="hidden" name="base_url" value=(place.base_url);
                        input type="hidden" name="model" value=(id);
                        button type="submit" { (say!(to, "Connect")) span.unseen translate="no" { " " (id) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "model_list_tests.rs"]
mod tests;
