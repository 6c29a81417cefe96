//! The port of the model providers, as far as administration needs it.

use cloister_protocol::admin::Key;
use cloister_protocol::{ErrorBody, ModelProfile};
use cloister_store::models::Model;
use futures_util::future::BoxFuture;

/// What a model costs and may write when nobody said.
#[derive(Clone, Copy, Debug)]
pub struct ModelDefaults {
    /// Nano-dollars per token.
    pub prompt_price: i64,
    /// Nano-dollars per token.
    pub completion_price: i64,
    pub max_output_tokens: u32,
}

/// A model that answered when it was tried.
#[derive(Clone, Debug)]
pub struct TriedModel {
    /// What it did, for people: `answered in 410 ms`.
    pub answer: String,
    pub profile: ModelProfile,
}

pub trait Upstream: Send + Sync + 'static {
    fn defaults(&self, model_id: &str) -> ModelDefaults;
    /// Tries the model: whether the address, the model and the key are right, and what it can do. A key
    /// that is given is used in place of the one that is kept.
    fn probe<'a>(
        &'a self,
        model: &'a Model,
        key: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<TriedModel, ErrorBody>>;
    /// The ids of the models at this base URL, as it lists them.
    fn model_ids<'a>(
        &'a self,
        base_url: &'a str,
        key: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<Vec<String>, ErrorBody>>;
}
