//! The tools as a small model is offered them: few, with a sentence each and arguments that are words.
//!
//! They are the same tools: whoever calls one of the others by name is served too.

use serde_json::{Value, json};

struct ShortTool {
    name: &'static str,
    about: &'static str,
    /// Each with what it is; all of them must be given.
    arguments: &'static [(&'static str, &'static str)],
}

const COORDINATOR: &[ShortTool] = &[
    ShortTool {
        name: "delegate",
        about: "Start a task: somebody who can write files, run programs and read pages does it.",
        arguments: &[("instructions", "What to do, in full.")],
    },
    ShortTool {
        name: "remember",
        about: "Keep a fact about the person in mind, when they ask for it.",
        arguments: &[("note", "The fact, in one sentence.")],
    },
];

/// For a chat of which not all is shown.
const LOOK_BACK: ShortTool = ShortTool {
    name: "look_back",
    about: "Find what was said earlier in this chat and is not shown here.",
    arguments: &[("query", "Words that occur in it.")],
};

const EXECUTOR: &[ShortTool] = &[
    ShortTool {
        name: "write_file",
        about: "Write a text file. A program ends with the line that runs it: a function that nobody calls does nothing.",
        arguments: &[("path", "Such as notes.txt."), ("content", "All of its text.")],
    },
    ShortTool {
        name: "bash",
        about: "Run a shell command in /chat and see its output.",
        arguments: &[("command", "The command.")],
    },
    ShortTool {
        name: "read_file",
        about: "Read a text file.",
        arguments: &[("path", "Such as notes.txt.")],
    },
    ShortTool {
        name: "fetch_url",
        about: "Read a web page.",
        arguments: &[("url", "Its address.")],
    },
    ShortTool {
        name: "send_file",
        about: "Give a file to the person, when they asked for it.",
        arguments: &[("path", "Such as notes.txt.")],
    },
    ShortTool {
        name: "propose_plan",
        about: "Put a plan to the person, and wait for their yes.",
        arguments: &[("plan", "What would be done.")],
    },
    ShortTool {
        name: "finish",
        about: "End the task.",
        arguments: &[("result", "What came of it, with the output that was asked for.")],
    },
];

/// Whether a text is no answer but the list of tools again, as small models write it.
pub(crate) fn is_echo(text: &str) -> bool {
    let text = text.trim_start().trim_start_matches("```json").trim_start();
    let plain: String = text.chars().take(60).filter(|c| !c.is_whitespace()).collect();
    plain.starts_with("<tools>") || plain.starts_with("{\"type\":\"function\"")
}

/// `look_back`: whether something that was said is not shown.
pub(crate) fn for_coordinator(look_back: bool) -> Value {
    schemas(COORDINATOR.iter().chain(look_back.then_some(&LOOK_BACK)))
}

/// `plan_first`: whether there is a plan to propose.
pub(crate) fn for_executor(without: &[String], plan_first: bool) -> Value {
    let offered = |tool: &&ShortTool| {
        let missing = without.iter().any(|name| name == tool.name);
        !missing && (tool.name != "propose_plan" || plan_first)
    };
    schemas(EXECUTOR.iter().filter(offered))
}

fn schemas<'a>(tools: impl Iterator<Item = &'a ShortTool>) -> Value {
    let schema = |tool: &ShortTool| {
        let properties: serde_json::Map<_, _> = tool
            .arguments
            .iter()
            .map(|(name, about)| {
                ((*name).to_owned(), json!({"type": "string", "description": about}))
            })
            .collect();
        let required: Vec<_> = tool.arguments.iter().map(|(name, _)| *name).collect();
        let parameters = super::object(Value::Object(properties), &required);
        super::schema(tool.name, tool.about, &parameters)
    };
    Value::Array(tools.map(schema).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A short form is taken by the tool that it is a form of.
    #[test]
    fn every_short_tool_is_a_tool_with_these_arguments() {
        let whole = super::super::COORDINATOR;
        let both =
            [(COORDINATOR, whole), (&[LOOK_BACK][..], whole), (EXECUTOR, super::super::EXECUTOR)];
        for (short, whole) in both {
            for tool in short {
                let same = super::super::find(whole, tool.name).unwrap();
                let parameters = (same.parameters)();
                let given: Vec<_> = tool.arguments.iter().map(|(name, _)| *name).collect();
                for name in &given {
                    assert_eq!(parameters["properties"][name]["type"], "string", "{}", tool.name);
                }
                for needed in parameters["required"].as_array().unwrap() {
                    let needed = needed.as_str().unwrap();
                    assert!(given.contains(&needed) || needed == "title", "{} {needed}", tool.name);
                }
            }
        }
    }

    #[test]
    fn a_small_model_reads_a_third_of_what_others_read() {
        let whole = |tools| super::super::schemas(tools).to_string().len();
        let executor = for_executor(&[], false).to_string().len();
        assert!(executor * 3 < whole(super::super::EXECUTOR), "{executor}");
        let coordinator = for_coordinator(true).to_string().len();
        assert!(coordinator * 3 < whole(super::super::COORDINATOR), "{coordinator}");
    }
}
