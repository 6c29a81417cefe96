//! `web_search`: what a search engine finds, through the broker.

use std::fmt::Write as _;
use std::time::Duration;

use cloister_protocol::link::Outcome;
use serde::Deserialize;
use serde_json::json;

use super::{DoorCall, Effect, Handler, Tool, done, failed, object, parse};
use crate::door::{Bounds, DoorAnswer};
use crate::{text, untrusted};

const DEFAULT_COUNT: u32 = 8;
const MAX_COUNT: u32 = 20;
const MAX_FIELD_BYTES: usize = 1_000;
const BOUNDS: Bounds = Bounds { time: Duration::from_secs(60), bytes: 2 << 20 };

pub(crate) const NAME: &str = "web_search";

pub(super) const TOOL: Tool = Tool {
    name: NAME,
    about: "Search the web. Titles, addresses and short extracts come back; read a page with \
            fetch_url.",
    parameters: || {
        object(
            json!({
                "query": {"type": "string"},
                "count": {"type": "integer", "minimum": 1, "maximum": MAX_COUNT, "description": "How many results; 8 unless told."},
            }),
            &["query"],
        )
    },
    effect: Effect::Reads,
    handler: Handler::Door(call),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    #[serde(alias = "q")]
    query: String,
    #[serde(default)]
    count: Option<u32>,
}

#[derive(Deserialize)]
struct Found {
    provider: String,
    results: Vec<Hit>,
}

#[derive(Deserialize)]
struct Hit {
    title: String,
    url: String,
    #[serde(default)]
    snippet: String,
}

fn call(arguments: &str) -> Result<DoorCall, Outcome> {
    let Args { query, count } = parse(arguments)?;
    if query.trim().is_empty() {
        return Err(failed("the query is empty"));
    }
    let count = count.unwrap_or(DEFAULT_COUNT).clamp(1, MAX_COUNT);
    let body = json!({"query": query.trim(), "count": count});
    Ok(DoorCall { path: "/search", body, bounds: BOUNDS, show })
}

fn show(answered: &DoorAnswer) -> Outcome {
    let found: Found = match serde_json::from_slice(&answered.body) {
        Ok(found) => found,
        Err(error) => return failed(format!("the search engine's answer can't be read: {error}")),
    };
    if found.results.is_empty() {
        return done(format!("{} found nothing.", one_line(&found.provider)));
    }
    let mut told = String::new();
    for (at, hit) in found.results.iter().take(MAX_COUNT as usize).enumerate() {
        let (title, url) = (one_line(&hit.title), one_line(&hit.url));
        let gap = if told.is_empty() { "" } else { "\n\n" };
        write!(told, "{gap}{}. {title}\n   {url}", at + 1).ok();
        let snippet = one_line(&hit.snippet);
        if !snippet.is_empty() {
            write!(told, "\n   {snippet}").ok();
        }
    }
    done(untrusted::framed(&format!("a search with {}", one_line(&found.provider)), &told))
}

fn one_line(field: &str) -> String {
    let words: Vec<&str> = text::head(field, MAX_FIELD_BYTES).split_whitespace().collect();
    words.join(" ")
}
