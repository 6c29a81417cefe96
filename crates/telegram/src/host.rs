//! The surface as a whole: every bot of ours on Telegram, and what an operator does with them.

mod adding;
mod view;

use std::sync::Arc;

use cloister_kit::adding::{NewBot, connect, forget};
use cloister_kit::{Host, Hosted, Plane, PlaneError};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{AddConnector, ReconcileReport, ResetMode, ResetReport};
use cloister_protocol::surface::{
    Added, Connector, Connectors, IsUser, PutConnector, WebhookAnswer,
};
use serde::de::IgnoredAny;

use super::bot::{Bot, BotSettings};
use super::session::Api;
use super::session::methods::DeleteWebhook;
use super::updates::Account;
use adding::Wanted;
use cloister_protocol::surface::options::TelegramOptions;

/// Every bot of ours on Telegram.
pub struct TelegramHost {
    hosted: Hosted<Self>,
    options: TelegramOptions,
}

impl TelegramHost {
    pub fn new(plane: Plane, options: TelegramOptions) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self { hosted: Hosted::new(plane, itself), options })
    }

    /// The bot as it is known already: its name may have changed, its number does not.
    async fn known_as(&self, bot: u64) -> Result<Option<Connector>, PlaneError> {
        let all = self.hosted.plane.call(Connectors {}).await?;
        Ok(all.into_iter().find(|connector| view::settings(connector).bot_id == bot))
    }

    /// The bot that has its updates delivered under a name.
    fn delivered_to(&self, name: &str) -> Option<Arc<Bot>> {
        let mut bots = self.hosted.bots.list().into_iter();
        bots.find(|bot| bot.settings.webhook.is_some() && bot.webhook().name() == name)
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
        if self.hosted.plane.call(IsUser { name }).await? { Ok(()) } else { Err(unknown()) }
    }
}

impl Host for TelegramHost {
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
            bot: self.hosted.bots.place(id),
        };
        self.hosted.connections.run(id, move |stop, tracker| account.clone().run(stop, tracker));
    }

    async fn add_account(&self, new: AddConnector, by: String) -> Result<Added, PlaneError> {
        let _one_at_a_time = self.hosted.connections.one_at_a_time().await;
        let wanted = Wanted::of(&new)?;
        self.check_owner(wanted.owner.as_deref()).await?;
        let api = Api::new(
            &wanted.address,
            wanted.token(),
            (self.options.request_timeout(), self.hosted.plane.way_out()),
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
            by,
        };
        let new = NewBot { row, token: wanted.token(), there, begins_at: None };
        connect(self, new).await
    }

    async fn remove_account(&self, account: String, by: String) -> Result<(), PlaneError> {
        let _one_at_a_time = self.hosted.connections.one_at_a_time().await;
        let connector = self.find(&account).await?;
        let bot = self.hosted.disconnect(connector.id).await;
        if let Some(bot) = bot.filter(|bot| bot.settings.webhook.is_some()) {
            let unset = DeleteWebhook { drop_pending_updates: false };
            // Nobody would answer there.
            if let Err(fault) = bot.api.call::<_, IgnoredAny>(&unset).await {
                tracing::warn!(account, %fault, "the webhook of a removed bot stays set");
            }
        }
        forget(self, connector.id, by).await
    }

    async fn facts(&self, connector: &Connector) -> Vec<(String, String)> {
        view::facts(self.hosted.bots.get(connector.id).as_deref(), connector)
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
            Some(bot) => bot.webhook().take_delivery(body).await,
            None => WebhookAnswer::NotFound,
        }
    }
}
