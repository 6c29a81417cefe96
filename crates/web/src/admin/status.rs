//! What the control plane says of itself.

use axum::extract::State as Extract;
use cloister_control::{Control, RecentError, error_hint};
use cloister_policy::engine::PlatformCall;
use cloister_protocol::admin::{ErrorLine, Judgement, StatusView};

use super::route::{About, Route};
use super::{Admin, time};
use crate::reply::{Answer, Failure, json};

/// Complaints of the log that are shown.
const SHOWN_ERRORS: usize = 10;

pub(super) fn routes() -> Vec<Route> {
    vec![Route::get("/admin/v1/status", About::Platform(PlatformCall::ReadStatus), show)]
}

async fn show(Extract(admin): Extract<Admin>) -> Answer<StatusView> {
    json(status(&admin.control, &admin.url).await?)
}

pub(crate) async fn status(control: &Control, url: &str) -> Result<StatusView, Failure> {
    let backlog = control.inbox().backlog().await?;
    let now = control.clock().now_ms();
    let lines = control.status().status_lines().await?;
    let recent = control.metrics().recent_errors();
    Ok(StatusView {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        pid: std::process::id(),
        url: url.to_owned(),
        unanswered: backlog.open,
        oldest_unanswered_s: backlog.oldest_at.map(|at| (now - at).max(0) / 1000),
        queued_tasks: control.tasks().queued().await?,
        live_cells: control.cells().live_cells(),
        uptime_s: control.metrics().uptime().as_secs(),
        judgement: lines.iter().map(|line| line.judgement).max().unwrap_or(Judgement::Ok),
        lines,
        errors: recent.into_iter().take(SHOWN_ERRORS).map(error_line).collect(),
    })
}

fn error_line(error: RecentError) -> ErrorLine {
    ErrorLine {
        first_at: time(error.first_at),
        last_at: time(error.last_at),
        level: error.level.to_owned(),
        count: error.count,
        fix: error_hint(&error).to_owned(),
        message: error.message,
        fields: error.fields,
    }
}
