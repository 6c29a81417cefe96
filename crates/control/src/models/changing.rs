//! Changing what is said of a model without connecting it again.

use cloister_protocol::admin::{ModelChange, ModelSetting, NewModel};
use cloister_store::Actor;
use cloister_store::models::{KeyRef, Model};

use super::{ModelError, ModelRefusal, Models, fitting_output, sane_price, sane_settings};
use crate::options::usd_to_nano;
use crate::ports::Upstream;

impl Models {
    /// Changes what is said of a model. What is sent to it from now on is tried before it is kept.
    pub async fn change_model(
        &self,
        actor: &Actor,
        upstream: &dyn Upstream,
        name: &str,
        change: ModelChange,
    ) -> Result<Model, ModelError> {
        let before = self.named(name).await?;
        if let Some(offered) = change.offered {
            self.offer(actor, name, offered).await?;
        }
        let mut model = changed(&before, &change, upstream)?;
        if model == before {
            return Ok(model);
        }
        if before.is_demo() {
            return Err(ModelRefusal::NoName { name: before.name }.into());
        }
        let sends_more = model.settings.temperature != before.settings.temperature
            || model.settings.effort != before.settings.effort;
        if sends_more && !change.untested {
            let tried = upstream.probe(&model, None).await;
            let tried = tried.map_err(|said| ModelRefusal::Unusable(Box::new(said)))?;
            model.profile = tried.profile;
        }
        self.control.store().models().replace_model(actor, &model).await?;
        Ok(model)
    }

    /// Lets people choose a model that is in no chain, or no longer.
    async fn offer(&self, actor: &Actor, name: &str, offered: bool) -> Result<(), ModelError> {
        let before = self.in_use().await?;
        self.control.store().models().set_offered(actor, name, offered).await?;
        Ok(self.tell_of_what_left(&before).await?)
    }
}

fn changed(
    before: &Model,
    change: &ModelChange,
    upstream: &dyn Upstream,
) -> Result<Model, ModelRefusal> {
    let mut model = before.clone();
    let defaults = upstream.defaults(&model.model);
    let unset = |what: ModelSetting| change.unset.contains(&what);
    let settings = &mut model.settings;
    let (degrees, effort, window) = (settings.temperature, settings.effort, settings.window_tokens);
    settings.temperature =
        change.temperature.or(degrees.filter(|_| !unset(ModelSetting::Temperature)));
    settings.effort = change.effort.or(effort.filter(|_| !unset(ModelSetting::Effort)));
    settings.window_tokens =
        change.window_tokens.or(window.filter(|_| !unset(ModelSetting::Window)));
    let (first, idle) = (settings.first_byte_seconds, settings.idle_seconds);
    settings.first_byte_seconds =
        change.first_byte_seconds.or(first.filter(|_| !unset(ModelSetting::FirstByte)));
    settings.idle_seconds = change.idle_seconds.or(idle.filter(|_| !unset(ModelSetting::Idle)));
    sane_settings(settings, change.max_output_tokens)?;
    match change.max_output_tokens {
        Some(tokens) => model.max_output_tokens = tokens,
        None if unset(ModelSetting::MaxOutput) => {
            model.max_output_tokens = defaults.max_output_tokens;
            model.max_output_tokens = fitting_output(&model);
        }
        // An answer that was as long as the window lets it be is so still.
        None if change.window_tokens.is_some() => {
            model.max_output_tokens = fitting_output(&model);
        }
        None => {}
    }
    if unset(ModelSetting::Prices) {
        let free = model.key == KeyRef::None;
        model.prompt_price = if free { 0 } else { defaults.prompt_price };
        model.completion_price = if free { 0 } else { defaults.completion_price };
    }
    if !sane_price(change.prompt_usd) || !sane_price(change.completion_usd) {
        return Err(ModelRefusal::NoPrice);
    }
    if let Some(usd) = change.prompt_usd {
        model.prompt_price = usd_to_nano(usd / 1e6);
    }
    if let Some(usd) = change.completion_usd {
        model.completion_price = usd_to_nano(usd / 1e6);
    }
    Ok(model)
}

/// A model that takes the place of another, with what was said of that and is not said now.
pub(super) fn kept(mut new: NewModel, there: &Model, base_url: &str) -> NewModel {
    new.settings.temperature = new.settings.temperature.or(there.settings.temperature);
    new.settings.effort = new.settings.effort.or(there.settings.effort);
    if there.model != new.model || there.base_url != base_url {
        return new;
    }
    new.settings.window_tokens = new.settings.window_tokens.or(there.settings.window_tokens);
    new.settings.first_byte_seconds =
        new.settings.first_byte_seconds.or(there.settings.first_byte_seconds);
    new.settings.idle_seconds = new.settings.idle_seconds.or(there.settings.idle_seconds);
    new.max_output_tokens = new.max_output_tokens.or(Some(there.max_output_tokens));
    // Who asked for no key has a price of nothing, and may ask for one now.
    if there.key != KeyRef::None || there.prompt_price > 0 || there.completion_price > 0 {
        new.prompt_usd = new.prompt_usd.or(Some(super::per_million(there.prompt_price)));
        new.completion_usd =
            new.completion_usd.or(Some(super::per_million(there.completion_price)));
    }
    new
}

#[cfg(test)]
#[path = "changing_tests.rs"]
mod tests;
