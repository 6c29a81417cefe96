//! One attempt at one task: launch an executor, journal its steps, carry out its requests.

mod room;
mod steps;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use cloister_policy::legible;
use cloister_protocol::link::{CHAT_PATH, CallStatus, Downlink, Finish, Start, Step, Uplink};
use cloister_protocol::{AgentFrame, Level, TaskState, Todo, ToolCall, ToolResult, Update};
use cloister_store::tasks::{Ending, Task};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use self::room::LedgerRoom;
use super::requests::{self, Answered};
use crate::cells::{Doorway, LinkEnd};
use crate::control::Control;
use crate::error::Fault;
use crate::ports::{
    Access, Egress, Exit, Inhabitant, Mount, OpenDoor, Principal, Role, Sandbox, SandboxSpec,
};
use crate::tasks::TaskError;

const CONNECT_TIME: Duration = Duration::from_secs(20);
/// How long an executor that lost its link has to come back.
const RECONNECT_TIME: Duration = Duration::from_secs(10);
/// Requests of one attempt. An honest executor makes a few.
const MOST_REQUESTS: u32 = 1000;
/// How much of what a running command prints is shown at once, and how often at most.
const MOST_OUTPUT: usize = 8 << 10;
const OUTPUT_EVERY: Duration = Duration::from_millis(100);

/// Why an attempt is over.
enum Over {
    /// The executor says that it is done, or can't be.
    Finished(Finish),
    /// The task waits without a sandbox; its state says so already.
    Parked,
    /// The executor is gone without a word.
    Died(String),
    /// The task must not go on.
    Refused(String),
    /// Cancelled, or the control plane stops.
    Stopped,
    /// People have answered, or a call was refused: to be launched again, from its ledger.
    Again,
}

impl Over {
    const fn word(&self) -> &'static str {
        match self {
            Self::Finished(_) => "finished",
            Self::Parked => "parked",
            Self::Died(_) => "died",
            Self::Refused(_) => "refused",
            Self::Stopped => "stopped",
            Self::Again => "again",
        }
    }
}

/// A launched executor.
struct Attempt<'a> {
    control: &'a Control,
    task: &'a Task,
    sandbox: Arc<dyn Sandbox>,
    connections: mpsc::Receiver<LinkEnd>,
    /// The steps so far, to know what a call was.
    ledger: Vec<Step>,
    room: LedgerRoom,
    /// How many requests it has made.
    requests: u32,
    plan_pending: bool,
    /// The person knows that the budget is nearly used up.
    warned: bool,
    /// When it was last shown what a command of it prints.
    output_at: Option<Instant>,
    _door: Box<dyn OpenDoor>,
}

pub(super) async fn run(control: &Control, task: Task, cancel: CancellationToken) {
    match control.gates().end_if_stopped(&task).await {
        Ok(false) => {}
        Ok(true) => return,
        Err(error) => {
            tracing::error!(workspace = %task.workspace, task = %task.id, error = error.chain(), "it is not known whether a task may go on");
        }
    }
    let over = match launch(control, &task).await {
        Ok(mut attempt) => {
            if let Some(running) = control.inner.tasks.running().get_mut(&task.id) {
                running.sandbox = Some(Arc::clone(&attempt.sandbox));
            }
            control.tasks().tell_task(&task, "");
            let parked =
                control.inner.tasks.running().get(&task.id).map(|running| running.parked.clone());
            let parked = parked.unwrap_or_default();
            let over = tokio::select! {
                // What was decided about it counts before what it says: refused at its limit, it may say that it
                // failed before it is noticed here that it waits.
                biased;
                () = cancel.cancelled() => Over::Stopped,
                () = parked.cancelled() => Over::Parked,
                over = attempt.work() => over,
            };
            attempt.sandbox.kill().await;
            control.metrics().exited(Role::Executor, over.word());
            over
        }
        Err(error) => {
            tracing::error!(workspace = %task.workspace, task = %task.id, error = error.chain(), "an executor did not start");
            Over::Died(error.body().message)
        }
    };
    control.cells().clear_door(&sandbox_name(&task));
    let over = match over {
        // It died of the stop.
        Over::Died(_) if control.stops().is_stopped() => Over::Stopped,
        over => over,
    };
    if let Err(error) = settle(control, &task, over).await {
        tracing::error!(workspace = %task.workspace, task = %task.id, error = error.chain(), "the end of an attempt could not be stored");
    }
}

/// Puts the end of an attempt into the task's state.
async fn settle(control: &Control, task: &Task, over: Over) -> Result<(), Fault> {
    match over {
        Over::Finished(finish) => {
            let ledger = control.store().tasks().steps(task.id).await?;
            let changed = control.tasks().layers().changed_by(task).await;
            let not_shown = cloister_policy::not_shown_beside(&ledger, &finish, changed.as_deref());
            if !finish.ok && cloister_policy::ended_in_circles(&ledger) {
                control.metrics().loop_stopped("calls");
            }
            let state = if finish.ok { TaskState::Done } else { TaskState::Failed };
            let ending = Ending { state, result: finish.result, not_shown, known_to_person: false };
            let ending =
                if finish.ok { control.tasks().layers().land(task, ending).await? } else { ending };
            control.tasks().end_task(task.id, ending).await?;
        }
        Over::Refused(reason) => {
            control.tasks().end_task(task.id, failed(control, task, reason).await?).await?;
        }
        Over::Died(reason) => {
            let now = control.store().tasks().task(task.id).await?;
            if now.attempts >= control.work().max_attempts {
                let result = format!(
                    "the executor ended {} times without getting on: {reason}",
                    now.attempts
                );
                control.tasks().end_task(task.id, failed(control, task, result).await?).await?;
            } else {
                tracing::warn!(workspace = %task.workspace, task = %task.id, attempts = now.attempts, reason, "an executor ended early; again");
                control.store().tasks().requeue(task.id).await?;
            }
        }
        Over::Parked => {
            // Whatever it waits for may have come between the question and here.
            control.tasks().tell_task(&control.store().tasks().task(task.id).await?, "");
        }
        // It was not its own doing: the attempt does not count.
        Over::Stopped if control.stops().is_stopped() => {
            control.store().tasks().unstart(task.id).await?;
            control
                .tasks()
                .tell_task(&control.store().tasks().task(task.id).await?, "everything is stopped");
        }
        Over::Stopped | Over::Again => control.store().tasks().requeue(task.id).await?,
    }
    Ok(())
}

/// The end of a task whose executor could not say it itself: what it was doing is told as unknown.
async fn failed(control: &Control, task: &Task, result: String) -> Result<Ending, Fault> {
    let ledger = control.store().tasks().steps(task.id).await?;
    let finish = Finish { ok: false, result, claims: vec![], usage: Default::default() };
    let not_shown = cloister_policy::not_shown(&ledger, &finish);
    let Finish { result, .. } = finish;
    Ok(Ending { state: TaskState::Failed, result, not_shown, known_to_person: false })
}

fn sandbox_name(task: &Task) -> String {
    format!("{}-{}", task.workspace, task.id)
}

async fn launch<'a>(control: &'a Control, task: &'a Task) -> Result<Attempt<'a>, Fault> {
    let user = control.store().users().user_of(task.workspace).await?;
    let plan_pending =
        task.plan_first && !control.store().approvals().has_allowed_plan(task.id).await?;
    control.cells().prepare_workspace(task.workspace, vec![task.chat]).await?;
    let room = control.cells().room(task.workspace).await?;
    let name = sandbox_name(task);
    let who = Principal {
        user: user.id,
        workspace: task.workspace,
        chat: task.chat,
        task: Some(task.id),
    };
    let egress = Egress::Open {
        only: task.hosts.clone(),
        reads_only: plan_pending,
        secrets: task.secrets.clone(),
    };
    let Doorway { socket, connections, door } = control.cells().open_door(&name, who, egress)?;
    let layout = control.layout();
    // Whatever the agent believes: without an approved plan there is nothing it could change.
    let files = if plan_pending {
        let source = layout.chat_files(task.workspace, task.chat);
        Mount { source, target: CHAT_PATH.into(), access: Access::ReadOnly }
    } else {
        control.tasks().layers().open(task, Path::new(CHAT_PATH)).await?
    };
    let incoming = Path::new(CHAT_PATH).join("incoming");
    let spec = SandboxSpec {
        name,
        inhabitant: Inhabitant::Agent(Role::Executor),
        owner: task.workspace.into(),
        mounts: vec![files, layout.incoming_mount(task.workspace, task.chat, incoming)],
        door: socket,
        cwd: CHAT_PATH.into(),
        limits: control.inner.parts.cells.executor_limits(room),
    };
    let sandbox: Arc<dyn Sandbox> = Arc::from(control.cells().launch_sandbox(spec).await?);
    if room == 0 {
        sandbox.set_writable(false).await;
    }
    let ledger = control.store().tasks().steps(task.id).await?;
    let room = LedgerRoom::beside(&ledger, control.work().max_steps);
    Ok(Attempt {
        control,
        task,
        sandbox,
        connections,
        ledger,
        room,
        requests: 0,
        plan_pending,
        warned: false,
        output_at: None,
        _door: door,
    })
}

impl Attempt<'_> {
    async fn work(&mut self) -> Over {
        let mut wait = CONNECT_TIME;
        loop {
            let link = tokio::select! {
                link = self.connections.recv() => link,
                exit = self.sandbox.wait() => return self.died(exit),
                () = tokio::time::sleep(wait) => None,
            };
            let Some(link) = link else {
                return Over::Died("it did not connect".to_owned());
            };
            match self.serve(link).await {
                Ok(Some(over)) => return over,
                Ok(None) => wait = RECONNECT_TIME,
                Err(error) => {
                    tracing::error!(workspace = %self.task.workspace, task = %self.task.id, error = error.chain(), "a step of an executor failed");
                    return Over::Died(error.body().message);
                }
            }
        }
    }

    fn died(&self, exit: Exit) -> Over {
        let log = self.sandbox.log_tail();
        tracing::warn!(workspace = %self.task.workspace, task = %self.task.id, ?exit, log, "an executor ended");
        match exit {
            Exit::OutOfMemory => {
                Over::Refused("it used more memory than a task may have".to_owned())
            }
            Exit::OutOfTime => Over::Refused("it took longer than a task may take".to_owned()),
            Exit::Code(_) | Exit::Signal(_) | Exit::Killed => {
                Over::Died("it ended unexpectedly".to_owned())
            }
        }
    }

    /// Serves one connection; none when it was lost.
    async fn serve(&mut self, mut link: LinkEnd) -> Result<Option<Over>, TaskError> {
        loop {
            let frame = tokio::select! {
                frame = link.up.recv() => frame,
                exit = self.sandbox.wait() => {
                    // What it said before it ended still counts.
                    match link.up.recv().await {
                        Some(frame) => Some(frame),
                        None => return Ok(Some(self.died(exit))),
                    }
                }
            };
            let Some(frame) = frame else { return Ok(None) };
            if self.control.stops().is_stopped() {
                // Nothing is judged, let alone done: it is taken up where its ledger ends.
                return Ok(Some(Over::Stopped));
            }
            let answer = match frame {
                Uplink::Hello { .. } => Some(Downlink::Start(self.start().await?)),
                Uplink::Step { seq, step } => match self.journal(seq, step).await? {
                    None => Some(Downlink::Journaled { seq }),
                    Some(over) => return Ok(Some(over)),
                },
                Uplink::Todos { todos } => {
                    self.show_todos(todos);
                    None
                }
                Uplink::Update(Update::Progress { text, doing, attempt, .. }) => {
                    let text = legible(&text).chars().take(500).collect();
                    self.say(AgentFrame::Update(Update::Progress {
                        task: Some(self.task.id),
                        text,
                        doing,
                        attempt,
                    }));
                    None
                }
                Uplink::Update(Update::Output { call, text, .. }) => {
                    self.show_output(call, text);
                    None
                }
                Uplink::Finish(finish) => return Ok(Some(Over::Finished(finish))),
                Uplink::Request(_) if self.requests >= MOST_REQUESTS => {
                    let reason = "it was stopped: it asked for more than a task may".to_owned();
                    return Ok(Some(Over::Refused(reason)));
                }
                Uplink::Request(request) => {
                    self.requests += 1;
                    match requests::answer(self.control, self.task, &request, self.plan_pending)
                        .await
                    {
                        Answered::Now(_) if self.plan_was_approved().await? => {
                            return Ok(Some(Over::Again));
                        }
                        Answered::Now(reply) => {
                            Some(Downlink::Reply { id: request.id, result: reply })
                        }
                        Answered::Later => return Ok(Some(Over::Parked)),
                    }
                }
                // An executor has no turn to speak in.
                Uplink::Update(_)
                | Uplink::Accepted { .. }
                | Uplink::TextChunk(_)
                | Uplink::ToolCall(_)
                | Uplink::ToolResult(_)
                | Uplink::End(_) => None,
            };
            if let Some(answer) = answer
                && link.down.send(answer).await.is_err()
            {
                return Ok(None);
            }
        }
    }

    /// Approved since the launch; the request will be made again, and answered then.
    async fn plan_was_approved(&self) -> Result<bool, Fault> {
        Ok(self.plan_pending
            && self.control.store().approvals().has_allowed_plan(self.task.id).await?)
    }

    async fn start(&mut self) -> Result<Start, Fault> {
        self.ledger = self.control.store().tasks().steps(self.task.id).await?;
        self.room = LedgerRoom::beside(&self.ledger, self.control.work().max_steps);
        let task = self.task;
        let scene = self.control.cells().scene_of_task(task).await?;
        Ok(Start {
            task: task.id,
            title: task.title.clone(),
            instructions: task.instructions.clone(),
            request: task.request.clone(),
            files: task.files.clone(),
            plan_first: self.plan_pending,
            may_delegate: requests::may_delegate(task),
            max_steps: self.control.work().max_steps,
            ledger: self.ledger.clone(),
            notes: self.control.gates().notes_for(task).await?,
            model: self
                .control
                .models()
                .facts((task.workspace, task.chat), Level::Executor)
                .await?,
            about: scene.lasting,
            now: scene.now,
            without: scene.without,
        })
    }

    fn show_step(&self, step: &Step) {
        match step {
            Step::Answer { .. } => {}
            Step::Call { call } => {
                if let Some(known) = self.call(call) {
                    let arguments = serde_json::from_str(&known.arguments).unwrap_or_default();
                    self.say(AgentFrame::ToolCall(ToolCall {
                        turn: None,
                        task: Some(self.task.id),
                        id: call.clone(),
                        name: known.name.clone(),
                        arguments,
                    }));
                }
            }
            Step::Result { call, outcome } => self.say(AgentFrame::ToolResult(ToolResult {
                turn: None,
                task: Some(self.task.id),
                id: call.clone(),
                ok: outcome.status == CallStatus::Ok,
                output: outcome.output.chars().take(2000).collect(),
            })),
        }
    }

    fn call(&self, id: &str) -> Option<&cloister_protocol::link::Call> {
        self.ledger.iter().rev().find_map(|step| match step {
            Step::Answer { calls, .. } => calls.iter().find(|call| call.id == id),
            Step::Call { .. } | Step::Result { .. } => None,
        })
    }

    /// What a call of its ledger that has no result yet has printed so far.
    fn show_output(&mut self, call: String, mut text: String) {
        let is_result = |step: &Step| matches!(step, Step::Result { call: of, .. } if *of == call);
        let early = self.output_at.is_some_and(|at| at.elapsed() < OUTPUT_EVERY);
        if early || self.call(&call).is_none() || self.ledger.iter().rev().any(is_result) {
            return;
        }
        self.output_at = Some(Instant::now());
        text.truncate(text.floor_char_boundary(MOST_OUTPUT));
        let task = Some(self.task.id);
        self.say(AgentFrame::Update(Update::Output { task, call, text }));
    }

    fn show_todos(&self, todos: Vec<Todo>) {
        let todos = todos.into_iter().take(100).collect();
        self.say(AgentFrame::Update(Update::Todos { task: self.task.id, todos }));
    }

    fn say(&self, frame: AgentFrame) {
        self.control.hub().say(self.task.workspace, self.task.chat, frame, None);
    }
}
