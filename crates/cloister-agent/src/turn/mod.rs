//! One turn of the coordinator: from a trigger to its `end`.
//!
//! Promises: whatever happens short of losing the link, there is an `end` with words for the person;
//! every step is in the chat's journal before it takes effect; run again after a crash, the turn goes
//! on where it was.

mod emitter;
mod ending;
mod summary;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use cloister_protocol::link::{
    self, Asked, Call, CallStatus, Cause, Request, Step, TaskReport, Trigger, Uplink,
};
use cloister_protocol::{
    End, ErrorCode, MAX_TEXT_BYTES, MessageId, ModelFacts, ParseIdError, RequestId, ToolCall,
    ToolResult, TurnId, Usage, filled, with_causes,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::context::{self, Loaded, MOST_SHRUNK, Room, reports};
use crate::files;
use crate::guard::{LoopLimits, Repeat};
use crate::journal::{ChatDb, Ending, Journal, JournalError, Recorded};
use crate::ledger::{CallPlace, Ledger};
use crate::link::{Link, LinkError};
use crate::model::{ChatMessage, Model, ModelAnswer, ModelError, Piece, Tries};
use crate::tools::look_at::{Gallery as _, SentToChat};
use crate::tools::{self, Handler, LookBack};
use crate::work::{self, Attempt, Work};
use crate::{log, text};

use emitter::Emitter;
use ending::TurnOutcome;
pub(crate) use summary::renew as renew_summary;

const MODEL_CALLS: usize = 12;
/// How long the control plane may take over a request; it only writes a row or copies a file.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// What every turn shares.
#[derive(Clone)]
pub(crate) struct Desk {
    pub(crate) link: Link,
    pub(crate) journal: Journal,
    pub(crate) model: Model,
    pub(crate) workspace: PathBuf,
}

/// What is to be run.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) trigger: Trigger,
    pub(crate) seq: i64,
    /// An earlier attempt may have shown text already.
    pub(crate) resumed: bool,
    /// What the turn starts from, if it was read when the trigger was journaled.
    pub(crate) loaded: Option<Box<Loaded>>,
}

/// What a turn is told from outside; the later ones are stronger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Signal {
    #[default]
    GoOn,
    /// The next turn goes on with it: it ends before the model is asked again, or where the model is.
    Yield,
    Cancel,
}

/// A turn that has ended.
#[derive(Debug)]
pub(crate) struct EndedTurn {
    pub(crate) end: End,
    /// The running summary wants renewing, for so much room.
    pub(crate) overflow: Option<Room>,
}

#[derive(Debug, thiserror::Error)]
enum Stop {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error("the next turn goes on with it")]
    Yielded,
}

/// What a turn starts from; none for one that says nothing to a model.
pub(crate) fn load(
    db: &ChatDb,
    workspace: &Path,
    seq: i64,
    trigger: &Trigger,
) -> rusqlite::Result<Option<Loaded>> {
    match &trigger.cause {
        Cause::Clear => Ok(None),
        Cause::Message { .. } | Cause::TasksEnded { .. } => {
            context::load(db, workspace, seq, trigger).map(Some)
        }
    }
}

/// Runs the turn to its end. Only a lost link leaves it open, for the next launch to resume.
pub(crate) async fn run(
    desk: Desk,
    mut job: Job,
    signals: watch::Receiver<Signal>,
) -> Result<EndedTurn, LinkError> {
    let turn = TurnId::of_trigger(&job.trigger.id);
    let loaded = match job.loaded.take() {
        Some(loaded) => Ok(Some(*loaded)),
        None => {
            let (workspace, trigger) = (desk.workspace.clone(), job.trigger.clone());
            let seq = job.seq;
            let work = move |db: &_| load(db, &workspace, seq, &trigger);
            desk.journal.with(job.trigger.chat, work).await
        }
    };
    let mut running = Running {
        emitter: Emitter::new(desk.link.clone(), turn.clone()),
        usage: Usage::default(),
        cost: Usage::default(),
        base: Vec::new(),
        last: None,
        writing: false,
        cut: false,
        plain: false,
        shrunk: 0,
        taken_over: Vec::new(),
        left_out: false,
        steps: 0,
        signals,
        desk,
        job,
        turn,
    };
    match loaded {
        Ok(None) => running.end(None, (0, Vec::new()), None).await,
        Ok(Some(Loaded { ended: Some(end), .. })) => Ok(EndedTurn { end, overflow: None }),
        Ok(Some(loaded)) => running.answer(loaded).await,
        Err(error) => {
            log_journal(&error);
            let error = running.conclude(TurnOutcome::no_journal(&error)).await?;
            running.end(error, (0, Vec::new()), None).await
        }
    }
}

/// The end of a turn whose trigger could not even be journaled.
pub(crate) fn not_run(trigger: &Trigger, error: &JournalError) -> End {
    log_journal(error);
    let (words, error) =
        TurnOutcome::no_journal(error).words(&trigger.cause, &[], (&*trigger.phrases, ""));
    End {
        turn: TurnId::of_trigger(&trigger.id),
        message: answered_message(trigger),
        text: words.unwrap_or_default(),
        usage: Usage::default(),
        error,
    }
}

fn answered_message(trigger: &Trigger) -> Option<MessageId> {
    match trigger.cause {
        Cause::Message { .. } => Some(trigger.id.clone()),
        Cause::TasksEnded { .. } | Cause::Clear => None,
    }
}

struct Running {
    desk: Desk,
    job: Job,
    turn: TurnId,
    emitter: Emitter,
    /// What the model is shown before the steps of this turn.
    base: Vec<ChatMessage>,
    usage: Usage,
    /// What the answer before us cost.
    cost: Usage,
    /// The model's last answer: journaled together with the end.
    last: Option<Recorded>,
    /// The model is writing an answer.
    writing: bool,
    /// The last answer ends where it may be no longer.
    cut: bool,
    /// The model is told of no tools any more.
    plain: bool,
    /// How often the model was shown less because it was too much.
    shrunk: u32,
    /// What the turns before this one would have told when it took their place.
    taken_over: Vec<TaskReport>,
    /// Not all that was said in this chat is shown to the model.
    left_out: bool,
    /// How many steps are journaled.
    steps: usize,
    signals: watch::Receiver<Signal>,
}

impl Running {
    async fn answer(mut self, loaded: Loaded) -> Result<EndedTurn, LinkError> {
        let mut ledger = Ledger::new(loaded.steps);
        self.base = loaded.messages;
        self.left_out = loaded.left_out;
        self.taken_over = loaded.taken_over;
        self.usage = loaded.usage;
        if self.job.resumed {
            self.show_again(&ledger).await?;
        }
        let mut signals = self.signals.clone();
        let one_call = self.job.trigger.model.small;
        let limits = LoopLimits { model_calls: MODEL_CALLS, repeat: Repeat::Call, one_call };
        let result = tokio::select! {
            result = work::run(&mut self, &mut ledger, limits) => Some(result),
            () = told(&mut signals, Signal::Cancel) => None,
        };
        self.keep_unfinished(&ledger);
        let error = self.conclude(TurnOutcome::of(result)?).await?;
        self.end(error, loaded.notices, loaded.overflow).await
    }

    /// What the model had written of an answer that does not come to its end is kept as its words: how the turn
    /// ended is told behind it, and is not.
    fn keep_unfinished(&mut self, ledger: &Ledger) {
        self.steps = ledger.len();
        let text = self.emitter.of_answer();
        if self.writing && !text.is_empty() {
            self.keep_as_last(text);
        }
    }

    fn keep_as_last(&mut self, text: String) {
        let step = Step::Answer { text, calls: Vec::new() };
        self.last = Some(Recorded { n: self.steps, step, usage: Usage::default() });
    }

    /// After a crash nobody knows what was shown: the text begins anew.
    async fn show_again(&mut self, ledger: &Ledger) -> Result<(), LinkError> {
        self.emitter.start_over().await?;
        for text in ledger.texts() {
            self.emitter.begin_answer();
            self.emitter.push(text).await?;
        }
        Ok(())
    }

    /// Says how it ended, where the answer itself does not.
    async fn conclude(&mut self, outcome: TurnOutcome) -> Result<Option<ErrorCode>, LinkError> {
        let cause = self.job.trigger.cause.clone();
        let phrases = self.job.trigger.phrases.clone();
        let reports = [&self.taken_over, ending::reports_of(&cause)].concat();
        // Told for the model, and so kept as its words; why it could not is not.
        if matches!(outcome, TurnOutcome::Failed { .. } | TurnOutcome::NoJournal { .. })
            && !reports.is_empty()
            && self.last.is_none()
        {
            self.keep_as_last(reports::for_person(&reports, &phrases));
        }
        let (words, error) =
            outcome.words(&cause, &self.taken_over, (&*phrases, &self.emitter.whole()));
        if error == Some(ErrorCode::Continued) {
            return Ok(error);
        }
        if let Some(words) = words {
            self.emitter.add_paragraph(&words).await?;
        }
        if self.cut && error.is_none() {
            self.emitter.add_paragraph(&phrases.cut).await?;
        }
        if let Some(unsaid) = reports::unsaid(&reports, &phrases, &self.emitter.whole()) {
            self.emitter.add_paragraph(&unsaid).await?;
        }
        Ok(error)
    }

    /// Journals the end. If even that fails the end is still told: the control plane stores it.
    async fn end(
        mut self,
        error: Option<ErrorCode>,
        (notices_told, notices): (i64, Vec<String>),
        overflow: Option<Room>,
    ) -> Result<EndedTurn, LinkError> {
        for notice in notices {
            self.emitter.add_paragraph(&notice).await?;
        }
        let message = answered_message(&self.job.trigger);
        let text = self.emitter.whole();
        let end = End { turn: self.turn, message, text, usage: self.usage, error };
        // An answer that needed no calls is the end's text; only others keep their last step.
        let is_all = |step: &Step| matches!(step, Step::Answer { text, .. } if *text == end.text);
        let last = self.last.filter(|last| last.n > 0 || error.is_some() || !is_all(&last.step));
        let ending = Ending { end: end.clone(), last, notices_told };
        let (trigger, seq) = (self.job.trigger, self.job.seq);
        let chat = trigger.chat;
        let written = self.desk.journal.with(chat, move |db| db.end(&trigger, seq, &ending)).await;
        if let Err(error) = written {
            log_journal(&error);
        }
        // The last words go out together with the end.
        self.emitter.flush().await?;
        Ok(EndedTurn { end, overflow })
    }

    async fn ask_once(&mut self, ledger: &Ledger) -> Result<ModelAnswer, Stop> {
        if self.emitter.shown().len() > MAX_TEXT_BYTES {
            let message = self.job.trigger.phrases.too_long.clone();
            return Err(ModelError::new(ErrorCode::TooLarge, message).into());
        }
        let mut signals = self.signals.clone();
        let mut messages = self.base.clone();
        messages.extend(ledger.messages(self.steps_bytes() >> self.shrunk));
        messages.extend(self.pictures().shown(ledger));
        self.emitter.begin_answer();
        let schemas = self.offered().filter(|_| !self.plain);
        let mut call = tokio::select! {
            biased;
            () = told(&mut signals, Signal::Yield) => return Err(Stop::Yielded),
            call = self.desk.model.open(&messages, schemas, ledger.kind()) => call?,
        };
        drop(messages);
        self.writing = true;
        loop {
            let due = self.emitter.due().unwrap_or_else(Instant::now);
            tokio::select! {
                biased;
                () = told(&mut signals, Signal::Yield) => return Err(Stop::Yielded),
                piece = call.next() => match piece? {
                    Some(Piece::Text(text)) => self.emitter.push(&text).await?,
                    Some(Piece::Thought(text)) => self.emitter.think(&text).await?,
                    Some(Piece::Calls) => self.emitter.writes_calls().await?,
                    Some(Piece::Waiting { attempt, doing }) => {
                        self.emitter.wait(attempt, doing).await?;
                    }
                    Some(Piece::Restart) => self.emitter.restart_answer().await?,
                    None => break,
                },
                () = sleep_until(due), if self.emitter.has_unsent() => self.emitter.flush().await?,
            }
        }
        let mut answer = call.finish()?;
        if !answer.calls.is_empty() {
            self.emitter.flush().await?;
        }
        self.writing = false;
        if self.job.trigger.model.small && tools::small::is_echo(&answer.text) {
            // What it was told of its tools is no answer: nobody is shown it.
            self.emitter.restart_answer().await?;
            answer.text.clear();
        }
        self.cut = answer.cut && answer.calls.is_empty() && !answer.text.trim().is_empty();
        self.usage += answer.usage;
        self.cost = answer.usage;
        Ok(answer)
    }

    /// What is said for a small model that has begun a task, or is told of one that ended: it would begin the same again,
    /// or tell it as it was told.
    fn said_for(&self, ledger: &Ledger) -> Option<String> {
        let Trigger { model, cause, phrases, .. } = &self.job.trigger;
        match cause {
            _ if !model.small => None,
            Cause::TasksEnded { reports } => Some(reports::for_person(reports, phrases)),
            Cause::Message { .. } | Cause::Clear => {
                let begun = ledger.done_of("delegate").last()?;
                let told = ledger.outcome_of(&begun.id)?.output.as_str();
                let task = told.split_whitespace().nth(1).unwrap_or_default();
                Some(filled(&phrases.begun, &[("task", task)]))
            }
        }
    }

    /// The tools, as the model is told of them.
    fn offered(&self) -> Option<&'static Value> {
        static ALL: OnceLock<Value> = OnceLock::new();
        static BLIND: OnceLock<Value> = OnceLock::new();
        static SMALL: OnceLock<Value> = OnceLock::new();
        static SMALL_IN_PART: OnceLock<Value> = OnceLock::new();
        let model = self.job.trigger.model;
        let schemas =
            || tools::schemas(tools::COORDINATOR.iter().filter(|tool| tools::is_for(tool, model)));
        Some(match model {
            // What it is told to look for it must be able to find.
            ModelFacts { small: true, .. } if self.left_out => {
                SMALL_IN_PART.get_or_init(|| tools::small::for_coordinator(true))
            }
            ModelFacts { small: true, .. } => {
                SMALL.get_or_init(|| tools::small::for_coordinator(false))
            }
            ModelFacts { vision: Some(false), .. } => BLIND.get_or_init(schemas),
            ModelFacts { .. } => ALL.get_or_init(schemas),
        })
    }

    /// How much of the steps of this turn the model is shown.
    fn steps_bytes(&self) -> usize {
        let told = self.base.iter().map(ChatMessage::text_bytes).sum();
        Room::of_steps(self.job.trigger.model, told)
    }

    /// The pictures that this chat was sent.
    fn pictures(&self) -> SentToChat<'_> {
        SentToChat { workspace: &self.desk.workspace, chat: self.job.trigger.chat }
    }

    /// Looks for what was said before this turn.
    async fn look_back(
        &self,
        parse: fn(&str) -> Result<LookBack, link::Outcome>,
        arguments: &str,
    ) -> Result<link::Outcome, Stop> {
        let wanted = match parse(arguments) {
            Ok(wanted) => wanted,
            Err(wrong) => return Ok(wrong),
        };
        let before = self.job.seq;
        let found = move |db: &ChatDb| wanted.find(db, before);
        Ok(self.desk.journal.with(self.job.trigger.chat, found).await?)
    }

    async fn request(&mut self, call: &Call, place: CallPlace) -> Result<link::Outcome, Stop> {
        let Some(tool) = tools::find(tools::COORDINATOR, &call.name) else {
            return Ok(tools::unknown(tools::COORDINATOR, &call.name));
        };
        let asked = match tool.handler {
            Handler::LookBack(parse) => return self.look_back(parse, &call.arguments).await,
            Handler::Picture(parse) => {
                let path = parse(&call.arguments);
                return Ok(path.map_or_else(|wrong| wrong, |path| self.pictures().look(&path)));
            }
            Handler::Request(parse) => parse(&call.arguments),
            Handler::Memory(parse) => match context::memory(&self.desk.workspace) {
                Ok(memory) => parse(&memory, &call.arguments),
                Err(error) => Err(tools::failed(format!("what is kept can't be read: {error}"))),
            },
            Handler::Files(_)
            | Handler::Program(_)
            | Handler::Door(_)
            | Handler::Todos(_)
            | Handler::Finish(_) => Err(tools::unknown(tools::COORDINATOR, &call.name)),
        };
        let chat = self.job.trigger.chat;
        let ask = match asked {
            Ok(Asked::SendFile { path, name }) => {
                Asked::SendFile { path: files::in_workspace(chat, &path), name }
            }
            Ok(ask) => ask,
            Err(wrong) => return Ok(wrong),
        };
        let id = match request_id(&format!("{chat}.{}", self.turn), place) {
            Ok(id) => id,
            Err(error) => return Ok(tools::failed(error.to_string())),
        };
        let request = Request { id, chat: Some(chat), turn: Some(self.turn.clone()), ask };
        match self.desk.link.request(request, Some(REQUEST_TIMEOUT)).await {
            Ok(reply) => Ok(tools::told(reply)),
            Err(error @ LinkError::NoReply(_)) => Ok(tools::failed(error.to_string())),
            Err(error @ LinkError::Gone) => Err(error.into()),
        }
    }
}

impl Work for Running {
    type Stop = Stop;

    async fn ask(&mut self, ledger: &Ledger) -> Result<ModelAnswer, Stop> {
        if let Some(text) = self.said_for(ledger) {
            self.emitter.begin_answer();
            self.emitter.push(&text).await?;
            self.emitter.flush().await?;
            return Ok(ModelAnswer { text, ..ModelAnswer::default() });
        }
        let mut tries = Tries::default();
        loop {
            match self.ask_once(ledger).await {
                // It was at a loss with the tools: without them it talks.
                Ok(answer) if !self.plain && answer.calls.is_empty() && answer.text.is_empty() => {
                    self.plain = self.job.trigger.model.small;
                    if !self.plain {
                        return Ok(answer);
                    }
                }
                Err(Stop::Model(error)) if tries.again(&error).await => {
                    self.emitter.restart_answer().await?;
                }
                Err(Stop::Model(error)) if error.too_long && self.shrunk < MOST_SHRUNK => {
                    self.shrunk += 1;
                    if let Some(shorter) = context::without_half(&self.base) {
                        self.base = shorter;
                        self.left_out = true;
                    }
                }
                other => return other,
            }
        }
    }

    async fn record(&mut self, at: usize, step: &Step) -> Result<(), Stop> {
        let usage = match step {
            Step::Answer { .. } => self.cost,
            Step::Call { .. } | Step::Result { .. } => Usage::default(),
        };
        let recorded = Recorded { n: at, step: step.clone(), usage };
        match step {
            // A last answer has no effect before the end: one write for both.
            Step::Answer { calls, .. } if calls.is_empty() => {
                self.last = Some(recorded);
                return Ok(());
            }
            Step::Answer { .. } | Step::Call { .. } | Step::Result { .. } => {}
        }
        let seq = self.job.seq;
        let chat = self.job.trigger.chat;
        self.desk.journal.with(chat, move |db| db.append(seq, &recorded)).await?;
        Ok(())
    }

    fn refuse(&self, _ledger: &Ledger, _call: &Call) -> Option<link::Outcome> {
        None
    }

    async fn act(
        &mut self,
        call: &Call,
        place: CallPlace,
        _attempt: Attempt,
    ) -> Result<link::Outcome, Stop> {
        let frame = ToolCall {
            turn: Some(self.turn.clone()),
            task: None,
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: tools::as_value(&call.arguments),
        };
        self.desk.link.send(Uplink::ToolCall(frame)).await?;
        // The same id again has no second effect, so a resumed call is simply asked again.
        let outcome = self.request(call, place).await?;
        let frame = ToolResult {
            turn: Some(self.turn.clone()),
            task: None,
            id: call.id.clone(),
            ok: outcome.status == CallStatus::Ok,
            output: outcome.output.clone(),
        };
        self.desk.link.send(Uplink::ToolResult(frame)).await?;
        Ok(outcome)
    }
}

/// Comes when the turn is told this.
async fn told(signals: &mut watch::Receiver<Signal>, wanted: Signal) {
    // Who could tell it is gone: then nobody will.
    if signals.wait_for(|said| *said == wanted).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// An id that is the same after any crash and differs for any other call.
pub(crate) fn request_id(owner: &str, place: CallPlace) -> Result<RequestId, ParseIdError> {
    let tail = format!(".{}.{}", place.answer, place.index);
    format!("{owner}{tail}").parse().or_else(|_too_long: ParseIdError| {
        // FNV-1a: tells the owner's own ids apart; nothing is protected by it.
        let hash = owner.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("{}-{hash:016x}{tail}", text::head(owner, 64)).parse()
    })
}

pub(crate) fn log_journal(error: &JournalError) {
    log::line(format_args!("{}", with_causes(error)));
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
