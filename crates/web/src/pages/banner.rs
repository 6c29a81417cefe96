//! The notice above the pages: that answers come from a script, and the offer of the guided start.

use cloister_protocol::ChatId;
use cloister_words::{count, say};
use maud::{Markup, html};

use super::session::Viewer;
use crate::language::phrase;
use crate::server::State;

/// What this person should know before they write in this chat, if anything.
pub(super) async fn for_viewer(state: &State, viewer: &Viewer, chat: ChatId) -> Option<Markup> {
    let scripted = scripted(state, viewer).await;
    let elsewhere = questions_elsewhere(state, viewer, chat).await;
    let offered =
        state.control.accounts().offers_start(viewer.user.id).await.unwrap_or_else(|error| {
            tracing::error!(
                error = error.chain(),
                "whether to offer the guided start could not be read"
            );
            false
        });
    if scripted.is_none() && !offered && elsewhere == 0 {
        return None;
    }
    let to = viewer.to;
    Some(html! {
        @if elsewhere > 0 {
            p {
                a href="/approvals" {
                    (count!(to, elsewhere, "{n} question waits for your answer in other chats.",
                        "{n} questions wait for your answer in other chats."))
                }
            }
        }
        @if let Some(scripted) = scripted { (scripted) }
        @if offered {
            p {
                (phrase!(to, "New here? The {start} gives your agent a name and tells it about you. It takes a minute, and it can wait.",
                    start = html! { a href="/start" { (say!(to, "guided start")) } }))
            }
        }
    })
}

/// How many questions wait in other chats than this one.
async fn questions_elsewhere(state: &State, viewer: &Viewer, chat: ChatId) -> usize {
    match state.control.gates().pending(viewer.workspace).await {
        Ok(pending) => pending.iter().filter(|approval| approval.chat != chat).count(),
        Err(error) => {
            tracing::error!(error = error.chain(), "the questions that wait could not be read");
            0
        }
    }
}

/// The notice while the demo model answers; a person must not take a script for more than it is.
pub(super) async fn scripted(state: &State, viewer: &Viewer) -> Option<Markup> {
    match state.control.models().uses_demo_model().await {
        Ok(false) => None,
        Ok(true) => Some(demo_model(viewer, viewer.is_operator())),
        Err(error) => {
            tracing::error!(error = error.chain(), "which models are in use could not be read");
            None
        }
    }
}

/// The same on the page where a real one is connected.
pub(super) async fn scripted_here(state: &State, viewer: &Viewer) -> Option<Markup> {
    scripted(state, viewer).await.map(|_elsewhere| demo_model(viewer, false))
}

fn demo_model(viewer: &Viewer, leads: bool) -> Markup {
    let to = viewer.to;
    html! {
        p {
            strong { (say!(to, "The demo model answers here: a script, not an AI.")) }
            " "
            @if leads {
                (phrase!(to, "{connect}; a base URL and a key are all it takes.",
                    connect = html! { a href="/model" { (say!(to, "Connect a real one")) } }))
            } @else if !viewer.is_operator() {
                (say!(to, "Whoever runs this machine can connect a real one."))
            }
        }
    }
}
