//! Tool calls of executors, before they run.

use cloister_policy::engine::{Bounds, CellAsk};
use cloister_policy::gate::{Action, Effect, Surroundings};
use cloister_policy::provenance::Flow;
use cloister_policy::shell::Originals;
use cloister_policy::{Rated, shell};
use cloister_protocol::TaskId;
use cloister_protocol::link::{CHAT_PATH, Call};
use cloister_store::Store;
use cloister_store::approvals::ApprovalState;
use cloister_store::audit::{Entry, Fingerprint};
use cloister_store::grants::Passing;
use cloister_store::layers::LayerState;
use serde::Deserialize;

use super::asking::{Then, pass_entry, said_no};
use super::content::Live;
use super::outward::asker;
use super::{Judged, Wanted};
use crate::gates::{GateError, Gates};

/// Arguments up to this length are whole in the audit trail; of longer ones it has what proves them.
const NOTED_BYTES: usize = 16 << 10;
/// How often a call is looked at again because an answer came meanwhile.
const MAX_LOOKS: u32 = 4;

/// What becomes of a call.
pub(crate) enum CallGate {
    /// It runs, once this is recorded with its step.
    Run(Passing),
    /// People are asked; the task waits, and its state says so.
    Wait,
    /// It only deletes these files that people sent, and the control plane does so itself: for no
    /// sandbox are they writable.
    Delete { files: Vec<String>, passing: Passing },
    /// It does not run, and the model is told why.
    Refuse { reason: String, noted: Vec<Entry> },
    /// Nothing runs now.
    Stopped,
}

/// Why a call is refused that would change what people sent. No answer of theirs would let it.
const ORIGINALS_STAY: &str = "what the person sent (incoming/) is not changed by a task, whatever was \
    allowed: copy it to your own files and change the copy. To delete a file that they sent, run \
    `rm incoming/NAME` by itself: they are asked, and the control plane deletes it";

/// A tool call, as it is judged.
struct Rating {
    action: Action,
    folder: &'static str,
    risk: Rated,
}

impl Gates {
    /// Decides about one call of a task's ledger.
    pub(crate) async fn gate_call(&self, id: TaskId, call: &Call) -> Result<CallGate, GateError> {
        let mut looks = 0;
        let originals = originals_of(call);
        let bounds = bounds_of(self.control.store(), id, &originals).await?;
        loop {
            if self.control.stops().is_stopped() {
                return Ok(CallGate::Stopped);
            }
            let (task, wanted) = {
                let mut guard = self.control.provenance().live(id).await?;
                let live = guard.get()?;
                (live.task.clone(), wanted_by(live, call, bounds))
            };
            let cell = self.cell_of_task(&task).await?;
            let note =
                Entry::of_cell((task.workspace, Some(id)), "tool.call", id).with(noted(call));
            let refuse = |reason| Ok(CallGate::Refuse { reason, noted: vec![note.clone()] });
            if originals == Originals::Changes {
                return refuse(ORIGINALS_STAY.to_owned());
            }
            match self.judge(&cell, wanted).await? {
                Judged::Pass(cleared) => {
                    let mut entries = vec![note];
                    entries.extend(cleared.was_asked().then(|| pass_entry(&cleared)));
                    let passing = Passing::of(*cleared, entries);
                    return Ok(match originals {
                        Originals::Deletes(files) => CallGate::Delete { files, passing },
                        Originals::Untouched | Originals::Changes => CallGate::Run(passing),
                    });
                }
                Judged::Denied { reason } => return refuse(reason),
                Judged::Asked(approval) => match approval.state {
                    ApprovalState::Pending => return Ok(CallGate::Wait),
                    ApprovalState::Denied => return refuse(said_no(&approval)),
                    ApprovalState::Void => return refuse("its task has ended".to_owned()),
                    ApprovalState::Allowed => {}
                },
            }
            looks += 1;
            if looks >= MAX_LOOKS {
                return refuse("it could not be decided; try it once more".to_owned());
            }
        }
    }
}

/// What keeps a call from doing what can't be undone. A task that has no layer of its own can't take back what it does,
/// nor can one that has what people sent deleted: the control plane does that at once.
async fn bounds_of(store: &Store, id: TaskId, originals: &Originals) -> Result<Bounds, GateError> {
    if let Originals::Deletes(_) = originals {
        return Ok(Bounds::Sandbox);
    }
    let layer = store.layers().of(id).await?;
    let works_on_one = layer.is_some_and(|layer| layer.state == LayerState::Open);
    Ok(if works_on_one { Bounds::Layer } else { Bounds::Sandbox })
}

/// What a call means to do to what people sent.
fn originals_of(call: &Call) -> Originals {
    match call.name.as_str() {
        "bash" => match serde_json::from_str::<ShellArguments>(&call.arguments) {
            Ok(ShellArguments { command }) => shell::originals(&command),
            Err(_unreadable) => Originals::Untouched,
        },
        "write_file" | "edit_file" => {
            let path = serde_json::from_str::<FileArguments>(&call.arguments).map(|args| args.path);
            if path.is_ok_and(|path| is_sent(&path)) {
                Originals::Changes
            } else {
                Originals::Untouched
            }
        }
        _ => Originals::Untouched,
    }
}

/// Whether a path, as a tool of an executor is given it, leads to what people sent.
fn is_sent(path: &str) -> bool {
    let below = path.strip_prefix(CHAT_PATH).filter(|rest| rest.starts_with('/')).unwrap_or(path);
    below.split('/').find(|part| !part.is_empty() && *part != ".") == Some("incoming")
}

fn wanted_by(live: &Live, call: &Call, bounds: Bounds) -> Wanted {
    let Live { task, context, plan_pending, plans, .. } = live;
    let Rating { action, folder, risk } = rate(call);
    let ask = CellAsk::CallTool {
        tool: call.name.clone(),
        changes: cloister_policy::is_mutating(&call.name),
        risk,
        bounds,
    };
    let flow = match risk {
        Rated::Middle | Rated::Destructive | Rated::Outward if !context.is_trusted() => Flow::Ask {
            sources: context.untrusted(),
            reason: "content that is not yours is in this task".to_owned(),
        },
        Rated::Safe | Rated::Unknown | Rated::Middle | Rated::Destructive | Rated::Outward => {
            Flow::Run
        }
    };
    let surroundings = Surroundings { folder: folder.to_owned(), ..Surroundings::default() };
    Wanted {
        effect: Effect { action, surroundings, asker: asker(task, context) },
        ask,
        flow,
        plan_pending: *plan_pending,
        plans: plans.clone(),
        then: Then::Call { id: call.id.clone() },
    }
}

/// What of a shell tool's arguments is its command.
#[derive(Deserialize)]
struct ShellArguments {
    #[serde(alias = "cmd")]
    command: String,
}

/// What of a file tool's arguments says which file.
#[derive(Deserialize)]
struct FileArguments {
    #[serde(alias = "file_path", alias = "filename")]
    path: String,
}

fn rate(call: &Call) -> Rating {
    let tool = |risk| Rating {
        action: Action::Tool { name: call.name.clone(), arguments: call.arguments.clone() },
        folder: "",
        risk,
    };
    match call.name.as_str() {
        "bash" => match serde_json::from_str::<ShellArguments>(&call.arguments) {
            Ok(ShellArguments { command }) => Rating {
                risk: confined_risk(&shell::assess(&command)),
                action: Action::Command { text: command },
                folder: CHAT_PATH,
            },
            // The tool will not take them either.
            Err(_unreadable) => tool(Rated::Unknown),
        },
        "python" => tool(Rated::Unknown),
        // The other tools each do one thing, in the sandbox or by a request that is judged by itself.
        _ => tool(Rated::Safe),
    }
}

/// How risky a command is where the broker is the only way out. What is outward about it is held
/// there, byte by byte as it would leave: asked here as well, one action would be two questions.
fn confined_risk(assessment: &shell::Assessment) -> Rated {
    // Nobody makes a command that long by accident; what is at its end is not known to be harmless.
    if assessment.cut_short {
        return Rated::Destructive;
    }
    if assessment.rated != Rated::Outward {
        return assessment.rated;
    }
    let rated = assessment.findings.iter().map(|finding| finding.rated);
    rated
        .filter(|rated| *rated != Rated::Outward)
        .max()
        .unwrap_or(Rated::Unknown)
        .max(Rated::Unknown)
}

/// A call as the audit trail has it: whole, or by what proves it where the ledger has it whole.
fn noted(call: &Call) -> String {
    let Call { id, name, arguments } = call;
    if arguments.len() <= NOTED_BYTES {
        return format!("{id} {name} {arguments}");
    }
    let print = Fingerprint::of(arguments.as_bytes());
    format!("{id} {name}: arguments of {print}; whole in the ledger")
}
