//! `cloister stop --all` and `cloister release`: the emergency stop.

use cloister_protocol::admin::{StopAll, StopView};

use super::Context;
use crate::args::Stop;
use crate::output::CliError;

pub(super) async fn run(context: Context, stop: Stop) -> Result<(), CliError> {
    let client = context.client().await?;
    let asked = StopAll { reason: stop.reason };
    let view: StopView = client.post("/admin/v1/stop", &asked).await?;
    context.output.result(&view, || stopped(&view))
}

pub(super) async fn release(context: Context) -> Result<(), CliError> {
    let view: StopView = context.client().await?.post("/admin/v1/release", &()).await?;
    context.output.result(&view, || match &view.since {
        Some(since) => format!("Everything goes on; it was stopped since {since}."),
        None => "Nothing was stopped.".to_owned(),
    })
}

fn stopped(view: &StopView) -> String {
    let by = view.by.as_deref().unwrap_or("somebody");
    let since = view.since.as_deref().unwrap_or("now");
    let left = match view.left {
        0 => String::new(),
        left => format!(" {left} executors are not gone yet; they can't reach anything."),
    };
    format!(
        "Everything is stopped, by {by} since {since}: {} executors were ended, nothing runs and \
         nothing leaves.{left}\n`cloister release` lets it go on.",
        view.ended
    )
}
