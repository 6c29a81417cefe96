//! `/search`: what was said and told in all chats of this person, by words.

use axum::extract::State as Extract;
use cloister_control::Fault;
use cloister_control::rows::{Finds, FoundWords, fold_into, wanted_words};
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
    // One at a time: who searches again waits for their own search.
    let _turn = state.pace.searching(viewer.user.id).await?;
    let Finds { found, cut } = match words.is_empty() {
        true => Finds::default(),
        false => state.control.chats().find_words(viewer.workspace, &words, MOST).await?,
    };
    let (found, words) = tokio::task::spawn_blocking(move || {
        let shown = |one: FoundWords| {
            let text = marked(&around(&plain(&one), &words), &words);
            (one, text)
        };
        (found.into_iter().map(shown).collect::<Vec<_>>(), words)
    })
    .await
    .map_err(std::io::Error::other)
    .map_err(Fault::io("what was found could not be shown"))?;
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
        @if cut { p.hint { (say!(to, "Only what is newer was looked through: there is too much for one search.")) } }
        @if !words.is_empty() && found.is_empty() { p { (say!(to, "Nothing was said with these words in it.")) } }
        @for (one, text) in &found {
            section.card.found {
                p {
                    a href=(place(one)) translate="no" { (legible(&name(one.chat))) }
                    " " small { @if one.said { (say!(to, "you")) } @else { (say!(to, "agent")) } " · " time datetime=(time(one.at)) { (time(one.at)) } }
                }
                p translate="no" { (text) }
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

/// The first of the words that stands in a text, with what is around it. The text is read once, and each word is
/// looked for once.
fn around(text: &str, words: &str) -> String {
    // Folding can change how long a text is: for each letter, where it begins in what it is folded to.
    let (mut folded_text, mut starts) = (String::with_capacity(text.len()), Vec::new());
    for letter in text.chars() {
        starts.push(folded_text.len());
        fold_into(&mut folded_text, letter);
    }
    let first = wanted_words(words).iter().filter_map(|word| folded_text.find(word)).min();
    let before = first.map_or(0, |at| starts.partition_point(|start| *start <= at) - 1);
    let start = before.saturating_sub(AROUND);
    let shown: String = text.chars().skip(start).take(words.chars().count() + 2 * AROUND).collect();
    let (head, tail) = (start > 0, start + shown.chars().count() < starts.len());
    format!("{}{shown}{}", if head { "…" } else { "" }, if tail { "…" } else { "" })
}

/// A text with all of the words in it marked.
fn marked(text: &str, words: &str) -> Markup {
    let wanted = wanted_words(words);
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

/// How many bytes of a text are this word, if it begins with it.
fn begins(text: &str, wanted: &str) -> Option<usize> {
    let mut head = String::new();
    for (at, letter) in text.char_indices() {
        fold_into(&mut head, letter);
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
