//! The handle to the models, for the doors and for the commands of the operator.

use std::sync::Arc;
use std::time::Duration;

use cloister_control::ports::Principal;
use cloister_protocol::Level;
use cloister_protocol::{ErrorBody, Usage};
use cloister_store::Store;
use cloister_store::models::Model;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;

use super::attempt::{Attempt, Ended, Upstream};
use super::call::{Call, Piece, Sink};
use super::failure::{Failure, unavailable};
use super::request::ChatRequest;
use crate::keys::KeyRing;
use crate::options::Options;

/// Pieces of an answer that may wait for a slow reader.
const WAITING_PIECES: usize = 16;
/// Some models refuse a smaller limit.
const PROBE_TOKENS: u64 = 16;

/// Calls models. Cheap to clone.
#[derive(Clone)]
pub struct ModelGateway {
    inner: Arc<Inner>,
}

struct Inner {
    store: Store,
    upstream: Upstream,
    calls: TaskTracker,
}

/// A model that answered a test.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    pub answered_in: Duration,
    pub usage: Option<Usage>,
}

impl ModelGateway {
    pub fn new(options: &Options, store: Store) -> Result<Self, reqwest::Error> {
        let keys = KeyRing::new(options.keys_dir.clone());
        let upstream = Upstream::new(keys, options.upstream.clone())?;
        Ok(Self { inner: Arc::new(Inner { store, upstream, calls: TaskTracker::new() }) })
    }

    /// Starts a call. Dropping the receiver ends it; what it has used until then is settled. The
    /// permit is given back when the call is over.
    pub(crate) fn call(
        &self,
        who: Principal,
        request: ChatRequest,
        permit: impl Send + 'static,
    ) -> mpsc::Receiver<Piece> {
        let (pieces, answer) = mpsc::channel(WAITING_PIECES);
        let inner = Arc::clone(&self.inner);
        self.inner.calls.spawn(async move {
            let call = Call {
                store: &inner.store,
                upstream: &inner.upstream,
                who,
                level: level_of(who),
                request,
                sink: Sink::new(pieces, inner.upstream.options().client_stall),
            };
            call.run().await;
            drop(permit);
        });
        answer
    }

    /// Asks the model for a word, to see that address, key and model id are right. Not metered:
    /// the operator asks, not a user.
    pub async fn probe(&self, model: &Model) -> Result<Probe, ErrorBody> {
        let request = ChatRequest::parse(br#"{"messages":[{"role":"user","content":"Say OK."}]}"#)
            .map_err(|refusal| refusal.error)?;
        let upstream = &self.inner.upstream;
        let (pieces, mut answer) = mpsc::channel(WAITING_PIECES);
        let mut sink = Sink::new(pieces, upstream.options().client_stall);
        let body = request.body_for(&model.model, PROBE_TOKENS);
        let mut attempt = Attempt::new(PROBE_TOKENS);
        let started = Instant::now();
        let asked = async {
            let ended =
                upstream.attempt(model, Level::Coordinator, body, &mut attempt, &mut sink).await;
            drop(sink);
            ended
        };
        let unread = async { while answer.recv().await.is_some() {} };
        let both = timeout(upstream.options().total, async { tokio::join!(asked, unread).0 });
        let failure = match both.await {
            Ok(Ended::Answered) => {
                let usage = attempt.progress.usage;
                return Ok(Probe { answered_in: started.elapsed(), usage });
            }
            Ok(Ended::Failed(failure)) => failure,
            Ok(Ended::Gone) => Failure::Cut,
            Err(_elapsed) => Failure::OutOfTime(upstream.options().total),
        };
        let mut error = unavailable(&[(model.name.clone(), failure.to_string())]).error;
        error.fix = Some("Check the base URL, the model id and the key.".to_owned());
        Err(error)
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
