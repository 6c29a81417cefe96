//! `cloister model`.

use std::path::Path;

use axum::http::Method;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{Chain, Key, ModelView, NewModel};

use super::Context;
use crate::args::{AddModel, Level, Model};
use crate::client::Client;
use crate::config::secret_from_env;
use crate::output::{CliError, table};

pub(super) async fn run(context: Context, command: Model) -> Result<(), CliError> {
    let client = context.client().await?;
    match command {
        Model::List => {
            let models: Vec<ModelView> = client.get("/admin/v1/models").await?;
            context.output.result(&models, || list(&models))
        }
        Model::Add(add) => {
            let model = add_model(&client, add).await?;
            context.output.result(&model, || {
                let name = &model.name;
                format!(
                    "{name} is connected. Let everybody's agent use it: cloister model use {name}"
                )
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
            let tested: serde_json::Value =
                client.post(&format!("/admin/v1/models/{name}/test"), &()).await?;
            context.output.result(&tested, || format!("{name} answers"))
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
        base_url: add.base_url,
        model: add.model,
        key,
        key_env,
        prompt_usd: add.prompt_price,
        completion_usd: add.completion_price,
        max_output_tokens: add.max_output,
        replace: add.replace,
        keep_key: false,
        untested: add.no_test,
    };
    client.post("/admin/v1/models", &new).await
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
