//! What `cloister matrix`, `telegram`, `discord` and `connector` have in common: bot accounts of ours on a surface,
//! what they log in with, and how they are doing.

pub(super) mod report;

use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;

use axum::http::Method;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{ConnectorState, ConnectorView, Key};

use super::{Context, questions};
use crate::client::Client;
use crate::output::CliError;

/// The longest password, token or key that makes sense.
const MAX_SECRET: u64 = 64 << 10;

/// A surface, in the words that people know it by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surface {
    /// As in `cloister NAME` or `cloister connector … NAME`, and in the admin API.
    pub(super) name: &'static str,
    /// As it calls itself.
    pub(super) title: &'static str,
    /// What is at an account's address.
    pub(super) server: &'static str,
    /// What shows a chat there.
    pub(super) places: &'static str,
    /// How an account is connected again that was logged out; `{}` is the account.
    pub(super) again: &'static str,
    /// What becomes of one that is removed.
    pub(super) gone: &'static str,
    /// Whether what is known is compared with what the server has.
    pub(super) compares: bool,
    /// Whether somebody else wrote its connector.
    pub(super) own: bool,
}

pub(super) const MATRIX: Surface = Surface {
    name: "matrix",
    title: "Matrix",
    server: "homeserver",
    places: "rooms",
    again: "cloister matrix add --user {} …",
    gone: "logged out and forgotten, with its keys",
    compares: true,
    own: false,
};

pub(super) const TELEGRAM: Surface = Surface {
    name: "telegram",
    title: "Telegram",
    server: "server",
    places: "conversations",
    again: "cloister telegram add --token-file FILE",
    gone: "disconnected and forgotten, with its token",
    compares: false,
    own: false,
};

pub(super) const DISCORD: Surface = Surface {
    name: "discord",
    title: "Discord",
    server: "server",
    places: "conversations",
    again: "cloister discord add --token-file FILE",
    gone: "disconnected and forgotten, with its token",
    compares: false,
    own: false,
};

/// Every surface that has connectors.
pub(super) const ALL: [Surface; 3] = [MATRIX, TELEGRAM, DISCORD];

impl Surface {
    /// One that is named in `[connectors.NAME]`.
    pub(super) fn own(name: &str) -> Self {
        // One name for the one command that this process is for.
        let name: &'static str = Box::leak(Box::<str>::from(name));
        Self {
            name,
            title: name,
            server: "server",
            places: "conversations",
            again: "",
            gone: "disconnected and forgotten",
            compares: false,
            own: true,
        }
    }

    /// What is typed to `list`, `add` and so on its accounts.
    pub(super) fn typed(self, what: &str) -> String {
        let name = self.name;
        if self.own {
            format!("cloister connector {what} {name}")
        } else {
            format!("cloister {name} {what}")
        }
    }

    /// Where its accounts are in the admin API.
    pub(super) fn connectors(self) -> String {
        format!("/admin/v1/surfaces/{}/connectors", self.name)
    }

    /// Where one account is in the admin API. An id may hold what a path may not.
    pub(super) fn path(self, account: &str) -> String {
        let mut path = format!("{}/", self.connectors());
        for byte in account.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~@:".contains(&byte) {
                path.push(char::from(byte));
            } else {
                path.push_str(&format!("%{byte:02X}"));
            }
        }
        path
    }

    /// How an account is connected again.
    pub(super) fn connect_again(self, account: &str) -> String {
        if self.own {
            return format!("cloister connector add {} --account {account} …", self.name);
        }
        self.again.replace("{}", account)
    }
}

pub(super) async fn list(context: &Context, surface: Surface) -> Result<(), CliError> {
    let (accounts, runs) = accounts(context, surface).await?;
    context.output.result(&accounts, || report::list(surface, &accounts, runs))
}

/// Exits with 1 if somebody has to do something.
pub(super) async fn status(
    context: &Context,
    surface: Surface,
    account: Option<&str>,
) -> Result<ExitCode, CliError> {
    let (mut accounts, runs) = accounts(context, surface).await?;
    if let Some(typed) = account {
        accounts.retain(|view| is_meant(view, typed));
        if accounts.is_empty() {
            return Err(not_connected(surface, typed));
        }
    }
    context.output.result(&accounts, || report::status(surface, &accounts, runs))?;
    let act = accounts.iter().any(|view| view.state == ConnectorState::LoggedOut);
    Ok(if act { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Forgets an account with its secret, once whoever is here has typed which, or said `--yes`.
pub(super) async fn remove(
    context: &Context,
    surface: Surface,
    (typed, yes): (&str, bool),
) -> Result<(), CliError> {
    meant(&context.running().await?, surface, typed).await?;
    if !yes {
        let what = format!(
            "This disconnects {typed} and destroys what it logs in with: to connect it again that has to be given \
             again. What it has not read until then it may never read. Chats and files stay here, and what was said \
             stays on {}.",
            surface.title
        );
        typed_again(typed, "the removal", &what, "say it with --yes")?;
    }
    forget(context, surface, typed).await
}

pub(super) async fn forget(
    context: &Context,
    surface: Surface,
    typed: &str,
) -> Result<(), CliError> {
    let client = context.running().await?;
    let account = meant(&client, surface, typed).await?;
    let left: Vec<ConnectorView> =
        client.call(Method::DELETE, &surface.path(&account), None::<&()>).await?;
    context.output.result(&left, || report::removed(surface, &account))
}

/// The account that was typed.
async fn meant(client: &Client, surface: Surface, typed: &str) -> Result<String, CliError> {
    let known: Vec<ConnectorView> = client.get(&surface.connectors()).await?;
    let account = known.into_iter().find(|view| is_meant(view, typed)).map(|view| view.account);
    account.ok_or_else(|| not_connected(surface, typed))
}

/// Goes on once the account was typed once more; where nobody can, it is refused with what to say instead.
pub(super) fn typed_again(
    account: &str,
    deed: &str,
    what: &str,
    fix: &str,
) -> Result<(), CliError> {
    if !std::io::stdin().is_terminal() {
        let message = format!("nobody is here to confirm {deed} of {account}");
        return Err(CliError::new(ErrorCode::Refused, message).fix(fix));
    }
    if questions::ask(&format!("{what}\nType the account to go on: "))? == account {
        Ok(())
    } else {
        let message = "that is not the account: nothing was changed";
        Err(CliError::new(ErrorCode::Cancelled, message))
    }
}

fn not_connected(surface: Surface, typed: &str) -> CliError {
    let (list, add) = (surface.typed("list"), surface.typed("add"));
    CliError::new(ErrorCode::NotFound, format!("{typed} is not connected here"))
        .fix(format!("`{list}` shows which are, `{add}` connects one"))
}

/// Whether an account is the one that was typed: by its id, or by the name that the surface shows of it.
fn is_meant(view: &ConnectorView, typed: &str) -> bool {
    let named = |(fact, value): &(String, String)| {
        fact == "name"
            && value.trim_start_matches('@').eq_ignore_ascii_case(typed.trim_start_matches('@'))
    };
    view.account == typed || view.facts.iter().any(named)
}

/// Every account, with a word about it where nothing runs; and whether something does.
async fn accounts(
    context: &Context,
    surface: Surface,
) -> Result<(Vec<ConnectorView>, bool), CliError> {
    let client = context.client().await?;
    let mut accounts: Vec<ConnectorView> = client.get(&surface.connectors()).await?;
    let runs = client.line().is_some();
    if !runs {
        for account in &mut accounts {
            account.problem = Some("no control plane runs: start it with `cloister up`".to_owned());
        }
    }
    Ok((accounts, runs))
}

/// Says so if what is sent to an address can be read on the way.
pub(super) fn warn_of_listeners(context: &Context, address: &str) {
    if is_open_to_listeners(address) {
        context.output.note(&format!(
            "warning: {address} is not encrypted: whoever is on the way reads what the account logs in with"
        ));
    }
}

/// Whether what is sent to an address can be read on the way.
fn is_open_to_listeners(address: &str) -> bool {
    let plain = address.strip_prefix("http://").or_else(|| address.strip_prefix("ws://"));
    let Some(rest) = plain else { return false };
    let host = rest.split('/').next().unwrap_or_default();
    let host = host.strip_prefix('[').map_or_else(
        || host.split(':').next().unwrap_or_default(),
        |rest| rest.split(']').next().unwrap_or_default(),
    );
    let loopback = host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    host != "localhost" && !loopback
}

/// Before a secret is read for it: whoever has to type one should not do it in vain.
pub(super) fn must_be_there(context: &Context, surface: Surface) -> Result<(), CliError> {
    if context.is_remote() {
        return Ok(());
    }
    crate::wiring::missing_connector(&context.data, surface.name).map_or(Ok(()), Err)
}

/// A secret from a file, or from standard input. It may hold spaces; the end of its line is none of it.
pub(super) fn secret(context: &Context, file: &Path, what: &str) -> Result<Key, CliError> {
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

/// A bot's token: one word, which `looks_right`. What is wrong with it is said without showing it.
pub(super) fn token(
    context: &Context,
    file: &Path,
    looks_right: fn(&str) -> bool,
    like: &str,
) -> Result<Key, CliError> {
    let token = secret(context, file, "bot token")?;
    checked_token(token, looks_right).map_err(|wrong| {
        let message = format!("{} does not hold a bot token: {wrong}", file.display());
        CliError::new(ErrorCode::BadRequest, message).fix(like)
    })
}

fn checked_token(token: Key, looks_right: fn(&str) -> bool) -> Result<Key, &'static str> {
    let text = token.expose();
    if text.contains(char::is_whitespace) {
        return Err("there are spaces in it");
    }
    if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err("there are characters in it that no token has");
    }
    if !looks_right(text) {
        return Err("it does not look like one");
    }
    Ok(token)
}

#[cfg(test)]
#[path = "connectors_tests.rs"]
mod tests;
