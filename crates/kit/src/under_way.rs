//! What was asked over a socket and is not answered yet: every question has a number, and its answer carries it.
//! Either side of a connector's line has one.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cloister_protocol::ErrorBody;
use cloister_protocol::surface::FrameAnswer;
use serde_json::Value;
use tokio::sync::oneshot;

type AnswerOrError = Result<Value, ErrorBody>;

#[derive(Default)]
pub struct UnderWay {
    waiting: Mutex<HashMap<u64, oneshot::Sender<AnswerOrError>>>,
    last: AtomicU64,
}

/// The line was closed before an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineClosed;

/// A question that nobody waits for any more has no place.
struct Asked<'a> {
    of: &'a UnderWay,
    id: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.of.waiting().remove(&self.id);
    }
}

impl UnderWay {
    fn waiting(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<AnswerOrError>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks under a number of its own, and waits for the answer. `send` says whether there is still a line.
    pub async fn ask<Sent: Future<Output = bool>>(
        &self,
        send: impl FnOnce(u64) -> Sent,
    ) -> Result<AnswerOrError, LineClosed> {
        let id = self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let (give, take) = oneshot::channel();
        self.waiting().insert(id, give);
        let _asked = Asked { of: self, id };
        if !send(id).await {
            return Err(LineClosed);
        }
        take.await.map_err(|_dropped| LineClosed)
    }

    /// Hands an answer to who asked; one that comes too late is nobody's.
    pub fn answered(&self, answer: FrameAnswer) {
        let asked = self.waiting().remove(&answer.id);
        if let Some(asked) = asked {
            // Who asked may have given up in this moment.
            drop(asked.send(answer.into_result()));
        }
    }

    /// Nobody answers any more.
    pub fn closed(&self) {
        self.waiting().clear();
    }
}

#[cfg(test)]
#[path = "under_way_tests.rs"]
mod tests;
