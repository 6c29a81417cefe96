//! Places where models are, known by a name: nobody has to remember an address, or where its keys are got.

use std::collections::BTreeSet;
use std::time::Duration;

use cloister_protocol::admin::PresetView;
use cloister_words::noted;
use futures_util::future::join_all;
use tokio::time::timeout;

use super::{Models, listening};
use crate::ports::Upstream;

/// How long a server on this machine may take to say what it has.
const LOOK: Duration = Duration::from_secs(2);
/// How long one may take that nobody has said anything of, and how many are asked.
const LOOK_ELSEWHERE: Duration = Duration::from_millis(700);
const MOST_OTHERS: usize = 64;
/// What a server is called that no preset is about.
const OTHER: &str = noted!("Another server on this machine");
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

/// The place of this name, however people spell it: `z.ai` and `lm-studio` as well as `zai` and `lmstudio`.
pub fn preset(name: &str) -> Option<&'static Preset> {
    let name = match plain(name).as_str() {
        "google" => plain("gemini"),
        "claude" => plain("anthropic"),
        "glm" | "zhipu" => plain("zai"),
        "llamaserver" => plain("llama.cpp"),
        other => other.to_owned(),
    };
    PRESETS.iter().find(|preset| plain(preset.name) == name)
}

/// A name without what people write between its parts.
fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Where models are looked for on this machine. What listens there is asked for its models: servers that have none may
/// wonder who asks, so nobody is asked unless a person wants that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    AtUsualPorts,
    AtAllPorts,
}

impl Models {
    /// Every preset, for those of this machine also which models are there now; and, if it is looked for, what else
    /// listens on this machine and has models.
    pub async fn presets(&self, upstream: &dyn Upstream, looked: Looked) -> Vec<PresetView> {
        let known = join_all(PRESETS.iter().map(|preset| look(preset, upstream)));
        let others = match looked {
            Looked::AtUsualPorts => BTreeSet::new(),
            Looked::AtAllPorts => listening::addresses().await,
        };
        let others = others.into_iter().map(|address| format!("http://{address}/v1"));
        let others = others.filter(|url| PRESETS.iter().all(|preset| preset.base_url != url));
        let others = join_all(others.take(MOST_OTHERS).map(|url| look_elsewhere(url, upstream)));
        let (known, others) = tokio::join!(known, others);
        known.into_iter().chain(others.into_iter().flatten()).collect()
    }
}

/// A server that no preset is about, if it says that it has models.
async fn look_elsewhere(base_url: String, upstream: &dyn Upstream) -> Option<PresetView> {
    let mut models =
        timeout(LOOK_ELSEWHERE, upstream.model_ids(&base_url, None)).await.ok()?.ok()?;
    models.truncate(MOST_IDS);
    let port = base_url.trim_end_matches("/v1").rsplit(':').next()?;
    Some(PresetView {
        name: format!("port-{port}"),
        title: OTHER.to_owned(),
        base_url,
        key_url: String::new(),
        local: true,
        models,
    })
    .filter(|found| !found.models.is_empty())
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
