//! What whoever looks at a task sees of it while it goes on: what its model is at, and each next step in a few words.
//!
//! Promises: nothing is said of a model that answers at once; what comes again and again is said once a second at most.

use std::cmp::Ordering;
use std::time::Duration;

use cloister_protocol::link::{Call, Uplink};
use cloister_protocol::{ModelDoing, TaskId, Update};
use serde_json::Value;
use tokio::time::Instant;

use crate::link::{Link, LinkError};
use crate::model::{ModelAnswer, Piece};
use crate::{text, tools};

const AT_MOST_EVERY: Duration = Duration::from_secs(1);
/// The same is said again after this long: who has opened the page since knows nothing of it.
const AGAIN_AFTER: Duration = Duration::from_secs(10);
const MAX_PROGRESS_BYTES: usize = 200;

pub(super) struct Telling {
    link: Link,
    task: TaskId,
    step_at: Option<Instant>,
    /// What the model was last said to be at, and when, since it was asked.
    said: Option<(ModelDoing, u32, Instant)>,
    attempt: u32,
}

impl Telling {
    pub(super) fn new(link: Link, task: TaskId) -> Self {
        Self { link, task, step_at: None, said: None, attempt: 1 }
    }

    /// The model is asked for the next step.
    pub(super) fn begin(&mut self) {
        (self.said, self.attempt) = (None, 1);
    }

    /// A piece of its answer has come.
    pub(super) async fn heard(&mut self, piece: &Piece) -> Result<(), LinkError> {
        match piece {
            Piece::Waiting { attempt, doing } => {
                self.attempt = *attempt;
                self.tell(*doing).await
            }
            Piece::Thought(_) => self.tell(ModelDoing::Thinks).await,
            // Said where it was said before what else it does.
            Piece::Text(_) | Piece::Calls if self.said.is_some() => {
                self.tell(ModelDoing::Writes).await
            }
            Piece::Text(_) | Piece::Calls | Piece::Restart => Ok(()),
        }
    }

    async fn tell(&mut self, doing: ModelDoing) -> Result<(), LinkError> {
        let (now, attempt) = (Instant::now(), self.attempt);
        if let Some((before, of, at)) = self.said {
            let on = (attempt, rank(doing)).cmp(&(of, rank(before)));
            let wait = match on {
                Ordering::Greater => Duration::ZERO,
                Ordering::Equal => AGAIN_AFTER,
                Ordering::Less => AT_MOST_EVERY,
            };
            if now < at + wait {
                return Ok(());
            }
        }
        self.said = Some((doing, attempt, now));
        let attempt = Some(attempt).filter(|attempt| *attempt > 1);
        self.say(String::new(), Some(doing), attempt).await
    }

    /// A sentence about what is done next.
    pub(super) async fn answered(&mut self, answer: &ModelAnswer) -> Result<(), LinkError> {
        let now = Instant::now();
        let soon = self.step_at.is_some_and(|at| now < at + AT_MOST_EVERY);
        // What the model was at is over: the next step takes its place.
        if (soon && self.said.is_none()) || answer.calls.is_empty() {
            return Ok(());
        }
        let said = text::first_line(&answer.text, MAX_PROGRESS_BYTES);
        let doing = match answer.calls.first() {
            Some(call) if said.is_empty() => described(call),
            _ => said.to_owned(),
        };
        self.step_at = Some(now);
        self.say(doing, None, None).await
    }

    async fn say(
        &self,
        text: String,
        doing: Option<ModelDoing>,
        attempt: Option<u32>,
    ) -> Result<(), LinkError> {
        let update = Update::Progress { task: Some(self.task), text, doing, attempt };
        self.link.send(Uplink::Update(update)).await
    }
}

/// How far a model has come that is at this.
fn rank(doing: ModelDoing) -> u8 {
    match doing {
        ModelDoing::Reads => 0,
        ModelDoing::Thinks => 1,
        ModelDoing::Writes => 2,
    }
}

/// A call in a few words: the tool and the start of its first argument.
fn described(call: &Call) -> String {
    let arguments = tools::as_value(&call.arguments);
    let first = arguments.as_object().and_then(|map| map.values().find_map(Value::as_str));
    let first = text::first_line(first.unwrap_or_default(), MAX_PROGRESS_BYTES);
    text::head(&format!("{} {first}", call.name), MAX_PROGRESS_BYTES).trim_end().to_owned()
}
