//! Links: each says where it leads, and leads nowhere else.

use std::fmt::Write as _;

use cloister_kit::markdown::LinkTo;
use cloister_policy::legible;

use super::text::{in_link, push_address, push_code, push_text};

/// A link as it is read.
pub(super) struct Link {
    /// Where it leads, if its words do not say it.
    place: Option<String>,
    target: String,
    text: String,
}

impl Link {
    /// Begins a link, if it leads where a link may.
    pub(super) fn begin(to: LinkTo<'_>) -> Option<Self> {
        let place = Some(to.place?).filter(|_| !to.is_own_text);
        Some(Self { place, target: to.url.into_owned(), text: String::new() })
    }

    /// What it is called. Nothing in it is a bracket: it would end the name.
    pub(super) fn text(&mut self, words: &str) {
        let words = legible(words).replace('[', "(").replace(']', ")").replace('\n', " ");
        push_text(&mut self.text, &words, false);
    }

    pub(super) fn code(&mut self, code: &str) {
        push_code(&mut self.text, &code.replace(['[', ']'], " "));
    }

    /// Marks of ours.
    pub(super) fn raw(&mut self, marks: &str) {
        self.text.push_str(marks);
    }

    pub(super) fn write(self, out: &mut String) {
        let web = self.target.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("http"));
        let odd = |c: char| matches!(c, '<' | '>' | ' ' | '"' | '`' | '|' | '\\');
        let bare =
            if self.target.contains(odd) { in_link(&self.target) } else { self.target.clone() };
        let text = self.text.trim();
        match self.place {
            None if web => push_address(out, &bare),
            // Of a mail address the text is enough.
            None => out.push_str(text),
            // Words that are an address themselves are not laid over another.
            Some(_) if web && text.contains("//") => {
                out.push_str(text);
                out.push_str(" (");
                push_address(out, &bare);
                out.push(')');
            }
            Some(place) => {
                let mut told = String::new();
                push_text(&mut told, &place, false);
                let words = if text.is_empty() { &told } else { text };
                // Writing to a string does not fail.
                if web {
                    write!(out, "[{words}](<{}>) ({told})", in_link(&self.target)).ok();
                } else {
                    write!(out, "{words} ({told})").ok();
                }
            }
        }
    }
}

/// What is said after a link where there are no links.
pub(super) fn aside(to: &LinkTo<'_>) -> Option<String> {
    to.place.as_ref().filter(|_| !to.is_own_text).map(|_| format!(" <{}>", to.url))
}
