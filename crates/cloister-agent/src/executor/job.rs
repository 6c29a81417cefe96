//! The work on one task: the shared loop with the control plane's ledger and the executor's tools.

use std::time::Duration;

use cloister_protocol::link::{
    Asked, Call, CallStatus, Finish, Outcome, Request, Start, Step, Uplink,
};
use cloister_protocol::{Phrases, TaskId, Usage};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::telling::Telling;
use super::{Tools, showing};
use crate::context::{MOST_SHRUNK, Room};
use crate::door::{Door, DoorError};
use crate::egress::Egress;
use crate::guard::{self, LoopLimits, Repeat};
use crate::ledger::{CallPlace, Ledger};
use crate::link::{Link, LinkError, next_connection};
use crate::model::{ChatMessage, Model, ModelAnswer, ModelError, Tries};
use crate::tools::look_at::Gallery as _;
use crate::tools::{self, ChatFolder, DoorCall, Effect, Handler, Program, Tail, Tool};
use crate::turn::request_id;
use crate::work::{self, Attempt, Halt, Work};
use crate::{text, tools::program};

/// How long the ledger may take to confirm a step.
const JOURNAL_TIMEOUT: Duration = Duration::from_secs(30);
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);
const MAX_LAST_OUTPUT: usize = 2000;
/// What stands behind the output of a program that went well.
const EXIT_OK: &str = "[exit code 0]";

const UNKNOWN: &str =
    "outcome unknown: the attempt ended while this was running; check before doing it again";
const SAID_NOTHING: &str = "The model ended the task without saying what came of it.";
const JUST_DONE: &str = "you have just done exactly this, and nothing has changed since: its result is above. Take \
another step, or call finish with the result";
/// Said to a small model that falls silent before it has finished.
const GO_ON: &str = "Go on with the next step as a tool call, or call finish with the result.";
const PLAN_FIRST: &str = "write a plan first with propose_plan and wait for approval";

pub(super) struct Job {
    link: Link,
    model: Model,
    place: ChatFolder,
    egress: Egress,
    /// The last step that is in the ledger.
    journaled: watch::Receiver<Option<u32>>,
    task: TaskId,
    plan_first: bool,
    limits: LoopLimits,
    /// The tools this task may use, as the model is told.
    schemas: Value,
    base: Vec<ChatMessage>,
    /// How much of its steps the model is shown, …
    steps_bytes: usize,
    /// … and how often that was halved because it was too much.
    shrunk: u32,
    ledger: Vec<Step>,
    usage: Usage,
    telling: Telling,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    #[error("{}", .0.message)]
    Model(#[from] ModelError),
    #[error("the model said it is finished")]
    Finished(Box<Finish>),
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error("a step was not journaled within {} s", JOURNAL_TIMEOUT.as_secs())]
    NotJournaled,
}

impl Job {
    pub(super) fn new(
        link: Link,
        tools: Tools,
        journaled: watch::Receiver<Option<u32>>,
        base: Vec<ChatMessage>,
        start: Start,
    ) -> Self {
        let Tools { model, place, egress } = tools;
        let small = start.model.small;
        let telling = Telling::new(link.clone(), start.task);
        let model_calls = usize::try_from(start.max_steps).unwrap_or(usize::MAX).max(1);
        Self {
            link,
            model,
            place,
            egress,
            journaled,
            task: start.task,
            plan_first: start.plan_first,
            limits: LoopLimits { model_calls, repeat: Repeat::CallAndResult, one_call: small },
            steps_bytes: steps_bytes(&start, &base),
            shrunk: 0,
            schemas: offered(&start),
            base,
            ledger: start.ledger,
            usage: Usage::default(),
            telling,
        }
    }

    /// Works until there is something to finish with; an error means that another attempt is needed.
    pub(super) async fn run(mut self) -> Result<Finish, Stop> {
        let mut ledger = Ledger::new(std::mem::take(&mut self.ledger));
        let limits = self.limits;
        let result = work::run(&mut self, &mut ledger, limits).await;
        let usage = self.usage;
        let finish = |ok, result| Finish { ok, result, claims: Vec::new(), usage };
        let failed = |reason| finish(false, reason);
        match result {
            Ok(()) => match ledger.texts().last().map(str::trim) {
                None | Some("") => Ok(failed(nothing_said(&ledger))),
                Some(said) => Ok(finish(true, self.with_output(said.to_owned(), &ledger))),
            },
            Err(Halt::Looping(looping)) => Ok(failed(looping.told(&Phrases::default()))),
            Err(Halt::Stopped(Stop::Finished(finish))) => {
                let result = self.with_output(finish.result.clone(), &ledger);
                Ok(Finish { usage, result, ..*finish })
            }
            Err(Halt::Stopped(Stop::Model(error))) => Ok(failed(error.message)),
            Err(Halt::Stopped(stop @ (Stop::Link(_) | Stop::NotJournaled))) => Err(stop),
        }
    }

    /// A result, and what the last program printed where the result does not say it: a small model says that it has
    /// run something, and leaves out what came of it.
    fn with_output(&self, result: String, ledger: &Ledger) -> String {
        let is_program = |call: &&Call| matches!(call.name.as_str(), "bash" | "python");
        let last = ledger.calls().filter(is_program).last();
        let printed = last.and_then(|call| ledger.outcome_of(&call.id));
        let Some(printed) = printed.filter(|_| self.limits.one_call) else { return result };
        let printed =
            text::shorten(printed.output.trim_end_matches(EXIT_OK).trim(), MAX_LAST_OUTPUT);
        let plain = |text: &str| text.split_whitespace().collect::<String>();
        if printed.is_empty() || plain(&result).contains(&plain(&printed)) {
            return result;
        }
        format!("{result}\n\nThe last command printed:\n{printed}")
    }

    async fn handle(
        &mut self,
        tool: &Tool,
        call: &Call,
        place: CallPlace,
    ) -> Result<Outcome, Stop> {
        let arguments = call.arguments.as_str();
        match tool.handler {
            Handler::Files(run) => Ok(on_files(run, &self.place, arguments).await),
            Handler::Program(parse) => match parse(arguments) {
                Ok(program) => Ok(self.run_program(program, &call.id).await),
                Err(wrong) => Ok(wrong),
            },
            Handler::Door(parse) => match parse(arguments) {
                Ok(call) => Ok(self.through_door(call).await),
                Err(wrong) => Ok(wrong),
            },
            Handler::Request(parse) => match parse(arguments) {
                Ok(ask) => self.request(ask, place).await,
                Err(wrong) => Ok(wrong),
            },
            Handler::Picture(parse) => {
                Ok(parse(arguments).map_or_else(|wrong| wrong, |path| self.place.look(&path)))
            }
            // An executor sees neither what is kept in mind nor what was said.
            Handler::Memory(_) | Handler::LookBack(_) => {
                Ok(tools::unknown(tools::EXECUTOR, tool.name))
            }
            Handler::Todos(parse) => match parse(arguments) {
                Ok(todos) => {
                    self.link.send(Uplink::Todos { todos }).await?;
                    Ok(tools::done("Noted."))
                }
                Err(wrong) => Ok(wrong),
            },
            Handler::Finish(parse) => match parse(arguments) {
                Ok(finish) => Err(Stop::Finished(Box::new(finish))),
                Err(wrong) => Ok(wrong),
            },
        }
    }

    /// Runs a program, and adds what it could not reach to what came of it.
    async fn run_program(&mut self, program: Program, call: &str) -> Outcome {
        let (environment, trouble) = match self.egress.environment().await {
            Ok(environment) => (environment, None),
            Err(trouble) => (Vec::new(), Some(trouble)),
        };
        let (shown, printed) = watch::channel(Tail::default());
        let run = program::run(&self.place, program, &environment, &shown);
        let mut outcome = showing::while_it_runs(&self.link, (self.task, call), printed, run).await;
        if let Some(note) = self.egress.after_program(trouble).await {
            outcome.output.push('\n');
            outcome.output.push_str(&note);
        }
        outcome
    }

    async fn through_door(&mut self, call: DoorCall) -> Outcome {
        let outcome = ask_door(self.egress.door(), call).await;
        if outcome.status == CallStatus::Refused {
            self.egress.refusal_was_told().await;
        }
        outcome
    }

    async fn ask_once(&mut self, ledger: &Ledger, urge: Option<&str>) -> Result<ModelAnswer, Stop> {
        let mut messages = self.base.clone();
        messages.extend(ledger.messages(self.steps_bytes >> self.shrunk));
        messages.extend(self.place.shown(ledger));
        messages.extend(urge.map(|words| ChatMessage::user(words.to_owned())));
        let mut call = self.model.open(&messages, Some(&self.schemas), ledger.kind()).await?;
        drop(messages);
        self.telling.begin();
        // Nobody watches an executor write: its text is told when it is whole, and until then what it is at.
        while let Some(piece) = call.next().await? {
            self.telling.heard(&piece).await?;
        }
        let answer = call.finish()?;
        self.usage += answer.usage;
        self.telling.answered(&answer).await?;
        Ok(answer)
    }

    async fn request(&self, ask: Asked, place: CallPlace) -> Result<Outcome, Stop> {
        // A person may take their time, and so may a sub-task.
        let wait = match &ask {
            Asked::ProposePlan { .. } | Asked::Propose { .. } | Asked::Delegate { .. } => None,
            Asked::ListTasks
            | Asked::ShowTask { .. }
            | Asked::CancelTasks { .. }
            | Asked::SendFile { .. } => Some(REQUEST_TIMEOUT),
        };
        let id = match request_id(&self.task.to_string(), place) {
            Ok(id) => id,
            Err(error) => return Ok(tools::failed(error.to_string())),
        };
        let request = Request { id, chat: None, turn: None, ask };
        match self.link.request(request, wait).await {
            Ok(reply) => Ok(tools::told(reply)),
            Err(error @ LinkError::NoReply(_)) => Ok(tools::failed(error.to_string())),
            Err(error @ LinkError::Gone) => Err(error.into()),
        }
    }
}

/// What there is to tell of a task whose model fell silent: at least what its last step gave.
fn nothing_said(ledger: &Ledger) -> String {
    let last = ledger.calls().filter_map(|call| Some((call, ledger.outcome_of(&call.id)?))).last();
    last.map_or_else(
        || SAID_NOTHING.to_owned(),
        |(call, outcome)| {
            let gave = text::shorten(&outcome.output, MAX_LAST_OUTPUT);
            format!("{SAID_NOTHING} Its last step, {}, gave:\n\n{gave}", call.name)
        },
    )
}

/// It says nothing, or says something in place of a next step though the last one failed.
fn gives_up(answer: &ModelAnswer, ledger: &Ledger) -> bool {
    let last = ledger.calls().last().and_then(|call| ledger.outcome_of(&call.id));
    let failed = last.is_some_and(|outcome| outcome.status != CallStatus::Ok);
    answer.calls.is_empty() && (answer.text.trim().is_empty() || failed)
}

/// How much of the steps of a task its model is shown, beside what it is told before.
fn steps_bytes(start: &Start, base: &[ChatMessage]) -> usize {
    let told: usize = base.iter().map(ChatMessage::text_bytes).sum();
    Room::of_steps(start.model, told)
}

/// The tools of a task, as its model is told of them.
fn offered(start: &Start) -> Value {
    if start.model.small {
        return tools::small::for_executor(&start.without, start.plan_first);
    }
    tools::schemas(tools::EXECUTOR.iter().filter(|tool| {
        let missing = start.without.iter().any(|name| name == tool.name);
        let fits = tools::is_for(tool, start.model);
        !missing && fits && (tool.name != "task" || start.may_delegate)
    }))
}

async fn ask_door(door: &Door, call: DoorCall) -> Outcome {
    let DoorCall { path, body, bounds, show } = call;
    match door.post(path, &body, bounds).await {
        // Reading a page takes time that the link must not wait for.
        Ok(answered) => tokio::task::spawn_blocking(move || show(&answered))
            .await
            .unwrap_or_else(|error| tools::failed(format!("the tool fell over: {error}"))),
        Err(error @ DoorError::Refused(_)) => tools::refused(error.to_string()),
        Err(error) => tools::failed(error.to_string()),
    }
}

/// File tools may be slow; the link must not wait for them.
async fn on_files(
    run: fn(&ChatFolder, &str) -> Outcome,
    place: &ChatFolder,
    arguments: &str,
) -> Outcome {
    let (place, arguments) = (place.clone(), arguments.to_owned());
    tokio::task::spawn_blocking(move || run(&place, &arguments))
        .await
        .unwrap_or_else(|error| tools::failed(format!("the tool fell over: {error}")))
}

impl Work for Job {
    type Stop = Stop;

    async fn ask(&mut self, ledger: &Ledger) -> Result<ModelAnswer, Stop> {
        let mut tries = Tries::default();
        let mut urge = None;
        loop {
            match self.ask_once(ledger, urge).await {
                Err(Stop::Model(error)) if tries.again(&error).await => {}
                Err(Stop::Model(error)) if error.too_long && self.shrunk < MOST_SHRUNK => {
                    self.shrunk += 1;
                }
                Ok(answer)
                    if self.limits.one_call && urge.is_none() && gives_up(&answer, ledger) =>
                {
                    urge = Some(GO_ON);
                }
                other => return other,
            }
        }
    }

    async fn record(&mut self, at: usize, step: &Step) -> Result<(), Stop> {
        let seq = u32::try_from(at).unwrap_or(u32::MAX);
        let deadline = Instant::now() + JOURNAL_TIMEOUT;
        let mut state = self.link.state();
        loop {
            self.link.send(Uplink::Step { seq, step: step.clone() }).await?;
            tokio::select! {
                seen = self.journaled.wait_for(|last| *last >= Some(seq)) => {
                    return seen.map(|_last| ()).map_err(|_closed| LinkError::Gone.into());
                }
                // What was sent over the old connection may be lost.
                again = next_connection(&mut state) => again?,
                () = sleep_until(deadline) => return Err(Stop::NotJournaled),
            }
        }
    }

    fn refuse(&self, ledger: &Ledger, call: &Call) -> Option<Outcome> {
        let Some(tool) = tools::find(tools::EXECUTOR, &call.name) else {
            return Some(tools::unknown(tools::EXECUTOR, &call.name));
        };
        let changes = match tool.effect {
            Effect::Changes | Effect::Asks => true,
            Effect::Reads | Effect::AsksFreely => false,
        };
        if self.limits.one_call && guard::is_just_done(ledger, call) {
            return Some(tools::refused(JUST_DONE));
        }
        let unapproved = self.plan_first && !ledger.succeeded("propose_plan");
        (changes && unapproved).then(|| tools::refused(PLAN_FIRST))
    }

    async fn act(
        &mut self,
        call: &Call,
        place: CallPlace,
        attempt: Attempt,
    ) -> Result<Outcome, Stop> {
        let Some(tool) = tools::find(tools::EXECUTOR, &call.name) else {
            return Ok(tools::unknown(tools::EXECUTOR, &call.name));
        };
        match (attempt, tool.effect) {
            (Attempt::Again, Effect::Changes) => {
                Ok(Outcome { status: CallStatus::Unknown, output: UNKNOWN.to_owned() })
            }
            // Reading again harms nobody; a request has no second effect under its id.
            (Attempt::Again, Effect::Reads | Effect::Asks | Effect::AsksFreely)
            | (Attempt::First, _) => self.handle(tool, call, place).await,
        }
    }
}
