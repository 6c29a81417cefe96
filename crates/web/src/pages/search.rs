//! `/search`: what was said and told in all chats of this person, by words.

use axum::extract::State as Extract;
use cloister_control::rows::{FoundWords, folded};
use cloister_policy::legible;
use cloister_words::say;
use maud::{Markup, html};
use serde::Deserialize;

use super::chats::name_of;
use super::entries;
use super::session::Viewer;
use super::shell::{self, Page, Section};
use crate::admin::time;
use crate::reply::{Failure, Query};
use crate::server::State;

/// How many finds a page shows.
const MOST: u32 = 50;
/// How much of a find is shown around the words.
const AROUND: usize = 80;

#[derive(Deserialize)]
pub(super) struct SearchedWords {
    #[serde(default)]
    q: String,
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Query(SearchedWords { q }): Query<SearchedWords>,
) -> Result<Markup, Failure> {
    let words: String = q.trim().chars().take(200).collect();
    let chats = state.control.chats().listed(viewer.workspace).await?;
    let found = match words.is_empty() {
        true => Vec::new(),
        false => state.control.chats().find_words(viewer.workspace, &words, MOST).await?,
    };
    let to = viewer.to;
    let title = &say!(to, "Search");
    let name = |id| {
        let chat = chats.iter().find(|one| one.chat.id == id);
        chat.map(|chat| name_of(to, chat)).unwrap_or_default()
    };
    let body = html! {
        h1 { (title) }
        form.row method="get" action="/search" role="search" {
            input type="search" name="q" value=(words) aria-label=(say!(to, "Words to look for")) maxlength="200";
            button.primary type="submit" { (title) }
        }
        @if !words.is_empty() && found.is_empty() { p { (say!(to, "Nothing was said with these words in it.")) } }
        @for one in &found {
            section.card.found {
                p {
                    a href=(place(one)) translate="no" { (legible(&name(one.chat))) }
                    " " small { @if one.said { (say!(to, "you")) } @else { (say!(to, "agent")) } " · " time datetime=(time(one.at)) { (time(one.at)) } }
                }
                p translate="no" { (marked(&around(&plain(one), &words), &words)) }
            }
        }
    };
    let page = Page { title, to, place: Section::Outside, viewer: Some(&viewer), banner: None };
    Ok(shell::page(&page, &body))
}

/// Where it stands in its chat.
fn place(found: &FoundWords) -> String {
    let FoundWords { chat, said, turn, .. } = found;
    let id = if *said { entries::said_id(turn) } else { entries::answer_id(turn) };
    format!("/chats/{chat}?turn={turn}#{id}")
}

/// What was said, to the letter; an answer without the marks of its Markdown.
fn plain(found: &FoundWords) -> String {
    if found.said {
        return found.text.clone();
    }
    let line =
        |line: &str| line.trim_start_matches(['#', '>', ' ']).replace("**", "").replace('`', "");
    found.text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// The first of the words that stands in a text, with what is around it.
fn around(text: &str, words: &str) -> String {
    let wanted = wanted(words);
    // Folding can change how long a text is: where it begins to fit is looked for in the text itself.
    let fits = |(at, _): &(usize, char)| {
        text.get(*at..).is_some_and(|rest| wanted.iter().any(|word| begins(rest, word).is_some()))
    };
    let before = text.char_indices().take_while(|place| !fits(place)).count();
    let before = if before == text.chars().count() { 0 } else { before };
    let start = before.saturating_sub(AROUND);
    let shown: String = text.chars().skip(start).take(words.chars().count() + 2 * AROUND).collect();
    let (head, tail) = (start > 0, start + shown.chars().count() < text.chars().count());
    format!("{}{shown}{}", if head { "…" } else { "" }, if tail { "…" } else { "" })
}

/// A text with all of the words in it marked.
fn marked(text: &str, words: &str) -> Markup {
    let wanted = wanted(words);
    let (mut rest, mut plain) = (text, String::new());
    let mut out = Vec::new();
    while let Some(first) = rest.chars().next() {
        let found = wanted.iter().filter_map(|word| begins(rest, word)).max();
        let (word, after) = rest.split_at(found.unwrap_or_else(|| first.len_utf8()));
        if found.is_none() {
            plain.push_str(word);
        } else {
            out.push((std::mem::take(&mut plain), word));
        }
        rest = after;
    }
    html! {
        @for (before, word) in &out { (legible(before)) mark { (legible(word)) } }
        (legible(&plain))
    }
}

fn wanted(words: &str) -> Vec<String> {
    folded(words).split_whitespace().map(str::to_owned).collect()
}

/// How many bytes of a text are this word, if it begins with it.
fn begins(text: &str, wanted: &str) -> Option<usize> {
    let mut head = String::new();
    for (at, letter) in text.char_indices() {
        head.push_str(&folded(letter.encode_utf8(&mut [0; 4])));
        if head.starts_with(wanted) {
            return Some(at + letter.len_utf8());
        }
        if !wanted.starts_with(&head) {
            return None;
        }
    }
    None
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
