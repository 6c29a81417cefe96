use cloister_protocol::ErrorBody;
use cloister_protocol::admin::Key;
use cloister_protocol::{Effort, ModelProfile, ModelSettings};
use futures_util::future::BoxFuture;

use super::*;
use crate::ports::{ModelDefaults, TriedModel};

struct Defaults;

impl Upstream for Defaults {
    fn defaults(&self, _model_id: &str) -> ModelDefaults {
        ModelDefaults { prompt_price: 3_000, completion_price: 15_000, max_output_tokens: 8_192 }
    }

    fn probe<'a>(
        &'a self,
        _model: &'a Model,
        _key: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<TriedModel, ErrorBody>> {
        Box::pin(std::future::pending())
    }

    fn model_ids<'a>(
        &'a self,
        _base_url: &'a str,
        _key: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<Vec<String>, ErrorBody>> {
        Box::pin(std::future::pending())
    }
}

fn model() -> Model {
    Model {
        name: "main".to_owned(),
        base_url: "https://here.test/v1".to_owned(),
        model: "provider/one".to_owned(),
        key: KeyRef::Sealed("main".to_owned()),
        prompt_price: 900,
        completion_price: 1_500,
        max_output_tokens: 4_096,
        profile: ModelProfile { window_tokens: Some(200_000), ..ModelProfile::default() },
        settings: ModelSettings {
            temperature: Some(0.2),
            effort: Some(Effort::Low),
            window_tokens: Some(32_768),
            first_byte_seconds: Some(900),
            idle_seconds: None,
        },
    }
}

#[test]
fn what_is_not_named_stays() {
    let change = |change: ModelChange| changed(&model(), &change, &Defaults).unwrap();
    assert_eq!(change(ModelChange::default()), model());
    let high = change(ModelChange { effort: Some(Effort::High), ..ModelChange::default() });
    let settings = ModelSettings { effort: Some(Effort::High), ..model().settings };
    assert_eq!(high, Model { settings, ..model() });
    let dearer = change(ModelChange { prompt_usd: Some(0.9), ..ModelChange::default() });
    assert_eq!(dearer, model());
    let narrow = change(ModelChange { window_tokens: Some(4_000), ..ModelChange::default() });
    assert_eq!(narrow.max_output_tokens, 2_000);
    let long = change(ModelChange { max_output_tokens: Some(9_000), ..ModelChange::default() });
    assert_eq!(long, Model { max_output_tokens: 9_000, ..model() });
}

#[test]
fn what_is_unset_is_as_if_nobody_had_said_it() {
    let unset = vec![
        ModelSetting::Temperature,
        ModelSetting::Effort,
        ModelSetting::Window,
        ModelSetting::FirstByte,
        ModelSetting::Idle,
        ModelSetting::MaxOutput,
        ModelSetting::Prices,
    ];
    let change = ModelChange { unset, ..ModelChange::default() };
    let plain = changed(&model(), &change, &Defaults).unwrap();
    assert_eq!(plain.settings, ModelSettings::default());
    assert_eq!((plain.prompt_price, plain.max_output_tokens), (3_000, 8_192));
    let keyless = Model { key: KeyRef::None, ..model() };
    assert_eq!(changed(&keyless, &change, &Defaults).unwrap().completion_price, 0);
}

#[test]
fn what_can_not_be_is_refused() {
    for change in [
        ModelChange { temperature: Some(2.1), ..ModelChange::default() },
        ModelChange { window_tokens: Some(0), ..ModelChange::default() },
        ModelChange { first_byte_seconds: Some(0), ..ModelChange::default() },
        ModelChange { idle_seconds: Some(601), ..ModelChange::default() },
        ModelChange { max_output_tokens: Some(0), ..ModelChange::default() },
        ModelChange { completion_usd: Some(-1.0), ..ModelChange::default() },
    ] {
        changed(&model(), &change, &Defaults).unwrap_err();
    }
}

#[test]
fn connecting_again_loses_nothing_that_was_said() {
    let new = |id: &str| NewModel {
        name: "main".to_owned(),
        base_url: model().base_url,
        model: id.to_owned(),
        key: None,
        key_env: None,
        prompt_usd: None,
        completion_usd: None,
        max_output_tokens: None,
        replace: true,
        keep_key: true,
        keep_settings: true,
        untested: true,
        settings: ModelSettings::default(),
    };
    let same = kept(new("provider/one"), &model(), &model().base_url);
    assert_eq!(same.settings, model().settings);
    assert_eq!((same.prompt_usd, same.completion_usd), (Some(0.9), Some(1.5)));
    assert_eq!(same.max_output_tokens, Some(4_096));
    // What was said of the one says nothing of the other's size and price.
    let other = kept(new("provider/two"), &model(), &model().base_url);
    assert_eq!((other.settings.effort, other.settings.window_tokens), (Some(Effort::Low), None));
    assert_eq!((other.prompt_usd, other.max_output_tokens), (None, None));
    let elsewhere = kept(new("provider/one"), &model(), "https://there.test/v1");
    assert_eq!(elsewhere.prompt_usd, None);
}
