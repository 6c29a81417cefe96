//! The handle to the models, for the doors and for the commands of the operator.

use std::sync::Arc;
use std::time::Duration;

use cloister_control::books::{KeyRef, Model};
use cloister_control::ports::Principal;
use cloister_control::{Books, Metrics};
use cloister_policy::engine::Names;
use cloister_protocol::Level;
use cloister_protocol::admin::Key;
use cloister_protocol::{ErrorBody, ErrorCode, ModelProfile, Usage};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;

use super::attempt::Upstream;
use super::call::{Call, Piece, Sink};
use super::diagnosis::{AskedModel, diagnosis};
use super::failure::Failure;
use super::request::ChatRequest;
use super::shares::Shares;
use super::trial::Trial;
use crate::keys::{ApiKey, KeyRing};
use crate::options::Options;

/// Pieces of an answer that may wait for a slow reader.
const WAITING_PIECES: usize = 16;
const LIST_TIME: Duration = Duration::from_secs(10);
/// Ids that are taken over from a provider's list.
const MAX_IDS: usize = 2_000;
const MAX_ID_BYTES: usize = 200;

/// Calls models. Cheap to clone.
#[derive(Clone)]
pub struct ModelGateway {
    inner: Arc<Inner>,
}

struct Inner {
    books: Books,
    upstream: Upstream,
    calls: TaskTracker,
    metrics: Arc<Metrics>,
    shares: Shares,
}

/// A model that answered when it was tried.
#[derive(Clone, Debug)]
pub struct Probe {
    pub answered_in: Duration,
    pub usage: Option<Usage>,
    /// What was found out.
    pub profile: ModelProfile,
}

impl ModelGateway {
    pub fn new(options: &Options, books: Books) -> Result<Self, reqwest::Error> {
        let keys = KeyRing::new(books.clone(), options.keys_dir.clone());
        let upstream = Upstream::new(keys, options.upstream.clone())?;
        let metrics = Arc::clone(&options.metrics);
        let shares = Shares::new(options.upstream.calls_per_user);
        let inner = Inner { books, upstream, calls: TaskTracker::new(), metrics, shares };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.inner.metrics
    }

    /// Starts a call. Dropping the receiver ends it; what it has used until then is settled. The
    /// permit is given back when the answer has ended.
    pub(crate) fn call(
        &self,
        who: Principal,
        allowed: Names,
        request: ChatRequest,
        permit: impl Send + Sync + 'static,
    ) -> mpsc::Receiver<Piece> {
        let (pieces, answer) = mpsc::channel(WAITING_PIECES);
        let inner = Arc::clone(&self.inner);
        self.inner.calls.spawn(async move {
            let share = tokio::select! {
                share = inner.shares.enter(who.user) => share,
                () = pieces.closed() => return,
            };
            let call = Call {
                books: &inner.books,
                upstream: &inner.upstream,
                metrics: &inner.metrics,
                who,
                level: level_of(who),
                allowed,
                request,
                sink: Sink::new(pieces, inner.upstream.options().client_stall)
                    .holding((permit, share)),
                attempts: 0,
                until: Instant::now() + inner.upstream.options().total,
            };
            call.run().await;
        });
        answer
    }

    /// Tries the model, to see that address, key and model id are right, and what it can do. Not metered:
    /// the operator asks, not a user. A key that is given is used in place of the kept one.
    pub async fn probe(&self, model: &Model, key: Option<&Key>) -> Result<Probe, ErrorBody> {
        key.map(given).transpose()?;
        let has_key = key.is_some() || model.key != KeyRef::None;
        match Trial::new(&self.inner.upstream, model, key).run().await {
            Ok(tried) => Ok(Probe {
                answered_in: tried.answered_in,
                usage: tried.usage,
                profile: tried.profile,
            }),
            Err(failure) => Err(diagnosis(&failure, AskedModel { model, has_key })),
        }
    }

    /// The ids of the models that an endpoint lists.
    pub async fn model_ids(
        &self,
        base_url: &str,
        key: Option<&Key>,
    ) -> Result<Vec<String>, ErrorBody> {
        let key = key.map(given).transpose()?;
        let listed = timeout(LIST_TIME, self.inner.upstream.list(base_url, key.as_ref())).await;
        let failure = match listed {
            Ok(Ok(list)) => return Ok(ids_in(&list)),
            Ok(Err(failure)) => failure,
            Err(_elapsed) => Failure::OutOfTime(LIST_TIME),
        };
        let message = format!("{base_url} does not list its models: {failure}");
        Err(ErrorBody::new(ErrorCode::ModelUnavailable, message))
    }

    /// Waits until every call has ended and is settled; whether they all have. For the stop, after
    /// the doors are closed: what is late is settled in full at the next start.
    pub async fn drain(&self, within: Duration) -> bool {
        self.inner.calls.close();
        timeout(within, self.inner.calls.wait()).await.is_ok()
    }
}

/// Which level calls follows from the door alone.
fn level_of(who: Principal) -> Level {
    if who.task.is_some() { Level::Executor } else { Level::Coordinator }
}

fn given(key: &Key) -> Result<ApiKey, ErrorBody> {
    ApiKey::parse(key.expose()).ok_or_else(|| {
        let wrong = "the key is empty or has characters that no key has";
        let fix = "Paste the key alone, without quotes or spaces.";
        ErrorBody { fix: Some(fix.to_owned()), ..ErrorBody::new(ErrorCode::BadRequest, wrong) }
    })
}

/// The ids of a provider's list, in its order; what is no id is left out.
fn ids_in(list: &[u8]) -> Vec<String> {
    let list: serde_json::Value = serde_json::from_slice(list).unwrap_or_default();
    let models = list.get("data").and_then(|data| data.as_array());
    let ids = models.into_iter().flatten().filter_map(|model| model.get("id")?.as_str());
    let fits = |id: &&str| id.len() <= MAX_ID_BYTES && id.bytes().all(|b| b.is_ascii_graphic());
    ids.filter(fits).take(MAX_IDS).map(str::to_owned).collect()
}
