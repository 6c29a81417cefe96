//! Models that people connect for themselves: with a key of their own, which they pay for and which serves nobody else.
//!
//! Promises: whoever is not an overlord names an address of the presets and no other, so that nobody makes this machine ask
//! where they like; no key of the platform is ever asked for in somebody's name.

use cloister_protocol::admin::{Key, ModelView, NewModel};
use cloister_protocol::{ModelProfile, UserId};
use cloister_store::Actor;
use cloister_store::models::{KeyRef, Model};
use cloister_store::own_models::KeyBinding;
use cloister_store::users::{AccountKind, User};
use cloister_vault::SecretValue;

use super::{
    Connected, ModelError, ModelRefusal, Models, PRESETS, base_url, changing, check,
    fitting_output, per_million,
};
use crate::error::Fault;
use crate::options::usd_to_nano;
use crate::ports::Upstream;
use crate::surfaces::credentials::binding;

/// How many models one person may have.
const MOST_OWN: usize = 10;

/// Which addresses a person may name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    Any,
    /// Those of the presets that are not on this machine.
    Known,
}

/// What the key of a person's own model is sealed with.
pub(crate) fn key_binding(user: UserId, model: &Model) -> Result<KeyBinding, Fault> {
    Ok(KeyBinding::new(user, &model.name, binding(&model.base_url)?)?)
}

impl Models {
    /// The models that a person connected for themselves, as they see them.
    pub async fn own(&self, user: &User) -> Result<Vec<ModelView>, Fault> {
        let models = self.control.store().models().own(user.id).await?;
        Ok(models.into_iter().map(own_view).collect())
    }

    /// Connects a model for one person alone. It is tried first; a new one answers in all their chats from then on.
    pub async fn connect_own(
        &self,
        actor: &Actor,
        upstream: &dyn Upstream,
        (user, addresses): (&User, Addresses),
        new: NewModel,
    ) -> Result<Connected, ModelError> {
        if user.kind != AccountKind::Person {
            return Err(ModelRefusal::OwnOfCommunity.into());
        }
        let base_url = base_url(&new.base_url)?;
        check(&new)?;
        known(&base_url, addresses)?;
        if new.key_env.is_some() {
            return Err(ModelRefusal::OwnFromEnvironment.into());
        }
        let there = self.own_there(user, &new).await?;
        let new = match &there {
            Some(there) if new.keep_settings => changing::kept(new, there, &base_url),
            Some(_) | None => new,
        };
        let key = self.own_key(user, (&new, &base_url), there.as_ref()).await?;
        if key.is_none() && addresses == Addresses::Known {
            return Err(ModelRefusal::OwnWithoutKey.into());
        }
        let (model, answer) = tried(upstream, &new, base_url, key.as_ref()).await?;
        let own = Model { key: KeyRef::Own { user: user.id, name: new.name }, ..model };
        let of = key_binding(user.id, &own)?;
        let models = self.control.store().models();
        let sealed = key.map(|key| SecretValue::from(key.expose().trim().to_owned()));
        models
            .put_own(actor, self.control.keys(), &of, (&own, sealed))
            .await
            .map_err(Fault::from)?;
        if there.is_none() {
            let everywhere = (user.workspace, None);
            models.choose(actor, everywhere, None, Some(&own.name)).await.map_err(Fault::from)?;
        }
        Ok(Connected { model: own, answer })
    }

    /// Forgets a model of a person's own, with its key.
    pub async fn remove_own(&self, actor: &Actor, user: &User, name: &str) -> Result<(), Fault> {
        let whose = (user.id, user.workspace);
        Ok(self.control.store().models().remove_own(actor, whose, name).await?)
    }

    /// The model that a new one takes the place of.
    async fn own_there(&self, user: &User, new: &NewModel) -> Result<Option<Model>, ModelError> {
        let all = self.control.store().models().all().await?;
        if all.iter().any(|model| model.name == new.name) {
            return Err(ModelRefusal::Exists { name: new.name.clone() }.into());
        }
        let own = self.control.store().models().own(user.id).await?;
        let count = own.len();
        let there = own.into_iter().find(|model| model.name == new.name);
        match there {
            Some(_) if !new.replace => Err(ModelRefusal::Exists { name: new.name.clone() }.into()),
            None if count >= MOST_OWN => Err(ModelRefusal::TooManyOwn.into()),
            there => Ok(there),
        }
    }

    /// The key that is given, or the one that is kept for the same address.
    async fn own_key(
        &self,
        user: &User,
        (new, base_url): (&NewModel, &str),
        there: Option<&Model>,
    ) -> Result<Option<Key>, ModelError> {
        if new.key.is_some() {
            return Ok(new.key.clone());
        }
        let Some(there) = there.filter(|there| new.keep_key && there.base_url == base_url) else {
            return Ok(None);
        };
        let of = key_binding(user.id, there)?;
        let opened = self.control.store().models().open_own_key(self.control.keys(), &of).await;
        let opened = opened.map_err(Fault::from)?;
        let text = |value: SecretValue| String::from_utf8_lossy(value.expose()).into_owned();
        Ok(opened.map(|value| Key::new(text(value))))
    }
}

/// A member can't make this machine ask any other place than those that everybody knows.
fn known(base_url: &str, addresses: Addresses) -> Result<(), ModelRefusal> {
    let is_known = PRESETS.iter().any(|preset| !preset.is_local() && preset.base_url == base_url);
    if addresses == Addresses::Any || is_known {
        return Ok(());
    }
    let names = PRESETS.iter().filter(|preset| !preset.is_local()).map(|preset| preset.name);
    Err(ModelRefusal::OwnElsewhere { known: names.collect::<Vec<_>>().join(", ") })
}

/// The model as it is to be kept, and what it did when it was tried.
async fn tried(
    upstream: &dyn Upstream,
    new: &NewModel,
    base_url: String,
    key: Option<&Key>,
) -> Result<(Model, Option<String>), ModelError> {
    let defaults = upstream.defaults(&new.model);
    let free = key.is_none();
    let price = |usd: Option<f64>, default: i64| {
        usd.map_or(if free { 0 } else { default }, |usd| usd_to_nano(usd / 1e6))
    };
    let mut model = Model {
        name: new.name.clone(),
        base_url,
        model: new.model.clone(),
        key: KeyRef::None,
        prompt_price: price(new.prompt_usd, defaults.prompt_price),
        completion_price: price(new.completion_usd, defaults.completion_price),
        max_output_tokens: new.max_output_tokens.unwrap_or(defaults.max_output_tokens),
        profile: ModelProfile::default(),
        settings: new.settings.clone(),
    };
    if new.untested {
        return Ok((model, None));
    }
    let tried = upstream.probe(&model, key).await;
    let tried = tried.map_err(|said| ModelRefusal::Unusable(Box::new(said)))?;
    model.profile = tried.profile;
    if new.max_output_tokens.is_none() {
        model.max_output_tokens = fitting_output(&model);
    }
    Ok((model, Some(tried.answer)))
}

/// A person's own model as they see it: never with its key.
pub fn own_view(model: Model) -> ModelView {
    ModelView {
        key: model.key.to_string(),
        prompt_usd: per_million(model.prompt_price),
        completion_usd: per_million(model.completion_price),
        max_output_tokens: model.max_output_tokens,
        name: model.name,
        base_url: model.base_url,
        model: model.model,
        levels: Vec::new(),
        kinds: Vec::new(),
        offered: false,
        profile: model.profile,
        settings: model.settings,
        prompt_tokens: 0,
        cached_tokens: 0,
    }
}

#[cfg(test)]
#[path = "own_tests.rs"]
mod tests;
