//! What every page's answer says to the browser: nothing from anywhere else, nothing inline; and
//! errors that people can read.

use axum::extract::{Request, State as Extract};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use cloister_protocol::{ErrorBody, Language};
use cloister_words::{noted, say, text_of};
use maud::{Markup, html};

use super::session::{Viewer, wants_page};
use super::shell::{Page, Section, page};
use crate::language;
use crate::reply::Told;
use crate::server::State;

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
     font-src 'self'; media-src 'self' blob:; connect-src 'self'; manifest-src 'self'; worker-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Nothing is said to other sites; our own forms must be able to say where they come from.
const REFERRER: &str = "same-origin";

const HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, CSP),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, REFERRER),
    (header::X_FRAME_OPTIONS, "DENY"),
    // A browser that looks up the hosts of links has told them something.
    (header::X_DNS_PREFETCH_CONTROL, "off"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), microphone=(self), geolocation=(), payment=(), usb=()",
    ),
];

pub(super) async fn protect(
    Extract(state): Extract<State>,
    request: Request,
    next: Next,
) -> Response {
    let asked = AskedPage::of(&request);
    let mut response = next.run(request).await;
    if let Some(asked) = asked {
        response = asked.told(&state, response).await;
    }
    seal(&mut response);
    response
}

/// What a browser asked with that wants a page.
struct AskedPage {
    headers: HeaderMap,
}

impl AskedPage {
    fn of(request: &Request) -> Option<Self> {
        let headers = request.headers();
        wants_page(headers).then(|| Self { headers: headers.clone() })
    }

    /// The answer, in words if it is an error, and with the way to everything else for who is logged in.
    async fn told(&self, state: &State, response: Response) -> Response {
        if !is_error(&response) {
            return response;
        }
        let viewer = Viewer::looking(state, &self.headers).await;
        let to = match &viewer {
            Some(viewer) => viewer.to,
            None => language::of_browser(&state.control, &self.headers),
        };
        in_words(response, viewer.as_ref(), to)
    }
}

/// The layer on all that is public: also where there is no page, a person in a browser is told in words what went
/// wrong. Programs get the envelope.
pub(crate) async fn explain(
    Extract(state): Extract<State>,
    request: Request,
    next: Next,
) -> Response {
    let asked = AskedPage::of(&request);
    let response = next.run(request).await;
    let Some(asked) = asked.filter(|_| !is_page(&response) && is_error(&response)) else {
        return response;
    };
    let mut response = asked.told(&state, response).await;
    seal(&mut response);
    response
}

fn seal(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Pages are about one person; only what has its content in its name may be kept.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

fn is_error(response: &Response) -> bool {
    response.status().is_client_error() || response.status().is_server_error()
}

fn is_page(response: &Response) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"))
}

/// An error as a page; whatever else its answer says stays.
fn in_words(mut response: Response, viewer: Option<&Viewer>, to: Language) -> Response {
    let told = response.extensions_mut().remove::<Told>().unwrap_or_default();
    let error = response.extensions_mut().remove::<ErrorBody>();
    let missing = response.status() == StatusCode::NOT_FOUND;
    let error = error.and_then(|error| match told.body_in(to, error.clone()) {
        // What is missing is said in general rather than in words that nobody put into this language.
        same if missing && to != Language::En && same.message == error.message => None,
        said => Some(said),
    });
    if !is_error(&response) || is_page(&response) {
        return response;
    }
    let (mut parts, _) = response.into_parts();
    let page = explained(parts.status, error.as_ref(), viewer, to).into_string();
    parts.headers.remove(header::CONTENT_LENGTH);
    let kind = HeaderValue::from_static("text/html; charset=utf-8");
    parts.headers.insert(header::CONTENT_TYPE, kind);
    Response::from_parts(parts, page.into())
}

/// What is said of an error that has no words of its own for people.
fn in_general(status: StatusCode) -> (&'static str, &'static str) {
    match status {
        StatusCode::UNAUTHORIZED => (
            noted!("You are not logged in"),
            noted!(
                "Open your login link again. If it has been used, whoever invited you can make a new one."
            ),
        ),
        StatusCode::FORBIDDEN => {
            (noted!("This is not open to you"), noted!("Your role here does not include it."))
        }
        StatusCode::NOT_FOUND => {
            (noted!("There is nothing here"), noted!("It was never here, or is no more."))
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            (noted!("There is nothing here"), noted!("This address is not for looking at."))
        }
        status if status.is_server_error() => (
            noted!("Something went wrong here"),
            noted!(
                "It is not your doing. The log has the cause; whoever runs this machine can look there."
            ),
        ),
        _ => (
            noted!("That did not work"),
            noted!("What was sent could not be read. Go back and try again."),
        ),
    }
}

fn explained(
    status: StatusCode,
    error: Option<&ErrorBody>,
    viewer: Option<&Viewer>,
    to: Language,
) -> Markup {
    let (title, words) = in_general(status);
    let (title, words) = (text_of(to, title), text_of(to, words));
    // Causes are for the log, and what a program is told about tokens helps nobody here.
    let general = status.is_server_error() || status == StatusCode::UNAUTHORIZED;
    let said = error.filter(|_| !general);
    let body = html! {
        section.card.narrow {
            h1 { (title) }
            p.error { (said.map_or(words, |error| &error.message)) }
            @if let Some(fix) = said.and_then(|error| for_people(error.fix.as_deref())) { p { (fix) } }
            p { a href="/" { (say!(to, "Back to the chat")) } }
        }
    };
    page(&Page { title, to, place: Section::Outside, viewer, banner: None }, &body)
}

/// What can be done about an error, unless it is a command of the machine's: who reads a page may have no terminal
/// there.
pub(crate) fn for_people(fix: Option<&str>) -> Option<&str> {
    fix.filter(|fix| !fix.contains("`cloister "))
}

#[cfg(test)]
#[path = "headers_tests.rs"]
mod tests;
