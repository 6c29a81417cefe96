//! The port of the model providers, as far as administration needs it.

use cloister_protocol::ErrorBody;
use cloister_protocol::admin::Key;
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
    /// Sends the smallest possible call: whether the address, the model and the key are right. A key
    /// that is given is used in place of the one that is kept.
    fn probe<'a>(
        &'a self,
        model: &'a Model,
        key: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<String, ErrorBody>>;
    /// The ids of the models at this base URL, as it lists them.
    fn model_ids<'a>(
        &'a self,
        base_url: &'a str,
        key: Option<&'a Key>,
    ) -> BoxFuture<'a, Result<Vec<String>, ErrorBody>>;
}
