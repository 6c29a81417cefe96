//! `cloister status`: what an operator should know, and what to do about it.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use cloister_protocol::admin::{ErrorLine, Judgement, StatusLine, StatusView};

use super::Context;
use crate::args::Status;
use crate::output::CliError;

const WATCH_EVERY: Duration = Duration::from_secs(2);
/// To the top of the terminal, with nothing left on it.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Exits with 1 if something has to be done now.
pub(super) async fn run(context: Context, asked: Status) -> Result<ExitCode, CliError> {
    loop {
        let client = context.running().await?;
        let status: StatusView = client.get("/admin/v1/status").await?;
        if asked.watch && !context.output.json && std::io::stdout().is_terminal() {
            context.output.piece(CLEAR)?;
        }
        context.output.result(&status, || words(&status))?;
        if !asked.watch {
            let act = status.judgement == Judgement::Act;
            return Ok(if act { ExitCode::FAILURE } else { ExitCode::SUCCESS });
        }
        tokio::time::sleep(WATCH_EVERY).await;
    }
}

fn words(status: &StatusView) -> String {
    let mut text = format!(
        "cloister {} at {} (pid {}, up for {} s)\n",
        status.version, status.url, status.pid, status.uptime_s
    );
    for line in &status.lines {
        text.push_str(&line_words(line));
    }
    if !status.errors.is_empty() {
        text.push_str("\nThe log's last complaints:\n");
    }
    for error in &status.errors {
        text.push_str(&error_words(error));
    }
    text
}

fn line_words(line: &StatusLine) -> String {
    let mark = match line.judgement {
        Judgement::Ok => "ok  ",
        Judgement::Attention => "look",
        Judgement::Act => "ACT ",
    };
    let fix = line.fix.as_ref().map(|fix| format!("      do: {fix}\n")).unwrap_or_default();
    format!("{mark}  {}: {}\n{fix}", line.label, line.value)
}

fn error_words(error: &ErrorLine) -> String {
    let ErrorLine { last_at, level, count, message, fields, fix, .. } = error;
    format!("{last_at}  {level}, {count} times: {message}  {fields}\n      do: {fix}\n")
}
