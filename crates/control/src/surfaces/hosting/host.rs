//! What every surface does alike for an operator: connectors are started, added, listed, removed and stopped.

use std::future::Future;
use std::sync::{Arc, Weak};

use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{
    AddConnector, AddedConnector, ConnectorView, ReconcileReport, ResetMode, ResetReport,
};
use cloister_store::connectors::Connector;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::Connections;
use crate::control::Control;
use crate::error::ControlError;
use crate::ports::{SurfaceHost, Webhook, WebhookAnswer};

/// A surface whose connectors live in the background: what is its own.
pub trait Host: Send + Sync + Sized + 'static {
    fn surface(&self) -> &'static str;
    fn control(&self) -> &Control;
    fn connections(&self) -> &Connections;
    /// What must not stop half way is done by the host itself, which outlives who asked.
    fn itself(&self) -> &Weak<Self>;

    /// Lets a connector live in the background.
    fn connect(&self, connector: Connector);

    /// Logs in and connects. Nothing is kept of one that can't log in.
    fn add_account(
        &self,
        new: AddConnector,
        by: String,
    ) -> impl Future<Output = Result<AddedConnector, ControlError>> + Send;

    /// Logs out and forgets the account.
    fn remove_account(
        &self,
        account: String,
        by: String,
    ) -> impl Future<Output = Result<(), ControlError>> + Send;

    /// What an operator is shown of a connector besides what every surface shows.
    fn facts(&self, connector: &Connector) -> impl Future<Output = Vec<(String, String)>> + Send;

    /// Compares what is known with what the server has; one that can't be asked says so.
    fn reconcile_account(
        &self,
        account: &str,
    ) -> impl Future<Output = Result<ReconcileReport, ControlError>> + Send;

    /// Makes what is there anew; where there is nothing to make anew, it says so.
    fn reset_account(
        &self,
        account: &str,
        how: (ResetMode, bool),
        by: &str,
    ) -> impl Future<Output = Result<ResetReport, ControlError>> + Send;

    /// A connector by what an operator typed.
    fn find(&self, account: &str) -> impl Future<Output = Result<Connector, ControlError>> + Send {
        self.control().connector_of(self.surface(), account)
    }

    fn start_all(&self) -> impl Future<Output = Result<(), ControlError>> + Send {
        async {
            for connector in self.control().store().connectors(self.surface()).await? {
                self.connect(connector);
            }
            Ok(())
        }
    }

    fn view(
        &self,
        connector: &Connector,
    ) -> impl Future<Output = Result<ConnectorView, ControlError>> + Send {
        async {
            let facts = self.facts(connector).await;
            self.control().connector_view(connector, facts).await
        }
    }

    /// A new connector as it is once it is connected, or after a few seconds.
    fn first_look(
        &self,
        connector: &Connector,
    ) -> impl Future<Output = Result<ConnectorView, ControlError>> + Send {
        async {
            self.control().first_look(connector.id).await;
            self.view(connector).await
        }
    }

    fn expects_delivery(
        &self,
        _name: &str,
        _secret_header: Option<&str>,
    ) -> Result<(), WebhookAnswer> {
        Err(WebhookAnswer::NotFound)
    }

    fn take_delivery(&self, _hook: Webhook<'_>) -> impl Future<Output = WebhookAnswer> + Send {
        std::future::ready(WebhookAnswer::NotFound)
    }
}

fn upgraded<H: Host>(host: &H) -> Result<Arc<H>, ControlError> {
    host.itself().upgrade().ok_or_else(|| {
        ControlError::refused(ErrorCode::ShuttingDown, "the control plane is stopping")
    })
}

impl<H: Host> SurfaceHost for H {
    fn name(&self) -> &'static str {
        self.surface()
    }

    fn start(&self) -> BoxFuture<'_, Result<(), ControlError>> {
        self.start_all().boxed()
    }

    fn add<'a>(
        &'a self,
        new: AddConnector,
        by: &'a str,
    ) -> BoxFuture<'a, Result<AddedConnector, ControlError>> {
        let by = by.to_owned();
        async move {
            let host = upgraded(self)?;
            let work = async move { host.add_account(new, by).await };
            self.connections().see_through(work).await
        }
        .boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<ConnectorView>, ControlError>> {
        async {
            let mut views = Vec::new();
            for connector in self.control().store().connectors(self.surface()).await? {
                views.push(self.view(&connector).await?);
            }
            Ok(views)
        }
        .boxed()
    }

    fn remove<'a>(
        &'a self,
        account: &'a str,
        by: &'a str,
    ) -> BoxFuture<'a, Result<(), ControlError>> {
        let (account, by) = (account.to_owned(), by.to_owned());
        async move {
            let host = upgraded(self)?;
            let work = async move { host.remove_account(account, by).await };
            self.connections().see_through(work).await
        }
        .boxed()
    }

    fn reconcile<'a>(
        &'a self,
        account: &'a str,
    ) -> BoxFuture<'a, Result<ReconcileReport, ControlError>> {
        self.reconcile_account(account).boxed()
    }

    fn reset<'a>(
        &'a self,
        account: &'a str,
        mode: ResetMode,
        dry_run: bool,
        by: &'a str,
    ) -> BoxFuture<'a, Result<ResetReport, ControlError>> {
        self.reset_account(account, (mode, dry_run), by).boxed()
    }

    fn expects(&self, name: &str, secret_header: Option<&str>) -> Result<(), WebhookAnswer> {
        self.expects_delivery(name, secret_header)
    }

    fn webhook<'a>(&'a self, hook: Webhook<'a>) -> BoxFuture<'a, WebhookAnswer> {
        self.take_delivery(hook).boxed()
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        self.connections().end_all().boxed()
    }
}
