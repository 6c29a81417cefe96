//! The notice above the pages: that answers come from a script, and the offer of the guided start.

use maud::{Markup, html};

use super::session::Viewer;
use crate::server::State;

/// What this person should know before they write, if anything.
pub(super) async fn for_viewer(state: &State, viewer: &Viewer) -> Option<Markup> {
    let scripted = scripted(state, viewer).await;
    let offered = state.control.store().offer_start(viewer.user.id).await.unwrap_or_else(|error| {
        tracing::error!(%error, "whether to offer the guided start could not be read");
        false
    });
    if scripted.is_none() && !offered {
        return None;
    }
    Some(html! {
        @if let Some(scripted) = scripted { (scripted) }
        @if offered {
            p {
                "New here? The " a href="/start" { "guided start" }
                " gives your agent a name and tells it about you. It takes a minute, and it can wait."
            }
        }
    })
}

/// The notice while the demo model answers; a person must not take a script for more than it is.
pub(super) async fn scripted(state: &State, viewer: &Viewer) -> Option<Markup> {
    match state.control.uses_demo_model().await {
        Ok(false) => None,
        Ok(true) => Some(html! {
            p {
                strong { "The demo model answers here: a script, not an AI. " }
                @if viewer.is_operator() {
                    a href="/model" { "Connect a real one" }
                    "; a base URL and a key are all it takes."
                } @else {
                    "Whoever runs this machine can connect a real one."
                }
            }
        }),
        Err(error) => {
            tracing::error!(error = error.chain(), "which models are in use could not be read");
            None
        }
    }
}
