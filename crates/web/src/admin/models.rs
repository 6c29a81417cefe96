//! Models and the chain of each level.

use std::io;
use std::os::unix::fs::OpenOptionsExt;

use axum::extract::State as Extract;
use cloister_control::usd_to_nano;
use cloister_protocol::ErrorCode;
use cloister_protocol::Level;
use cloister_protocol::admin::{Chain, Key, ModelView, NewModel};
use cloister_store::StoreError;
use cloister_store::models::{KeyRef, Model};
use serde::Serialize;

use super::Admin;
use crate::reply::{Answer, Body, Failure, Path, json};

/// Dollars per million tokens from nano-dollars per token.
fn per_million(nano: i64) -> f64 {
    cloister_control::nano_to_usd(nano) * 1e6
}

async fn view(admin: &Admin, model: Model) -> Result<ModelView, Failure> {
    let mut levels = Vec::new();
    for level in Level::ALL {
        let chain = admin.control.store().chain(level).await?;
        if chain.iter().any(|other| other.name == model.name) {
            levels.push(level.to_string());
        }
    }
    Ok(ModelView {
        key: model.key.to_string(),
        prompt_usd: per_million(model.prompt_price),
        completion_usd: per_million(model.completion_price),
        max_output_tokens: model.max_output_tokens,
        name: model.name,
        base_url: model.base_url,
        model: model.model,
        levels,
    })
}

pub(super) async fn list(Extract(admin): Extract<Admin>) -> Answer<Vec<ModelView>> {
    let mut views = Vec::new();
    for model in admin.control.store().models().await? {
        views.push(view(&admin, model).await?);
    }
    json(views)
}

pub(super) async fn show(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
) -> Answer<ModelView> {
    let model = admin.control.store().model(&name).await?;
    json(view(&admin, model).await?)
}

pub(super) async fn add(
    Extract(admin): Extract<Admin>,
    Body(new): Body<NewModel>,
) -> Answer<ModelView> {
    check(&new)?;
    let store = admin.control.store();
    // The key of a model that is there is not touched by one that is refused.
    if !new.replace && store.models().await?.iter().any(|model| model.name == new.name) {
        let there = StoreError::Exists { what: "model", name: new.name };
        return Err(Failure::from(there).fix("`cloister model add --replace` replaces it"));
    }
    let key = match (&new.key, &new.key_env) {
        (Some(key), _) => {
            keep_key(&admin, &new.name, key)
                .map_err(cloister_control::ControlError::io("the key could not be kept"))?;
            KeyRef::File(new.name.clone())
        }
        (None, Some(variable)) => KeyRef::Env(variable.clone()),
        (None, None) => KeyRef::None,
    };
    let defaults = admin.upstream.defaults(&new.model);
    let price = |usd: Option<f64>, default: i64| usd.map_or(default, |usd| usd_to_nano(usd / 1e6));
    let model = Model {
        base_url: new.base_url.trim_end_matches('/').to_owned(),
        model: new.model,
        key,
        prompt_price: price(new.prompt_usd, defaults.prompt_price),
        completion_price: price(new.completion_usd, defaults.completion_price),
        max_output_tokens: new.max_output_tokens.unwrap_or(defaults.max_output_tokens),
        name: new.name,
    };
    if new.replace {
        store.replace_model(&model).await?;
    } else {
        store.add_model(&model).await?;
    }
    json(view(&admin, model).await?)
}

fn check(new: &NewModel) -> Result<(), Failure> {
    let refuse = |message: String| Err(Failure::new(ErrorCode::BadRequest, message));
    let word = !new.name.is_empty()
        && new.name.len() <= 64
        && !new.name.starts_with('.')
        && new.name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b));
    if !word || new.name == cloister_store::models::DEMO {
        return refuse(format!(
            "{:?} can't name a model: use up to 64 letters, digits, '-', '_' and '.', and not 'demo'",
            new.name
        ));
    }
    if !(new.base_url.starts_with("http://") || new.base_url.starts_with("https://")) {
        return refuse(format!(
            "{:?} is not a base URL: it starts with http:// or https://",
            new.base_url
        ));
    }
    if new.model.trim().is_empty() {
        return refuse("the model id is empty".to_owned());
    }
    let sane = |usd: Option<f64>| usd.is_none_or(|usd| (0.0..=1e6).contains(&usd));
    if !sane(new.prompt_usd) || !sane(new.completion_usd) {
        return refuse("a price is out of range (dollars per million tokens)".to_owned());
    }
    if new.max_output_tokens == Some(0) {
        return refuse("a model must be allowed at least one token".to_owned());
    }
    Ok(())
}

fn keep_key(admin: &Admin, name: &str, key: &Key) -> io::Result<()> {
    let dir = admin.control.layout().keys();
    let path = dir.join(name);
    let fresh = dir.join(format!(".{name}.new"));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&fresh)?;
    io::Write::write_all(&mut file, key.expose().as_bytes())?;
    file.sync_all()?;
    std::fs::rename(fresh, path)
}

pub(super) async fn remove(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
) -> Answer<Removed> {
    admin.control.store().remove_model(&name).await?;
    let key = admin.control.layout().keys().join(&name);
    if let Err(error) = std::fs::remove_file(key)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, model = name, "the key of a removed model could not be removed");
    }
    json(Removed { removed: name })
}

#[derive(Serialize)]
pub(super) struct Removed {
    removed: String,
}

#[derive(Serialize)]
pub(super) struct Tested {
    model: String,
    answer: String,
}

pub(super) async fn test(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
) -> Answer<Tested> {
    let model = admin.control.store().model(&name).await?;
    match admin.upstream.probe(&model).await {
        Ok(answer) => json(Tested { model: name, answer }),
        Err(body) => {
            let failure = Failure::new(body.code, body.message);
            Err(match body.fix {
                Some(fix) => failure.fix(fix),
                None => failure,
            })
        }
    }
}

#[derive(Serialize)]
pub(super) struct ChainView {
    level: Level,
    models: Vec<String>,
}

pub(super) async fn use_chain(
    Extract(admin): Extract<Admin>,
    Path(level): Path<String>,
    Body(chain): Body<Chain>,
) -> Answer<ChainView> {
    let level: Level = level.parse().map_err(|error: cloister_protocol::ParseLevelError| {
        Failure::new(ErrorCode::BadRequest, error.to_string())
    })?;
    admin.control.store().set_chain(level, &chain.models).await?;
    json(ChainView { level, models: chain.models })
}
