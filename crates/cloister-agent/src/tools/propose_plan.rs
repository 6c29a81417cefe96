//! `propose_plan`: puts a plan to the person and waits for the answer.

use cloister_protocol::link::{Asked, Outcome};
use serde::Deserialize;
use serde_json::json;

use super::{Effect, Handler, Tool, failed, object, parse};

pub(super) const TOOL: Tool = Tool {
    name: "propose_plan",
    about: "Put a plan to the person and wait for a yes or no. Say what exactly will happen, step by \
            step: which files are changed or deleted, which commands run.",
    parameters: || {
        let plan =
            json!({"plan": {"type": "string", "description": "The plan, as the person reads it."}});
        object(plan, &["plan"])
    },
    effect: Effect::AsksFreely,
    handler: Handler::Request(ask),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Args {
    plan: String,
}

fn ask(arguments: &str) -> Result<Asked, Outcome> {
    let Args { plan } = parse(arguments)?;
    if plan.trim().is_empty() {
        return Err(failed("the plan is empty: say what exactly will happen"));
    }
    Ok(Asked::ProposePlan { plan })
}
