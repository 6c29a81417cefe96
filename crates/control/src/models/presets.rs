//! Places where models are, known by a name: nobody has to remember an address, or where its keys are got.

use std::time::Duration;

use cloister_protocol::admin::PresetView;
use cloister_words::noted;
use futures_util::future::join_all;
use tokio::time::timeout;

use super::Models;
use crate::ports::Upstream;

/// How long a server on this machine may take to say what it has.
const LOOK: Duration = Duration::from_secs(2);
/// Ids of one server that are shown.
const MOST_IDS: usize = 50;

/// A place where models are.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    pub name: &'static str,
    pub title: &'static str,
    pub base_url: &'static str,
    /// Where one gets a key; empty where none is needed.
    pub key_url: &'static str,
}

impl Preset {
    const fn hosted(
        name: &'static str,
        title: &'static str,
        base_url: &'static str,
        key_url: &'static str,
    ) -> Self {
        Self { name, title, base_url, key_url }
    }

    const fn here(name: &'static str, title: &'static str, base_url: &'static str) -> Self {
        Self { name, title, base_url, key_url: "" }
    }

    /// It would run on this machine.
    pub const fn is_local(&self) -> bool {
        self.key_url.is_empty()
    }
}

pub const PRESETS: &[Preset] = &[
    Preset::hosted(
        "openrouter",
        noted!("OpenRouter: one key, most models"),
        "https://openrouter.ai/api/v1",
        "https://openrouter.ai/keys",
    ),
    Preset::hosted(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "https://platform.openai.com/api-keys",
    ),
    Preset::hosted(
        "anthropic",
        "Anthropic: Claude",
        "https://api.anthropic.com/v1",
        "https://console.anthropic.com/settings/keys",
    ),
    Preset::hosted(
        "gemini",
        "Google: Gemini",
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "https://aistudio.google.com/apikey",
    ),
    Preset::hosted(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "https://console.mistral.ai/api-keys",
    ),
    Preset::hosted(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        "https://console.groq.com/keys",
    ),
    Preset::hosted(
        "zai",
        "z.ai: GLM",
        "https://api.z.ai/api/paas/v4",
        "https://z.ai/manage-apikey/apikey-list",
    ),
    Preset::here("ollama", noted!("Ollama on this machine"), "http://127.0.0.1:11434/v1"),
    Preset::here("llama.cpp", noted!("llama.cpp on this machine"), "http://127.0.0.1:8080/v1"),
    Preset::here("vllm", noted!("vLLM on this machine"), "http://127.0.0.1:8000/v1"),
    Preset::here("lmstudio", noted!("LM Studio on this machine"), "http://127.0.0.1:1234/v1"),
];

/// The place of this name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name.eq_ignore_ascii_case(name))
}

impl Models {
    /// Every preset; for those of this machine also which models are there now.
    pub async fn presets(&self, upstream: &dyn Upstream) -> Vec<PresetView> {
        join_all(PRESETS.iter().map(|preset| look(preset, upstream))).await
    }
}

async fn look(preset: &Preset, upstream: &dyn Upstream) -> PresetView {
    let mut models = Vec::new();
    if preset.is_local()
        && let Ok(Ok(ids)) = timeout(LOOK, upstream.model_ids(preset.base_url, None)).await
    {
        models = ids;
        models.truncate(MOST_IDS);
    }
    PresetView {
        name: preset.name.to_owned(),
        title: preset.title.to_owned(),
        base_url: preset.base_url.to_owned(),
        key_url: preset.key_url.to_owned(),
        local: preset.is_local(),
        models,
    }
}
