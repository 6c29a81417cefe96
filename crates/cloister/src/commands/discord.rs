//! `cloister discord`: bots of ours on Discord.

use std::process::ExitCode;

use cloister_protocol::admin::{AddConnector, AddedConnector, Credential};

use super::Context;
use super::connectors::{self, DISCORD, report};
use crate::args::discord::{Add, Discord};
use crate::output::CliError;

const LIKE: &str = "copy it under Bot on https://discord.com/developers/applications, without `Bot` before \
                    it; put it into the file, and nothing else";
/// What the link asks a server for, as Discord numbers it: react, see channels, send messages, embed, attach, read
/// what was said, name threads, make them, send messages in them.
const PERMISSIONS: u64 = (1 << 6)
    | (1 << 10)
    | (1 << 11)
    | (1 << 14)
    | (1 << 15)
    | (1 << 16)
    | (1 << 34)
    | (1 << 35)
    | (1 << 38);

pub(super) async fn run(context: Context, command: Discord) -> Result<ExitCode, CliError> {
    match command {
        Discord::Add(new) => add(&context, new).await?,
        Discord::List => connectors::list(&context, DISCORD).await?,
        Discord::Status { account } => {
            return connectors::status(&context, DISCORD, account.as_deref()).await;
        }
        Discord::Rm { account, yes } => {
            connectors::remove(&context, DISCORD, (&account, yes)).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn add(context: &Context, add: Add) -> Result<(), CliError> {
    // Before a secret is read: whoever has to type it should not do it in vain.
    let client = context.running().await?;
    connectors::must_be_there(context, DISCORD)?;
    // A server of one's own may have tokens of its own.
    let looks_right = if add.api_url.is_some() { is_plain } else { looks_right };
    let token = connectors::token(context, &add.token_file, looks_right, LIKE)?;
    let address = add.api_url.unwrap_or_default();
    let gateway = add.gateway_url;
    for place in [Some(address.as_str()), gateway.as_deref()].into_iter().flatten() {
        connectors::warn_of_listeners(context, place);
    }
    let new = AddConnector {
        address,
        account: String::new(),
        credential: Credential::Token(token),
        recovery_key: None,
        encrypted: false,
        owner: None,
        webhook: None,
        gateway,
    };
    let added: AddedConnector = client.post(&DISCORD.connectors(), &new).await?;
    context.output.result(&added, || words(&added))
}

/// Parts with dots between them. What they hold is Discord's business.
fn looks_right(token: &str) -> bool {
    token.contains('.') && is_plain(token)
}

fn is_plain(token: &str) -> bool {
    token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

fn words(added: &AddedConnector) -> String {
    let view = &added.view;
    let mut text = report::added(DISCORD, view);
    let application = view.facts.iter().find(|(fact, _)| fact == "application");
    let application = application.map_or(view.account.as_str(), |(_, id)| id.as_str());
    text.push_str(&format!(
        "\nNext: add it to a server that you are on, with this link:\n\n    \
         https://discord.com/oauth2/authorize?client_id={application}&scope=bot+applications.commands\
         &permissions={PERMISSIONS}\n\n\
         Then write `pair` to it in a direct message, and `cloister pair CODE --user NAME`.\n"
    ));
    text
}

#[cfg(test)]
#[path = "discord_tests.rs"]
mod tests;
