//! `cloister telegram`: bots of ours on Telegram.

use std::process::ExitCode;

use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{AddConnector, AddedConnector, Credential};

use super::Context;
use super::connectors::{self, TELEGRAM, report};
use crate::args::telegram::{Add, Telegram};
use crate::output::{CliError, USAGE};

const LIKE: &str =
    "@BotFather gives tokens such as 123456789:AAE…; put one into the file, and nothing else";

pub(super) async fn run(context: Context, command: Telegram) -> Result<ExitCode, CliError> {
    match command {
        Telegram::Add(new) => add(&context, new).await?,
        Telegram::List => connectors::list(&context, TELEGRAM).await?,
        Telegram::Status { account } => {
            return connectors::status(&context, TELEGRAM, account.as_deref()).await;
        }
        Telegram::Rm { account, yes } => {
            connectors::remove(&context, TELEGRAM, (&account, yes)).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn add(context: &Context, add: Add) -> Result<(), CliError> {
    if let Some(wrong) = not_for_telegram(&add) {
        return Err(CliError::new(ErrorCode::BadRequest, wrong)
            .fix("give the https:// address of the proxy in front of this control plane")
            .exit(USAGE));
    }
    // Before a secret is read: whoever has to type it should not do it in vain.
    let client = context.running().await?;
    connectors::must_be_there(context, TELEGRAM)?;
    let token = connectors::token(context, &add.token_file, looks_right, LIKE)?;
    let address = add.api_url.unwrap_or_default();
    connectors::warn_of_listeners(context, &address);
    let new = AddConnector {
        address,
        account: String::new(),
        credential: Credential::Token(token),
        recovery_key: None,
        encrypted: false,
        owner: add.owner.map(|owner| owner.to_string()),
        webhook: add.webhook,
        gateway: None,
    };
    let added: AddedConnector = client.post(&TELEGRAM.connectors(), &new).await?;
    context.output.result(&added, || words(&added))
}

/// Why Telegram would not deliver there; its own server does so over TLS alone.
fn not_for_telegram(add: &Add) -> Option<&'static str> {
    let plain = add.webhook.as_deref().is_some_and(|webhook| webhook.starts_with("http://"));
    (plain && add.api_url.is_none()).then_some("Telegram delivers to https:// addresses alone")
}

/// The bot's number, a colon, and what proves that it is the bot.
fn looks_right(token: &str) -> bool {
    let Some((number, proof)) = token.split_once(':') else { return false };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && !proof.is_empty()
        && proof.bytes().all(plain)
}

fn words(added: &AddedConnector) -> String {
    let view = &added.view;
    let mut text = report::added(TELEGRAM, view);
    let place = match view.account.strip_prefix('@') {
        Some(name) => format!("open https://t.me/{name}"),
        None => "open the bot in Telegram".to_owned(),
    };
    text.push_str(&format!(
        "\nNext: {place}, press Start and write `pair`, then `cloister pair CODE --user NAME`.\n"
    ));
    text
}

#[cfg(test)]
#[path = "telegram_tests.rs"]
mod tests;
