//! `cloister model`.

use std::path::Path;
use std::time::Duration;

use axum::http::Method;
use cloister_protocol::admin::{
    Chain, Key, KindView, ModelChange, ModelSetting, ModelView, NewModel, PresetView, TestedModel,
};
use cloister_protocol::{Effort, ErrorCode, ModelSettings, WorkKind};

use super::Context;
use crate::args::{self, AddModel, Level, Model, SetModel};
use crate::client::Client;
use crate::config::secret_from_env;
use crate::output::{CliError, table};

mod own;
mod shown;

use shown::{found_out, presets, shown};

const MODELS: &str = "/admin/v1/models";

/// Takes the chain of a kind of work back.
const DEFAULT: &str = "default";

/// How long a model is tried at most: a slow one on the same machine is not broken.
pub(super) const TRIAL: Duration = Duration::from_secs(300);

pub(super) async fn run(context: Context, command: Model) -> Result<(), CliError> {
    let client = context.client().await?;
    match command {
        Model::List { whose } if whose.is_given() => own::list(&context, &client, &whose).await,
        Model::Add(add) if add.whose.is_given() => own::add(&context, &client, add).await,
        Model::Rm { name, whose } if whose.is_given() => {
            own::remove(&context, &client, &whose, &name).await
        }
        Model::List { .. } => {
            let models: Vec<ModelView> = client.get("/admin/v1/models").await?;
            let kinds: Vec<KindView> = client.get("/admin/v1/kinds").await?;
            context.output.result(&models, || list(&models, &kinds))
        }
        Model::Show { name } => {
            let model: ModelView = client.get(&format!("/admin/v1/models/{name}")).await?;
            context.output.result(&model, || shown(&model))
        }
        Model::Presets { all_ports } => {
            let path = format!("/admin/v1/presets?all_ports={all_ports}");
            let places: Vec<PresetView> = client.get(&path).await?;
            context.output.result(&places, || presets(&places))
        }
        Model::Add(add) => {
            let untested = add.no_test;
            let model = add_model(&client, MODELS, add).await?;
            context.output.result(&model, || {
                let name = &model.name;
                let next = format!("Let everybody's agent use it: cloister model use {name}");
                if untested {
                    return format!("{name} is kept, and was not tried. {next}");
                }
                format!("{name} answered and is connected.\n{}\n{next}", found_out(&model.profile))
            })
        }
        Model::Set(set) => {
            let name = set.name.clone();
            let model = set_model(&client, set).await?;
            context.output.result(&model, || format!("{name} is changed.\n{}", shown(&model)))
        }
        Model::Offer { name, withdraw } => {
            let model = offer(&client, &name, !withdraw).await?;
            context.output.result(&model, || {
                if withdraw {
                    return format!("{name} is not on offer any more");
                }
                format!("{name} can be chosen from now on: /model {name}")
            })
        }
        Model::Use { level, kind, models } => {
            use_models(&context, &client, level, kind, models).await
        }
        Model::Test { name } => {
            let path = format!("/admin/v1/models/{name}/test");
            let tested: TestedModel = client.post_within(TRIAL, &path, &()).await?;
            context.output.result(&tested, || {
                format!("{name} {}\n{}", tested.answer, found_out(&tested.profile))
            })
        }
        Model::Rm { name, .. } => {
            let path = format!("{MODELS}/{name}");
            let removed: serde_json::Value =
                client.call(Method::DELETE, &path, None::<&()>).await?;
            context.output.result(&removed, || format!("{name} is gone"))
        }
    }
}

async fn use_models(
    context: &Context,
    client: &Client,
    level: Option<Level>,
    kind: Option<args::WorkKind>,
    models: Vec<String>,
) -> Result<(), CliError> {
    if let Some(kind) = kind.map(work_kind) {
        let used = use_for(client, kind, models).await?;
        return context.output.result(&used, || match used.models.as_slice() {
            [] => format!("{kind} now: the models of the level"),
            models => format!("{kind} now: {}", models.join(", then ")),
        });
    }
    let levels: &[&str] = match level {
        Some(Level::Coordinator) => &["coordinator"],
        Some(Level::Executor) => &["executor"],
        None => &["coordinator", "executor"],
    };
    let mut answers: Vec<serde_json::Value> = Vec::new();
    for level in levels {
        let path = format!("/admin/v1/levels/{level}");
        let chain = Chain { models: models.clone() };
        answers.push(client.call(Method::PUT, &path, Some(&chain)).await?);
    }
    context
        .output
        .result(&answers, || format!("{} now: {}", levels.join(" and "), models.join(", then ")))
}

async fn add_model(client: &Client, path: &str, add: AddModel) -> Result<ModelView, CliError> {
    let base_url = match (add.base_url, &add.preset) {
        (Some(url), _) => url,
        (None, preset) => preset_url(preset.as_deref().unwrap_or_default())?,
    };
    let mut key = None;
    let mut key_env = None;
    if let Some(file) = &add.key_file {
        key = Some(key_from_file(file)?);
    } else if let Some(variable) = add.key_env {
        // A key that is here now is kept; otherwise the control plane looks for it in its own environment.
        match secret_from_env(&variable) {
            Some(value) => key = Some(Key::new(value)),
            None => key_env = Some(variable),
        }
    } else if add.key_prompt {
        key = Some(super::questions::prompt_secret("Key: ")?);
    }
    let new = NewModel {
        name: add.name,
        base_url,
        model: add.model,
        key,
        key_env,
        prompt_usd: add.prompt_price,
        completion_usd: add.completion_price,
        max_output_tokens: add.max_output,
        replace: add.replace,
        keep_key: false,
        keep_settings: false,
        untested: add.no_test,
        settings: ModelSettings {
            temperature: add.temperature,
            effort: add.effort.map(effort),
            window_tokens: add.window,
            first_byte_seconds: add.first_byte,
            idle_seconds: add.idle,
        },
    };
    let model: ModelView = client.post_within(TRIAL, path, &new).await?;
    if add.offer { offer(client, &model.name, true).await } else { Ok(model) }
}

async fn offer(client: &Client, name: &str, offered: bool) -> Result<ModelView, CliError> {
    let change = ModelChange { offered: Some(offered), ..ModelChange::default() };
    client.call(Method::PATCH, &format!("/admin/v1/models/{name}"), Some(&change)).await
}

async fn set_model(client: &Client, set: SetModel) -> Result<ModelView, CliError> {
    let unset = set.unset.into_iter().map(|what| match what {
        args::ModelSetting::Temperature => ModelSetting::Temperature,
        args::ModelSetting::Effort => ModelSetting::Effort,
        args::ModelSetting::Window => ModelSetting::Window,
        args::ModelSetting::FirstByte => ModelSetting::FirstByte,
        args::ModelSetting::Idle => ModelSetting::Idle,
        args::ModelSetting::MaxOutput => ModelSetting::MaxOutput,
        args::ModelSetting::Prices => ModelSetting::Prices,
    });
    let change = ModelChange {
        temperature: set.temperature,
        effort: set.effort.map(effort),
        window_tokens: set.window,
        first_byte_seconds: set.first_byte,
        idle_seconds: set.idle,
        max_output_tokens: set.max_output,
        prompt_usd: set.prompt_price,
        completion_usd: set.completion_price,
        offered: None,
        unset: unset.collect(),
        untested: set.no_test,
    };
    let path = format!("/admin/v1/models/{}", set.name);
    client.call_within(TRIAL, Method::PATCH, &path, Some(&change)).await
}

/// Sets the chain of a kind of work; the word `default` takes it back.
async fn use_for(
    client: &Client,
    kind: WorkKind,
    models: Vec<String>,
) -> Result<KindView, CliError> {
    let taken_back = models.iter().all(|name| name == DEFAULT);
    let chain = Chain { models: if taken_back { Vec::new() } else { models } };
    client.call(Method::PUT, &format!("/admin/v1/kinds/{kind}"), Some(&chain)).await
}

fn work_kind(given: args::WorkKind) -> WorkKind {
    match given {
        args::WorkKind::Talk => WorkKind::Talk,
        args::WorkKind::Work => WorkKind::Work,
        args::WorkKind::Summarise => WorkKind::Summarise,
        args::WorkKind::Research => WorkKind::Research,
        args::WorkKind::Vision => WorkKind::Vision,
    }
}

fn effort(given: args::Effort) -> Effort {
    match given {
        args::Effort::Minimal => Effort::Minimal,
        args::Effort::Low => Effort::Low,
        args::Effort::Medium => Effort::Medium,
        args::Effort::High => Effort::High,
    }
}

/// The address that goes by this name.
fn preset_url(name: &str) -> Result<String, CliError> {
    let found = cloister_control::preset(name).map(|preset| preset.base_url.to_owned());
    found.ok_or_else(|| {
        CliError::new(ErrorCode::BadRequest, format!("there is no preset {name:?}"))
            .fix("`cloister model presets` lists them")
    })
}

pub(super) fn key_from_file(file: &Path) -> Result<Key, CliError> {
    let failed = format!("{} could not be read", file.display());
    let text = std::fs::read_to_string(file).map_err(CliError::io(failed))?;
    let key = text.trim();
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(CliError::new(
            ErrorCode::BadRequest,
            format!("{} does not hold one key", file.display()),
        ));
    }
    Ok(Key::new(key))
}

fn list(models: &[ModelView], kinds: &[KindView]) -> String {
    let rows: Vec<Vec<String>> = models
        .iter()
        .map(|model| {
            vec![
                model.name.clone(),
                model.model.clone(),
                model.base_url.clone(),
                format!("${}/${}", model.prompt_usd, model.completion_usd),
                if model.key.is_empty() { "-".to_owned() } else { model.key.clone() },
                used_by(model),
            ]
        })
        .collect();
    let mut text =
        table(&["NAME", "MODEL", "BASE URL", "PER 1M (IN/OUT)", "KEY", "USED BY"], &rows);
    let chains = kinds.iter().filter(|kind| !kind.models.is_empty());
    for KindView { kind, models } in chains {
        text.push_str(&format!("\n{kind}: {}", models.join(", then ")));
    }
    text
}

/// The levels and kinds of work that use it, and whether it is on offer.
fn used_by(model: &ModelView) -> String {
    let kinds = model.kinds.iter().map(|kind| kind.as_str());
    let mut used: Vec<&str> = model.levels.iter().map(String::as_str).chain(kinds).collect();
    used.extend(model.offered.then_some("who chooses it"));
    used.join(", ")
}
