//! What is known of a model: its profile, which was found out by trying it, and the little of that which an agent is told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an agent knows of the model that will answer it. What is not known is left out: the agent then does as it
/// always did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelFacts {
    /// The most tokens of a request and its answer together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u32>,
    /// The most tokens of one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u32>,
    /// Long prompts, many tools and several steps at once are too much for it.
    pub small: bool,
    /// It calls tools, in whichever form: what the agent sees are real calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// It can ask for more than one call at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_calls: Option<bool>,
    /// It sees pictures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
}

impl ModelFacts {
    /// Nothing is known.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What was found out about a model by trying it. What is not there is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelProfile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_calls: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vision: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_field: Option<LimitField>,
    /// The most tokens of a request and its answer together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u32>,
    /// The most tokens that its provider lets one answer have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<u64>,
    /// How long a short question waited for the first word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_word_ms: Option<u32>,
    /// How long it took to begin at most, where that changes how long it is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowest_ms: Option<u32>,
    /// How fast it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<f64>,
}

impl ModelProfile {
    /// Nothing is known: it was never tried.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// How a model calls tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolForm {
    /// In the field that is meant for it.
    Native,
    /// It takes the list of tools and writes its calls into its text.
    Text,
    /// It calls tools that its prompt describes, in its text.
    Described,
    /// Not at all.
    None,
}

/// What a model says of the tokens that it used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageForm {
    Streamed,
    /// It is asked, and says nothing.
    Silent,
    /// It refuses to be asked.
    Refused,
}

/// Where a model puts what it thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningForm {
    /// The field `reasoning`.
    Reasoning,
    /// The field `reasoning_content`.
    ReasoningContent,
    /// Between `<think>` and `</think>` in its text.
    ThinkTags,
}

/// The field in which a provider takes the limit of an answer's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitField {
    MaxTokens,
    MaxCompletionTokens,
}

impl LimitField {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }

    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::MaxTokens => Self::MaxCompletionTokens,
            Self::MaxCompletionTokens => Self::MaxTokens,
        }
    }
}

/// What the operator says of a model; it counts before what was found out and before what an agent asks for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// From 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_tokens: Option<u32>,
    /// How long its first word is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_byte_seconds: Option<u32>,
    /// How long it may be silent in the middle of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<u32>,
}

/// How much a model that reasons is to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    Minimal,
    Low,
    Medium,
    High,
}

impl Effort {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}
