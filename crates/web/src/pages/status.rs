//! The operator's status page.

use axum::extract::State as Extract;
use cloister_protocol::admin::{ErrorLine, Judgement, StatusLine, StatusView};
use maud::{Markup, html};

use super::session::Viewer;
use super::shell::{Page, Section, page};
use crate::reply::Failure;
use crate::server::State;

pub(crate) async fn show(
    Extract(state): Extract<State>,
    viewer: Viewer,
) -> Result<Markup, Failure> {
    viewer.require(Section::Status)?;
    let status = crate::admin::status(&state.control, &state.url).await?;
    let banner = super::banner::scripted(&state, &viewer).await;
    let about = Page { title: "Status", place: Section::Status, viewer: Some(&viewer), banner };
    Ok(page(&about, &body(&status)))
}

fn body(status: &StatusView) -> Markup {
    html! {
        h1 { "Status" }
        p class=(class(status.judgement)) role="status" {
            @match status.judgement {
                Judgement::Ok => "Everything is fine.",
                Judgement::Attention => "It works; something deserves a look.",
                Judgement::Act => "Something has to be done now.",
            }
        }
        p.hint { "Cloister " (status.version) ", up for " (span(status.uptime_s)) "." }
        table {
            thead { tr { th scope="col" { "What" } th scope="col" { "Now" } th scope="col" { "Judgement" } } }
            tbody { @for line in &status.lines { (row(line)) } }
        }
        @if !status.errors.is_empty() {
            h2 { "Last complaints of the log" }
            table {
                thead { tr { th scope="col" { "Last" } th scope="col" { "Times" } th scope="col" { "What" } } }
                tbody { @for error in &status.errors { (complaint(error)) } }
            }
        }
    }
}

fn row(line: &StatusLine) -> Markup {
    html! {
        tr id=(line.id) {
            th scope="row" { (line.label) }
            td {
                (line.value)
                @if let Some(fix) = &line.fix { p.hint { (fix) } }
            }
            td class=(class(line.judgement)) {
                @match line.judgement {
                    Judgement::Ok => "ok",
                    Judgement::Attention => "attention",
                    Judgement::Act => "act",
                }
            }
        }
    }
}

fn complaint(error: &ErrorLine) -> Markup {
    html! {
        tr {
            td { (error.last_at) }
            td { (error.count) }
            td {
                strong { (error.level) } ": " (error.message)
                @if !error.fields.is_empty() { " " code { (error.fields) } }
                p.hint { (error.fix) }
            }
        }
    }
}

fn class(judgement: Judgement) -> &'static str {
    match judgement {
        Judgement::Ok => "ok",
        Judgement::Attention => "hint",
        Judgement::Act => "error",
    }
}

fn span(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours) {
        (0, 0) => format!("{minutes} min"),
        (0, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}
