//! What forms have in common.

use cloister_control::rows::Dollars;
use cloister_protocol::{ErrorBody, Language};
use cloister_words::say;
use maud::{Markup, html};

/// An amount for a sentence that has the sign: cents, and more digits where it has them, so that little is not nothing.
pub(super) fn dollars(nano: i64) -> String {
    Dollars(nano).to_string().replace('$', "")
}

/// What is wrong with what was sent, and what to do.
pub(super) fn problem(to: Language, error: &ErrorBody) -> Markup {
    html! {
        div.error role="alert" {
            p { strong { (say!(to, "That did not work:")) " " } (error.message) "." }
            @if let Some(fix) = &error.fix { p { (fix) } }
        }
    }
}
