//! `cloister matrix`: bot accounts of ours on Matrix.

mod report;

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use axum::http::Method;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{
    AddConnector, AddedConnector, ConnectorState, ConnectorView, Credential, Key, ReconcileReport,
    ResetConnector, ResetMode, ResetReport,
};

use super::{Context, questions};
use crate::args::matrix::{Add, Matrix, Mode, Reset};
use crate::output::CliError;

const CONNECTORS: &str = "/admin/v1/surfaces/matrix/connectors";
/// The longest password, token or key that makes sense.
const MAX_SECRET: u64 = 64 << 10;
/// A homeserver that limits us may let us leave a room every few seconds, and there may be thousands.
const LONG: Duration = Duration::from_secs(3600);

pub(super) async fn run(context: Context, command: Matrix) -> Result<ExitCode, CliError> {
    match command {
        Matrix::Add(new) => add(&context, new).await?,
        Matrix::List => {
            let (accounts, runs) = accounts(&context).await?;
            context.output.result(&accounts, || report::list(&accounts, runs))?;
        }
        Matrix::Status { account } => return status(&context, account.as_deref()).await,
        Matrix::Rm { account } => {
            let client = context.running().await?;
            let left: Vec<ConnectorView> =
                client.call(Method::DELETE, &path(&account), None::<&()>).await?;
            context.output.result(&left, || report::removed(&account))?;
        }
        Matrix::Reconcile { account } => {
            let client = context.running().await?;
            let path = format!("{}/reconcile", path(&account));
            let found: ReconcileReport = client.post_within(LONG, &path, &()).await?;
            context.output.result(&found, || report::reconciled(&found))?;
        }
        Matrix::Reset(reset) => forget(&context, reset).await?,
        Matrix::Import { file, dry_run } => {
            return super::matrix_import::import(&context, &file, dry_run).await;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Where an account is in the admin API. An id may hold what a path may not.
fn path(account: &str) -> String {
    let mut path = format!("{CONNECTORS}/");
    for byte in account.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~@:".contains(&byte) {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
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
    if is_open_to_listeners(&add.homeserver) {
        context.output.note(&format!(
            "warning: {} is not encrypted: whoever is on the way reads what the account logs in with",
            add.homeserver
        ));
    }
    let new = AddConnector {
        address: add.homeserver,
        account: add.user,
        credential,
        recovery_key,
        encrypted: !add.plain_rooms,
    };
    let added: AddedConnector = client.post(CONNECTORS, &new).await?;
    context.output.result(&added, || report::added(&added))
}

/// Whether what is sent to an address can be read on the way.
fn is_open_to_listeners(address: &str) -> bool {
    let Some(rest) = address.strip_prefix("http://") else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    let host = host.strip_prefix('[').map_or_else(
        || host.split(':').next().unwrap_or_default(),
        |rest| rest.split(']').next().unwrap_or_default(),
    );
    let loopback = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    host != "localhost" && !loopback
}

/// A secret from a file, or from standard input. It may hold spaces; the end of its line is none of it.
fn secret(context: &Context, file: &Path, what: &str) -> Result<Key, CliError> {
    let mut text = String::new();
    let shown = if file == Path::new("-") {
        if std::io::stdin().is_terminal() {
            return questions::prompt_secret(&format!("The {what} (it is not shown): "));
        }
        let read = std::io::stdin().lock().take(MAX_SECRET).read_to_string(&mut text);
        read.map_err(CliError::io("standard input could not be read"))?;
        "standard input".to_owned()
    } else {
        let shown = file.display().to_string();
        let failed = format!("{shown} could not be read");
        let opened = std::fs::File::open(file).map_err(CliError::io(failed.clone()))?;
        let meta = opened.metadata().map_err(CliError::io(failed.clone()))?;
        if std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o077 != 0 {
            let warning =
                format!("warning: others can read {shown}; `chmod 600 {shown}` ends that");
            context.output.note(&warning);
        }
        opened.take(MAX_SECRET).read_to_string(&mut text).map_err(CliError::io(failed))?;
        shown
    };
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() || text.contains(['\r', '\n']) {
        let message = format!("{shown} does not hold one {what}");
        return Err(CliError::new(ErrorCode::BadRequest, message)
            .fix(format!("it must hold the {what} on one line, and nothing else")));
    }
    Ok(Key::new(text))
}

/// Every account, with a word about it where nothing runs; and whether something does.
async fn accounts(context: &Context) -> Result<(Vec<ConnectorView>, bool), CliError> {
    let client = context.client().await?;
    let mut accounts: Vec<ConnectorView> = client.get(CONNECTORS).await?;
    let runs = client.line().is_some();
    if !runs {
        for account in &mut accounts {
            account.problem = Some("no control plane runs: start it with `cloister up`".to_owned());
        }
    }
    Ok((accounts, runs))
}

/// Exits with 1 if somebody has to do something.
async fn status(context: &Context, account: Option<&str>) -> Result<ExitCode, CliError> {
    let (mut accounts, runs) = accounts(context).await?;
    if let Some(account) = account {
        accounts.retain(|view| view.account == account);
        if accounts.is_empty() {
            let message = format!("{account} is not connected here");
            return Err(CliError::new(ErrorCode::NotFound, message).fix(
                "`cloister matrix list` shows which are, `cloister matrix add` connects one",
            ));
        }
    }
    context.output.result(&accounts, || report::status(&accounts, runs))?;
    let act = accounts.iter().any(|view| view.state == ConnectorState::LoggedOut);
    Ok(if act { ExitCode::FAILURE } else { ExitCode::SUCCESS })
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
    let path = format!("{}/reset", path(&reset.account));
    let asked = ResetConnector { mode, dry_run: reset.dry_run };
    let done: ResetReport = client.post_within(LONG, &path, &asked).await?;
    context.output.result(&done, || report::reset(&done))
}

fn confirm(account: &str, mode: ResetMode) -> Result<(), CliError> {
    if !std::io::stdin().is_terminal() {
        let message = format!("nobody is here to confirm the reset of {account}");
        return Err(CliError::new(ErrorCode::Refused, message)
            .fix("say it with --yes; --dry-run says what would be done"));
    }
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
    if questions::ask(&format!("{what}\nType the account to go on: "))? == account {
        Ok(())
    } else {
        let message = "that is not the account: nothing was changed";
        Err(CliError::new(ErrorCode::Cancelled, message))
    }
}

#[cfg(test)]
#[path = "matrix_tests.rs"]
mod tests;
