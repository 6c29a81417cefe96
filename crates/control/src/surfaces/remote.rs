//! A surface that is reached by orders: what control hands to its connectors, wherever they run.

use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use cloister_protocol::admin::{
    AddConnector, AddedConnector, ConnectorView, ReconcileReport, ResetMode, ResetReport,
};
use cloister_protocol::surface::{
    Add, AnyOrder, ConnectorId, Deliver, Draft, Edit, Facts, Manners, Measured, Order, Post,
    Posting as Said, Reconcile, Remove, Reset, SendError, Stop, StreamingBy, Typing, WebhookAnswer,
};
use cloister_protocol::{ErrorBody, ErrorCode, with_causes};
use cloister_store::Actor;
use cloister_store::conversations::Conversation;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryFutureExt};
use serde_json::Value;

use super::desk::Lent;
use super::{ConnectorProgram, SurfaceDesk};
use crate::control::Control;
use crate::error::ControlError;
use crate::ports::{Posting, Recipient, Streaming, Surface, SurfaceHost, Webhook};
use crate::surfaces::{SurfaceError, SurfaceRefusal};

/// How long one message may take to be posted, with a file in it.
const POST_TIME: Duration = Duration::from_secs(20 * 60);
/// How long what an operator asks for may take.
const ERRAND_TIME: Duration = Duration::from_secs(10 * 60);
/// How long a small thing may take.
const SHORT_TIME: Duration = Duration::from_secs(30);
/// How long a delivery of the platform may take.
const DELIVERY_TIME: Duration = Duration::from_secs(25);
/// How long a stop may take.
const STOP_TIME: Duration = Duration::from_secs(6);

/// What carries orders to the connectors of a surface.
pub(super) trait Reach: Send + Sync + 'static {
    fn order(&self, order: AnyOrder) -> BoxFuture<'_, Result<Value, ErrorBody>>;
    /// An order of an operator: what becomes of accounts meanwhile is theirs.
    fn errand(&self, by: Actor, order: AnyOrder) -> BoxFuture<'_, Result<Value, ErrorBody>>;
    /// Whether somebody answers there, on the public internet.
    fn is_outside(&self, host: String, port: u16) -> BoxFuture<'_, bool>;
}

async fn order<O: Order>(
    reach: &dyn Reach,
    order: O,
    within: Duration,
) -> Result<O::Answer, ErrorBody> {
    in_time::<O>(reach.order(order.into()), within).await
}

async fn in_time<O: Order>(
    answer: BoxFuture<'_, Result<Value, ErrorBody>>,
    within: Duration,
) -> Result<O::Answer, ErrorBody> {
    let late = || body(ErrorCode::Internal, "the connector did not answer in time");
    let answer = tokio::time::timeout(within, answer).await;
    let answer = answer.map_err(|_elapsed| late())??;
    serde_json::from_value(answer).map_err(|error| {
        body(
            ErrorCode::Internal,
            format!("the connector's answer can't be read: {error}", error = with_causes(&error)),
        )
    })
}

fn body(code: ErrorCode, message: impl Into<String>) -> ErrorBody {
    let fix = Some("see the log of the connector".to_owned());
    ErrorBody { code, message: message.into(), fix, retry_after_s: None }
}

/// One connector, as the courier works with it.
pub(crate) struct RemoteSurface {
    name: &'static str,
    connector: ConnectorId,
    manners: RwLock<(Manners, StreamingBy)>,
    reach: Arc<dyn Reach>,
    desk: Weak<SurfaceDesk>,
}

impl RemoteSurface {
    pub(super) fn new(
        (name, connector): (&'static str, ConnectorId),
        manners: (Manners, StreamingBy),
        reach: Arc<dyn Reach>,
        desk: Weak<SurfaceDesk>,
    ) -> Arc<Self> {
        Arc::new(Self { name, connector, manners: RwLock::new(manners), reach, desk })
    }

    pub(super) fn renew(&self, manners: Manners, streaming: StreamingBy) {
        *self.manners.write().unwrap_or_else(PoisonError::into_inner) = (manners, streaming);
    }

    /// A posting as it goes to the connector; a file can be read as long as the second lives.
    fn said(&self, post: &Posting) -> Result<(Said, Option<Lent>), SendError> {
        Ok(match post {
            Posting::Answer { markdown, unfinished, buttons } => {
                let (markdown, buttons) = (markdown.clone(), buttons.clone());
                (Said::Answer { markdown, unfinished: *unfinished, buttons }, None)
            }
            Posting::Notice { markdown, buttons } => {
                (Said::Notice { markdown: markdown.clone(), buttons: buttons.clone() }, None)
            }
            Posting::Question { ask, settled } => {
                (Said::Question { ask: ask.clone(), settled: settled.clone() }, None)
            }
            Posting::File(download) => {
                let desk = self.desk.upgrade();
                let desk = desk.ok_or_else(|| SendError::Unreachable("it is gone".to_owned()))?;
                let lent = desk.lend(download);
                let (file, lent) = lent.map_err(|e| SendError::Unreachable(e.to_string()))?;
                (Said::File(file), Some(lent))
            }
        })
    }

    async fn send<T, O>(&self, of: O, within: Duration) -> Result<T, SendError>
    where
        O: Order<Answer = Result<T, SendError>>,
    {
        let done = order(&*self.reach, of, within).await;
        done.unwrap_or_else(|body| Err(SendError::Unreachable(body.message)))
    }
}

impl Surface for RemoteSurface {
    fn name(&self) -> &'static str {
        self.name
    }

    fn connector(&self) -> ConnectorId {
        self.connector
    }

    fn manners(&self) -> Manners {
        self.manners.read().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    fn streaming(&self, conversation: &Conversation) -> Streaming {
        if conversation.external_id.is_none() {
            return Streaming::Off;
        }
        self.manners.read().unwrap_or_else(PoisonError::into_inner).1.of(conversation.kind)
    }

    fn measured(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<usize>, SendError>> {
        let connector = self.connector;
        let asked = order(&*self.reach, Measured { connector, texts }, SHORT_TIME);
        asked
            .map(|lengths| match lengths {
                Ok(lengths) => {
                    let as_usize = |length| usize::try_from(length).unwrap_or(usize::MAX);
                    Ok(lengths.into_iter().map(as_usize).collect())
                }
                Err(body) => Err(SendError::Unreachable(body.message)),
            })
            .boxed()
    }

    fn post<'a>(
        &'a self,
        to: &'a Recipient,
        key: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<String, SendError>> {
        async move {
            let (posting, _lent) = self.said(post)?;
            let (to, key) = (to.clone(), key.to_owned());
            self.send(Post { connector: self.connector, to, key, posting }, POST_TIME).await
        }
        .boxed()
    }

    fn edit<'a>(
        &'a self,
        to: &'a Recipient,
        key: &'a str,
        message: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        async move {
            let (posting, _lent) = self.said(post)?;
            let (to, key, message) = (to.clone(), key.to_owned(), message.to_owned());
            let edit = Edit { connector: self.connector, to, key, message, posting };
            self.send(edit, POST_TIME).await
        }
        .boxed()
    }

    fn draft<'a>(
        &'a self,
        to: &'a Recipient,
        key: &'a str,
        post: &'a Posting,
    ) -> BoxFuture<'a, Result<(), SendError>> {
        async move {
            let (posting, _lent) = self.said(post)?;
            let (to, key) = (to.clone(), key.to_owned());
            self.send(Draft { connector: self.connector, to, key, posting }, SHORT_TIME).await
        }
        .boxed()
    }

    fn typing<'a>(&'a self, to: &'a Recipient, typing: bool) -> BoxFuture<'a, ()> {
        let shown = Typing { connector: self.connector, to: to.clone(), typing };
        order(&*self.reach, shown, SHORT_TIME).map(drop).boxed()
    }
}

/// A surface with all its connectors, for who administers it.
pub struct RemoteHost {
    control: Control,
    name: &'static str,
    program: Arc<ConnectorProgram>,
    desk: Arc<SurfaceDesk>,
}

impl RemoteHost {
    pub fn new(control: Control, name: &'static str, program: Arc<ConnectorProgram>) -> Arc<Self> {
        let desk = program.desk();
        Arc::new(Self { control, name, program, desk })
    }

    async fn ordered<O: Order>(
        &self,
        of: O,
        within: Duration,
    ) -> Result<O::Answer, SurfaceRefusal> {
        let done = order(&**self.desk.reach(), of, within).await;
        done.map_err(|said| SurfaceRefusal::Connector(Box::new(self.with_list(said))))
    }

    /// What an operator has done: the audit has them from here, not from what the connector says.
    async fn errand<O: Order>(&self, by: &Actor, of: O) -> Result<O::Answer, SurfaceRefusal> {
        let answer = self.desk.reach().errand(by.clone(), of.into());
        let done = in_time::<O>(answer, ERRAND_TIME).await;
        done.map_err(|said| SurfaceRefusal::Connector(Box::new(self.with_list(said))))
    }

    /// Where an account is that is not there, a connector can't know: what is typed for it depends on who brought it.
    fn with_list(&self, mut body: ErrorBody) -> ErrorBody {
        if body.code == ErrorCode::NotFound && body.fix.is_none() {
            body.fix = Some(format!("`{}` shows what there is", self.program.typed("list")));
        }
        body
    }

    async fn view(
        &self,
        connector: &cloister_store::connectors::Connector,
    ) -> Result<ConnectorView, SurfaceError> {
        let facts = Facts { connector: connector.clone() };
        // Who can't be asked just now is shown without.
        let mut facts = match self.program.is_there() {
            true => self.ordered(facts, SHORT_TIME).await.unwrap_or_default(),
            false => Vec::new(),
        };
        if let Some(bytes) = self.program.memory() {
            facts.push(("memory".to_owned(), format!("{} MiB", bytes >> 20)));
        }
        Ok(self.control.surfaces().connector_view(connector, facts).await?)
    }
}

impl SurfaceHost for RemoteHost {
    fn name(&self) -> &'static str {
        self.name
    }

    fn start(&self) -> BoxFuture<'_, Result<(), ControlError>> {
        async { Ok(self.program.run_for_its_accounts().await?) }.boxed()
    }

    fn add<'a>(
        &'a self,
        actor: &'a Actor,
        new: AddConnector,
    ) -> BoxFuture<'a, Result<AddedConnector, ControlError>> {
        async move {
            let added = self.errand(actor, Add { new, by: actor.to_string() }).await?;
            self.control.surfaces().first_look(added.connector.id).await;
            let view = self.view(&added.connector).await?;
            Ok(AddedConnector { view, recovery_key: added.recovery_key })
        }
        .boxed()
    }

    fn list(&self) -> BoxFuture<'_, Result<Vec<ConnectorView>, ControlError>> {
        async {
            let mut views = Vec::new();
            for connector in self.control.store().conversations().connectors(self.name).await? {
                views.push(self.view(&connector).await?);
            }
            Ok(views)
        }
        .boxed()
    }

    fn remove<'a>(
        &'a self,
        actor: &'a Actor,
        account: &'a str,
    ) -> BoxFuture<'a, Result<(), ControlError>> {
        async move {
            let (account, by) = (account.to_owned(), actor.to_string());
            self.errand(actor, Remove { account, by }).await?;
            Ok(self.program.run_for_its_accounts().await?)
        }
        .boxed()
    }

    fn reconcile<'a>(
        &'a self,
        account: &'a str,
    ) -> BoxFuture<'a, Result<ReconcileReport, ControlError>> {
        async move {
            let asked = Reconcile { account: account.to_owned() };
            Ok(self.ordered(asked, ERRAND_TIME).await?)
        }
        .boxed()
    }

    fn reset<'a>(
        &'a self,
        actor: &'a Actor,
        account: &'a str,
        mode: ResetMode,
        dry_run: bool,
    ) -> BoxFuture<'a, Result<ResetReport, ControlError>> {
        let (account, by) = (account.to_owned(), actor.to_string());
        let reset = self.errand(actor, Reset { account, mode, dry_run, by });
        reset.map_err(ControlError::from).boxed()
    }

    fn expects(&self, name: &str, secret_header: Option<&str>) -> Result<(), WebhookAnswer> {
        let Some(proof) = self.desk.proof_of(name) else { return Err(WebhookAnswer::NotFound) };
        if proof.expose().is_empty() {
            return Err(WebhookAnswer::TryAgain);
        }
        let given = secret_header.unwrap_or_default().as_bytes();
        let is_it: bool = subtle::ConstantTimeEq::ct_eq(proof.expose().as_bytes(), given).into();
        if is_it { Ok(()) } else { Err(WebhookAnswer::Forbidden) }
    }

    fn webhook<'a>(&'a self, hook: Webhook<'a>) -> BoxFuture<'a, WebhookAnswer> {
        async move {
            if let Err(answer) = self.expects(hook.name, hook.secret_header) {
                return answer;
            }
            let (name, body) = (hook.name.to_owned(), String::from_utf8_lossy(hook.body));
            let deliver = Deliver { name, body: body.into_owned() };
            let taken = self.ordered(deliver, DELIVERY_TIME).await;
            taken.unwrap_or(WebhookAnswer::TryAgain)
        }
        .boxed()
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        async {
            if self.program.is_there() {
                self.ordered(Stop {}, STOP_TIME).await.ok();
            }
            self.program.rest();
        }
        .boxed()
    }
}
