//! The surface as a whole: every bot of ours on Discord, and what an operator does with them.

mod adding;
mod view;

use std::sync::{Arc, Weak};

use cloister_kit::{Bots, Connections, Host, Plane, PlaneError};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{AddConnector, Key, ReconcileReport, ResetMode, ResetReport};
use cloister_protocol::surface::{
    Added, Connector, ConnectorId, Connectors, ForgetSecret, KeepSecret, PutConnector,
    RemoveConnector, SetPosition,
};

use super::SURFACE;
use super::bot::Bot;
use super::gateway::{Account, fresh_position};
use adding::Wanted;
use cloister_protocol::surface::options::DiscordOptions;

/// Every bot of ours on Discord.
pub struct DiscordHost {
    plane: Plane,
    options: DiscordOptions,
    connections: Connections,
    bots: Bots<Bot>,
    itself: Weak<Self>,
}

impl DiscordHost {
    pub fn new(plane: Plane, options: DiscordOptions) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self {
            connections: Connections::new(plane.clone()),
            plane,
            options,
            bots: Bots::default(),
            itself: itself.clone(),
        })
    }

    async fn disconnect(&self, id: ConnectorId) {
        self.connections.end(id).await;
        self.bots.take(id);
    }

    async fn keep(
        &self,
        connector: &Connector,
        wanted: &Wanted,
        by: &str,
    ) -> Result<(), PlaneError> {
        let secret = KeepSecret {
            connector: connector.id,
            address: wanted.address(),
            value: Key::new(wanted.token()),
            by: by.to_owned(),
        };
        self.plane.call(secret).await?;
        if connector.position.is_none() {
            let position = fresh_position(self.plane.now_ms());
            self.plane.call(SetPosition { connector: connector.id, position }).await?;
        }
        Ok(())
    }
}

impl Host for DiscordHost {
    fn plane(&self) -> &Plane {
        &self.plane
    }

    fn connections(&self) -> &Connections {
        &self.connections
    }

    fn itself(&self) -> &Weak<Self> {
        &self.itself
    }

    /// Connects a bot in the background.
    fn connect(&self, connector: Connector) {
        let id = connector.id;
        let account = Account {
            plane: self.plane.clone(),
            options: self.options.clone(),
            connector,
            place: self.bots.place(id),
        };
        self.connections.run(id, move |stop, tracker| account.clone().run(stop, tracker));
    }

    async fn add_account(&self, new: AddConnector, by: String) -> Result<Added, PlaneError> {
        let _one_at_a_time = self.connections.one_at_a_time().await;
        let wanted = Wanted::of(&new)?;
        let known = wanted.log_in((self.options.request_timeout(), self.plane.way_out())).await?;
        adding::check_account(&new.account, &known)?;
        let all = self.plane.call(Connectors {}).await?;
        let there = all.into_iter().find(|connector| connector.account == known.user);
        let row = PutConnector {
            account: known.user.clone(),
            address: wanted.address(),
            settings: serde_json::to_value(wanted.settings(&known)).unwrap_or_default(),
            by: by.clone(),
        };
        if let Some(connector) = &there {
            self.disconnect(connector.id).await;
        }
        let connector = self.plane.call(row).await?;
        if let Err(error) = self.keep(&connector, &wanted, &by).await {
            // Nothing is kept of one that can't be connected; one that was there lives on as it was.
            match there {
                Some(connector) => self.connect(connector),
                None => self.plane.call(RemoveConnector { connector: connector.id, by }).await?,
            }
            return Err(error);
        }
        self.connect(connector.clone());
        Ok(Added { connector, recovery_key: None })
    }

    /// A bot by its number, or by its name.
    async fn find(&self, account: &str) -> Result<Connector, PlaneError> {
        let account = account.trim();
        let all = self.plane.call(Connectors {}).await?;
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
        let _one_at_a_time = self.connections.one_at_a_time().await;
        let connector = self.find(&account).await?.id;
        self.disconnect(connector).await;
        self.plane.call(ForgetSecret { connector, by: by.clone() }).await?;
        self.plane.call(RemoveConnector { connector, by }).await?;
        Ok(())
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
