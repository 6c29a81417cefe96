//! A witness that is posted to.

use cloister_control::ports::CheckpointWitness;
use futures_util::future::{BoxFuture, FutureExt};
use reqwest::Client;
use url::Url;

use super::{judged, persist};

pub(super) struct Webhook {
    client: Client,
    url: Url,
    name: String,
    token: Option<String>,
}

impl Webhook {
    pub(super) fn new(client: Client, url: Url, token: Option<String>) -> Self {
        // A query may hold a key.
        let mut shown = url.clone();
        shown.set_query(None);
        Self { client, url, name: format!("webhook {shown}"), token }
    }
}

impl CheckpointWitness for Webhook {
    fn name(&self) -> &str {
        &self.name
    }

    fn keep<'a>(&'a self, _number: u64, line: &'a [u8]) -> BoxFuture<'a, Result<(), String>> {
        persist(move || {
            let mut request = self.client.post(self.url.clone());
            request = request.header("content-type", "application/json").body(line.to_vec());
            if let Some(token) = &self.token {
                request = request.bearer_auth(token);
            }
            async move { judged(request.send().await, &[]) }
        })
        .boxed()
    }
}
