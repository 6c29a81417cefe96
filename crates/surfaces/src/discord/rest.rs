//! Requests to Discord: each with an end, each failure with a meaning, none of them in the log: an address may
//! hold the token of an interaction.

use std::future::IntoFuture;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cloister_control::ports::SendError;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;
use twilight_http::api_error::ApiError;
use twilight_http::error::ErrorType;
use twilight_http::response::{Response, ResponseFuture};
use twilight_http::{Client, Error};
use twilight_model::channel::message::AllowedMentions;

/// The longest that a server may ask to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// What a wait lasts if the server does not say.
const USUAL_WAIT: Duration = Duration::from_secs(5);
/// How much longer a request may take than its answer: it may be held back to stay within the limits.
const HELD_BACK: Duration = Duration::from_secs(10);

/// How often a request is sent that Discord finds too fast.
const MOST_TRIES: u32 = 3;
/// What is sent again sooner than this was not held back for as long as Discord asked.
const HELD_BACK_AT_LEAST: Duration = Duration::from_millis(700);
/// No single request takes longer than this; each has an end of its own besides.
const AT_LAST: Duration = Duration::from_secs(600);

/// Codes of Discord that mean something to us.
pub(crate) mod codes {
    pub(crate) const UNKNOWN_CHANNEL: u64 = 10003;
    pub(crate) const UNKNOWN_MESSAGE: u64 = 10008;
    /// The token of an interaction is too old, or its answer is gone.
    pub(crate) const UNKNOWN_WEBHOOK: u64 = 10015;
    pub(crate) const UNKNOWN_INTERACTION: u64 = 10062;
    pub(crate) const ALREADY_ACKNOWLEDGED: u64 = 40060;
    pub(crate) const MISSING_ACCESS: u64 = 50001;
    /// The person takes no direct messages, or has blocked the bot.
    pub(crate) const CANNOT_MESSAGE_USER: u64 = 50007;
    pub(crate) const MISSING_PERMISSIONS: u64 = 50013;
    /// The token of an interaction is none.
    pub(crate) const INVALID_WEBHOOK_TOKEN: u64 = 50027;
    pub(crate) const THREAD_ARCHIVED: u64 = 50083;
}

/// Why a request was not done, or may not have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Too fast: it was not done, and may be tried again after this long.
    Wait(Duration),
    /// It may work later. Whether it was done is not known.
    Unreachable(String),
    /// The bot's token is not taken any more.
    Unauthorized,
    /// What it is about is not there, or not any more.
    Gone { code: u64, message: String },
    /// We may not do that there.
    Forbidden { code: u64, message: String },
    /// This will never be taken.
    Refused { code: u64, message: String },
}

impl Fault {
    pub(crate) fn of(error: &Error) -> Self {
        match error.kind() {
            ErrorType::Response { body, error, status } => {
                Self::of_answer(status.get(), error, body)
            }
            ErrorType::Unauthorized => Self::Unauthorized,
            ErrorType::RequestTimedOut => Self::Unreachable("no answer in time".to_owned()),
            ErrorType::RequestCanceled => Self::Wait(USUAL_WAIT),
            ErrorType::RequestError => {
                Self::Unreachable(format!("no connection: {}", cause(error)))
            }
            // An answer that is no answer of Discord's, such as a page of whatever stands before it.
            ErrorType::Parsing { .. } => {
                Self::Unreachable("the answer could not be read".to_owned())
            }
            ErrorType::Validation => Self::Refused {
                code: 0,
                message: format!("not within the limits: {}", cause(error)),
            },
            _ => Self::Refused { code: 0, message: "the request could not be made".to_owned() },
        }
    }

    fn of_answer(status: u16, error: &ApiError, body: &[u8]) -> Self {
        let (code, message) = match error {
            ApiError::General(general) => (general.code, general.message.clone()),
            ApiError::Ratelimited(limit) => return Self::Wait(wait(limit.retry_after)),
            _ => (0, "it does not say why".to_owned()),
        };
        let message = with_fields(&message, body);
        match status {
            _ if code == codes::INVALID_WEBHOOK_TOKEN => Self::Gone { code, message },
            401 => Self::Unauthorized,
            403 => Self::Forbidden { code, message },
            404 => Self::Gone { code, message },
            429 => Self::Wait(USUAL_WAIT),
            500.. => Self::Unreachable(format!("it answered {status}")),
            _ => Self::Refused { code, message },
        }
    }

    /// Discord's own code, where it has one.
    pub(crate) const fn code(&self) -> Option<u64> {
        match self {
            Self::Gone { code, .. } | Self::Forbidden { code, .. } | Self::Refused { code, .. } => {
                Some(*code)
            }
            Self::Wait(_) | Self::Unreachable(_) | Self::Unauthorized => None,
        }
    }

    /// What it means for something that was to be said.
    pub(crate) fn for_sending(self) -> SendError {
        match self {
            Self::Wait(pause) => SendError::Wait(pause),
            Self::Unreachable(why) => SendError::Unreachable(why),
            // Nothing is lost: it is told when the bot has a token again.
            Self::Unauthorized => {
                SendError::Unreachable("Discord does not take the bot's token".to_owned())
            }
            Self::Gone { message, .. } => SendError::Gone(message),
            Self::Forbidden { code: codes::CANNOT_MESSAGE_USER, .. } => {
                SendError::Gone("the person takes no messages from the bot".to_owned())
            }
            Self::Forbidden { message, .. } => SendError::Gone(message),
            Self::Refused { code: codes::THREAD_ARCHIVED, message } => SendError::Gone(message),
            Self::Refused { message, .. } => SendError::Refused(message),
        }
    }

    /// What went wrong, as the metrics count it.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Wait(_) => "rate_limited",
            Self::Unreachable(_) => "unreachable",
            Self::Unauthorized => "unauthorised",
            Self::Gone { .. } | Self::Forbidden { .. } | Self::Refused { .. } => "other",
        }
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Wait(pause) => write!(f, "Discord asks to wait {} ms", pause.as_millis()),
            Self::Unreachable(why) => write!(f, "Discord could not be reached: {why}"),
            Self::Unauthorized => f.write_str("Discord does not take the bot's token"),
            Self::Gone { code, message }
            | Self::Forbidden { code, message }
            | Self::Refused { code, message } => write!(f, "Discord says {message} ({code})"),
        }
    }
}

impl std::error::Error for Fault {}

/// A client of Discord, at an address of its own if one is given.
pub(crate) fn client(token: String, api_url: Option<&ApiUrl>) -> Client {
    let builder = Client::builder()
        .token(token)
        .timeout(AT_LAST)
        // A token of an interaction that has run out is answered in the same way as a bot's that was taken back.
        .remember_invalid_token(false)
        .default_allowed_mentions(AllowedMentions::default());
    match api_url {
        Some(url) => builder.proxy(url.host.clone(), url.plain),
        None => builder,
    }
    .build()
}

/// Where the API is, if not at Discord's own address: a proxy, a fake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiUrl {
    /// With its port and whatever comes before `/api`.
    pub(crate) host: String,
    pub(crate) plain: bool,
}

impl ApiUrl {
    /// Reads `http://HOST[:PORT][/PATH]`; none if it is no such address.
    pub(crate) fn parse(url: &str) -> Option<Self> {
        let url = url.trim().trim_end_matches('/');
        let (plain, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return None,
        };
        let fit = |c: char| c.is_ascii_graphic() && !matches!(c, '@' | '?' | '#' | '"' | '\\');
        let host = rest.split('/').next().unwrap_or_default();
        (!host.is_empty() && rest.chars().all(fit))
            .then(|| Self { host: rest.trim_end_matches("/api").to_owned(), plain })
    }

    /// `http://HOST[:PORT]` without a path.
    pub(crate) fn origin(&self) -> String {
        let scheme = if self.plain { "http" } else { "https" };
        let host = self.host.split('/').next().unwrap_or_default();
        format!("{scheme}://{host}")
    }
}

/// Does a request; what it answers with is read by the caller.
pub(crate) async fn call<T: Unpin, R>(within: Duration, request: R) -> Result<Response<T>, Fault>
where
    R: IntoFuture<IntoFuture = ResponseFuture<T>, Output = Result<Response<T>, Error>>,
{
    let sent = Arc::new(AtomicU32::new(0));
    let leaves = Departures { sent: Arc::clone(&sent), last: Mutex::new(None) };
    let asked = async move {
        let mut future = request.into_future();
        future.set_pre_flight(move || leaves.may_leave(Instant::now()));
        future.await
    };
    let asked = asked.with_subscriber(NoSubscriber::default());
    match tokio::time::timeout(within + HELD_BACK, asked).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) => Err(Fault::of(&error)),
        Err(_late) if sent.load(Ordering::Relaxed) > 0 => {
            Err(Fault::Unreachable("no answer in time".to_owned()))
        }
        // Held back to stay within the limits, and never sent.
        Err(_late) => Err(Fault::Wait(USUAL_WAIT)),
    }
}

/// When a request was sent. The client sends what Discord finds too fast again without end and, where the limit is
/// one for everything, at once.
struct Departures {
    sent: Arc<AtomicU32>,
    last: Mutex<Option<Instant>>,
}

impl Departures {
    fn may_leave(&self, now: Instant) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let hasty = last.is_some_and(|last| now < last + HELD_BACK_AT_LEAST);
        *last = Some(now);
        !hasty && self.sent.fetch_add(1, Ordering::Relaxed) < MOST_TRIES
    }
}

/// Does a request and reads its answer.
pub(crate) async fn read<A, T: Unpin, R>(within: Duration, request: R) -> Result<A, Fault>
where
    A: DeserializeOwned,
    R: IntoFuture<IntoFuture = ResponseFuture<T>, Output = Result<Response<T>, Error>>,
{
    let response = call(within, request).await?;
    let unread = |why: &str| Fault::Unreachable(format!("the answer could not be read: {why}"));
    let bytes = tokio::time::timeout(within, response.bytes()).await;
    let bytes = bytes.map_err(|late| unread(&late.to_string()))?;
    let bytes = bytes.map_err(|error| unread(&error.to_string()))?;
    // What it says is not shown: only where it is not as expected.
    serde_json::from_slice(&bytes)
        .map_err(|error| unread(&format!("line {} column {}", error.line(), error.column())))
}

fn wait(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds)
        .unwrap_or(USUAL_WAIT)
        .clamp(Duration::from_millis(100), LONGEST_WAIT)
}

/// The last of the causes, without what lies between: addresses are in there.
fn cause(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string().chars().take(200).collect()
}

/// Which fields of a request were wrong, if the answer names them.
#[derive(Deserialize)]
struct Details {
    #[serde(default)]
    errors: serde_json::Value,
}

fn with_fields(message: &str, body: &[u8]) -> String {
    let details = serde_json::from_slice::<Details>(body).map(|body| body.errors);
    let mut wrong = Vec::new();
    if let Ok(errors) = details {
        collect(&errors, &mut wrong);
    }
    let message: String = message.chars().take(200).collect();
    if wrong.is_empty() { message } else { format!("{message}: {}", wrong.join("; ")) }
}

fn collect(errors: &serde_json::Value, wrong: &mut Vec<String>) {
    if wrong.len() >= 4 {
        return;
    }
    match errors {
        serde_json::Value::Object(fields) => {
            if let Some(text) = fields.get("message").and_then(serde_json::Value::as_str) {
                wrong.push(text.chars().take(100).collect());
            }
            for value in fields.values() {
                collect(value, wrong);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| collect(value, wrong)),
        _ => {}
    }
}

#[cfg(test)]
#[path = "rest_tests.rs"]
mod tests;
