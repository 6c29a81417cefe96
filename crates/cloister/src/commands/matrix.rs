//! `cloister matrix`: bot accounts of ours on Matrix.

mod report;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{
    AddConnector, AddedConnector, Credential, ReconcileReport, ResetConnector, ResetMode,
    ResetReport,
};

use super::Context;
use super::connectors::{self, MATRIX, secret};
use crate::args::matrix::{Add, Matrix, Mode, Reset};
use crate::output::CliError;

/// A homeserver that limits us may let us leave a room every few seconds, and there may be thousands.
const LONG: Duration = Duration::from_secs(3600);

pub(super) async fn run(context: Context, command: Matrix) -> Result<ExitCode, CliError> {
    match command {
        Matrix::Add(new) => add(&context, new).await?,
        Matrix::List => connectors::list(&context, MATRIX).await?,
        Matrix::Status { account } => {
            return connectors::status(&context, MATRIX, account.as_deref()).await;
        }
        Matrix::Rm { account, stay, yes } => remove(&context, &account, stay, yes).await?,
        Matrix::Reconcile { account } => {
            let client = context.running().await?;
            let path = format!("{}/reconcile", MATRIX.path(&account));
            let found: ReconcileReport = client.post_within(LONG, &path, &()).await?;
            context.output.result(&found, || connectors::report::reconciled(&found))?;
        }
        Matrix::Reset(reset) => forget(&context, reset).await?,
        Matrix::Import { file, dry_run } => {
            return super::matrix_import::import(&context, &file, dry_run).await;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn add(context: &Context, add: Add) -> Result<(), CliError> {
    let stdin = Path::new("-");
    let given = [&add.password_file, &add.token_file, &add.recovery_key_file];
    if given.iter().filter(|file| file.as_deref() == Some(stdin)).count() > 1 {
        let message = "standard input can't be two things: give one of the files a name";
        return Err(CliError::new(ErrorCode::BadRequest, message).exit(crate::output::USAGE));
    }
    // Before a secret is read: whoever has to type it should not do it in vain.
    let client = context.running().await?;
    connectors::must_be_there(context, MATRIX)?;
    let credential = match (&add.password_file, &add.token_file) {
        (Some(file), _) => Credential::Password(secret(context, file, "password")?),
        (None, Some(file)) => Credential::Token(secret(context, file, "access token")?),
        (None, None) => {
            let message = "say what it logs in with: --password-file or --token-file";
            return Err(CliError::new(ErrorCode::BadRequest, message).exit(crate::output::USAGE));
        }
    };
    let recovery_key = add.recovery_key_file.as_deref();
    let recovery_key =
        recovery_key.map(|file| secret(context, file, "recovery key")).transpose()?;
    connectors::warn_of_listeners(context, &add.homeserver);
    let new = AddConnector {
        address: add.homeserver,
        account: add.user,
        credential,
        recovery_key,
        encrypted: !add.plain_rooms,
        owner: None,
        webhook: None,
        gateway: None,
    };
    let added: AddedConnector = client.post(&MATRIX.connectors(), &new).await?;
    context.output.result(&added, || report::added(&added))
}

async fn forget(context: &Context, reset: Reset) -> Result<(), CliError> {
    let client = context.running().await?;
    let mode = match reset.mode {
        Mode::LocalOnly => ResetMode::LocalOnly,
        Mode::ServerLeaveForget => ResetMode::ServerLeaveForget,
    };
    if !reset.dry_run && !reset.yes {
        confirm(&reset.account, mode)?;
    }
    let path = format!("{}/reset", MATRIX.path(&reset.account));
    let asked = ResetConnector { mode, dry_run: reset.dry_run };
    let done: ResetReport = client.post_within(LONG, &path, &asked).await?;
    context.output.result(&done, || report::reset(&done))
}

/// Removes an account for good: it leaves its rooms first, while it still can.
async fn remove(context: &Context, account: &str, stay: bool, yes: bool) -> Result<(), CliError> {
    let client = context.running().await?;
    if !yes {
        let rooms = if stay {
            "It stays in its rooms on the homeserver, where nobody answers any more"
        } else {
            "It leaves every room it is in, on the homeserver too; people keep them until they leave them"
        };
        let what = format!(
            "This logs {account} out and destroys its keys: what was said in encrypted rooms is not read by it again \
             without its recovery key. {rooms}. Chats and files stay here."
        );
        connectors::typed_again(account, "the removal", &what, "say it with --yes")?;
    }
    if !stay {
        let path = format!("{}/reset", MATRIX.path(account));
        let asked = ResetConnector { mode: ResetMode::ServerLeaveForget, dry_run: false };
        let done: Result<ResetReport, CliError> = client.post_within(LONG, &path, &asked).await;
        let stays = "; --stay removes the account without leaving its rooms";
        let done = done.map_err(|error| error.fix(format!("try again{stays}")))?;
        if let Some(failed) = done.failed.first() {
            let (count, room, why) = (done.failed.len(), &failed.room, &failed.why);
            let message = format!("{count} rooms could not be left, such as {room}: {why}");
            let fix = format!("nothing was removed: try again{stays}");
            return Err(CliError::new(ErrorCode::Busy, message).fix(fix));
        }
        context.output.note(&format!("{} rooms were left.", done.left.len()));
    }
    connectors::forget(context, MATRIX, account).await
}

fn confirm(account: &str, mode: ResetMode) -> Result<(), CliError> {
    let what = match mode {
        ResetMode::LocalOnly => format!(
            "This forgets here which rooms show which chats of {account}. Chats, files and rooms stay; what \
             is forgotten is found again on the homeserver by the next start or `cloister matrix reconcile`."
        ),
        ResetMode::ServerLeaveForget => format!(
            "This makes {account} leave and forget every room it is in, on the homeserver too. It can't be \
             undone: the bot does not come back to them, and people keep them in their clients until they \
             leave them. Chats and files stay here; who starts a direct chat with the bot gets new rooms."
        ),
    };
    connectors::typed_again(
        account,
        "the reset",
        &what,
        "say it with --yes; --dry-run says what would be done",
    )
}

/// Has who is there type the account once more.
#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
