//! What every surface does alike for an operator: connectors are started, added, removed and stopped. And how the
//! orders of the control plane reach what does them.

use std::future::Future;
use std::sync::{Arc, Weak};

use cloister_protocol::admin::{AddConnector, ReconcileReport, ResetMode, ResetReport};
use cloister_protocol::surface::{
    Added, AnyOrder, Connector, ConnectorId, Connectors, Order, SendError, WebhookAnswer,
};
use cloister_protocol::{ErrorBody, ErrorCode};
use serde_json::Value;

use crate::connections::{Bots, Connections};
use crate::error::PlaneError;
use crate::plane::Plane;

/// What every host has: its line, and its connectors, each with what works for it as soon as there is such.
pub struct Hosted<H: Host> {
    pub plane: Plane,
    pub connections: Connections,
    pub bots: Bots<H::Bot>,
    /// What must not stop half way is done by the host itself, which outlives who asked.
    itself: Weak<H>,
}

impl<H: Host> Hosted<H> {
    pub fn new(plane: Plane, itself: &Weak<H>) -> Self {
        let connections = Connections::new(plane.clone());
        Self { plane, connections, bots: Bots::default(), itself: itself.clone() }
    }

    /// Ends a connector's life, and gives back what worked for it.
    pub async fn disconnect(&self, id: ConnectorId) -> Option<Arc<H::Bot>> {
        self.connections.end(id).await;
        self.bots.take(id)
    }

    fn itself(&self) -> Result<Arc<H>, PlaneError> {
        self.itself.upgrade().ok_or_else(|| {
            PlaneError::refused(ErrorCode::ShuttingDown, "the connector is stopping")
        })
    }
}

/// A surface whose connectors live in the background: what is its own.
pub trait Host: Send + Sync + Sized + 'static {
    /// One account that is connected.
    type Bot: Send + Sync + 'static;

    fn hosted(&self) -> &Hosted<Self>;

    /// Lets a connector live in the background.
    fn connect(&self, connector: Connector);

    /// Logs in and connects. Nothing is kept of one that can't log in.
    fn add_account(
        &self,
        new: AddConnector,
        by: String,
    ) -> impl Future<Output = Result<Added, PlaneError>> + Send;

    /// Logs out and forgets the account.
    fn remove_account(
        &self,
        account: String,
        by: String,
    ) -> impl Future<Output = Result<(), PlaneError>> + Send;

    /// What an operator is shown of a connector besides what every surface shows.
    fn facts(&self, connector: &Connector) -> impl Future<Output = Vec<(String, String)>> + Send;

    /// Compares what is known with what the server has; one that can't be asked says so.
    fn reconcile_account(
        &self,
        account: &str,
    ) -> impl Future<Output = Result<ReconcileReport, PlaneError>> + Send;

    /// Makes what is there anew; where there is nothing to make anew, it says so.
    fn reset_account(
        &self,
        account: &str,
        how: (ResetMode, bool),
        by: &str,
    ) -> impl Future<Output = Result<ResetReport, PlaneError>> + Send;

    /// A connector by what an operator typed.
    fn find(&self, account: &str) -> impl Future<Output = Result<Connector, PlaneError>> + Send {
        async move {
            let all = self.hosted().plane.call(Connectors {}).await?;
            let typed = account.trim();
            all.into_iter().find(|connector| connector.account == typed).ok_or_else(|| {
                let surface = self.hosted().plane.surface();
                let message = format!("there is no {surface} account {account}");
                PlaneError::refused(ErrorCode::NotFound, message)
            })
        }
    }

    fn start_all(&self) -> impl Future<Output = Result<(), PlaneError>> + Send {
        async {
            for connector in self.hosted().plane.call(Connectors {}).await? {
                self.connect(connector);
            }
            Ok(())
        }
    }

    /// Takes what the platform delivered under a name; that it is the platform was looked at before.
    fn take_delivery(
        &self,
        _name: &str,
        _body: &str,
    ) -> impl Future<Output = WebhookAnswer> + Send {
        std::future::ready(WebhookAnswer::NotFound)
    }
}

/// Does what the control plane ordered.
pub async fn serve<H: Host>(host: &H, order: AnyOrder) -> Result<Value, ErrorBody> {
    let done = match order {
        AnyOrder::Start(order) => answer(&order, host.start_all().await),
        AnyOrder::Add(order) => {
            let (of, new, by) = (host.hosted().itself(), order.new.clone(), order.by.clone());
            let added = async move {
                let of = of?;
                let work = async move { of.add_account(new, by).await };
                host.hosted().connections.see_through(work).await
            };
            answer(&order, added.await)
        }
        AnyOrder::Remove(order) => {
            let (of, account, by) =
                (host.hosted().itself(), order.account.clone(), order.by.clone());
            let removed = async move {
                let of = of?;
                let work = async move { of.remove_account(account, by).await };
                host.hosted().connections.see_through(work).await
            };
            answer(&order, removed.await)
        }
        AnyOrder::Facts(order) => answer(&order, Ok(host.facts(&order.connector).await)),
        AnyOrder::Reconcile(order) => answer(&order, host.reconcile_account(&order.account).await),
        AnyOrder::Reset(order) => {
            let how = (order.mode, order.dry_run);
            answer(&order, host.reset_account(&order.account, how, &order.by).await)
        }
        AnyOrder::Deliver(order) => {
            answer(&order, Ok(host.take_delivery(&order.name, &order.body).await))
        }
        AnyOrder::Stop(order) => {
            host.hosted().connections.end_all().await;
            answer(&order, Ok(()))
        }
        shown => show(&host.hosted().plane, shown).await,
    };
    done.map_err(|error| {
        if error.code() == ErrorCode::Internal {
            tracing::error!(error = error.chain(), "an order could not be done");
        }
        error.body()
    })
}

/// Does what is about one message.
async fn show(plane: &Plane, order: AnyOrder) -> Result<Value, PlaneError> {
    match order {
        AnyOrder::Post(order) => {
            let posted = match plane.attached_as(order.connector) {
                Ok(bot) => bot.post(&order.to, &order.key, &order.posting).await,
                Err(away) => Err(not_now(&away)),
            };
            answer(&order, Ok(posted))
        }
        AnyOrder::Edit(order) => {
            let edited = match plane.attached_as(order.connector) {
                Ok(bot) => bot.edit(&order.to, &order.key, &order.message, &order.posting).await,
                Err(away) => Err(not_now(&away)),
            };
            answer(&order, Ok(edited))
        }
        AnyOrder::Draft(order) => {
            let drafted = match plane.attached_as(order.connector) {
                Ok(bot) => bot.draft(&order.to, &order.key, &order.posting).await,
                Err(away) => Err(not_now(&away)),
            };
            answer(&order, Ok(drafted))
        }
        AnyOrder::Typing(order) => {
            let bot = plane.attached_as(order.connector)?;
            bot.typing(&order.to, order.typing).await;
            answer(&order, Ok(()))
        }
        AnyOrder::Measured(order) => {
            let bot = plane.attached_as(order.connector)?;
            let lengths = order.texts.iter().map(|text| bot.measure(text) as u64).collect();
            answer(&order, Ok(lengths))
        }
        other => {
            let message = format!("{other:?} is not about a message");
            Err(PlaneError::refused(ErrorCode::BadRequest, message))
        }
    }
}

fn not_now(away: &PlaneError) -> SendError {
    SendError::Unreachable(away.to_string())
}

/// What is answered, of the type that the order asks for.
fn answer<O: Order>(_order: &O, done: Result<O::Answer, PlaneError>) -> Result<Value, PlaneError> {
    serde_json::to_value(done?).map_err(PlaneError::no_answer)
}
