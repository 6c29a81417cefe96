//! What the server says when nothing else was told: it echoes, and acts on lines `run: COMMAND`.

use serde_json::json;

use super::received::Received;
use super::reply::Reply;

/// After this the agent quotes the person to an executor, whose instructions come before it.
const REQUEST_MARK: &str = "What the person said, in their own words:";

/// `run:` lines become tasks where tasks can be delegated, and are run where programs can be run;
/// results are said back; everything else is echoed.
pub(super) fn reply(received: &Received) -> Reply {
    let results = received.tool_results();
    if !results.is_empty() {
        return Reply::text(format!("done: {}", results.join("\n")));
    }
    let asked = received.last_user_text();
    if asked.starts_with("[task report]") {
        return Reply::text(format!("report: {asked}"));
    }
    let tools = received.tool_names();
    let instructions = asked.split(REQUEST_MARK).next().unwrap_or_default();
    let commands =
        instructions.lines().filter_map(|line| line.trim().strip_prefix("run:")).map(str::trim);
    let acted = commands.fold(Reply::default(), |reply, command| {
        if tools.contains(&"bash") {
            reply.and_tool_call("bash", json!({"command": command}))
        } else if tools.contains(&"delegate") {
            let instructions = format!("run: {command}");
            let arguments = json!({"title": command, "instructions": instructions, "risky": false});
            reply.and_tool_call("delegate", arguments)
        } else {
            reply
        }
    });
    if acted.tool_calls.is_empty() { Reply::text(format!("echo: {asked}")) } else { acted }
}
