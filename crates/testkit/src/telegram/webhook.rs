//! Posts updates to where a bot wants them, one after the other, each until it is taken.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hyper::Request;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::Shared;
use super::bots::Webhook;
use super::faults::{self, Fault};
use super::passing::{AnyError, send};
use super::state::now;

/// How long an answer is waited for.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// How soon it is tried again. Telegram waits longer; a test should not.
const AGAIN: Duration = Duration::from_millis(150);

/// Begins to post the updates of a bot, if nobody does yet.
pub(super) fn deliver(shared: &Arc<Shared>, bot: i64) {
    let mut tasks = shared.tasks();
    if tasks.hooked.insert(bot) {
        tasks.posting.spawn(keep_posting(Arc::clone(shared), bot));
    }
}

async fn keep_posting(shared: Arc<Shared>, bot: i64) {
    let mut changed = shared.changed.subscribe();
    loop {
        let next = {
            let state = shared.state();
            state
                .bots
                .get(&bot)
                .and_then(|bot| Some((bot.webhook.clone()?, bot.updates.front().cloned()?)))
        };
        let Some((hook, update)) = next else {
            if changed.changed().await.is_err() {
                return;
            }
            continue;
        };
        let fault = shared.change_quietly(|state| faults::take(&mut state.laid, "webhook"));
        let told = match timeout(ANSWER_TIME, post(&shared, &hook, &update)).await {
            Ok(Ok(_)) if fault == Some(Fault::Swallow) => Some("Connection lost".to_owned()),
            Ok(Ok(status)) if (200..300).contains(&status) => None,
            Ok(Ok(status)) => Some(format!("Wrong response from the webhook: {status}")),
            Ok(Err(error)) => Some(format!("Connection failed: {error}")),
            Err(_late) => Some("Read timeout expired".to_owned()),
        };
        let again = told.is_some();
        shared.change_quietly(|state| {
            let Some(bot) = state.bots.get_mut(&bot) else { return };
            match told {
                None => {
                    let id = update["update_id"].as_i64().unwrap_or(0);
                    bot.confirm(id + 1);
                }
                Some(problem) => {
                    if let Some(hook) = &mut bot.webhook {
                        hook.last_error = Some((now(), problem));
                    }
                }
            }
        });
        if again {
            sleep(AGAIN).await;
        }
    }
}

/// Where an address of the outside world leads in a test.
fn behind(shared: &Shared, url: &str) -> Option<(String, String)> {
    let state = shared.state();
    let (site, address) = state.sites.iter().find(|(site, _)| url.starts_with(site.as_str()))?;
    let path = url.strip_prefix(site.as_str())?.to_owned();
    let path = if path.starts_with('/') { path } else { format!("/{path}") };
    Some((address.get()?, path))
}

async fn post(shared: &Shared, hook: &Webhook, update: &Value) -> Result<u16, AnyError> {
    let (address, path) = behind(shared, &hook.url).ok_or("nobody is there")?;
    let mut request =
        Request::builder().method("POST").uri(path).header("content-type", "application/json");
    if let Some(secret) = &hook.secret {
        request = request.header("x-telegram-bot-api-secret-token", secret);
    }
    let (status, _) = send(&address, request, Bytes::from(update.to_string())).await?;
    Ok(status)
}
