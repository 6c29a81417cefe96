//! The control plane, as a connector sees it.
//!
//! Promises: every call ends within a bounded time; what is only told is told in order.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cloister_protocol::surface::{
    AnyCall, Attach, Call, ConnectorId, CountError, Detach, Health, Report, Settings as Told,
};
use cloister_protocol::{ErrorBody, ErrorCode, with_causes};
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use crate::commands::Commands;
use crate::error::PlaneError;
use crate::outside::WayOut;
use crate::surface::Surface;

/// How long a call may take.
const CALL_TIME: Duration = Duration::from_secs(60);
/// What is told and not yet handed over; more is left out, for it is only how things stand.
const MOST_TOLD: usize = 1024;

/// What carries calls to the control plane.
pub trait Line: Send + Sync + 'static {
    fn call(&self, call: AnyCall) -> BoxFuture<'_, Result<Value, ErrorBody>>;
}

/// What a connector is told when it begins.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub commands: Arc<Commands>,
    /// The largest file that is taken from people, in bytes.
    pub largest_upload: u64,
    /// The surface's own section of the settings.
    pub options: Value,
    /// How its platform is reached; none: as everything is.
    pub way_out: Option<WayOut>,
}

impl From<Told> for Settings {
    fn from(told: Told) -> Self {
        let commands = Arc::new(Commands { menu: told.commands, urgent: told.urgent });
        let (largest_upload, options) = (told.largest_upload, told.options);
        Self { commands, largest_upload, options, way_out: None }
    }
}

impl Settings {
    /// The surface's own settings, of the type that it has for them.
    pub fn options<O: DeserializeOwned>(&self) -> Result<O, String> {
        let read = serde_json::from_value(self.options.clone());
        read.map_err(|error| {
            format!("the settings are not right: {error}", error = with_causes(&error))
        })
    }
}

/// What the control plane makes known without being asked.
#[derive(Clone, Debug)]
pub struct News {
    chats: watch::Sender<u64>,
    access: watch::Sender<u64>,
    stop: CancellationToken,
}

impl News {
    pub fn new(stop: CancellationToken) -> Self {
        Self { chats: watch::Sender::new(0), access: watch::Sender::new(0), stop }
    }

    /// Chats were made, renamed or archived, and conversations may have to show it.
    pub fn chats_changed(&self) {
        self.chats.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Somebody's access may have changed.
    pub fn access_changed(&self) {
        self.access.send_modify(|count| *count = count.wrapping_add(1));
    }
}

/// Changes from when it was asked for; several at once are one.
#[derive(Clone, Debug)]
pub struct Changes(watch::Receiver<u64>);

impl Changes {
    pub async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The line to the control plane, cheap to clone.
#[derive(Clone)]
pub struct Plane {
    inner: Arc<Inner>,
}

struct Inner {
    surface: &'static str,
    line: Arc<dyn Line>,
    settings: Settings,
    news: News,
    told: mpsc::Sender<AnyCall>,
    attached: Mutex<HashMap<ConnectorId, Arc<dyn Surface>>>,
}

impl Plane {
    /// The handle, and what hands over what is only told, as long as it is polled.
    pub fn new(
        surface: &'static str,
        line: Arc<dyn Line>,
        settings: Settings,
        news: News,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (told, mut to_tell) = mpsc::channel::<AnyCall>(MOST_TOLD);
        let teller = Arc::clone(&line);
        // It ends with the last handle: nothing can be told any more.
        let teller = async move {
            while let Some(call) = to_tell.recv().await {
                let told = tokio::time::timeout(CALL_TIME, teller.call(call)).await;
                if let Ok(Err(error)) = told {
                    let why = error.message;
                    tracing::warn!(why, "the control plane did not take what it was told");
                }
            }
        };
        let attached = Mutex::default();
        let inner = Inner { surface, line, settings, news, told, attached };
        (Self { inner: Arc::new(inner) }, teller)
    }

    pub fn surface(&self) -> &'static str {
        self.inner.surface
    }

    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    pub fn commands(&self) -> &Arc<Commands> {
        &self.inner.settings.commands
    }

    /// How the platform is reached; none: as everything is.
    pub fn way_out(&self) -> Option<&WayOut> {
        self.inner.settings.way_out.as_ref()
    }

    /// Asks, and waits for the answer.
    pub async fn call<C: Call>(&self, call: C) -> Result<C::Answer, PlaneError> {
        let answer = tokio::time::timeout(CALL_TIME, self.inner.line.call(call.into())).await;
        let answer = answer.map_err(PlaneError::no_answer)??;
        serde_json::from_value(answer).map_err(PlaneError::no_answer)
    }

    /// Says how something stands, and does not wait. What comes when too much is on its way is left out.
    pub fn tell<C: Call>(&self, call: C) {
        if self.inner.told.try_send(call.into()).is_err() {
            tracing::warn!("too much is told at once; something was left out");
        }
    }

    pub fn report_health(&self, connector: ConnectorId, health: Health) {
        self.tell(Report { connector, health: Some(health) });
    }

    pub fn forget_health(&self, connector: ConnectorId) {
        self.tell(Report { connector, health: None });
    }

    /// Counts an error by its kind.
    pub fn count_error(&self, kind: &str) {
        self.tell(CountError { kind: kind.to_owned() });
    }

    /// Now, in Unix milliseconds.
    #[expect(
        clippy::disallowed_methods,
        reason = "a connector has no store whose clock it could ask"
    )]
    pub fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    pub fn stopping(&self) -> bool {
        self.inner.news.stop.is_cancelled()
    }

    /// Stops when the control plane does.
    pub fn stop_token(&self) -> CancellationToken {
        self.inner.news.stop.child_token()
    }

    pub fn chat_changes(&self) -> Changes {
        Changes(self.inner.news.chats.subscribe())
    }

    pub fn access_changes(&self) -> Changes {
        Changes(self.inner.news.access.subscribe())
    }

    fn attached(&self) -> MutexGuard<'_, HashMap<ConnectorId, Arc<dyn Surface>>> {
        self.inner.attached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on a connector is handed what is to be told, beginning with what was left over.
    pub fn attach(&self, surface: Arc<dyn Surface>) -> Attachment {
        let connector = surface.connector();
        let (manners, streaming) = (surface.manners(), surface.streaming());
        self.attached().insert(connector, surface);
        self.tell(Attach { connector, manners, streaming });
        Attachment { plane: self.clone(), connector }
    }

    /// A connector's manners, or how it shows what is being written, are others now.
    pub fn renew(&self, connector: ConnectorId) {
        let Ok(surface) = self.attached_as(connector) else { return };
        let (manners, streaming) = (surface.manners(), surface.streaming());
        self.tell(Attach { connector, manners, streaming });
    }

    /// What is to be shown for a connector is shown by this one.
    pub(crate) fn attached_as(
        &self,
        connector: ConnectorId,
    ) -> Result<Arc<dyn Surface>, PlaneError> {
        let found = self.attached().get(&connector).cloned();
        found.ok_or_else(|| {
            PlaneError::refused(ErrorCode::NotFound, "this connector is not connected now")
        })
    }
}

/// A connector that is told what people are to be told. Dropped, it is told nothing more.
pub struct Attachment {
    plane: Plane,
    connector: ConnectorId,
}

impl Drop for Attachment {
    fn drop(&mut self) {
        self.plane.attached().remove(&self.connector);
        self.plane.tell(Detach { connector: self.connector });
    }
}
