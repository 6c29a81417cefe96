//! What the server of a model says of it: in its list of models, and where servers that people run themselves say how
//! they were started.

use cloister_control::books::Model;
use serde_json::Value;

use super::super::attempt::Upstream;
use super::super::patience::is_local;
use crate::keys::ApiKey;

/// What was found; nothing of it need be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) window: Option<u32>,
    pub(super) output: Option<u32>,
    pub(super) parameters: Option<u64>,
}

pub(super) async fn read(upstream: &Upstream, model: &Model, key: Option<&ApiKey>) -> Listed {
    let list = upstream.list(&model.base_url, key).await.unwrap_or_default();
    let list: Value = serde_json::from_slice(&list).unwrap_or_default();
    let mut listed = entry(&list, &model.model).map(in_entry).unwrap_or_default();
    if is_local(&model.base_url)
        && let Some(window) = as_started(upstream, model).await
    {
        listed.window = Some(window);
    }
    listed
}

/// The window that a server was started with, which as a rule is smaller than the one its model was made with.
async fn as_started(upstream: &Upstream, model: &Model) -> Option<u32> {
    let root = model.base_url.trim_end_matches('/').trim_end_matches("/v1");
    // llama.cpp, Ollama, LM Studio.
    for path in ["/props", "/api/ps", "/api/v0/models"] {
        let Ok(answer) = upstream.read(format!("{root}{path}"), None).await else { continue };
        let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
        let found = match path {
            "/props" => tokens(answer.pointer("/default_generation_settings/n_ctx")),
            "/api/ps" => {
                let running = answer.get("models").and_then(Value::as_array);
                let is_it = |one: &&Value| {
                    let named = |field: &str| one.get(field).and_then(Value::as_str);
                    [named("name"), named("model")].into_iter().flatten().any(|name| {
                        name == model.model || name.strip_suffix(":latest") == Some(&model.model)
                    })
                };
                let one = running.into_iter().flatten().find(is_it);
                one.and_then(|one| tokens(one.get("context_length")))
            }
            _ => entry(&answer, &model.model)
                .and_then(|one| tokens(one.get("loaded_context_length"))),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// The model in a list; the only one there is counts also under another name.
fn entry<'a>(list: &'a Value, id: &str) -> Option<&'a Value> {
    let all = list.get("data").and_then(Value::as_array)?;
    let named = all.iter().find(|one| one.get("id").and_then(Value::as_str) == Some(id));
    named.or_else(|| all.first().filter(|_| all.len() == 1))
}

fn in_entry(entry: &Value) -> Listed {
    let first = |pointers: &[&str]| pointers.iter().find_map(|path| tokens(entry.pointer(path)));
    Listed {
        window: first(&[
            "/top_provider/context_length",
            "/context_length",
            "/context_window",
            "/max_model_len",
            "/max_context_length",
            "/meta/n_ctx",
            "/meta/n_ctx_train",
            "/max_input_tokens",
        ]),
        output: first(&[
            "/top_provider/max_completion_tokens",
            "/max_completion_tokens",
            "/max_output_tokens",
        ]),
        parameters: entry.pointer("/meta/n_params").and_then(Value::as_u64),
    }
}

fn tokens(value: Option<&Value>) -> Option<u32> {
    value?.as_u64().and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0)
}

/// How many parameters a model has, where its id says it: `qwen2.5-coder-1.5b`, `smollm2:135m`, `mixtral-8x7b`.
pub(super) fn parameters_in(id: &str) -> Option<u64> {
    let id = id.rsplit('/').next().unwrap_or(id).to_ascii_lowercase();
    let id = id.strip_suffix(".gguf").unwrap_or(&id);
    let mut words = id.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.'));
    words.find_map(size)
}

fn size(word: &str) -> Option<u64> {
    let (number, unit) = match word.strip_suffix('b') {
        Some(number) => (number, 1e9),
        None => (word.strip_suffix('m')?, 1e6),
    };
    let (experts, each) = number.split_once('x').unwrap_or(("1", number));
    let starts = each.starts_with(|c: char| c.is_ascii_digit());
    let size = experts.parse::<f64>().ok()? * each.parse::<f64>().ok().filter(|_| starts)? * unit;
    (1e6..1e14).contains(&size).then_some(size as u64)
}

#[cfg(test)]
#[path = "listing_tests.rs"]
mod tests;
