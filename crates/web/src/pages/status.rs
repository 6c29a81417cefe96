//! The operator's status page.

use axum::extract::State as Extract;
use cloister_protocol::Language;
use cloister_protocol::admin::{ErrorLine, Judgement, StatusLine, StatusView};
use cloister_words::say;
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
    let to = viewer.to;
    let title = &say!(to, "Status");
    let about = Page { title, to, place: Section::Status, viewer: Some(&viewer), banner };
    Ok(page(&about, &body(to, &status)))
}

fn body(to: Language, status: &StatusView) -> Markup {
    html! {
        h1 { (say!(to, "Status")) }
        p class=(class(status.judgement)) role="status" {
            @match status.judgement {
                Judgement::Ok => (say!(to, "Everything is fine.")),
                Judgement::Attention => (say!(to, "It works; something deserves a look.")),
                Judgement::Act => (say!(to, "Something has to be done now.")),
            }
        }
        p.hint { (say!(to, "Cloister {version}, up for {time}.", version = status.version, time = span(to, status.uptime_s))) }
        table {
            thead {
                tr {
                    th scope="col" { (say!(to, "What")) }
                    th scope="col" { (say!(to, "Now")) }
                    th scope="col" { (say!(to, "Judgement")) }
                }
            }
            tbody { @for line in &status.lines { (row(to, line)) } }
        }
        @if !status.errors.is_empty() {
            h2 { (say!(to, "Last complaints of the log")) }
            table {
                thead {
                    tr {
                        th scope="col" { (say!(to, "Last")) }
                        th scope="col" { (say!(to, "Times")) }
                        th scope="col" { (say!(to, "What")) }
                    }
                }
                tbody { @for error in &status.errors { (complaint(error)) } }
            }
        }
    }
}

fn row(to: Language, line: &StatusLine) -> Markup {
    html! {
        tr id={ "line-" (line.id) } {
            th scope="row" translate="no" { (line.label) }
            td translate="no" {
                (line.value)
                @if let Some(fix) = &line.fix { p.hint { (fix) } }
            }
            td class=(class(line.judgement)) {
                @match line.judgement {
                    Judgement::Ok => (say!(to, "ok")),
                    Judgement::Attention => (say!(to, "attention")),
                    Judgement::Act => (say!(to, "act")),
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
            td translate="no" {
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

fn span(to: Language, seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours) {
        (0, 0) => say!(to, "{minutes} min", minutes),
        (0, _) => say!(to, "{hours} h {minutes} min", hours, minutes),
        _ => say!(to, "{days} d {hours} h", days, hours),
    }
}
