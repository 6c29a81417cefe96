//! `write_todos`: the executor's todo list, whole each time.

use cloister_protocol::Todo;
use cloister_protocol::link::Outcome;
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Tool, failed, object, parse};

const MAX_TODOS: usize = 50;

pub(super) const TOOL: Tool = Tool {
    name: "write_todos",
    about: "Write down the todo list of this task, replacing the one before. The person sees it. Use \
            it for work of three or more steps and keep it current.",
    parameters: || {
        object(
            json!({"todos": {"type": "array", "maxItems": MAX_TODOS, "items": object(
                json!({
                    "text": {"type": "string"},
                    "state": {"type": "string", "enum": ["open", "doing", "done"]},
                }),
                &["text", "state"],
            )}}),
            &["todos"],
        )
    },
    effect: Effect::Reads,
    handler: Handler::Todos(todos),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    todos: Vec<Todo>,
}

fn todos(arguments: &str) -> Result<Vec<Todo>, Outcome> {
    let Args { todos } = parse(arguments)?;
    if todos.len() > MAX_TODOS {
        return Err(failed(format!("too many todos: at most {MAX_TODOS}")));
    }
    Ok(todos)
}
