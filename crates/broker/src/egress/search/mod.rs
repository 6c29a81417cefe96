//! `/search`: the words of a question, and pages that answer it.
//!
//! The provider is the operator's choice, wherever it is; no rule of a user names it.

mod brave;
mod searxng;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use cloister_control::books::{Fingerprint, KeyRef};
use cloister_control::ports::{CameIn, Clearance, ContentPart, ContentSource, Outward};
use cloister_policy::egress::{Destination, Host, Scheme};
use cloister_protocol::with_causes;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::accounts::Tally;
use super::body::over_budget;
use super::options::{SearchKind, SearchOptions};
use super::outlet::Outlet;
use super::stopped::{Denied, Failure, Stopped, shown};
use crate::keys::{ApiKey, KeyError, KeyRing};
use crate::secrets::Now;

/// What the words are called in the request that the gate sees.
const WORDS: &str = "q";
const MAX_QUERY_BYTES: usize = 1_024;
const DEFAULT_COUNT: usize = 8;
const MAX_COUNT: usize = 20;
const CONNECT: Duration = Duration::from_secs(5);
const TOTAL: Duration = Duration::from_secs(15);
const ANSWER_BYTES: usize = 4 << 20;
const MAX_TITLE_CHARS: usize = 300;
const MAX_SNIPPET_CHARS: usize = 1_000;
const MAX_RESULT_URL_BYTES: usize = 2_048;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchRequest {
    query: String,
    count: Option<usize>,
}

#[derive(Debug, Serialize)]
struct Found {
    provider: &'static str,
    results: Vec<SearchResult>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct SearchResult {
    title: String,
    url: String,
    snippet: String,
}

#[derive(Debug, thiserror::Error)]
pub enum SearchSetupError {
    #[error("[search]: url is missing: with searxng it says where your SearXNG is")]
    NoUrl,
    #[error("[search]: url {url:?} is not an address such as https://search.example.com")]
    Url { url: String },
    #[error("[search]: {setting} is not a name of a {what}")]
    Key { setting: &'static str, what: &'static str },
    #[error("[search]: set key_file or key_env, not both")]
    TwoKeys,
    #[error(
        "[search]: brave needs a key: set key_file (a file in the directory of keys) or key_env"
    )]
    NoKey,
    #[error("the client for searches could not be built")]
    Client(#[source] reqwest::Error),
}

/// How a search went wrong. What the provider said is not repeated.
#[derive(Debug, thiserror::Error)]
enum SearchError {
    #[error("the provider could not be reached")]
    Unreachable,
    #[error("the provider answered with status {0}")]
    Status(u16),
    #[error("the provider's answer is too large")]
    TooLarge,
    #[error("the provider's answer can't be read")]
    Unreadable,
    #[error("{0}")]
    Key(#[from] KeyError),
}

/// Someone who answers searches.
trait SearchProvider: Send + Sync {
    fn name(&self) -> &'static str;

    fn search<'a>(
        &'a self,
        client: &'a reqwest::Client,
        key: Option<&'a ApiKey>,
        query: &'a str,
        count: usize,
    ) -> BoxFuture<'a, Result<Vec<SearchResult>, SearchError>>;
}

/// The provider that the operator chose.
pub(super) struct Search {
    provider: Box<dyn SearchProvider>,
    client: reqwest::Client,
    keys: KeyRing,
    key: KeyRef,
    /// What its traffic is counted as.
    host: Host,
}

impl fmt::Debug for Search {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Search({})", self.provider.name())
    }
}

impl Search {
    /// The provider of the configuration, if there is one.
    pub(super) fn new(
        options: &SearchOptions,
        keys: KeyRing,
    ) -> Result<Option<Self>, SearchSetupError> {
        let Some(kind) = options.provider else { return Ok(None) };
        let key = key_of(options)?;
        let url = options.url.as_deref().map(base_url).transpose()?;
        let (provider, host): (Box<dyn SearchProvider>, _) = match kind {
            SearchKind::Searxng => {
                let url = url.ok_or(SearchSetupError::NoUrl)?;
                (Box::new(searxng::Searxng::new(url)), "searxng.search")
            }
            SearchKind::Brave if key == KeyRef::None => return Err(SearchSetupError::NoKey),
            SearchKind::Brave => (Box::new(brave::Brave::new(url)), "brave.search"),
        };
        let client = crate::client::builder()
            .connect_timeout(CONNECT)
            .timeout(TOTAL)
            .build()
            .map_err(SearchSetupError::Client)?;
        let host = host.parse().or(Err(SearchSetupError::NoUrl))?;
        Ok(Some(Self { provider, client, keys, key, host }))
    }

    /// Looks for the words that were cleared, and no others.
    async fn ask(
        &self,
        clearance: Clearance,
        count: usize,
    ) -> Result<Vec<SearchResult>, SearchError> {
        let (request, _addresses) = clearance.into_parts();
        let query = request.query().unwrap_or_default().as_bytes();
        let mut fields = url::form_urlencoded::parse(query);
        let words = fields.find(|(name, _)| name == WORDS).map(|(_, words)| words);
        let query = words.ok_or(SearchError::Unreadable)?;
        let key = self.keys.read(&self.key).await?;
        // How many are wanted is none of the provider's business: it could be a message.
        let asked = self.provider.search(&self.client, key.as_ref(), &query, MAX_COUNT);
        let found = timeout(TOTAL, asked).await.or(Err(SearchError::Unreachable))??;
        Ok(found.into_iter().filter_map(SearchResult::within_bounds).take(count).collect())
    }
}

fn key_of(options: &SearchOptions) -> Result<KeyRef, SearchSetupError> {
    let parse = |text: String, setting, what| {
        text.parse::<KeyRef>().or(Err(SearchSetupError::Key { setting, what }))
    };
    match (&options.key_file, &options.key_env) {
        (None, None) => Ok(KeyRef::None),
        (Some(name), None) => {
            parse(format!("sealed:{name}"), "key_file", "file in the directory of keys")
        }
        (None, Some(name)) => parse(format!("env:{name}"), "key_env", "variable"),
        (Some(_), Some(_)) => Err(SearchSetupError::TwoKeys),
    }
}

fn base_url(text: &str) -> Result<url::Url, SearchSetupError> {
    let wrong = || SearchSetupError::Url { url: text.to_owned() };
    let url = url::Url::parse(text).or(Err(wrong()))?;
    let fits = matches!(url.scheme(), "http" | "https") && url.has_host() && url.query().is_none();
    if fits { Ok(url) } else { Err(wrong()) }
}

/// `base` with more path.
fn below(base: &url::Url, path: &str) -> String {
    format!("{}/{path}", base.as_str().trim_end_matches('/'))
}

impl SearchResult {
    /// What a provider says is somebody's text: short, and with an address that is one.
    fn within_bounds(self) -> Option<Self> {
        let web = self.url.starts_with("https://") || self.url.starts_with("http://");
        if !web || self.url.len() > MAX_RESULT_URL_BYTES {
            return None;
        }
        let title = crate::refusal::shorten(&self.title, MAX_TITLE_CHARS);
        let snippet = crate::refusal::shorten(&self.snippet, MAX_SNIPPET_CHARS);
        Some(Self { title, url: self.url, snippet })
    }
}

/// Reads a provider's JSON, within bounds.
async fn read_json<T: serde::de::DeserializeOwned>(
    request: reqwest::RequestBuilder,
) -> Result<T, SearchError> {
    let unreachable = |error: reqwest::Error| {
        tracing::warn!(
            error = with_causes(&error.without_url()),
            "the provider of searches could not be reached"
        );
        SearchError::Unreachable
    };
    let mut answer = request.send().await.map_err(unreachable)?;
    if !answer.status().is_success() {
        return Err(SearchError::Status(answer.status().as_u16()));
    }
    let mut body = BytesMut::new();
    while let Some(piece) = answer.chunk().await.map_err(unreachable)? {
        if body.len() + piece.len() > ANSWER_BYTES {
            return Err(SearchError::TooLarge);
        }
        body.extend_from_slice(&piece);
    }
    serde_json::from_slice(&body).map_err(|error| {
        tracing::warn!(
            error = with_causes(&error),
            "the answer of the provider of searches can't be read"
        );
        SearchError::Unreadable
    })
}

impl Outlet {
    /// What was found, as JSON.
    pub(super) async fn search(self: &Arc<Self>, asked: SearchRequest) -> Result<Bytes, Stopped> {
        self.gate().decide_search("web search")?;
        let Some(search) = &self.outside.search else {
            let reason = "no provider of searches is set up";
            return Err(Denied::new("no_search", "web search", reason)
                .fix(
                    "The operator can set one up in cloister.toml: [search] with provider = \"searxng\" \
                     and url = \"https://your.searxng\", or provider = \"brave\" and key_file = \"brave\" \
                     (the key in <data>/keys/brave, mode 600, which the start seals and removes); then \
                     restart.",
                )
                .into());
        };
        let query = asked.query.trim();
        if query.is_empty() || query.len() > MAX_QUERY_BYTES {
            let reason = format!("a search has 1 to {MAX_QUERY_BYTES} bytes of words");
            let denied = Denied::new("bad_search", "web search", reason);
            return Err(denied.status(axum::http::StatusCode::BAD_REQUEST).into());
        }
        let _permit = Arc::clone(&self.fetches).try_acquire_owned().map_err(|full| {
            tracing::debug!(%full, "a search was not made");
            Failure::busy("too many searches and pages are under way")
        })?;
        self.pace.wait().await;
        let host = search.host.as_str();
        let now = self.secrets(host).await?;
        self.refuse_handles(&now, "web search", query)?;
        let clearance = self.gate().ask(search.outward(query), &self.outside.dialer).await?;
        let tally = Tally::new(self.meter(host).await?, search.host.clone());
        let bytes = u64::try_from(query.len()).unwrap_or(u64::MAX);
        tally.send(bytes).map_err(|over| over_budget(host, over))?;
        self.gate().open(host).await?;
        let count = asked.count.unwrap_or(DEFAULT_COUNT).clamp(1, MAX_COUNT);
        let results = search.ask(clearance, count).await.map_err(|why| {
            Failure::bad_gateway(format!("the search failed: {}", shown(&why.to_string())))
        })?;
        let found = Found { provider: search.provider.name(), results };
        self.take_in(found, &now).await
    }
}

impl Outlet {
    /// Masks what was found and records that it comes in.
    async fn take_in(&self, found: Found, now: &Now) -> Result<Bytes, Stopped> {
        let json = serde_json::to_vec(&found).map_err(|error| {
            Failure::bad_gateway(format!(
                "what was found can't be told: {error}",
                error = with_causes(&error)
            ))
        })?;
        let shown = self.shelf().masked(&now.mask, json.into(), "what a search found").await;
        let source = ContentSource::Tool { name: "web_search".to_owned() };
        let part = ContentPart::Whole(Fingerprint::of(&shown));
        self.gate().came_in(CameIn { source, text: shown.clone(), part }).await?;
        Ok(shown)
    }
}

impl Search {
    /// A search as the gate sees it: a read whose address says what is looked for.
    fn outward(&self, words: &str) -> Outward {
        let query =
            url::form_urlencoded::Serializer::new(String::new()).append_pair(WORDS, words).finish();
        let host = self.host.clone();
        Outward {
            method: "GET".to_owned(),
            to: Destination { scheme: Scheme::Https, host, port: 443, path: "/".to_owned() },
            query: Some(query),
            headers: Vec::new(),
            body: Bytes::new(),
            secrets: Vec::new(),
            search: Some(words.to_owned()),
            addresses: None,
        }
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
