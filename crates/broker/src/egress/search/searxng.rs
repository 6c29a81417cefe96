//! SearXNG, and whatever speaks like it.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use url::Url;

use super::{SearchError, SearchProvider, SearchResult, below, read_json};
use crate::keys::ApiKey;

pub(super) struct Searxng {
    endpoint: String,
}

impl Searxng {
    pub(super) fn new(base: Url) -> Self {
        Self { endpoint: below(&base, "search") }
    }
}

#[derive(Deserialize)]
struct SearxngAnswer {
    results: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    url: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    content: Option<String>,
}

impl SearchProvider for Searxng {
    fn name(&self) -> &'static str {
        "searxng"
    }

    fn search<'a>(
        &'a self,
        client: &'a reqwest::Client,
        key: Option<&'a ApiKey>,
        query: &'a str,
        _count: usize,
    ) -> BoxFuture<'a, Result<Vec<SearchResult>, SearchError>> {
        Box::pin(async move {
            let mut request = client.get(&self.endpoint).query(&[("format", "json"), ("q", query)]);
            if let Some(bearer) = key.and_then(ApiKey::bearer) {
                request = request.header(reqwest::header::AUTHORIZATION, bearer);
            }
            let answer: SearxngAnswer = read_json(request).await?;
            let result = |item: Item| SearchResult {
                title: item.title,
                url: item.url,
                snippet: item.content.unwrap_or_default(),
            };
            Ok(answer.results.into_iter().map(result).collect())
        })
    }
}
