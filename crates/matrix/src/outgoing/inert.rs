//! What is said in a room without encryption, so that nobody fetches the addresses in it.
//!
//! There, clients ask the homeserver what each address of a message leads to, and the homeserver fetches it: an
//! address that an agent made up, or one in a question that nobody has answered yet, would carry what it says to
//! its host unasked. Clients look for no address in code, and take none for one that has brackets in it.
//!
//! Promises: in the HTML every address, with a scheme or without, is in code; in the plain text none is whole.

use std::net::Ipv4Addr;

/// HTML of ours, with all that could pass for an address put into code. A link can still be followed.
pub(super) fn inert_html(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    // How much of what keeps clients from looking is open.
    let mut kept: usize = 0;
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (text, tagged) = rest.split_at(at);
        push_words(&mut out, text, kept > 0);
        let end = tagged.find('>').map_or(tagged.len(), |at| at + 1);
        let (tag, after) = tagged.split_at(end);
        if tag.starts_with("<a ") {
            if kept == 0 {
                out.push_str("<code>");
            }
            kept += 1;
            out.push_str(tag);
        } else if tag == "</a>" {
            out.push_str(tag);
            kept = kept.saturating_sub(1);
            if kept == 0 {
                out.push_str("</code>");
            }
        } else {
            match tag {
                "</code>" | "</pre>" => kept = kept.saturating_sub(1),
                _ if tag.starts_with("<code") || tag.starts_with("<pre") => kept += 1,
                _ => {}
            }
            out.push_str(tag);
        }
        rest = after;
    }
    push_words(&mut out, rest, kept > 0);
    out
}

fn push_words(out: &mut String, text: &str, kept: bool) {
    if kept || !may_be_address(text) {
        out.push_str(text);
        return;
    }
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        if may_be_address(bare) {
            out.push_str("<code>");
            out.push_str(bare);
            out.push_str("</code>");
            out.push_str(word.strip_prefix(bare).unwrap_or_default());
        } else {
            out.push_str(word);
        }
    }
}

/// Whether a client could find an address in it: behind a scheme, or a name with a dot and letters behind it.
fn may_be_address(text: &str) -> bool {
    text.contains("://") || dots_of_names(text).next().is_some()
}

/// Where the dots are that could stand in the name of a host, or in its numbers.
fn dots_of_names(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices(['.', '\u{3002}', '\u{ff0e}', '\u{ff61}']).filter(|(at, dot)| {
        let (before, after) = text.split_at(*at);
        let after = after.strip_prefix(dot).unwrap_or_default();
        let mut label = after.chars();
        // No name ends in a number: what looks like one is a version or an amount.
        let named = label.next().is_some_and(char::is_alphabetic)
            && label.next().is_some_and(|c| c.is_alphanumeric() || c == '-');
        !before.is_empty()
            && !before.ends_with(char::is_whitespace)
            && (named || is_number(before, after))
    })
}

/// Whether a dot is one of the three in the number of a host.
fn is_number(before: &str, after: &str) -> bool {
    let part = |c: char| c.is_ascii_digit() || c == '.';
    let (_, head) = before.split_at(before.trim_end_matches(part).len());
    let (tail, _) = after.split_at(after.len() - after.trim_start_matches(part).len());
    let number = format!("{head}.{tail}");
    number.trim_matches('.').parse::<Ipv4Addr>().is_ok()
}

/// Plain text beside HTML: clients that look for addresses in it look for a scheme.
pub(super) fn inert_beside_html(text: &str) -> String {
    text.replace("://", "[:]//")
}

/// Plain text that stands alone.
pub(super) fn inert_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, dot) in dots_of_names(text) {
        out.push_str(text.get(done..at).unwrap_or_default());
        out.push('[');
        out.push_str(dot);
        out.push(']');
        done = at + dot.len();
    }
    out.push_str(text.get(done..).unwrap_or_default());
    inert_beside_html(&out)
}

#[cfg(test)]
#[path = "inert_tests.rs"]
mod tests;
