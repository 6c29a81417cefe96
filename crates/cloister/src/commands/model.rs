//! `cloister model`.

use std::path::Path;
use std::time::Duration;

use axum::http::Method;
use cloister_protocol::admin::{Chain, Key, ModelView, NewModel, PresetView, TestedModel};
use cloister_protocol::{Effort, ErrorCode, ModelSettings};

use super::Context;
use crate::args::{self, AddModel, Level, Model};
use crate::client::Client;
use crate::config::secret_from_env;
use crate::output::{CliError, table};

mod shown;

use shown::{found_out, presets, shown};

/// How long a model is tried at most: a slow one on the same machine is not broken.
pub(super) const TRIAL: Duration = Duration::from_secs(300);

pub(super) async fn run(context: Context, command: Model) -> Result<(), CliError> {
    let client = context.client().await?;
    match command {
        Model::List => {
            let models: Vec<ModelView> = client.get("/admin/v1/models").await?;
            context.output.result(&models, || list(&models))
        }
        Model::Show { name } => {
            let model: ModelView = client.get(&format!("/admin/v1/models/{name}")).await?;
            context.output.result(&model, || shown(&model))
        }
        Model::Presets => {
            let places: Vec<PresetView> = client.get("/admin/v1/presets").await?;
            context.output.result(&places, || presets(&places))
        }
        Model::Add(add) => {
            let untested = add.no_test;
            let model = add_model(&client, add).await?;
            context.output.result(&model, || {
                let name = &model.name;
                let next = format!("Let everybody's agent use it: cloister model use {name}");
                if untested {
                    return format!("{name} is kept, and was not tried. {next}");
                }
                format!("{name} answered and is connected.\n{}\n{next}", found_out(&model.profile))
            })
        }
        Model::Use { level, models } => {
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
            context.output.result(&answers, || {
                format!("{} now: {}", levels.join(" and "), models.join(", then "))
            })
        }
        Model::Test { name } => {
            let path = format!("/admin/v1/models/{name}/test");
            let tested: TestedModel = client.post_within(TRIAL, &path, &()).await?;
            context.output.result(&tested, || {
                format!("{name} {}\n{}", tested.answer, found_out(&tested.profile))
            })
        }
        Model::Rm { name } => {
            let path = format!("/admin/v1/models/{name}");
            let removed: serde_json::Value =
                client.call(Method::DELETE, &path, None::<&()>).await?;
            context.output.result(&removed, || format!("{name} is gone"))
        }
    }
}

async fn add_model(client: &Client, add: AddModel) -> Result<ModelView, CliError> {
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
        untested: add.no_test,
        settings: ModelSettings {
            temperature: add.temperature,
            effort: add.effort.map(effort),
            window_tokens: add.window,
        },
    };
    client.post_within(TRIAL, "/admin/v1/models", &new).await
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

fn list(models: &[ModelView]) -> String {
    let rows: Vec<Vec<String>> = models
        .iter()
        .map(|model| {
            vec![
                model.name.clone(),
                model.model.clone(),
                model.base_url.clone(),
                format!("${}/${}", model.prompt_usd, model.completion_usd),
                if model.key.is_empty() { "-".to_owned() } else { model.key.clone() },
                model.levels.join(", "),
            ]
        })
        .collect();
    table(&["NAME", "MODEL", "BASE URL", "PER 1M (IN/OUT)", "KEY", "USED BY"], &rows)
}
