//! What forms have in common.

use cloister_protocol::{ErrorBody, Language};
use cloister_words::say;
use maud::{Markup, html};

/// What is wrong with what was sent, and what to do.
pub(super) fn problem(to: Language, error: &ErrorBody) -> Markup {
    html! {
        div.error role="alert" {
            p { strong { (say!(to, "That did not work:")) " " } (error.message) "." }
            @if let Some(fix) = &error.fix { p { (fix) } }
        }
    }
}
