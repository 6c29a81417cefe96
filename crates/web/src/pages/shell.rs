//! The document around every page.

use cloister_protocol::Language;
use cloister_words::{noted, say, text_of};
use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::session::Viewer;

/// A place of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Chat,
    Approvals,
    Grants,
    Agents,
    OwnModels,
    Start,
    People,
    Model,
    Status,
    /// Outside of it: login and the like.
    Outside,
}

/// What the navigation offers: where, its address and name.
const PLACES: [(Section, &str, &str); 9] = [
    (Section::Chat, "/", noted!("Chat")),
    (Section::Approvals, "/approvals", noted!("Approvals")),
    (Section::Grants, "/grants", noted!("Grants")),
    (Section::Agents, "/agents", noted!("Your agents")),
    (Section::OwnModels, "/model/own", noted!("Your models")),
    (Section::Start, "/start", noted!("Guided start")),
    (Section::People, "/people", noted!("People")),
    (Section::Model, "/model", noted!("Model")),
    (Section::Status, "/status", noted!("Status")),
];

/// A page: what surrounds its body.
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    /// The language it is in.
    pub(crate) to: Language,
    pub(crate) place: Section,
    /// None on pages for whoever is not logged in.
    pub(crate) viewer: Option<&'a Viewer>,
    /// A notice above the content.
    pub(crate) banner: Option<Markup>,
}

/// A whole document with an ordinary page in it.
pub(crate) fn page(page: &Page<'_>, body: &Markup) -> Markup {
    let waiting = page.viewer.map_or(0, |viewer| viewer.waiting);
    document(
        &Head { title: page.title, kind: "plain", waiting, to: page.to },
        &html! {
            @if let Some(viewer) = page.viewer {
                header.top {
                    a.brand href="/" { "Cloister" }
                    // On a phone the address opens it.
                    a.menu href="#places" aria-label=(say!(page.to, "Places")) { span aria-hidden="true" { "☰" } }
                    (navigation(page.place, viewer))
                }
            }
            @if let Some(banner) = &page.banner { div.banner role="status" { (banner) } }
            main #main tabindex="-1" { (body) }
        },
    )
}

/// What a document says of itself.
pub(crate) struct Head<'a> {
    pub(crate) title: &'a str,
    /// Chooses its layout.
    pub(crate) kind: &'a str,
    /// How many questions wait: its title says so.
    pub(crate) waiting: usize,
    pub(crate) to: Language,
}

/// The document itself.
pub(crate) fn document(head: &Head<'_>, body: &Markup) -> Markup {
    let Head { title, kind, waiting, to } = *head;
    html! {
        (DOCTYPE)
        html lang=(to) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover";
                meta name="color-scheme" content="light dark";
                meta name="theme-color" media="(prefers-color-scheme: light)" content="#faf9f6";
                meta name="theme-color" media="(prefers-color-scheme: dark)" content="#151816";
                meta name="robots" content="noindex";
                title { @if waiting > 0 { "(" (waiting) ") " } (title) " · Cloister" }
                link rel="icon" type="image/svg+xml" href=(assets::icon());
                link rel="apple-touch-icon" href=(assets::apple_icon());
                link rel="manifest" href=(assets::manifest());
                link rel="stylesheet" href=(assets::css());
                script defer src=(assets::js(to)) {}
            }
            body class=(kind) {
                a.skip href="#main" { (say!(to, "Skip to the content")) }
                (body)
            }
        }
    }
}

/// The navigation, with what this person may open.
pub(crate) fn navigation(here: Section, viewer: &Viewer) -> Markup {
    let offered = PLACES.iter().filter(|(place, _, _)| viewer.opens(*place));
    let to = viewer.to;
    html! {
        nav.places #places aria-label=(say!(to, "Places")) {
            @for (place, href, name) in offered {
                a href=(href) aria-current=[(*place == here).then_some("page")] {
                    (text_of(to, name))
                    @if *place == Section::Approvals { " " (badge(to, viewer.waiting)) }
                }
            }
            form method="post" action="/logout" {
                button.link type="submit" { (say!(to, "Log out {name}", name = viewer.user.called())) }
            }
        }
    }
}

/// How many questions wait, beside their page's name.
fn badge(to: Language, waiting: usize) -> Markup {
    html! {
        span.badge #waiting hidden[waiting == 0] {
            span.count { (waiting) } span.unseen { " " (say!(to, "waiting for an answer")) }
        }
    }
}
