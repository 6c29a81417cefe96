//! Requests to Discord: each with an end, each failure with a meaning, none of them in the log: an address may
//! hold the token of an interaction.
//!
//! Promises: what Discord says about its limits is kept, for each bucket and for everything; what it found too fast
//! was not done, and is sent again when it may be; a request that may have been done is never sent again here.

mod address;
mod fault;
mod limits;
mod request;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cloister_kit::{PlaneError, WayOut};
use cloister_protocol::ErrorCode;
use reqwest::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout};
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

pub(crate) use address::{ApiUrl, NoAddress};
pub(crate) use fault::{Fault, codes};
pub(crate) use request::{File, Request, at};

use limits::{About, Asked, Key, Limits, ToldLimits, TooMany};

/// As long as a call is held back by itself to stay within the limits. Whoever must wait longer is told so.
const HELD_BACK: Duration = Duration::from_secs(5);
/// How often a request is sent that Discord finds too fast.
const MOST_TRIES: u32 = 3;
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// No single request takes longer than this; each has an end of its own besides.
const AT_LAST: Duration = Duration::from_secs(600);
/// The most that is read of an answer, in bytes. A hundred of the longest messages are less.
const LONGEST_ANSWER: usize = 16 << 20;
/// In the shape that Discord asks for.
const AGENT: &str =
    concat!("DiscordBot (https://cloister.invalid, ", env!("CARGO_PKG_VERSION"), ")");

/// A bot's way to Discord.
pub(crate) struct Rest {
    client: Client,
    base: String,
    authorization: HeaderValue,
    limits: Mutex<Limits>,
}

impl Rest {
    /// At Discord's own address unless another is given.
    pub(crate) fn new(
        token: &str,
        api_url: Option<&ApiUrl>,
        way_out: Option<&WayOut>,
    ) -> Result<Self, PlaneError> {
        let unusable = |why: String| {
            let message = format!("no client for Discord could be made: {why}");
            PlaneError::refused(ErrorCode::Internal, message)
        };
        let mut authorization = HeaderValue::from_str(&format!("Bot {token}"))
            .map_err(|error| unusable(error.to_string()))?;
        authorization.set_sensitive(true);
        let client = client(way_out).map_err(|error| unusable(error.without_url().to_string()))?;
        let base = address::base(api_url);
        Ok(Self { client, base, authorization, limits: Mutex::default() })
    }

    /// Does a request; what it answers with is not wanted.
    pub(crate) async fn done(&self, within: Duration, request: Request) -> Result<(), Fault> {
        self.call(within, request).await.map(drop)
    }

    /// Does a request and reads its answer.
    pub(crate) async fn read<A: DeserializeOwned>(
        &self,
        within: Duration,
        request: Request,
    ) -> Result<A, Fault> {
        let response = self.call(within, request).await?;
        let bytes = body(response, within).await?;
        // What it says is not shown: only where it is not as expected.
        serde_json::from_slice(&bytes).map_err(|error| {
            let at = format!("line {} column {}", error.line(), error.column());
            Fault::Unreachable(format!("the answer could not be read: {at}"))
        })
    }

    /// `within`: from when it is sent to the beginning of its answer.
    async fn call(&self, within: Duration, request: Request) -> Result<Response, Fault> {
        let asked = Asked::of(request.method().as_str(), request.path());
        let ready = self.prepare(request)?;
        let (mut patience, mut tries) = (HELD_BACK, MOST_TRIES);
        loop {
            let leaving = self.leave(&asked, &mut patience).await?;
            let again = ready.try_clone().ok_or_else(|| {
                let message = "the request can't be sent again".to_owned();
                Fault::Refused { code: 0, message }
            })?;
            let response = self.send(within, again).await?;
            let status = response.status();
            let told = told(response.headers());
            if status != StatusCode::TOO_MANY_REQUESTS {
                leaving.answered(&told);
                if status.is_success() {
                    return Ok(response);
                }
                let body = body(response, within).await?;
                return Err(Fault::of_answer(status.as_u16(), &body));
            }
            let header = Limit::of_headers(response.headers());
            // Without its words the headers count.
            let words = body(response, within).await.unwrap_or_default();
            let wait = leaving.refused(&told, &header.with_words(&words));
            tries -= 1;
            if tries == 0 || wait > patience {
                return Err(Fault::Wait(wait));
            }
            patience -= wait;
            sleep(wait).await;
        }
    }

    /// Waits until a request may be sent; if that is too long, says how long.
    async fn leave<'a>(
        &'a self,
        asked: &'a Asked,
        patience: &mut Duration,
    ) -> Result<Leaving<'a>, Fault> {
        loop {
            let wait = match self.limits().leave(asked, Instant::now()) {
                Ok(key) => return Ok(Leaving { rest: self, asked, key, back: false }),
                Err(wait) => wait,
            };
            if wait > *patience {
                return Err(Fault::Wait(wait));
            }
            *patience -= wait;
            sleep(wait).await;
        }
    }

    async fn send(&self, within: Duration, request: reqwest::Request) -> Result<Response, Fault> {
        let sent = self.client.execute(request).with_subscriber(NoSubscriber::default());
        match timeout(within, sent).await {
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) if error.is_builder() => Err(Fault::not_made(&error.without_url())),
            Ok(Err(error)) => Err(Fault::no_answer(error)),
            Err(_late) => Err(Fault::late()),
        }
    }

    /// What goes over the wire.
    fn prepare(&self, request: Request) -> Result<reqwest::Request, Fault> {
        let (method, url) = (request.method().clone(), format!("{}{}", self.base, request.path()));
        let says_nothing = method != reqwest::Method::GET;
        let mut builder = self.client.request(method, url);
        if request.is_ours() {
            builder = builder.header(AUTHORIZATION, self.authorization.clone());
        }
        builder = match request.into_body() {
            Some((kind, bytes)) => builder.header(CONTENT_TYPE, kind).body(bytes),
            None if says_nothing => builder.header(CONTENT_LENGTH, 0),
            None => builder,
        };
        builder.build().map_err(|error| Fault::not_made(&error.without_url()))
    }

    fn limits(&self) -> MutexGuard<'_, Limits> {
        self.limits.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is under way. Whatever becomes of it, it is counted back.
struct Leaving<'a> {
    rest: &'a Rest,
    asked: &'a Asked,
    key: Key,
    back: bool,
}

impl Leaving<'_> {
    fn answered(mut self, told: &ToldLimits) {
        self.back = true;
        self.rest.limits().answered(self.asked, &self.key, told, Instant::now());
    }

    fn refused(mut self, told: &ToldLimits, too_many: &TooMany) -> Duration {
        self.back = true;
        let of = (self.asked, &self.key);
        self.rest.limits().refused(of, told, too_many, Instant::now())
    }
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if !self.back {
            self.rest.limits().back(self.asked, &self.key);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a surface talks to its platform, with timeouts")]
fn client(way_out: Option<&WayOut>) -> reqwest::Result<Client> {
    let builder = Client::builder()
        .connect_timeout(CONNECT_WITHIN)
        .timeout(AT_LAST)
        .user_agent(AGENT)
        // The token goes nowhere else.
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy();
    match way_out {
        Some(way_out) => builder.proxy(reqwest::Proxy::all(way_out.proxy())?).build(),
        None => builder.build(),
    }
}

/// All of an answer.
async fn body(mut response: Response, within: Duration) -> Result<Vec<u8>, Fault> {
    let unread = |why: String| Fault::Unreachable(format!("the answer could not be read: {why}"));
    let reading = async {
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(Fault::no_answer)? {
            if bytes.len() + piece.len() > LONGEST_ANSWER {
                return Err(unread("it is too long".to_owned()));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    };
    let reading = reading.with_subscriber(NoSubscriber::default());
    timeout(within, reading).await.map_err(|late| unread(late.to_string()))?
}

/// What the headers of any answer say about the bucket.
fn told(headers: &HeaderMap) -> ToldLimits {
    ToldLimits {
        bucket: text(headers, "x-ratelimit-bucket").map(|name| name.chars().take(100).collect()),
        limit: text(headers, "x-ratelimit-limit").and_then(|limit| limit.parse().ok()),
        remaining: text(headers, "x-ratelimit-remaining").and_then(|left| left.parse().ok()),
        reset_after: text(headers, "x-ratelimit-reset-after").and_then(seconds),
    }
}

/// How a refusal because of too many requests says it: in headers, and more exactly in words.
struct Limit {
    retry_after: Option<f64>,
    about: About,
}

/// The words.
#[derive(Default, Deserialize)]
struct Words {
    #[serde(default)]
    retry_after: Option<f64>,
    #[serde(default)]
    global: bool,
}

impl Limit {
    fn of_headers(headers: &HeaderMap) -> Self {
        let scope = text(headers, "x-ratelimit-scope");
        let global = text(headers, "x-ratelimit-global") == Some("true");
        let about = match (global, scope, text(headers, "x-ratelimit-bucket")) {
            (true, _, _) | (_, Some("global"), _) => About::Bot,
            (false, None, None) => About::Everything,
            (false, _, _) => About::Bucket,
        };
        let retry_after = text(headers, "retry-after").and_then(|after| after.parse().ok());
        Self { retry_after, about }
    }

    fn with_words(&self, words: &[u8]) -> TooMany {
        let said = serde_json::from_slice::<Words>(words).ok();
        let in_words = said.as_ref().and_then(|said| said.retry_after);
        let about = match (said, self.about) {
            (Some(Words { global: true, .. }), _) => About::Bot,
            // Discord's own words, without its headers: somebody on the way took them off.
            (Some(Words { retry_after: Some(_), .. }), About::Everything) => About::Bucket,
            (_, about) => about,
        };
        TooMany { wait: in_words.or(self.retry_after).and_then(duration), about }
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

fn seconds(text: &str) -> Option<Duration> {
    text.parse().ok().and_then(duration)
}

/// What no clock can count is as long as can be waited.
fn duration(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

#[cfg(test)]
#[path = "rest_tests.rs"]
mod tests;
