//! The surface as a whole: every bot of ours on Discord, and what an operator does with them.

mod adding;
mod view;

use std::sync::Arc;

use cloister_kit::adding::{NewBot, connect, forget};
use cloister_kit::{Host, Hosted, Plane, PlaneError};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{AddConnector, ReconcileReport, ResetMode, ResetReport};
use cloister_protocol::surface::{Added, Connector, Connectors, PutConnector};

use super::SURFACE;
use super::bot::Bot;
use super::gateway::{Account, fresh_position};
use adding::Wanted;
use cloister_protocol::surface::options::DiscordOptions;

/// Every bot of ours on Discord.
pub struct DiscordHost {
    hosted: Hosted<Self>,
    options: DiscordOptions,
}

impl DiscordHost {
    pub fn new(plane: Plane, options: DiscordOptions) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self { hosted: Hosted::new(plane, itself), options })
    }
}

impl Host for DiscordHost {
    type Bot = Bot;

    fn hosted(&self) -> &Hosted<Self> {
        &self.hosted
    }

    /// Connects a bot in the background.
    fn connect(&self, connector: Connector) {
        let id = connector.id;
        let account = Account {
            plane: self.hosted.plane.clone(),
            options: self.options.clone(),
            connector,
            place: self.hosted.bots.place(id),
        };
        self.hosted.connections.run(id, move |stop, tracker| account.clone().run(stop, tracker));
    }

    async fn add_account(&self, new: AddConnector, by: String) -> Result<Added, PlaneError> {
        let _one_at_a_time = self.hosted.connections.one_at_a_time().await;
        let wanted = Wanted::of(&new)?;
        let known =
            wanted.log_in((self.options.request_timeout(), self.hosted.plane.way_out())).await?;
        adding::check_account(&new.account, &known)?;
        let all = self.hosted.plane.call(Connectors {}).await?;
        let there = all.into_iter().find(|connector| connector.account == known.user);
        let row = PutConnector {
            account: known.user.clone(),
            address: wanted.address(),
            settings: serde_json::to_value(wanted.settings(&known)).unwrap_or_default(),
            by,
        };
        let begins_at = Some(fresh_position(self.hosted.plane.now_ms()));
        connect(self, NewBot { row, token: wanted.token(), there, begins_at }).await
    }

    /// A bot by its number, or by its name.
    async fn find(&self, account: &str) -> Result<Connector, PlaneError> {
        let account = account.trim();
        let all = self.hosted.plane.call(Connectors {}).await?;
        let named = |connector: &&Connector| {
            view::settings(connector).name.eq_ignore_ascii_case(account.trim_start_matches('@'))
        };
        match all.iter().find(|connector| connector.account == account) {
            Some(connector) => Ok(connector.clone()),
            None => match all.iter().filter(named).collect::<Vec<_>>().as_slice() {
                [one] => Ok((*one).clone()),
                _ => Err(PlaneError::with_fix(
                    ErrorCode::NotFound,
                    format!("there is no {SURFACE} account {account}"),
                    format!("`cloister {SURFACE} list` shows what there is"),
                )),
            },
        }
    }

    async fn remove_account(&self, account: String, by: String) -> Result<(), PlaneError> {
        let _one_at_a_time = self.hosted.connections.one_at_a_time().await;
        let connector = self.find(&account).await?.id;
        self.hosted.disconnect(connector).await;
        forget(self, connector, by).await
    }

    async fn facts(&self, connector: &Connector) -> Vec<(String, String)> {
        view::facts(connector)
    }

    async fn reconcile_account(&self, account: &str) -> Result<ReconcileReport, PlaneError> {
        self.find(account).await?;
        Err(PlaneError::with_fix(
            ErrorCode::BadRequest,
            "Discord tells of every channel by itself: there is nothing to compare",
            "`cloister discord status` shows how it is doing",
        ))
    }

    async fn reset_account(
        &self,
        account: &str,
        _how: (ResetMode, bool),
        _by: &str,
    ) -> Result<ResetReport, PlaneError> {
        self.find(account).await?;
        Err(PlaneError::with_fix(
            ErrorCode::BadRequest,
            "Discord has nothing to reset",
            "`cloister discord rm` and `add` begin anew; threads are deleted in the app",
        ))
    }
}
