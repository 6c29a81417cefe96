//! Requests to the Bot API, each with an end. Promises: the token is in no error, log line or `Debug`.

use std::fmt;
use std::time::Duration;

use cloister_kit::{PlaneError, WayOut};
use cloister_protocol::ErrorCode;
use reqwest::multipart::Form;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::fault::Fault;
use super::methods::{GetMe, Method};

/// Where Telegram itself answers.
pub(crate) const TELEGRAM: &str = "https://api.telegram.org";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest that anything may take, whoever asks for it.
const AT_LAST: Duration = Duration::from_secs(900);

/// Who a bot is, as far as it is looked at: nothing else in the answer can make it unreadable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Me {
    pub(crate) id: u64,
    #[serde(default)]
    pub(crate) first_name: String,
    #[serde(default)]
    pub(crate) username: Option<String>,
    #[serde(default)]
    pub(crate) can_join_groups: Option<bool>,
    #[serde(default)]
    pub(crate) can_read_all_group_messages: Option<bool>,
    #[serde(default)]
    pub(crate) has_topics_enabled: Option<bool>,
}

/// An answer to a method that was carried out.
#[derive(Deserialize)]
struct MethodAnswer<T> {
    result: T,
}

/// One bot's way to a Bot API server.
#[derive(Clone)]
pub(crate) struct Api {
    client: reqwest::Client,
    /// What the methods are below; holds the token.
    methods: String,
    /// Where files are fetched; holds the token, too.
    files: String,
    timeout: Duration,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Api {
    /// `address`: of the server, without the token. `timeout`: of an ordinary request.
    pub(crate) fn new(
        address: &str,
        token: &str,
        (timeout, way_out): (Duration, Option<&WayOut>),
    ) -> Result<Self, PlaneError> {
        let address = address.trim_end_matches('/');
        let builder = reqwest::ClientBuilder::new()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(AT_LAST)
            // The address holds the token: it goes nowhere else.
            .redirect(reqwest::redirect::Policy::none());
        let proxied = match way_out {
            Some(way_out) => {
                reqwest::Proxy::all(way_out.proxy()).map(|proxy| builder.no_proxy().proxy(proxy))
            }
            None => Ok(builder),
        };
        let client = proxied.and_then(reqwest::ClientBuilder::build).map_err(|error| {
            let why = error.without_url();
            let message = format!("no client for Telegram could be made: {why}");
            PlaneError::refused(ErrorCode::Internal, message)
        })?;
        Ok(Self {
            client,
            methods: format!("{address}/bot{token}"),
            files: format!("{address}/file/bot{token}"),
            timeout,
        })
    }

    /// Asks who the bot is.
    pub(crate) async fn me(&self) -> Result<Me, Fault> {
        self.call(&GetMe {}).await
    }

    /// Calls a method.
    pub(crate) async fn call<M: Method, T: DeserializeOwned>(
        &self,
        method: &M,
    ) -> Result<T, Fault> {
        self.call_within(self.timeout, method).await
    }

    /// Calls a method that may take longer.
    pub(crate) async fn call_within<M: Method, T: DeserializeOwned>(
        &self,
        most: Duration,
        method: &M,
    ) -> Result<T, Fault> {
        answer_within(most, self.method(M::NAME).json(method)).await
    }

    /// Calls a method that takes a file with it.
    pub(crate) async fn upload<T: DeserializeOwned>(
        &self,
        most: Duration,
        (method, form): (&str, Form),
    ) -> Result<T, Fault> {
        answer_within(most, self.method(method).multipart(form)).await
    }

    fn method(&self, name: &str) -> reqwest::RequestBuilder {
        self.client.post(format!("{}/{name}", self.methods))
    }

    /// The address of a file: nothing in the path is anything but a name.
    fn file_at(&self, path: &str) -> Result<reqwest::Url, Fault> {
        let nowhere = || Fault::Refused { code: 0, description: "that is no place".to_owned() };
        let mut url = reqwest::Url::parse(&self.files).map_err(|_holds_the_token| nowhere())?;
        url.path_segments_mut().map_err(|()| nowhere())?.extend(path.split('/'));
        Ok(url)
    }

    /// Begins to fetch a file by the path that `getFile` told.
    pub(crate) async fn fetch(&self, path: &str) -> Result<reqwest::Response, Fault> {
        let request = self.client.get(self.file_at(path)?).send();
        let response = match tokio::time::timeout(self.timeout, request).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(Fault::of_http(error)),
            Err(_late) => return Err(Fault::late()),
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let code = u64::from(status.as_u16());
        Err(match code {
            429 => Fault::Wait(Duration::from_secs(5)),
            500..=599 => Fault::Unreachable(format!("it answered {code} for a file")),
            _ => Fault::Refused { code, description: "the file is not there".to_owned() },
        })
    }
}

async fn answer_within<T: DeserializeOwned>(
    most: Duration,
    request: reqwest::RequestBuilder,
) -> Result<T, Fault> {
    match tokio::time::timeout(most, Box::pin(answer_to(request))).await {
        Ok(answer) => answer,
        Err(_late) => Err(Fault::late()),
    }
}

async fn answer_to<T: DeserializeOwned>(request: reqwest::RequestBuilder) -> Result<T, Fault> {
    let response = request.send().await.map_err(Fault::of_http)?;
    let done = response.status().is_success();
    let input = response.text().await.map_err(Fault::of_http)?;
    if !done {
        return Err(Fault::of_answer(&input));
    }
    match serde_json::from_str::<MethodAnswer<T>>(&input) {
        Ok(answer) => Ok(answer.result),
        Err(error) => Err(Fault::of_unread(&input, &error)),
    }
}

#[cfg(test)]
#[path = "api_tests.rs"]
mod tests;
