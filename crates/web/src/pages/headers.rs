//! What every page's answer says to the browser: nothing from anywhere else, nothing inline; and
//! errors that people can read.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use cloister_protocol::ErrorBody;
use maud::{Markup, html};

use super::shell::{Page, Section, page};

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; \
     font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

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
        "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    ),
];

pub(super) async fn protect(request: Request, next: Next) -> Response {
    let for_a_person = super::session::wants_page(request.headers());
    let mut response = next.run(request).await;
    if for_a_person && let Some(error) = response.extensions_mut().remove::<ErrorBody>() {
        response = (response.status(), explained(&error)).into_response();
    }
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Pages are about one person; only what has its content in its name may be kept.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn explained(error: &ErrorBody) -> Markup {
    let body = html! {
        section.card.narrow {
            h1 { "That did not work" }
            p.error { (error.message) }
            @if let Some(fix) = &error.fix { p { (fix) } }
            p { a href="/" { "Back to the chat" } }
        }
    };
    let title = "That did not work";
    page(&Page { title, place: Section::Outside, viewer: None, banner: None }, &body)
}
