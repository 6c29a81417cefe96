//! Connecting models: what was said is checked, the model is tried, and only then are its key, its
//! address and what was found out about it kept.

mod changing;
mod choices;
mod error;
mod keys;
mod listening;
pub(crate) mod own;
mod presets;
mod unanswered;

use std::ops::RangeInclusive;

use cloister_protocol::admin::{Key, KindView, ModelView, NewModel, TestedModel};
use cloister_protocol::{
    ChatId, Level, ModelFacts, ModelProfile, ModelSettings, ToolForm, WorkKind, WorkspaceId,
};
use cloister_store::Actor;
use cloister_store::models::{DEMO, KeyRef, Model};

use crate::control::part;
use crate::error::Fault;
use crate::options::{nano_to_usd, usd_to_nano};
use crate::ports::Upstream;

pub use error::{ModelError, ModelRefusal};
pub use own::{Addresses, own_view};
pub use presets::{Looked, PRESETS, Preset, preset};
pub use unanswered::Unanswered;

/// What people paste behind the base URL.
const ENDPOINT: &str = "/chat/completions";
/// Models with fewer parameters, or a smaller window, are small.
const SMALL_PARAMETERS: u64 = 4_000_000_000;
const SMALL_WINDOW: u32 = 8_192;
/// Over how many days it is said how much of what a model was shown its provider had kept.
const CACHE_DAYS: u32 = 30;
/// How long an operator may let a model wait with its first word, and be silent in an answer: a coordinator that says
/// nothing at all for longer is taken for dead.
const FIRST_BYTE_SECONDS: RangeInclusive<u32> = 1..=3_600;
const IDLE_SECONDS: RangeInclusive<u32> = 1..=600;

/// A model that was connected.
#[derive(Debug)]
pub struct Connected {
    pub model: Model,
    /// What the test said; none if there was none.
    pub answer: Option<String>,
}

part! {
    /// The models and their keys.
    pub struct Models;
}

impl Models {
    pub async fn all(&self) -> Result<Vec<Model>, Fault> {
        Ok(self.control.store().models().all().await?)
    }

    pub async fn named(&self, name: &str) -> Result<Model, Fault> {
        Ok(self.control.store().models().model(name).await?)
    }

    /// What an agent is told of the model that a level asks first in a chat.
    pub(crate) async fn facts(
        &self,
        place: (WorkspaceId, ChatId),
        level: Level,
    ) -> Result<ModelFacts, Fault> {
        let models = self.control.store().models();
        let chain = models.chain_for(place, level, WorkKind::of(level)).await?;
        let first = chain.first().filter(|model| !model.is_demo());
        let mut facts = first.map_or_else(ModelFacts::default, facts_of);
        // Pictures go to whoever sees them.
        if facts.vision == Some(false) {
            let looks = models.chain_for(place, level, WorkKind::Vision).await?;
            facts.vision = Some(looks.iter().any(|model| model.profile.vision != Some(false)));
        }
        Ok(facts)
    }

    /// Removes a model, also from the chains it is in, and its key.
    pub async fn remove(&self, actor: &Actor, name: &str) -> Result<(), Fault> {
        let chosen_by = self.control.store().models().chosen_by(name).await?;
        self.control.store().models().remove_model(actor, name).await?;
        self.tell_of_lost_choice(name, &chosen_by).await?;
        self.forget_key(actor, name).await
    }

    /// Sets which models serve a level, in the order in which they are tried.
    pub async fn use_chain(
        &self,
        actor: &Actor,
        level: Level,
        names: &[String],
    ) -> Result<(), Fault> {
        let before = self.in_use().await?;
        self.control.store().models().set_chain(actor, level, names).await?;
        self.tell_of_what_left(&before).await
    }

    /// Sets which models serve a kind of work; without any, the level's own serve it.
    pub async fn use_for(
        &self,
        actor: &Actor,
        kind: WorkKind,
        names: &[String],
    ) -> Result<(), Fault> {
        let before = self.in_use().await?;
        self.control.store().models().set_kind_chain(actor, kind, names).await?;
        self.tell_of_what_left(&before).await
    }

    /// Which models were set for each kind of work.
    pub async fn kinds(&self) -> Result<Vec<KindView>, Fault> {
        let mut kinds = Vec::new();
        for kind in WorkKind::ALL {
            let chain = self.control.store().models().kind_chain(kind).await?;
            kinds.push(KindView { kind, models: chain.into_iter().map(|m| m.name).collect() });
        }
        Ok(kinds)
    }

    /// Connects a model. When it can't be used nothing is kept, and the error says what is wrong.
    pub async fn connect_model(
        &self,
        actor: &Actor,
        upstream: &dyn Upstream,
        new: NewModel,
    ) -> Result<Connected, ModelError> {
        let base_url = base_url(&new.base_url)?;
        check(&new)?;
        let there = self
            .control
            .store()
            .models()
            .all()
            .await?
            .into_iter()
            .find(|model| model.name == new.name);
        if there.is_some() && !new.replace {
            return Err(ModelRefusal::Exists { name: new.name }.into());
        }
        let key = match (&new.key, &new.key_env) {
            (Some(_), _) => KeyRef::Sealed(new.name.clone()),
            (None, Some(variable)) => KeyRef::Env(variable.clone()),
            // A key goes to nobody but the provider it was given for.
            (None, None) => there
                .as_ref()
                .filter(|there| new.keep_key && there.base_url == base_url)
                .map_or(KeyRef::None, |there| there.key.clone()),
        };
        let new = match &there {
            Some(there) if new.keep_settings => changing::kept(new, there, &base_url),
            Some(_) | None => new,
        };
        let defaults = upstream.defaults(&new.model);
        // Who asks for no key sends no bill.
        let free = key == KeyRef::None;
        let price = |usd: Option<f64>, default: i64| {
            usd.map_or(if free { 0 } else { default }, |usd| usd_to_nano(usd / 1e6))
        };
        let mut model = Model {
            base_url,
            model: new.model,
            key,
            prompt_price: price(new.prompt_usd, defaults.prompt_price),
            completion_price: price(new.completion_usd, defaults.completion_price),
            max_output_tokens: new.max_output_tokens.unwrap_or(defaults.max_output_tokens),
            profile: ModelProfile::default(),
            settings: new.settings,
            name: new.name,
        };
        let mut answer = None;
        if !new.untested {
            let tried = upstream.probe(&model, new.key.as_ref()).await;
            let tried = tried.map_err(|said| ModelRefusal::Unusable(Box::new(said)))?;
            model.profile = tried.profile;
            answer = Some(tried.answer);
            if new.max_output_tokens.is_none() {
                model.max_output_tokens = fitting_output(&model);
            }
        }
        self.keep_model(actor, &model, new.key.as_ref(), new.replace).await?;
        Ok(Connected { model, answer })
    }

    /// Tries a model again, and keeps what was found out.
    pub async fn test_model(
        &self,
        actor: &Actor,
        upstream: &dyn Upstream,
        name: &str,
    ) -> Result<TestedModel, ModelError> {
        let model = self.named(name).await?;
        let tried = upstream.probe(&model, None).await;
        let mut tried = tried.map_err(|said| ModelRefusal::Unusable(Box::new(said)))?;
        // Seen at work, and by no trial.
        tried.profile.slowest_ms = model.profile.slowest_ms;
        if !model.is_demo() && tried.profile != model.profile {
            self.control.store().models().set_profile(actor, name, &tried.profile).await?;
        }
        Ok(TestedModel { model: model.name, answer: tried.answer, profile: tried.profile })
    }

    async fn keep_model(
        &self,
        actor: &Actor,
        model: &Model,
        key: Option<&Key>,
        replace: bool,
    ) -> Result<(), Fault> {
        if let Some(key) = key {
            self.keep_key(actor, &model.name, key, &model.base_url).await?;
        }
        if replace {
            self.control.store().models().replace_model(actor, model).await?;
        } else {
            self.control.store().models().add_model(actor, model).await?;
        }
        if model.key != KeyRef::Sealed(model.name.clone()) {
            self.forget_key(actor, &model.name).await?;
        }
        Ok(())
    }

    /// Makes a model the first of both levels. Other real models stay behind it; the scripted one
    /// does not: a model that fails must not turn into a script unnoticed.
    pub async fn prefer_model(&self, actor: &Actor, name: &str) -> Result<(), Fault> {
        for level in Level::ALL {
            let chain = self.control.store().models().chain(level).await?;
            let others = chain.into_iter().map(|model| model.name);
            let others = others.filter(|other| other != name && other != DEMO);
            let chain: Vec<String> = std::iter::once(name.to_owned()).chain(others).collect();
            self.control.store().models().set_chain(actor, level, &chain).await?;
        }
        Ok(())
    }

    /// Whether the scripted demo model may answer people.
    pub async fn uses_demo_model(&self) -> Result<bool, Fault> {
        Ok(self.control.store().models().in_use().await?.iter().any(Model::is_demo))
    }

    /// A model as people see it: never with its key.
    pub async fn model_view(&self, model: Model) -> Result<ModelView, Fault> {
        let mut levels = Vec::new();
        for level in Level::ALL {
            let chain = self.control.store().models().chain(level).await?;
            if chain.iter().any(|other| other.name == model.name) {
                levels.push(level.to_string());
            }
        }
        let models = self.control.store().models();
        let mut kinds = Vec::new();
        for kind in WorkKind::APART {
            if models.kind_chain(kind).await?.iter().any(|other| other.name == model.name) {
                kinds.push(kind);
            }
        }
        let offered = models.offered().await?.iter().any(|other| other.name == model.name);
        let since = self.control.store().clock.days_ago(CACHE_DAYS);
        let (prompt_tokens, cached_tokens) =
            self.control.store().tasks().kept_of_prompts(&model.name, &since).await?;
        Ok(ModelView {
            key: model.key.to_string(),
            prompt_usd: per_million(model.prompt_price),
            completion_usd: per_million(model.completion_price),
            max_output_tokens: model.max_output_tokens,
            name: model.name,
            base_url: model.base_url,
            model: model.model,
            levels,
            kinds,
            offered,
            profile: model.profile,
            settings: model.settings,
            prompt_tokens,
            cached_tokens,
        })
    }
}

fn window(model: &Model) -> Option<u32> {
    model.settings.window_tokens.or(model.profile.window_tokens)
}

fn facts_of(model: &Model) -> ModelFacts {
    let profile = &model.profile;
    let window_tokens = window(model);
    ModelFacts {
        window_tokens,
        output_tokens: Some(model.max_output_tokens),
        small: profile.parameters.is_some_and(|number| number < SMALL_PARAMETERS)
            || window_tokens.is_some_and(|tokens| tokens < SMALL_WINDOW),
        tools: profile.tools.map(|form| form != ToolForm::None),
        parallel_calls: profile.parallel_calls,
        vision: profile.vision,
    }
}

/// The longest answer when nobody said: what the provider lets it have, and no more than half of its window.
fn fitting_output(model: &Model) -> u32 {
    let most = model.profile.output_tokens.unwrap_or(u32::MAX);
    let half = window(model).map_or(u32::MAX, |tokens| tokens / 2);
    model.max_output_tokens.min(most).min(half).max(1)
}

/// Dollars per million tokens from nano-dollars per token: a million times a billionth. Divided once, because a number
/// that is rounded twice is read as $0.8999999999999999.
fn per_million(nano: i64) -> f64 {
    nano_to_usd(nano.saturating_mul(1_000_000))
}

/// The base URL as it is kept: without the end that people copy along with it.
pub fn base_url(given: &str) -> Result<String, ModelRefusal> {
    let url = given.trim().trim_end_matches('/');
    let url = url.strip_suffix(ENDPOINT).unwrap_or(url).trim_end_matches('/');
    let refuse = |why| {
        let shown = url.chars().take(200).collect();
        Err(ModelRefusal::NoBaseUrl { shown, why })
    };
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let Some(rest) = rest else { return refuse("it starts with http:// or https://") };
    let host = rest.split('/').next().unwrap_or_default();
    if host.is_empty() || host.starts_with(':') {
        return refuse("it names no host");
    }
    if host.contains('@') {
        return Err(ModelRefusal::KeyInUrl);
    }
    if !url.bytes().all(|b| b.is_ascii_graphic()) || url.contains(['?', '#', '\\']) {
        return refuse("it has characters that do not belong there");
    }
    Ok(url.to_owned())
}

fn check(new: &NewModel) -> Result<(), ModelRefusal> {
    let word = !new.name.is_empty()
        && new.name.len() <= 64
        && !new.name.starts_with('.')
        && new.name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if !word || new.name == DEMO {
        return Err(ModelRefusal::NoName { name: new.name.clone() });
    }
    if new.model.trim().is_empty() {
        return Err(ModelRefusal::NoModelId);
    }
    if !sane_price(new.prompt_usd) || !sane_price(new.completion_usd) {
        return Err(ModelRefusal::NoPrice);
    }
    sane_settings(&new.settings, new.max_output_tokens)
}

fn sane_price(usd: Option<f64>) -> bool {
    usd.is_none_or(|usd| (0.0..=1e6).contains(&usd))
}

fn sane_settings(
    settings: &ModelSettings,
    max_output_tokens: Option<u32>,
) -> Result<(), ModelRefusal> {
    if max_output_tokens == Some(0) || settings.window_tokens == Some(0) {
        return Err(ModelRefusal::NoTokens);
    }
    if settings.temperature.is_some_and(|degrees| !(0.0..=2.0).contains(&degrees)) {
        return Err(ModelRefusal::NoTemperature);
    }
    let first = settings.first_byte_seconds.is_none_or(|time| FIRST_BYTE_SECONDS.contains(&time));
    let idle = settings.idle_seconds.is_none_or(|time| IDLE_SECONDS.contains(&time));
    if !first || !idle {
        return Err(ModelRefusal::NoTime);
    }
    Ok(())
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
