//! `cloister connector`: accounts on surfaces whose connectors somebody else wrote.

use std::process::ExitCode;

use cloister_protocol::admin::{AddConnector, AddedConnector, Credential, Key};

use super::Context;
use super::connectors::{self, Surface, report};
use crate::args::connector::{Add, Connector};
use crate::output::CliError;

pub(super) async fn run(context: Context, command: Connector) -> Result<ExitCode, CliError> {
    match command {
        Connector::Add(new) => add(&context, new).await?,
        Connector::List { surface } => connectors::list(&context, Surface::own(&surface)).await?,
        Connector::Status { surface, account } => {
            return connectors::status(&context, Surface::own(&surface), account.as_deref()).await;
        }
        Connector::Rm { surface, account, yes } => {
            connectors::remove(&context, Surface::own(&surface), (&account, yes)).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn add(context: &Context, add: Add) -> Result<(), CliError> {
    // Before a secret is read: whoever has to type it should not do it in vain.
    let client = context.running().await?;
    let token = match &add.token_file {
        Some(file) => connectors::secret(context, file, "token")?,
        None => Key::new(""),
    };
    let address = add.address.unwrap_or_default();
    connectors::warn_of_listeners(context, &address);
    let surface = Surface::own(&add.surface);
    let new = AddConnector {
        address,
        account: add.account,
        credential: Credential::Token(token),
        recovery_key: None,
        encrypted: false,
        owner: None,
        webhook: None,
        gateway: None,
    };
    let added: AddedConnector = client.post(&surface.connectors(), &new).await?;
    context.output.result(&added, || words(surface, &added))
}

fn words(surface: Surface, added: &AddedConnector) -> String {
    let mut text = report::added(surface, &added.view);
    text.push_str(&format!(
        "\nNext: `cloister user link NAME --surface {} --id ACCOUNT` for who has an account there.\n",
        surface.name
    ));
    text
}
