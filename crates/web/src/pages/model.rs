//! `/model`: connecting a real model. For the operator. The key goes in and never comes out: it is
//! tried, then sealed in the database, and no page, address or log has it.

use axum::Form;
use axum::extract::{Path, State as Extract};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use cloister_control::{PRESETS, preset};
use cloister_protocol::admin::{Key, ModelView, NewModel};
use cloister_protocol::{ErrorBody, Language};
use cloister_words::{count, say, text_of};
use maud::{Markup, html};
use serde::Deserialize;

use super::session::Viewer;
use super::shell::{Page, Section, page};
use super::{banner, model_list};
use crate::language::phrase;
use crate::reply::{Failure, Query};
use crate::server::State;

/// What a model is called when nobody says, and no other is called so.
const NAME: &str = "main";
/// How many ids are offered to choose from.
const MAX_OFFERED: usize = 1000;

/// What was filled in. The key is a type that can't print itself.
#[derive(Deserialize)]
pub(super) struct Filled {
    #[serde(default)]
    name: String,
    base_url: String,
    #[serde(default)]
    key: Option<Key>,
    #[serde(default)]
    model: String,
}

/// Which model is connected anew, and whether others are looked for at all ports of this machine.
#[derive(Deserialize)]
pub(super) struct ModelQuery {
    #[serde(default)]
    again: Option<String>,
    #[serde(default)]
    all_ports: bool,
    /// A place that was chosen from those that everybody knows.
    #[serde(default)]
    place: String,
}

/// What the form shows; there is no key in it.
#[derive(Default)]
struct ShownModel {
    name: String,
    base_url: String,
    model: String,
    ids: Vec<String>,
    problem: Option<ErrorBody>,
    connected: Option<String>,
    all_ports: bool,
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Query(ModelQuery { again, all_ports, place }): Query<ModelQuery>,
) -> Result<Markup, Failure> {
    viewer.require(Section::Model)?;
    let now = ShownModel::now(&state, again.as_deref()).await?;
    let mut shown = ShownModel { all_ports, ..now };
    if let Some(place) = preset(&place).filter(|place| place.base_url != shown.base_url) {
        (shown.base_url, shown.model) = (place.base_url.to_owned(), String::new());
    }
    form(&state, &viewer, &shown).await
}

/// The page after something on it did not work.
pub(super) async fn with_problem(
    state: &State,
    viewer: &Viewer,
    problem: ErrorBody,
) -> Result<Markup, Failure> {
    viewer.require_operator()?;
    let shown = ShownModel { problem: Some(problem), ..ShownModel::now(state, None).await? };
    form(state, viewer, &shown).await
}

/// Makes a model the first of everybody's agent.
pub(super) async fn first(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(name): Path<String>,
) -> Result<Redirect, Failure> {
    viewer.require_operator()?;
    let before = state.control.people().readers().await?;
    state.control.models().named(&name).await?;
    state.control.models().prefer_model(&viewer.actor, &name).await?;
    state.control.people().tell_of_readers(viewer.user.id, &before).await?;
    Ok(Redirect::to("/model"))
}

impl ShownModel {
    /// Of a model that is to be connected anew, or else of one more: it takes no other's place.
    async fn now(state: &State, again: Option<&str>) -> Result<Self, Failure> {
        if let Some(now) = connected(state, again.unwrap_or_default()).await? {
            let (name, base_url, model) = (now.name, now.base_url, now.model);
            return Ok(Self { name, base_url, model, ..Self::default() });
        }
        let models = state.control.models().all().await?;
        let taken: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
        Ok(Self { name: free_name(NAME, &taken), ..Self::default() })
    }
}

/// A name that no model has: this one, or with a number behind it.
pub(super) fn free_name(name: &str, taken: &[&str]) -> String {
    let numbered = (2..).map(|number: usize| format!("{name}-{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken.contains(&name.as_str())).unwrap_or_default()
}

pub(super) async fn connect(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Form(filled): Form<Filled>,
) -> Result<Response, Failure> {
    viewer.require_operator()?;
    let key = filled.key.filter(|key| !key.expose().trim().is_empty());
    let name = Some(filled.name.trim().to_owned()).filter(|name| !name.is_empty());
    let mut shown = ShownModel {
        name: name.unwrap_or_else(|| NAME.to_owned()),
        base_url: filled.base_url,
        model: filled.model,
        ..ShownModel::default()
    };
    let before = state.control.people().readers().await?;
    match try_and_keep(&state, &viewer, &shown, key.clone()).await {
        Ok(answer) => {
            state.control.people().tell_of_readers(viewer.user.id, &before).await?;
            shown.connected = Some(answer);
            Ok(form(&state, &viewer, &shown).await?.into_response())
        }
        Err(problem) => {
            shown.ids = offered(&state, &shown.base_url, key.as_ref()).await;
            shown.problem = Some(problem);
            let page = form(&state, &viewer, &shown).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, page).into_response())
        }
    }
}

async fn try_and_keep(
    state: &State,
    viewer: &Viewer,
    shown: &ShownModel,
    key: Option<Key>,
) -> Result<String, ErrorBody> {
    let new = NewModel {
        name: shown.name.clone(),
        base_url: shown.base_url.clone(),
        model: shown.model.trim().to_owned(),
        key,
        key_env: None,
        prompt_usd: None,
        completion_usd: None,
        max_output_tokens: None,
        replace: true,
        keep_key: true,
        keep_settings: true,
        untested: false,
        settings: cloister_protocol::ModelSettings::default(),
    };
    let (actor, to, models) = (&viewer.actor, viewer.to, state.control.models());
    let connected = models.connect_model(actor, &*state.upstream, new).await;
    let connected = connected.map_err(|error| error.body_in(to))?;
    models.prefer_model(actor, &shown.name).await.map_err(|error| error.body_in(to))?;
    Ok(connected.answer.unwrap_or_default())
}

/// The ids that the endpoint offers, for a person who has not found the right one.
async fn offered(state: &State, base_url: &str, key: Option<&Key>) -> Vec<String> {
    let Ok(base_url) = cloister_control::base_url(base_url) else { return Vec::new() };
    let mut ids = state.upstream.model_ids(&base_url, key).await.unwrap_or_default();
    ids.truncate(MAX_OFFERED);
    ids
}

/// The model of this name, if there is one.
async fn connected(state: &State, name: &str) -> Result<Option<ModelView>, Failure> {
    let models = state.control.models().all().await?;
    match models.into_iter().find(|model| model.name == name) {
        Some(model) => Ok(Some(state.control.models().model_view(model).await?)),
        None => Ok(None),
    }
}

async fn form(state: &State, viewer: &Viewer, shown: &ShownModel) -> Result<Markup, Failure> {
    let now = connected(state, &shown.name).await?;
    let has_key = now.as_ref().is_some_and(|now| !now.key.is_empty());
    let to = viewer.to;
    let title = &say!(to, "Model");
    let code = |text: &str| html! { code { (text) } };
    let body = html! {
        section.card {
            h1 { (title) }
            @if let Some(answer) = &shown.connected {
                div.ok role="status" {
                    p {
                        strong { (phrase!(to, "Connected: {answer}.", answer = html! { span translate="no" { (answer) } })) }
                        " " (say!(to, "Everybody's agent uses it from now on."))
                    }
                    p { a href="/" { (say!(to, "Back to the chat")) } }
                }
            } @else if let Some(now) = &now {
                p { (phrase!(to, "In use: {model} at {place}.", model = code(&now.model), place = code(&now.base_url))) }
            }
            @if let Some(problem) = &shown.problem { (super::forms::problem(to, problem)) }
            @if viewer.is_operator() { (fields(to, shown, has_key)) }
            p.hint {
                (say!(to, "Any OpenAI-compatible address will do. The key is tried before it is kept, sealed in the database of this machine, and never reaches an agent."))
            }
            p.hint { (phrase!(to, "The same for scripts: {command}", command = code("cloister model --help"))) }
        }
        (model_list::shown(state, viewer, shown.all_ports).await?)
    };
    let banner = banner::scripted_here(state, viewer).await;
    let around = Page { title, to, place: Section::Model, viewer: Some(viewer), banner };
    Ok(page(&around, &body))
}

fn fields(to: Language, shown: &ShownModel, has_key: bool) -> Markup {
    let key_hint = match has_key {
        true => say!(to, "leave empty to keep the one that is there"),
        false => "sk-…".to_owned(),
    };
    html! {
        form.stack method="post" action="/model" autocomplete="off" {
            label { (say!(to, "Name here"))
                input name="name" required maxlength="64" autocapitalize="none" value=(shown.name);
            }
            label { (say!(to, "Base URL"))
                input name="base_url" type="url" required list="places" value=(shown.base_url)
                    placeholder="https://openrouter.ai/api/v1";
            }
            datalist #places { @for place in PRESETS { option value=(place.base_url) { (text_of(to, place.title)) } } }
            label { (say!(to, "Key"))
                input name="key" type="password" autocomplete="off" placeholder=(key_hint);
            }
            label { (say!(to, "Model id"))
                input name="model" list="ids" value=(shown.model) placeholder="z-ai/glm-4.6";
            }
            @if !shown.ids.is_empty() {
                datalist #ids { @for id in &shown.ids { option value=(id) {} } }
                details {
                    summary { (count!(to, shown.ids.len(), "The {n} model that it lists", "The {n} models that it lists")) }
                    ul { @for id in &shown.ids { li { code { (id) } } } }
                }
            }
            button.primary type="submit" { (say!(to, "Test and connect")) }
        }
        details open[shown.base_url.is_empty()] {
            summary { (say!(to, "Where to get one")) }
            ul {
                @for place in PRESETS {
                    li {
                        a href={ "/model?place=" (place.name) } { (text_of(to, place.title)) } ": " code { (place.base_url) } ", "
                        @if place.is_local() { (say!(to, "no key")) } @else {
                            a href=(place.key_url) rel="noreferrer" { (say!(to, "get a key")) span.unseen { ": " (text_of(to, place.title)) } }
                        }
                    }
                }
            }
        }
    }
}
