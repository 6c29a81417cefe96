//! The surface as a whole: every bot of ours on Discord, and what an operator does with them.

mod adding;
mod view;

use std::sync::{Arc, Weak};

use cloister_control::hosting::{Bots, Connections, Host};
use cloister_control::{Control, ControlError, credentials};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{
    AddConnector, AddedConnector, ReconcileReport, ResetMode, ResetReport,
};
use cloister_store::StoreError;
use cloister_store::connectors::{Connector, ConnectorId, NewConnector};
use cloister_vault::SecretValue;

use super::SURFACE;
use super::bot::Bot;
use super::gateway::{Account, fresh_position};
use super::options::DiscordOptions;
use adding::Wanted;

/// Every bot of ours on Discord.
pub struct DiscordHost {
    control: Control,
    options: DiscordOptions,
    connections: Connections,
    bots: Bots<Bot>,
    itself: Weak<Self>,
}

impl DiscordHost {
    pub fn new(control: Control, options: DiscordOptions) -> Arc<Self> {
        // The libraries of this surface ask for one of the process. Whoever was first has it, and it is as good.
        rustls::crypto::ring::default_provider().install_default().ok();
        Arc::new_cyclic(|itself| Self {
            connections: Connections::new(control.clone()),
            control,
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
    ) -> Result<(), ControlError> {
        let token = SecretValue::new(wanted.token().as_bytes().to_vec());
        let address = wanted.address();
        credentials::keep(&self.control, SURFACE, connector.id, &address, token, by).await?;
        if connector.position.is_none() {
            let store = self.control.store();
            let position = fresh_position(store.clock.now_ms());
            store.set_position(connector.id, &position).await?;
        }
        Ok(())
    }
}

impl Host for DiscordHost {
    fn surface(&self) -> &'static str {
        SURFACE
    }

    fn control(&self) -> &Control {
        &self.control
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
            control: self.control.clone(),
            options: self.options.clone(),
            connector,
            place: self.bots.place(id),
        };
        self.connections.run(id, move |stop, tracker| account.clone().run(stop, tracker));
    }

    async fn add_account(
        &self,
        new: AddConnector,
        by: String,
    ) -> Result<AddedConnector, ControlError> {
        let _one_at_a_time = self.connections.one_at_a_time().await;
        let wanted = Wanted::of(&new)?;
        let known = wanted.log_in(self.options.request_timeout()).await?;
        adding::check_account(&new.account, &known)?;
        let there = match self.control.store().connector(SURFACE, &known.user).await {
            Ok(connector) => Some(connector),
            Err(StoreError::NotFound { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let row = NewConnector {
            surface: SURFACE.to_owned(),
            account: known.user.clone(),
            address: wanted.address(),
            settings: serde_json::to_value(wanted.settings(&known)).unwrap_or_default(),
            by: by.clone(),
        };
        if let Some(connector) = &there {
            self.disconnect(connector.id).await;
        }
        let connector = self.control.store().put_connector(&row).await?;
        if let Err(error) = self.keep(&connector, &wanted, &by).await {
            // Nothing is kept of one that can't be connected; one that was there lives on as it was.
            match there {
                Some(connector) => self.connect(connector),
                None => self.control.store().remove_connector(connector.id, &by).await?,
            }
            return Err(error);
        }
        self.connect(connector.clone());
        let view = self.first_look(&connector).await?;
        Ok(AddedConnector { view, recovery_key: None })
    }

    /// A bot by its number, or by its name.
    async fn find(&self, account: &str) -> Result<Connector, ControlError> {
        let account = account.trim();
        let all = self.control.store().connectors(SURFACE).await?;
        let named = |connector: &&Connector| {
            view::settings(connector).name.eq_ignore_ascii_case(account.trim_start_matches('@'))
        };
        match all.iter().find(|connector| connector.account == account) {
            Some(connector) => Ok(connector.clone()),
            None => match all.iter().filter(named).collect::<Vec<_>>().as_slice() {
                [one] => Ok((*one).clone()),
                _ => self.control.connector_of(SURFACE, account).await,
            },
        }
    }

    async fn remove_account(&self, account: String, by: String) -> Result<(), ControlError> {
        let _one_at_a_time = self.connections.one_at_a_time().await;
        let connector = self.find(&account).await?;
        self.disconnect(connector.id).await;
        credentials::forget(&self.control, SURFACE, connector.id, &by).await?;
        self.control.store().remove_connector(connector.id, &by).await?;
        self.control.forget_health(connector.id);
        Ok(())
    }

    async fn facts(&self, connector: &Connector) -> Vec<(String, String)> {
        view::facts(connector)
    }

    async fn reconcile_account(&self, account: &str) -> Result<ReconcileReport, ControlError> {
        self.find(account).await?;
        Err(ControlError::with_fix(
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
    ) -> Result<ResetReport, ControlError> {
        self.find(account).await?;
        Err(ControlError::with_fix(
            ErrorCode::BadRequest,
            "Discord has nothing to reset",
            "`cloister discord rm` and `add` begin anew; threads are deleted in the app",
        ))
    }
}
