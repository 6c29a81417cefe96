//! The surface as a whole: every bot of ours on Telegram, and what an operator does with them.

mod adding;
mod view;

use std::sync::{Arc, Weak};

use cloister_control::hosting::{Bots, Connections, Host};
use cloister_control::ports::{Webhook, WebhookAnswer};
use cloister_control::{Control, ControlError, credentials};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{
    AddConnector, AddedConnector, ReconcileReport, ResetMode, ResetReport,
};
use cloister_store::connectors::{Connector, ConnectorId, NewConnector};
use cloister_vault::SecretValue;
use frankenstein::AsyncTelegramApi;
use frankenstein::methods::DeleteWebhookParams;

use super::SURFACE;
use super::bot::{Bot, BotSettings};
use super::options::TelegramOptions;
use super::session::Api;
use super::updates::Account;
use adding::Wanted;

/// Every bot of ours on Telegram.
pub struct TelegramHost {
    control: Control,
    options: TelegramOptions,
    connections: Connections,
    bots: Bots<Bot>,
    itself: Weak<Self>,
}

impl TelegramHost {
    pub fn new(control: Control, options: TelegramOptions) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self {
            connections: Connections::new(control.clone()),
            control,
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
    async fn known_as(&self, bot: u64) -> Result<Option<Connector>, ControlError> {
        let all = self.control.store().connectors(SURFACE).await?;
        Ok(all.into_iter().find(|connector| view::settings(connector).bot_id == bot))
    }

    /// The bot that has its updates delivered under a name.
    fn delivered_to(&self, name: &str) -> Option<Arc<Bot>> {
        let mut bots = self.bots.list().into_iter();
        bots.find(|bot| bot.settings.webhook.is_some() && bot.hook_name() == name)
    }

    async fn check_owner(&self, owner: Option<&str>) -> Result<(), ControlError> {
        let Some(owner) = owner else { return Ok(()) };
        let unknown = || {
            ControlError::with_fix(
                ErrorCode::NotFound,
                format!("there is no user {owner}"),
                "`cloister user list` shows who there is",
            )
        };
        let Ok(name) = owner.parse() else { return Err(unknown()) };
        match self.control.store().user(&name).await {
            Ok(_) => Ok(()),
            Err(cloister_store::StoreError::NotFound { .. }) => Err(unknown()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Host for TelegramHost {
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
            bot: self.bots.place(id),
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
        self.check_owner(wanted.owner.as_deref()).await?;
        let api = Api::new(&wanted.address, wanted.token(), self.options.request_timeout())?;
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
        let row = NewConnector {
            surface: SURFACE.to_owned(),
            account,
            address: wanted.address.clone(),
            settings: serde_json::to_value(settings).unwrap_or_default(),
            by: by.clone(),
        };
        if let Some(connector) = &there {
            self.disconnect(connector.id).await;
        }
        let connector = self.control.store().put_connector(&row).await?;
        let token = SecretValue::from(wanted.token().to_owned());
        let address = &wanted.address;
        let kept =
            credentials::keep(&self.control, SURFACE, connector.id, address, token, &by).await;
        if let Err(error) = kept {
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

    async fn remove_account(&self, account: String, by: String) -> Result<(), ControlError> {
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
        credentials::forget(&self.control, SURFACE, connector.id, &by).await?;
        self.control.store().remove_connector(connector.id, &by).await?;
        self.control.forget_health(connector.id);
        Ok(())
    }

    async fn facts(&self, connector: &Connector) -> Vec<(String, String)> {
        view::facts(self.bots.get(connector.id).as_deref(), connector)
    }

    async fn reconcile_account(&self, account: &str) -> Result<ReconcileReport, ControlError> {
        self.find(account).await?;
        Err(ControlError::with_fix(
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
    ) -> Result<ResetReport, ControlError> {
        self.find(account).await?;
        Err(ControlError::with_fix(
            ErrorCode::BadRequest,
            "Telegram has nothing to reset",
            "`cloister telegram rm` and `add` begin anew; topics are deleted in the app",
        ))
    }

    fn expects_delivery(
        &self,
        name: &str,
        secret_header: Option<&str>,
    ) -> Result<(), WebhookAnswer> {
        match self.delivered_to(name) {
            Some(bot) => bot.expects(secret_header),
            None => Err(WebhookAnswer::NotFound),
        }
    }

    async fn take_delivery(&self, hook: Webhook<'_>) -> WebhookAnswer {
        match self.delivered_to(hook.name) {
            Some(bot) => bot.take_delivery(hook).await,
            None => WebhookAnswer::NotFound,
        }
    }
}
