//! The surface as a whole: every bot of ours on Telegram, and what an operator does with them.

mod adding;
mod view;

use std::sync::{Arc, Weak};

use cloister_kit::{Bots, Connections, Host, Plane, PlaneError};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{AddConnector, Key, ReconcileReport, ResetMode, ResetReport};
use cloister_protocol::surface::{
    Added, Connector, ConnectorId, Connectors, ForgetSecret, IsUser, KeepSecret, PutConnector,
    RemoveConnector, WebhookAnswer,
};
use frankenstein::AsyncTelegramApi;
use frankenstein::methods::DeleteWebhookParams;

use super::bot::{Bot, BotSettings};
use super::session::Api;
use super::updates::Account;
use adding::Wanted;
use cloister_protocol::surface::options::TelegramOptions;

/// Every bot of ours on Telegram.
pub struct TelegramHost {
    plane: Plane,
    options: TelegramOptions,
    connections: Connections,
    bots: Bots<Bot>,
    itself: Weak<Self>,
}

impl TelegramHost {
    pub fn new(plane: Plane, options: TelegramOptions) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self {
            connections: Connections::new(plane.clone()),
            plane,
            options,
            bots: Bots::default(),
            itself: itself.clone(),
        })
    }

    async fn disconnect(&self, id: ConnectorId) -> Option<Arc<Bot>> {
        self.connections.end(id).await;
        self.bots.take(id)
    }

    /// The bot as it is known already: its name may have changed, its number does not.
    async fn known_as(&self, bot: u64) -> Result<Option<Connector>, PlaneError> {
        let all = self.plane.call(Connectors {}).await?;
        Ok(all.into_iter().find(|connector| view::settings(connector).bot_id == bot))
    }

    /// The bot that has its updates delivered under a name.
    fn delivered_to(&self, name: &str) -> Option<Arc<Bot>> {
        let mut bots = self.bots.list().into_iter();
        bots.find(|bot| bot.settings.webhook.is_some() && bot.hook_name() == name)
    }

    async fn check_owner(&self, owner: Option<&str>) -> Result<(), PlaneError> {
        let Some(owner) = owner else { return Ok(()) };
        let unknown = || {
            PlaneError::with_fix(
                ErrorCode::NotFound,
                format!("there is no user {owner}"),
                "`cloister user list` shows who there is",
            )
        };
        let Ok(name) = owner.parse() else { return Err(unknown()) };
        if self.plane.call(IsUser { name }).await? { Ok(()) } else { Err(unknown()) }
    }
}

impl Host for TelegramHost {
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
            bot: self.bots.place(id),
        };
        self.connections.run(id, move |stop, tracker| account.clone().run(stop, tracker));
    }

    async fn add_account(&self, new: AddConnector, by: String) -> Result<Added, PlaneError> {
        let _one_at_a_time = self.connections.one_at_a_time().await;
        let wanted = Wanted::of(&new)?;
        self.check_owner(wanted.owner.as_deref()).await?;
        let api = Api::new(
            &wanted.address,
            wanted.token(),
            (self.options.request_timeout(), self.plane.way_out()),
        )?;
        let me = api.me().await.map_err(|fault| adding::not_known(&fault, &wanted.address))?;
        let there = self.known_as(me.id).await?;
        let account = match &there {
            Some(connector) => connector.account.clone(),
            None => adding::account_of(&me),
        };
        adding::check_account(&new.account, &account)?;
        let settings = BotSettings {
            bot_id: me.id,
            owner: wanted.owner.clone(),
            webhook: wanted.webhook.clone(),
        };
        let row = PutConnector {
            account,
            address: wanted.address.clone(),
            settings: serde_json::to_value(settings).unwrap_or_default(),
            by: by.clone(),
        };
        if let Some(connector) = &there {
            self.disconnect(connector.id).await;
        }
        let connector = self.plane.call(row).await?;
        let kept = self.plane.call(KeepSecret {
            connector: connector.id,
            address: wanted.address.clone(),
            value: Key::new(wanted.token()),
            by: by.clone(),
        });
        let kept = kept.await;
        if let Err(error) = kept {
            // Nothing is kept of one that can't be connected; one that was there lives on as it was.
            match there {
                Some(connector) => self.connect(connector),
                None => {
                    self.plane
                        .call(RemoveConnector { connector: connector.id, by: by.clone() })
                        .await?
                }
            }
            return Err(error);
        }
        self.connect(connector.clone());
        Ok(Added { connector, recovery_key: None })
    }

    async fn remove_account(&self, account: String, by: String) -> Result<(), PlaneError> {
        let _one_at_a_time = self.connections.one_at_a_time().await;
        let connector = self.find(&account).await?;
        let bot = self.disconnect(connector.id).await;
        if let Some(bot) = bot.filter(|bot| bot.settings.webhook.is_some()) {
            let params = DeleteWebhookParams::builder().build();
            // Nobody would answer there.
            if let Err(fault) = bot.api.call(bot.api.bot().delete_webhook(&params)).await {
                tracing::warn!(account, %fault, "the webhook of a removed bot stays set");
            }
        }
        self.plane.call(ForgetSecret { connector: connector.id, by: by.clone() }).await?;
        self.plane.call(RemoveConnector { connector: connector.id, by: by.clone() }).await?;
        Ok(())
    }

    async fn facts(&self, connector: &Connector) -> Vec<(String, String)> {
        view::facts(self.bots.get(connector.id).as_deref(), connector)
    }

    async fn reconcile_account(&self, account: &str) -> Result<ReconcileReport, PlaneError> {
        self.find(account).await?;
        Err(PlaneError::with_fix(
            ErrorCode::BadRequest,
            "Telegram can't be asked which topics there are",
            "what is known is kept in step by itself; `cloister telegram status` shows how it is doing",
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
            "Telegram has nothing to reset",
            "`cloister telegram rm` and `add` begin anew; topics are deleted in the app",
        ))
    }

    async fn take_delivery(&self, name: &str, body: &str) -> WebhookAnswer {
        match self.delivered_to(name) {
            Some(bot) => bot.take_delivery(body).await,
            None => WebhookAnswer::NotFound,
        }
    }
}
