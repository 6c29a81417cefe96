//! The document around every page.

use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::session::Viewer;

/// A place of the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Chat,
    Approvals,
    Grants,
    Start,
    People,
    Model,
    Status,
    /// Outside of it: login and the like.
    Outside,
}

/// What the navigation offers: where, its address and name.
const PLACES: [(Section, &str, &str); 7] = [
    (Section::Chat, "/", "Chat"),
    (Section::Approvals, "/approvals", "Approvals"),
    (Section::Grants, "/grants", "Grants"),
    (Section::Start, "/start", "Guided start"),
    (Section::People, "/people", "People"),
    (Section::Model, "/model", "Model"),
    (Section::Status, "/status", "Status"),
];

/// A page: what surrounds its body.
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    pub(crate) place: Section,
    /// None on pages for whoever is not logged in.
    pub(crate) viewer: Option<&'a Viewer>,
    /// A notice above the content.
    pub(crate) banner: Option<Markup>,
}

/// A whole document with an ordinary page in it.
pub(crate) fn page(page: &Page<'_>, body: &Markup) -> Markup {
    document(
        page.title,
        "plain",
        page.viewer.map_or(0, |viewer| viewer.waiting),
        &html! {
            @if let Some(viewer) = page.viewer {
                header.top {
                    a.brand href="/" { "Cloister" }
                    (navigation(page.place, viewer))
                }
            }
            @if let Some(banner) = &page.banner { div.banner role="status" { (banner) } }
            main #main tabindex="-1" { (body) }
        },
    )
}

/// The document itself; `kind` chooses its layout, and its title says how many questions wait.
pub(crate) fn document(title: &str, kind: &str, waiting: usize, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1, viewport-fit=cover";
                meta name="color-scheme" content="light dark";
                meta name="theme-color" media="(prefers-color-scheme: light)" content="#faf9f6";
                meta name="theme-color" media="(prefers-color-scheme: dark)" content="#151816";
                meta name="robots" content="noindex";
                title { @if waiting > 0 { "(" (waiting) ") " } (title) " · Cloister" }
                link rel="icon" type="image/svg+xml" href=(assets::icon());
                link rel="manifest" href=(assets::manifest());
                link rel="stylesheet" href=(assets::css());
                script defer src=(assets::js()) {}
            }
            body class=(kind) {
                a.skip href="#main" { "Skip to the content" }
                (body)
            }
        }
    }
}

/// The navigation, with what this person may open.
pub(crate) fn navigation(here: Section, viewer: &Viewer) -> Markup {
    let offered = PLACES.iter().filter(|(place, _, _)| viewer.opens(*place));
    html! {
        nav.places aria-label="Places" {
            @for (place, href, name) in offered {
                a href=(href) aria-current=[(*place == here).then_some("page")] {
                    (name)
                    @if *place == Section::Approvals { " " (badge(viewer.waiting)) }
                }
            }
            form method="post" action="/logout" {
                button.link type="submit" { "Log out " (viewer.user.called()) }
            }
        }
    }
}

/// How many questions wait, beside their page's name.
fn badge(waiting: usize) -> Markup {
    html! {
        span.badge #waiting hidden[waiting == 0] {
            span.count { (waiting) } span.unseen { " waiting" }
        }
    }
}
