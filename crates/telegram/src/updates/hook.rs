//! Updates that Telegram hands to us: under a name that tells bots apart, with a secret that only Telegram knows.

use std::sync::OnceLock;
use std::time::Duration;

use cloister_kit::{PlaneError, part};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::Key;
use cloister_protocol::surface::{Expect, WebhookAnswer};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::wire::ALLOWED;
use crate::bot::Bot;
use crate::session::Fault;
use crate::session::methods::{GetWebhookInfo, SetWebhook};

/// How many random bytes the secret has.
const SECRET: usize = 32;
/// Telegram waits about a minute for an answer.
const TAKEN_WITHIN: Duration = Duration::from_secs(20);

/// What proves that a delivery is Telegram's: another one each time the bot is connected.
#[derive(Default)]
pub(crate) struct Hook {
    secret: OnceLock<String>,
}

impl Hook {
    /// The secret, made if there is none.
    fn secret(&self) -> Result<&str, PlaneError> {
        if let Some(secret) = self.secret.get() {
            return Ok(secret);
        }
        let mut bytes = [0; SECRET];
        getrandom::fill(&mut bytes).map_err(|error| {
            PlaneError::refused(ErrorCode::Internal, format!("no random numbers: {error}"))
        })?;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(self.secret.get_or_init(|| hex))
    }
}

/// How deliveries go, as far as it is looked at.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct HookInfo {
    pub(super) url: String,
    pub(super) pending_update_count: u32,
    /// In Unix seconds.
    pub(super) last_error_date: Option<i64>,
    pub(super) last_error_message: Option<String>,
}

part! {
    /// Updates that Telegram delivers.
    pub(crate) struct Webhook of Bot;
}

impl Webhook {
    /// The name that its deliveries come under.
    pub(crate) fn name(&self) -> String {
        self.bot.me.id.to_string()
    }

    /// What is delivered before Telegram was told the secret is to be sent again.
    pub(super) async fn will_be_delivered_to(&self) -> Result<(), PlaneError> {
        if self.url().is_none() {
            return Ok(());
        }
        let (name, proof) = (self.name(), Key::new(""));
        self.bot.plane.call(Expect { connector: self.bot.id(), name, proof }).await
    }

    /// Where Telegram is to deliver; none: it is asked.
    pub(super) fn url(&self) -> Option<String> {
        let base = self.bot.settings.webhook.as_deref()?.trim_end_matches('/');
        Some(format!("{base}/hooks/{}/{}", crate::SURFACE, self.name()))
    }

    /// Tells Telegram where to deliver. One at a time, so that they come in order.
    pub(super) async fn set(&self, url: &str) -> Result<(), Fault> {
        let own_trouble = |error: PlaneError| Fault::Unreachable(error.to_string());
        let secret = self.bot.hook.secret().map_err(own_trouble)?;
        // From the first delivery on, it is known whose it is.
        let (name, proof) = (self.name(), Key::new(secret));
        let expected = Expect { connector: self.bot.id(), name, proof };
        self.bot.plane.call(expected).await.map_err(own_trouble)?;
        let asked = SetWebhook {
            url: url.to_owned(),
            secret_token: secret.to_owned(),
            max_connections: 1,
            allowed_updates: &ALLOWED,
            drop_pending_updates: false,
        };
        self.bot.api.call::<_, IgnoredAny>(&asked).await.map(drop)
    }

    /// Asks how deliveries go.
    pub(super) async fn info(&self) -> Result<HookInfo, Fault> {
        self.bot.api.call(&GetWebhookInfo {}).await
    }

    /// Takes a delivery: stored before it is said to be taken.
    pub(crate) async fn take_delivery(&self, body: &str) -> WebhookAnswer {
        let Ok(raw) = serde_json::from_str::<Value>(body) else {
            // It would be sent again and again, and never be read.
            tracing::error!(account = self.bot.connector.account, "a delivery could not be read");
            return WebhookAnswer::Taken;
        };
        match tokio::time::timeout(TAKEN_WITHIN, self.bot.intake().take_update(&raw)).await {
            Ok(Ok(())) => WebhookAnswer::Taken,
            Ok(Err(error)) => {
                let account = &self.bot.connector.account;
                tracing::warn!(account, error = error.chain(), "a delivery was not taken");
                WebhookAnswer::TryAgain
            }
            Err(_late) => WebhookAnswer::TryAgain,
        }
    }
}

#[cfg(test)]
#[path = "hook_tests.rs"]
mod tests;
