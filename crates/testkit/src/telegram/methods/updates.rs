//! Updates: fetched by asking again and again, or posted to a webhook.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, timeout_at};

use super::super::Shared;
use super::super::bots::{Bot, Webhook};
use super::super::params::Params;
use super::super::refusal::{Answer, Refusal};
use super::super::state::State;

const MOST_AT_ONCE: i64 = 100;
/// The longest that a request for updates waits.
const LONGEST_WAIT: i64 = 50;

fn bot(state: &mut State, id: i64) -> Result<&mut Bot, Refusal> {
    state.bots.get_mut(&id).ok_or_else(|| Refusal::new(401, "Unauthorized"))
}

fn allowed(params: &mut Params) -> Result<Option<Vec<String>>, Refusal> {
    let list = params.json("allowed_updates")?;
    Ok(list.and_then(|list| serde_json::from_value(list).ok()))
}

fn set_allowed(bot: &mut Bot, allowed: Option<Vec<String>>) {
    if let Some(allowed) = allowed {
        bot.allowed = (!allowed.is_empty()).then(|| allowed.into_iter().collect());
    }
}

/// Somebody waits for updates; when they hang up, nobody does.
struct Waiting<'a> {
    shared: &'a Shared,
    bot: i64,
    poll: u64,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        let bot = state.bots.get_mut(&self.bot).filter(|bot| bot.polls == self.poll);
        if let Some(bot) = bot {
            bot.polling = false;
        }
    }
}

/// What is new, once there is something or the time is over. Whoever asked before and still waits is told
/// that somebody else asks.
pub(in super::super) async fn get(
    shared: &Arc<Shared>,
    id: i64,
    params: &mut Params,
    repeat: bool,
) -> Answer {
    let offset = params.int("offset")?.unwrap_or(0);
    let limit = params.int("limit")?.unwrap_or(MOST_AT_ONCE).clamp(1, MOST_AT_ONCE);
    let wait = params.int("timeout")?.unwrap_or(0).clamp(0, LONGEST_WAIT);
    let allowed = allowed(params)?;
    let deadline = Instant::now() + Duration::from_secs(wait.unsigned_abs());
    let mut changed = shared.changed.subscribe();
    let mine = shared.change(|state| {
        let bot = bot(state, id)?;
        if bot.webhook.is_some() {
            let what = "can't use getUpdates method while webhook is active; use deleteWebhook to delete \
                        the webhook first";
            return Err(Refusal::conflict(what));
        }
        bot.polls += 1;
        bot.polling = true;
        set_allowed(bot, allowed);
        if offset > 0 {
            bot.confirm(offset);
        } else if offset < 0 {
            let keep = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            while bot.updates.len() > keep {
                bot.updates.pop_front();
            }
        }
        let unread = params.unread();
        let polls = bot.polls;
        if !unread.is_empty() {
            state.complain(format!("getUpdates with unknown fields: {}", unread.join(", ")));
        }
        Ok(polls)
    })?;
    let _waiting = Waiting { shared, bot: id, poll: mine };
    loop {
        let found = shared.change_quietly(|state| {
            let bot = bot(state, id)?;
            if bot.polls != mine {
                let what = "terminated by other getUpdates request; make sure that only one bot instance \
                            is running";
                return Err(Refusal::conflict(what));
            }
            if bot.webhook.is_some() {
                return Err(Refusal::conflict("terminated by setWebhook request"));
            }
            let limit = usize::try_from(limit).unwrap_or(usize::MAX);
            let mut found: Vec<Value> = bot.updates.iter().take(limit).cloned().collect();
            if repeat {
                let again = bot.confirmed.iter().rev().take(3).rev().cloned();
                found = again.chain(found).collect();
            }
            Ok(found)
        })?;
        if !found.is_empty() {
            return Ok(json!(found));
        }
        if timeout_at(deadline, changed.changed()).await.is_err() {
            return Ok(json!([]));
        }
    }
}

fn check_secret(secret: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=256).contains(&secret.len()) && secret.chars().all(fits)
}

pub(in super::super) fn set_webhook(state: &mut State, id: i64, params: &mut Params) -> Answer {
    let url = params.text("url").unwrap_or_default();
    let secret = params.text("secret_token");
    let max_connections = params.int("max_connections")?.unwrap_or(40);
    let allowed = allowed(params)?;
    let drop_pending = params.flag("drop_pending_updates");
    if url.is_empty() {
        return delete_webhook(state, id, params);
    }
    if !url.starts_with("https://") {
        return Err(Refusal::bad("bad webhook: An HTTPS URL must be provided for webhook"));
    }
    if secret.as_ref().is_some_and(|secret| !check_secret(secret)) {
        return Err(Refusal::bad("secret token contains unallowed characters"));
    }
    if !(1..=100).contains(&max_connections) {
        return Err(Refusal::bad("bad webhook: max_connections must be between 1 and 100"));
    }
    if secret.is_none() {
        state.complain("a webhook without a secret token: anybody can post to it");
    }
    let unread = params.unread();
    if !unread.is_empty() {
        state.complain(format!("setWebhook with unknown fields: {}", unread.join(", ")));
    }
    let bot = bot(state, id)?;
    set_allowed(bot, allowed);
    if drop_pending {
        bot.updates.clear();
    }
    bot.webhook = Some(Webhook { url, secret, max_connections, last_error: None });
    Ok(json!(true))
}

pub(super) fn delete_webhook(state: &mut State, id: i64, params: &mut Params) -> Answer {
    let drop_pending = params.flag("drop_pending_updates");
    let bot = bot(state, id)?;
    bot.webhook = None;
    if drop_pending {
        bot.updates.clear();
    }
    Ok(json!(true))
}

pub(super) fn webhook_info(state: &mut State, id: i64, _params: &mut Params) -> Answer {
    let bot = bot(state, id)?;
    let hook = bot.webhook.clone().unwrap_or_default();
    let mut info = json!({
        "url": hook.url, "has_custom_certificate": false, "pending_update_count": bot.updates.len(),
    });
    if bot.webhook.is_some() {
        info["max_connections"] = json!(hook.max_connections);
    }
    if let Some((date, message)) = hook.last_error {
        info["last_error_date"] = json!(date);
        info["last_error_message"] = json!(message);
    }
    Ok(info)
}
