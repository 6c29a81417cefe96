//! What an operator gives for a bot, looked at before anything is done with it.

use cloister_kit::PlaneError;
use cloister_kit::adding::{bad, not_answered, token};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::AddConnector;
use reqwest::Url;

use crate::session::api::TELEGRAM;
use crate::session::{Fault, Me};

/// The longest token that is taken.
const LONGEST_TOKEN: usize = 200;
/// The fewest letters after the colon in a token of Telegram's own.
const SHORTEST_SECRET: usize = 8;

/// What is to be connected.
pub(super) struct Wanted {
    pub(super) address: String,
    token: String,
    pub(super) owner: Option<String>,
    pub(super) webhook: Option<String>,
}

impl std::fmt::Debug for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wanted").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Wanted {
    pub(super) fn of(new: &AddConnector) -> Result<Self, PlaneError> {
        let token = token(new, "Telegram", TOKEN_FIX)?.to_owned();
        let address = match new.address.trim() {
            "" => TELEGRAM.to_owned(),
            given => server(given)?,
        };
        if !is_token(&token, &address) {
            let message = "that is no bot token: one looks like 123456789:AAH… and has no spaces";
            return Err(bad(message, TOKEN_FIX));
        }
        let webhook = new.webhook.as_deref().map(|given| public(given, &address)).transpose()?;
        let owner = new.owner.as_deref().map(|owner| owner.trim().to_owned());
        Ok(Self { address, token, owner, webhook })
    }

    /// For the one who uses it.
    pub(super) fn token(&self) -> &str {
        &self.token
    }
}

const TOKEN_FIX: &str = "@BotFather on Telegram gives it: /newbot, or /token for a bot that is there; put it into the file as it is";

/// The bot's number, a colon, and letters that can stand in an address: it becomes part of one. How many letters there
/// must be, another server than Telegram's says itself.
fn is_token(token: &str, server_at: &str) -> bool {
    let Some((number, rest)) = token.split_once(':') else { return false };
    let letters = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    token.len() <= LONGEST_TOKEN
        && !number.is_empty()
        && number.bytes().all(|b| b.is_ascii_digit())
        && rest.len() >= if server_at == TELEGRAM { SHORTEST_SECRET } else { 1 }
        && rest.bytes().all(letters)
}

/// The address of a Bot API server.
fn server(given: &str) -> Result<String, PlaneError> {
    let fix = "give the address alone, such as http://127.0.0.1:8081";
    let url = Url::parse(given);
    let url = url.map_err(|error| bad(format!("{given:?} is no address: {error}"), fix))?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.host_str().is_some()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    if !plain {
        return Err(bad(format!("{given:?} is not the address of a Bot API server"), fix));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// The address that updates are delivered to. Telegram itself takes nothing but https; a server of one's own takes
/// what it reaches.
fn public(given: &str, server_at: &str) -> Result<String, PlaneError> {
    let fix = "give the address that this is reached at from outside, such as https://cloister.example.org";
    let address = server(given.trim())?;
    if server_at == TELEGRAM && !address.starts_with("https://") {
        return Err(bad("Telegram delivers to https:// addresses alone", fix));
    }
    Ok(address)
}

/// What an account is called: the bot's name, or its number.
pub(super) fn account_of(me: &Me) -> String {
    match &me.username {
        Some(username) => format!("@{username}"),
        None => me.id.to_string(),
    }
}

/// An account that was given must be the one that the token is of.
pub(super) fn check_account(given: &str, account: &str) -> Result<(), PlaneError> {
    let given = given.trim();
    let same = |one: &str, other: &str| {
        one.trim_start_matches('@').eq_ignore_ascii_case(other.trim_start_matches('@'))
    };
    if given.is_empty() || same(given, account) {
        return Ok(());
    }
    Err(bad(format!("the token is that of {account}, not of {given}"), "leave the account out"))
}

/// Why the bot could not be asked who it is.
pub(super) fn not_known(fault: &Fault, address: &str) -> PlaneError {
    match fault {
        Fault::Unauthorized => {
            let message = "Telegram does not take the token: it is mistyped, or was revoked";
            PlaneError::with_fix(ErrorCode::Refused, message, TOKEN_FIX)
        }
        Fault::Wait(wait) => PlaneError::busy("Telegram asks to wait", *wait),
        fault => not_answered(address, fault),
    }
}

#[cfg(test)]
#[path = "adding_tests.rs"]
mod tests;
