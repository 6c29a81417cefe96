//! What an operator gives for a bot: looked at, then tried, before anything is kept.

use std::time::Duration;

use cloister_kit::adding::{bad, not_answered, token};
use cloister_kit::words::{clean, short};
use cloister_kit::{PlaneError, WayOut};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::AddConnector;
use serde::Deserialize;

use crate::bot::BotSettings;
use crate::rest::{ApiUrl, Fault, NoAddress, Request, Rest, at};
use crate::wire::{self, snowflake};

/// Where the API is.
const DISCORD: &str = "https://discord.com";
/// The longest token that is taken.
const LONGEST_TOKEN: usize = 200;
const TOKEN_FIX: &str = "on https://discord.com/developers/applications choose the application, then Bot, press \"Reset Token\", \
     and put what it shows into the file, without `Bot` before it";

/// What is to be connected.
pub(super) struct Wanted {
    token: String,
    api: Option<(ApiUrl, String)>,
    gateway: Option<String>,
}

impl std::fmt::Debug for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wanted").field("api", &self.api).finish_non_exhaustive()
    }
}

/// Which bot a token is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) user: String,
    pub(super) application: String,
    pub(super) name: String,
}

/// An application, as it says itself.
#[derive(Deserialize)]
struct Application {
    id: String,
}

impl Wanted {
    pub(super) fn of(new: &AddConnector) -> Result<Self, PlaneError> {
        let token = token(new, "Discord", TOKEN_FIX)?;
        let token = token.strip_prefix("Bot ").unwrap_or(token).trim().to_owned();
        let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        let api = match new.address.trim() {
            "" | DISCORD => None,
            given => Some(server(given)?),
        };
        // Another server knows what its own tokens look like.
        let whole = api.is_some() && !token.is_empty() || token.contains('.');
        if token.len() > LONGEST_TOKEN || !whole || !token.bytes().all(letter) {
            let message = "that is no bot token: one is three words with dots between them";
            return Err(bad(message, TOKEN_FIX));
        }
        let only_discord = "a Discord bot serves everybody who is linked, and is called by nobody";
        if new.owner.is_some() || new.webhook.is_some() {
            return Err(bad(only_discord, "leave out the owner and the webhook"));
        }
        let gateway = new.gateway.as_deref().map(gateway).transpose()?;
        Ok(Self { token, api, gateway })
    }

    /// For the one who uses it.
    pub(super) fn token(&self) -> &str {
        &self.token
    }

    pub(super) fn address(&self) -> String {
        self.api.as_ref().map_or_else(|| DISCORD.to_owned(), |(_, url)| url.clone())
    }

    pub(super) fn settings(&self, known: &Known) -> BotSettings {
        BotSettings {
            user: known.user.clone(),
            application: known.application.clone(),
            name: known.name.clone(),
            api_url: self.api.as_ref().map(|(_, url)| url.clone()),
            gateway_url: self.gateway.clone(),
        }
    }

    /// Asks Discord whose token it is.
    pub(super) async fn log_in(
        &self,
        (within, way_out): (Duration, Option<&WayOut>),
    ) -> Result<Known, PlaneError> {
        let rest = Rest::new(&self.token, self.api.as_ref().map(|(api, _)| api), way_out)?;
        let me = rest.read::<wire::Account>(within, Request::get(at::me())).await;
        let me = me.map_err(|fault| not_known(&fault, &self.address()))?;
        let application = Request::get(at::own_application());
        let application = rest.read::<Application>(within, application).await;
        let application = application.map_err(|fault| not_known(&fault, &self.address()))?;
        if !me.bot || snowflake(&me.id).is_none() || snowflake(&application.id).is_none() {
            return Err(bad("the token is not that of a bot", TOKEN_FIX));
        }
        let digits = me.discriminator.as_deref().filter(|d| !matches!(*d, "" | "0" | "0000"));
        let name = short(clean(&me.username).trim(), 40);
        let name = digits.map_or_else(|| name.clone(), |d| format!("{name}#{}", short(d, 4)));
        Ok(Known { user: me.id, application: application.id, name })
    }
}

/// The address of a server that speaks Discord's API, as it is used and as it is kept.
fn server(given: &str) -> Result<(ApiUrl, String), PlaneError> {
    let api = ApiUrl::parse(given).map_err(|wrong| match wrong {
        NoAddress::NoUrl => bad(
            format!("{given:?} is no address of an API server"),
            "give the address alone, such as http://127.0.0.1:8080",
        ),
        NoAddress::Version(version) => bad(
            format!("{given:?} is version {version} of Discord's API; only v10 is spoken here"),
            "give the address without `/api` and the version, or with `/api/v10`",
        ),
    })?;
    let scheme = if api.plain { "http" } else { "https" };
    let url = format!("{scheme}://{}", api.host);
    Ok((api, url))
}

fn gateway(given: &str) -> Result<String, PlaneError> {
    let given = given.trim().trim_end_matches('/');
    let rest = given.strip_prefix("ws://").or_else(|| given.strip_prefix("wss://"));
    // It becomes the beginning of an address.
    let fit =
        |c: char| c.is_ascii_graphic() && !matches!(c, '?' | '#' | '@' | '"' | '\\' | '<' | '>');
    match rest {
        Some(rest) if !rest.is_empty() && rest.chars().all(fit) => Ok(given.to_owned()),
        Some(_) | None => Err(bad(
            format!("{given:?} is no address of a gateway"),
            "give the address alone, such as ws://127.0.0.1:8080",
        )),
    }
}

/// An account that was given must be the one that the token is of.
pub(super) fn check_account(given: &str, known: &Known) -> Result<(), PlaneError> {
    let given = given.trim();
    if given.is_empty() || given == known.user || given.eq_ignore_ascii_case(&known.name) {
        return Ok(());
    }
    let message = format!("the token is that of {} ({}), not of {given}", known.name, known.user);
    Err(bad(message, "leave the account out"))
}

/// Why the bot could not be asked who it is.
fn not_known(fault: &Fault, address: &str) -> PlaneError {
    match fault {
        Fault::Unauthorized => {
            let message = "Discord does not take the token: it is mistyped, or was reset";
            PlaneError::with_fix(ErrorCode::Refused, message, TOKEN_FIX)
        }
        Fault::Wait(wait) => PlaneError::busy("Discord asks to wait", *wait),
        fault => not_answered(address, fault),
    }
}

#[cfg(test)]
#[path = "adding_tests.rs"]
mod tests;
