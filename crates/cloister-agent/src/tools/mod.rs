//! The tools: a table of names, each with its schema and its handler. One file per tool.
//!
//! A handler parses its own arguments and answers wrong ones with words the model can act on. Names
//! that other harnesses have taught models (`file_path`, `old_string`, …) are taken too: a call is not
//! worth losing over them.

mod bash;
mod cancel_tasks;
mod delegate;
mod edit_file;
mod family;
mod fetch_url;
mod finish;
mod glob;
mod grep;
mod list_tasks;
pub(crate) mod look_at;
mod look_back;
mod ls;
mod output;
mod pattern;
mod place;
pub(crate) mod program;
mod propose_change;
mod propose_plan;
mod python;
mod read_file;
pub(crate) mod remember;
mod send_file;
mod show_task;
pub(crate) mod small;
mod task;
mod walk;
mod web_search;
mod write_file;
mod write_todos;

use cloister_protocol::link::{Asked, CallStatus, Finish, Outcome, Reply};
use cloister_protocol::{ModelFacts, Todo};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(crate) use look_back::LookBack;
pub(crate) use output::Tail;
pub(crate) use place::ChatFolder;
pub(crate) use program::Program;
pub(crate) use web_search::NAME as WEB_SEARCH;

use crate::context::reports;
use crate::door::{Bounds, DoorAnswer};
use crate::text;

/// What a tool may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing: it may run again after a crash, and before a plan is approved.
    Reads,
    /// Files, or whatever a program does: never run again by itself.
    Changes,
    /// A request that has no second effect under the same id, and changes something.
    Asks,
    /// Such a request that needs no plan.
    AsksFreely,
}

/// What it takes to run a tool.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    Files(fn(&ChatFolder, &str) -> Outcome),
    Program(fn(&str) -> Result<Program, Outcome>),
    Door(fn(&str) -> Result<DoorCall, Outcome>),
    Request(fn(&str) -> Result<Asked, Outcome>),
    /// Is given what is kept in mind; for a coordinator, which can read that.
    Memory(fn(&str, &str) -> Result<Asked, Outcome>),
    /// Shows a picture: where there are some, and which may be seen, is the caller's to say.
    Picture(fn(&str) -> Result<String, Outcome>),
    /// Reads what was said before; for a coordinator, which has kept it.
    LookBack(fn(&str) -> Result<LookBack, Outcome>),
    Todos(fn(&str) -> Result<Vec<Todo>, Outcome>),
    Finish(fn(&str) -> Result<Finish, Outcome>),
}

/// A request to the broker, and how its answer is shown.
pub(crate) struct DoorCall {
    pub(crate) path: &'static str,
    pub(crate) body: Value,
    pub(crate) bounds: Bounds,
    pub(crate) show: fn(&DoorAnswer) -> Outcome,
}

pub(crate) struct Tool {
    pub(crate) name: &'static str,
    about: &'static str,
    /// The JSON Schema of the arguments.
    parameters: fn() -> Value,
    pub(crate) effect: Effect,
    pub(crate) handler: Handler,
}

pub(crate) const COORDINATOR: &[Tool] = &[
    delegate::TOOL,
    list_tasks::TOOL,
    show_task::TOOL,
    cancel_tasks::TOOL,
    look_back::TOOL,
    look_at::TOOL,
    send_file::TOOL,
    remember::TOOL,
    propose_change::TOOL,
];

pub(crate) const EXECUTOR: &[Tool] = &[
    bash::TOOL,
    python::TOOL,
    read_file::TOOL,
    look_at::TOOL,
    write_file::TOOL,
    edit_file::TOOL,
    ls::TOOL,
    glob::TOOL,
    grep::TOOL,
    fetch_url::TOOL,
    web_search::TOOL,
    send_file::TOOL,
    write_todos::TOOL,
    task::TOOL,
    propose_plan::TOOL,
    propose_change::TOOL,
    finish::TOOL,
];

pub(crate) fn find(tools: &'static [Tool], name: &str) -> Option<&'static Tool> {
    tools.iter().find(|tool| tool.name == name)
}

/// Whether a model is told of a tool: one that sees nothing has no use for pictures.
pub(crate) fn is_for(tool: &Tool, model: ModelFacts) -> bool {
    tool.name != look_at::NAME || model.vision != Some(false)
}

/// The tools as a model request lists them.
pub(crate) fn schemas<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> Value {
    let schema = |tool: &Tool| schema(tool.name, tool.about, &(tool.parameters)());
    Value::Array(tools.into_iter().map(schema).collect())
}

fn schema(name: &str, about: &str, parameters: &Value) -> Value {
    json!({"type": "function", "function": {
        "name": name, "description": about, "parameters": parameters,
    }})
}

pub(crate) fn unknown(tools: &[Tool], name: &str) -> Outcome {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    let name = text::head(name, 60);
    failed(format!("there is no tool {name:?}; there are: {}", names.join(", ")))
}

pub(crate) fn done(output: impl Into<String>) -> Outcome {
    Outcome { status: CallStatus::Ok, output: output.into() }
}

pub(crate) fn failed(output: impl Into<String>) -> Outcome {
    Outcome { status: CallStatus::Failed, output: output.into() }
}

pub(crate) fn refused(output: impl Into<String>) -> Outcome {
    Outcome { status: CallStatus::Refused, output: output.into() }
}

/// Arguments as they are shown to people: JSON where they are JSON.
pub(crate) fn as_value(arguments: &str) -> Value {
    serde_json::from_str(arguments)
        .unwrap_or_else(|_not_json: serde_json::Error| Value::String(arguments.to_owned()))
}

fn parse<T: DeserializeOwned>(arguments: &str) -> Result<T, Outcome> {
    serde_json::from_str(arguments)
        .map_err(|error| failed(format!("the arguments are wrong: {error}; nothing was done")))
}

/// The schema of an object whose fields are all there is.
fn object(properties: Value, required: &[&str]) -> Value {
    json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    })
}

/// The control plane's reply as a tool's result.
pub(crate) fn told(reply: Reply) -> Outcome {
    match reply {
        Reply::Delegated { task, state } => done(format!(
            "Task {task} is {}. It runs in the background; its report comes when it has ended.",
            state.as_str()
        )),
        Reply::Tasks { tasks } if tasks.is_empty() => done("There are no tasks."),
        Reply::Tasks { tasks } => {
            let lines: Vec<String> = tasks.iter().map(reports::listed).collect();
            done(lines.join("\n\n"))
        }
        Reply::Cancelled { tasks } if tasks.is_empty() => done("There was nothing to cancel."),
        Reply::Cancelled { tasks } => {
            let ids: Vec<String> = tasks.iter().map(ToString::to_string).collect();
            done(format!("Cancelled: {}.", ids.join(", ")))
        }
        Reply::Sent { file } => done(format!("Sent {:?} to the person.", file.name)),
        Reply::Kept { path } => done(format!("Kept in {path}.")),
        Reply::Answered { answer } if answer.is_allowing() => {
            done("The person approved the plan. Carry it out.")
        }
        Reply::Answered { .. } => refused(
            "The person said no to this plan. Do not carry it out: propose another, or finish and say so.",
        ),
        Reply::Refused { error } => {
            refused(format!("{} {}", error.message, error.fix.unwrap_or_default()).trim_end())
        }
    }
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
