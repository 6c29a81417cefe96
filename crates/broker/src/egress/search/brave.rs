//! Brave Search.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use url::Url;

use super::{SearchError, SearchProvider, SearchResult, below, read_json};
use crate::keys::ApiKey;

const BASE: &str = "https://api.search.brave.com";
const PATH: &str = "res/v1/web/search";
const KEY_HEADER: &str = "x-subscription-token";

pub(super) struct Brave {
    endpoint: String,
}

impl Brave {
    pub(super) fn new(base: Option<Url>) -> Self {
        let endpoint = base.map_or_else(|| format!("{BASE}/{PATH}"), |base| below(&base, PATH));
        Self { endpoint }
    }
}

#[derive(Deserialize)]
struct BraveAnswer {
    web: Option<Web>,
}

#[derive(Deserialize)]
struct Web {
    results: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    url: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: String,
}

impl SearchProvider for Brave {
    fn name(&self) -> &'static str {
        "brave"
    }

    fn search<'a>(
        &'a self,
        client: &'a reqwest::Client,
        key: Option<&'a ApiKey>,
        query: &'a str,
        count: usize,
    ) -> BoxFuture<'a, Result<Vec<SearchResult>, SearchError>> {
        Box::pin(async move {
            let count = count.to_string();
            // Otherwise it marks the words that were found with tags.
            let query = [("q", query), ("count", &count), ("text_decorations", "0")];
            let mut request = client.get(&self.endpoint).query(&query);
            if let Some(token) = key.and_then(ApiKey::header) {
                request = request.header(KEY_HEADER, token);
            }
            let answer: BraveAnswer = read_json(request).await?;
            let items = answer.web.map(|web| web.results).unwrap_or_default();
            let result = |item: Item| SearchResult {
                title: item.title,
                url: item.url,
                snippet: item.description,
            };
            Ok(items.into_iter().map(result).collect())
        })
    }
}
