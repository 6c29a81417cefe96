//! The model server as a program, for tries by hand and for measurements.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Parser;
use cloister_testkit::ModelServer;
use cloister_testkit::model_server::Rule;

/// A provider in the OpenAI wire format that answers by script.
///
/// Without a script it answers "echo: " and the last user text; lines `run: COMMAND` become `bash`
/// or `delegate` calls where those tools are offered.
#[derive(Parser)]
#[command(name = "model-server", after_long_help = SCRIPT_HELP)]
struct Arguments {
    /// The port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Decides how answers are cut into pieces
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Rules as JSON (see below)
    #[arg(long)]
    script: Option<PathBuf>,
}

const SCRIPT_HELP: &str = r#"The script is a list of rules; the first that fits answers:
  [{"when": {"last_user_contains": "weather"}, "reply": {"text": "sunny", "chunks": 3, "delay_ms": 50}},
   {"when": {"model": "weak"}, "reply": {"status": 429, "body": "slow down", "retry_after": 1}},
   {"reply": {"tool_calls": [{"name": "bash", "arguments": {"command": "ls"}}]}}]

when:  last_user_contains, system_contains, model, offers_tool, has_tool_results (true|false)
reply: text, tool_calls, chunks, delay_ms, first_byte_ms, hang, status, body, retry_after, cut_after,
       stop_after, malformed, stream_error, no_usage, usage [prompt, completion], echo"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let mut builder = ModelServer::builder().port(arguments.port).seed(arguments.seed).any_key();
    if let Some(path) = arguments.script {
        let rules: Vec<Rule> = serde_json::from_slice(&std::fs::read(&path)?)?;
        for rule in rules {
            builder = builder.when(rule.when, rule.reply);
        }
    }
    let server = builder.start().await?;
    let line = serde_json::json!({"base_url": server.base_url(), "pid": std::process::id()});
    writeln!(std::io::stdout().lock(), "{line}")?;
    tokio::signal::ctrl_c().await?;
    for violation in server.violations() {
        writeln!(std::io::stderr().lock(), "{violation}")?;
    }
    Ok(())
}
