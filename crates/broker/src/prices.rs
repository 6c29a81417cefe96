//! What models cost when nobody said: defaults by the provider's model id.
//!
//! The list prices of the providers, rounded up. They are only the start: `model add` can set others,
//! and what is stored with the model is what counts. The first pattern that the id contains wins, so
//! the longer pattern stands first. A model that is not here gets a cautious price.

use cloister_protocol::LimitField;

/// Nano-dollars per token, and what one image may count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    pub prompt: i64,
    pub completion: i64,
    /// The most tokens that one image can be counted as.
    pub image_tokens: u64,
    pub max_output_tokens: u32,
}

const CAUTIOUS: Prices = per_million(3_000, 15_000);
const IMAGE_TOKENS: u64 = 3_000;
const OUTPUT_TOKENS: u32 = 8_192;

/// Thousandths of a dollar per million tokens, which is nano-dollars per token.
const fn per_million(prompt: i64, completion: i64) -> Prices {
    Prices { prompt, completion, image_tokens: IMAGE_TOKENS, max_output_tokens: OUTPUT_TOKENS }
}

/// This model counts an image as up to this many tokens.
const fn with_images(prices: Prices, image_tokens: u64) -> Prices {
    Prices { image_tokens, ..prices }
}

const TABLE: &[(&str, Prices)] = &[
    // OpenAI
    ("gpt-4o-mini", with_images(per_million(150, 600), 50_000)),
    ("gpt-4o", per_million(2_500, 10_000)),
    ("gpt-4.1-nano", per_million(100, 400)),
    ("gpt-4.1-mini", per_million(400, 1_600)),
    ("gpt-4.1", per_million(2_000, 8_000)),
    ("gpt-5-nano", per_million(50, 400)),
    ("gpt-5-mini", per_million(250, 2_000)),
    ("gpt-5", per_million(1_250, 10_000)),
    ("gpt-oss", per_million(150, 600)),
    ("o4-mini", per_million(1_100, 4_400)),
    ("o3-mini", per_million(1_100, 4_400)),
    // Anthropic
    ("claude-3-haiku", per_million(250, 1_250)),
    ("claude-3.5-haiku", per_million(800, 4_000)),
    ("haiku", per_million(1_000, 5_000)),
    ("sonnet", per_million(3_000, 15_000)),
    ("opus", per_million(15_000, 75_000)),
    ("claude", per_million(15_000, 75_000)),
    // Google
    ("gemini-2.0-flash", per_million(100, 400)),
    ("flash-lite", per_million(100, 400)),
    ("gemini-2.5-flash", per_million(300, 2_500)),
    ("gemini", per_million(2_500, 15_000)),
    ("gemma", per_million(200, 400)),
    // Open weights, at the dearer of the usual hosts
    ("deepseek-r1", per_million(800, 2_400)),
    ("deepseek", per_million(600, 1_700)),
    ("glm-4.5-air", per_million(200, 1_100)),
    ("glm", per_million(600, 2_200)),
    ("kimi", per_million(600, 2_500)),
    ("qwen", per_million(400, 1_600)),
    ("llama-3.1-405b", per_million(3_500, 3_500)),
    ("llama", per_million(900, 900)),
    ("mixtral", per_million(600, 600)),
    ("mistral-large", per_million(2_000, 6_000)),
    ("mistral", per_million(400, 2_000)),
    ("grok", per_million(3_000, 15_000)),
];

/// The default prices of a provider's model id.
pub fn prices_of(model: &str) -> Prices {
    let id = model.to_ascii_lowercase();
    TABLE.iter().find(|(pattern, _)| id.contains(pattern)).map_or(CAUTIOUS, |(_, prices)| *prices)
}

/// The field in which a provider takes the limit of the answer's length, as far as the model's id tells.
pub(crate) fn output_limit_field(model: &str) -> LimitField {
    let id = model.rsplit('/').next().unwrap_or(model);
    let reasons = ["o1", "o3", "o4", "gpt-5"].iter().any(|family| id.starts_with(family));
    if reasons { LimitField::MaxCompletionTokens } else { LimitField::MaxTokens }
}

#[cfg(test)]
#[path = "prices_tests.rs"]
mod tests;
