//! `fetch_url`: a page of the web as Markdown, through the broker.

use std::time::Duration;

use cloister_protocol::link::Outcome;
use serde::Deserialize;
use serde_json::json;

use super::{DoorCall, Effect, Handler, Tool, done, failed, object, parse};
use crate::door::{Bounds, DoorAnswer};
use crate::page::{self, Document};
use crate::{text, untrusted};

/// How much of a page is asked for, and how much of it the model is shown.
const MAX_BYTES: usize = 4 << 20;
const MAX_SHOWN: usize = 100_000;
const BOUNDS: Bounds = Bounds { time: Duration::from_secs(120), bytes: MAX_BYTES + (64 << 10) };

pub(super) const TOOL: Tool = Tool {
    name: "fetch_url",
    about: "Read a web page or text file from the network. HTML comes back as Markdown with absolute \
            links. Use bash with curl for files that are not text, or to send something.",
    parameters: || {
        object(
            json!({
                "url": {"type": "string"},
                "secret": {"type": "string", "description": "The name of a secret to put on the request, when the page needs one."},
            }),
            &["url"],
        )
    },
    effect: Effect::Reads,
    handler: Handler::Door(call),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    #[serde(alias = "uri", alias = "link")]
    url: String,
    #[serde(default)]
    secret: Option<String>,
}

fn call(arguments: &str) -> Result<DoorCall, Outcome> {
    let Args { url, secret } = parse(arguments)?;
    let url = url.trim();
    let url = if url.contains("://") { url.to_owned() } else { format!("https://{url}") };
    let mut body = json!({"url": url, "max_bytes": MAX_BYTES});
    if let Some(secret) = secret.filter(|name| !name.is_empty()) {
        body["secret"] = secret.into();
    }
    Ok(DoorCall { path: "/fetch", body, bounds: BOUNDS, show })
}

fn show(answered: &DoorAnswer) -> Outcome {
    let url = text::head(answered.header("x-cloister-url"), 2_000);
    let kind = answered.header("content-type");
    let page = match page::readable(Document { url, kind, body: &answered.body }, MAX_SHOWN) {
        Ok(page) => page,
        Err(why) => {
            return failed(format!(
                "{url} can't be shown: {why}. Get it with bash, for example `curl -sSL -o FILE \
                 {url}`, and look at the file with programs that know its kind (file, iconv, pdftotext, \
                 python)."
            ));
        }
    };
    let status = answered.header("x-cloister-status");
    let ok = status.is_empty() || status.starts_with('2');
    let title = match page.title.as_str() {
        "" => String::new(),
        title => format!("Title: {title}\n\n"),
    };
    let text = if page.text.is_empty() { "[there is no text on it]" } else { &page.text };
    let mut told = untrusted::framed(url, &format!("{title}{text}"));
    if !ok {
        told.push_str(&format!("\nThe server answered with status {}.", text::head(status, 10)));
    }
    if page.cut || is_true(answered.header("x-cloister-truncated")) {
        told.push_str(&format!(
            "\n[cut: this is the beginning, of a document that is longer than {MAX_SHOWN} bytes as \
             text or {MAX_BYTES} bytes in all; for the rest use `curl -sSL -o FILE {url}`]"
        ));
    }
    if ok { done(told) } else { failed(told) }
}

fn is_true(header: &str) -> bool {
    header == "true" || header == "1"
}
