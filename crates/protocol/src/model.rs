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
