//! The surface as a whole: every account of ours on Matrix, and what an operator does with them.

mod view;

use std::path::PathBuf;
use std::sync::Arc;

use cloister_kit::{BotPlace, Host, Hosted, Plane, PlaneError};
use cloister_protocol::admin::{
    AddConnector, Credential, Key, ReconcileReport, ResetMode, ResetReport,
};
use cloister_protocol::surface::{
    Added, Connector, Connectors, NoteReconciled, PutConnector, RemoveConnector, SetPosition,
};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bot::{Bot, BotSettings};
use crate::session::address;
use crate::session::credentials::Credentials;
use crate::session::login::{self, LoggedIn};
use crate::sync::Account;
use cloister_protocol::surface::options::MatrixOptions;

/// Every account of ours on Matrix.
pub struct MatrixHost {
    hosted: Hosted<Self>,
    options: MatrixOptions,
    data: PathBuf,
}

impl MatrixHost {
    /// What it keeps on disk is under `data`.
    pub fn new(plane: Plane, options: MatrixOptions, data: PathBuf) -> Arc<Self> {
        Arc::new_cyclic(|itself| Self { hosted: Hosted::new(plane, itself), options, data })
    }

    fn account(
        &self,
        connector: Connector,
        bot: BotPlace<Bot>,
        (stop, tracker): (CancellationToken, TaskTracker),
    ) -> Account {
        Account {
            plane: self.hosted.plane.clone(),
            options: self.options.clone(),
            data: self.data.clone(),
            connector,
            stop,
            tracker,
            bot,
        }
    }

    fn means(&self) -> login::Means<'_> {
        (&self.options, self.hosted.plane.way_out())
    }

    /// The account to work with; one that can't be opened knows nothing and reaches nothing.
    async fn bot(&self, connector: &Connector) -> Result<Arc<Bot>, PlaneError> {
        if let Some(bot) = self.hosted.bots.get(connector.id) {
            return Ok(bot);
        }
        let idle = (CancellationToken::new(), TaskTracker::new());
        let account = self.account(connector.clone(), BotPlace::default(), idle);
        let client = login::bare_client(&connector.address, self.means()).await?;
        Ok(Arc::new(account.bot_of(client, String::new())))
    }

    /// Writes a new account down; one that can't be is logged out again.
    async fn keep(
        &self,
        new: &AddConnector,
        logged_in: &LoggedIn,
        there: Option<&Connector>,
        by: &str,
    ) -> Result<Connector, PlaneError> {
        let kept = self.write_down(new, logged_in, by).await;
        if kept.is_err() {
            login::log_out(&logged_in.client).await;
            login::remove_store(&self.data, &logged_in.credentials.store).await;
            if there.is_none()
                && let Ok(Some(row)) = self.known(new.account.trim()).await
            {
                let forget = RemoveConnector { connector: row.id, by: by.to_owned() };
                self.hosted.plane.call(forget).await?;
            }
        }
        kept
    }

    /// What is written down of an account.
    async fn known(&self, account: &str) -> Result<Option<Connector>, PlaneError> {
        let all = self.hosted.plane.call(Connectors {}).await?;
        Ok(all.into_iter().find(|connector| connector.account == account))
    }

    async fn write_down(
        &self,
        new: &AddConnector,
        logged_in: &LoggedIn,
        by: &str,
    ) -> Result<Connector, PlaneError> {
        let (homeserver, credentials) = (&logged_in.homeserver, &logged_in.credentials);
        let connector = self.row(new, homeserver, &credentials.device_id, by).await?;
        credentials.keep(&self.hosted.plane, connector.id, homeserver, by).await?;
        if connector.position.is_none() {
            let position = logged_in.position.clone();
            self.hosted.plane.call(SetPosition { connector: connector.id, position }).await?;
        }
        Ok(connector)
    }

    async fn row(
        &self,
        new: &AddConnector,
        homeserver: &str,
        device_id: &str,
        by: &str,
    ) -> Result<Connector, PlaneError> {
        let settings = BotSettings { encrypted: new.encrypted, device_id: device_id.to_owned() };
        let settings = serde_json::to_value(settings).unwrap_or_default();
        let row = PutConnector {
            account: new.account.trim().to_owned(),
            address: homeserver.to_owned(),
            settings,
            by: by.to_owned(),
        };
        self.hosted.plane.call(row).await
    }

    /// The same device once more, with the settings given now.
    async fn come_back(
        &self,
        connector: Connector,
        new: &AddConnector,
        earlier: &Credentials,
        by: &str,
    ) -> Result<Added, PlaneError> {
        self.hosted.disconnect(connector.id).await;
        let connector = self.row(new, &connector.address, &earlier.device_id, by).await?;
        self.connect(connector.clone());
        Ok(Added { connector, recovery_key: None })
    }

    /// Ends the device that an account had before.
    async fn replace_device(&self, connector: &Connector, earlier: &Credentials) {
        let client = match self.hosted.disconnect(connector.id).await {
            Some(bot) => Some(bot.client.clone()),
            None => {
                let place = (connector.address.as_str(), connector.account.as_str());
                login::restore(place, earlier, &self.data, self.means()).await.ok()
            }
        };
        if let Some(client) = client {
            login::log_out(&client).await;
        }
        login::remove_store(&self.data, &earlier.store).await;
    }
}

/// Whether this is the token that the account is connected with already.
fn is_same_session(new: &AddConnector, earlier: &Credentials) -> bool {
    match &new.credential {
        Credential::Token(token) => token.expose().trim() == earlier.access_token,
        Credential::Password(_) => false,
    }
}

impl Host for MatrixHost {
    type Bot = Bot;

    fn hosted(&self) -> &Hosted<Self> {
        &self.hosted
    }

    /// Connects an account in the background.
    fn connect(&self, connector: Connector) {
        let id = connector.id;
        let place = self.hosted.bots.place(id);
        let idle = (CancellationToken::new(), TaskTracker::new());
        let account = self.account(connector, place, idle);
        self.hosted.connections.run(id, move |stop, tracker| {
            let account = Account { stop, tracker, ..account.clone() };
            async move { account.run().await }
        });
    }

    async fn add_account(&self, new: AddConnector, by: String) -> Result<Added, PlaneError> {
        let _one_at_a_time = self.hosted.connections.one_at_a_time().await;
        let account = address::account_id(&new.account)?;
        let there = self.known(account.as_str()).await?;
        let earlier = match &there {
            Some(connector) => Credentials::open(&self.hosted.plane, connector.id).await?,
            None => None,
        };
        if let (Some(connector), Some(earlier)) = (&there, &earlier)
            && is_same_session(&new, earlier)
            && login::store_is_there(earlier, &self.data).await
        {
            return self.come_back(connector.clone(), &new, earlier, &by).await;
        }
        let logged_in =
            Box::pin(login::log_in(&new, earlier.as_ref(), &self.data, self.means())).await?;
        let connector = self.keep(&new, &logged_in, there.as_ref(), &by).await?;
        if let Some(earlier) = earlier {
            self.replace_device(&connector, &earlier).await;
        }
        let recovery_key = logged_in.new_recovery_key.clone().map(Key::new);
        drop(logged_in);
        self.connect(connector.clone());
        Ok(Added { connector, recovery_key })
    }

    async fn remove_account(&self, account: String, by: String) -> Result<(), PlaneError> {
        let _one_at_a_time = self.hosted.connections.one_at_a_time().await;
        let connector = self.find(&account).await?;
        let credentials = Credentials::open(&self.hosted.plane, connector.id).await?;
        match &credentials {
            Some(credentials) => self.replace_device(&connector, credentials).await,
            None => drop(self.hosted.disconnect(connector.id).await),
        }
        Credentials::forget(&self.hosted.plane, connector.id, &by).await?;
        self.hosted.plane.call(RemoveConnector { connector: connector.id, by }).await
    }

    /// Connects what is known and clears away what a kill in the midst of a login left.
    async fn start_all(&self) -> Result<(), PlaneError> {
        let connectors = self.hosted.plane.call(Connectors {}).await?;
        let mut stores = Vec::new();
        let mut all_known = true;
        for connector in connectors {
            match Credentials::open(&self.hosted.plane, connector.id).await {
                Ok(credentials) => stores.extend(credentials.map(|known| known.store)),
                Err(_) => all_known = false,
            }
            self.connect(connector);
        }
        if all_known {
            login::sweep_stores(&self.data, &stores).await;
        }
        Ok(())
    }

    async fn facts(&self, connector: &Connector) -> Vec<(String, String)> {
        view::facts(self.hosted.bots.get(connector.id), connector).await
    }

    async fn reconcile_account(&self, account: &str) -> Result<ReconcileReport, PlaneError> {
        let connector = self.find(account).await?;
        let report = Box::pin(self.bot(&connector).await?.comparison().reconcile()).await?;
        let note = NoteReconciled { connector: connector.id, report: report.clone() };
        self.hosted.plane.tell(note);
        Ok(report)
    }

    async fn reset_account(
        &self,
        account: &str,
        (mode, dry_run): (ResetMode, bool),
        by: &str,
    ) -> Result<ResetReport, PlaneError> {
        let connector = self.find(account).await?;
        let bot = self.bot(&connector).await?;
        Box::pin(bot.rooms().reset(mode, dry_run, by)).await
    }
}
