//! The port of the model providers, as far as administration needs it.

use cloister_protocol::ErrorBody;
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

pub trait Upstream: Send + Sync + 'static {
    fn defaults(&self, model_id: &str) -> ModelDefaults;
    /// Sends the smallest possible call: whether the address, the model and the key are right.
    fn probe<'a>(&'a self, model: &'a Model) -> BoxFuture<'a, Result<String, ErrorBody>>;
}
