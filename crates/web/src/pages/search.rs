//! `/search`: what was said and told in all chats of this person, by words.

use axum::extract::State as Extract;
use cloister_control::rows::folded;
use cloister_policy::legible;
use maud::{Markup, html};
use serde::Deserialize;

use super::chats::name_of;
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
    let name = |id| chats.iter().find(|one| one.chat.id == id).map(name_of).unwrap_or_default();
    let body = html! {
        h1 { "Search" }
        form.row method="get" action="/search" role="search" {
            input type="search" name="q" value=(words) aria-label="Words to look for" maxlength="200";
            button.primary type="submit" { "Search" }
        }
        @if !words.is_empty() && found.is_empty() { p { "Nothing was said with these words in it." } }
        @for one in &found {
            section.card.found {
                p {
                    a href={ "/chats/" (one.chat) } { (legible(&name(one.chat))) }
                    " " small { @if one.said { "you" } @else { "agent" } " · " time datetime=(time(one.at)) { (time(one.at)) } }
                }
                p { (legible(&around(&one.text, &words))) }
            }
        }
    };
    let page =
        Page { title: "Search", place: Section::Outside, viewer: Some(&viewer), banner: None };
    Ok(shell::page(&page, &body))
}

/// The words with what stands around them.
fn around(text: &str, words: &str) -> String {
    let wanted = folded(words);
    // Folding can change how long a text is: where it begins to fit is looked for in the text itself.
    let fits =
        |(at, _): &(usize, char)| text.get(*at..).is_some_and(|rest| folded_begins(rest, &wanted));
    let before = text.char_indices().take_while(|place| !fits(place)).count();
    let before = if before == text.chars().count() { 0 } else { before };
    let start = before.saturating_sub(AROUND);
    let shown: String = text.chars().skip(start).take(words.chars().count() + 2 * AROUND).collect();
    let (head, tail) = (start > 0, start + shown.chars().count() < text.chars().count());
    format!("{}{shown}{}", if head { "…" } else { "" }, if tail { "…" } else { "" })
}

fn folded_begins(text: &str, wanted: &str) -> bool {
    // No letter becomes less than one: so many are enough to tell.
    let head: String = text.chars().take(wanted.chars().count()).collect();
    folded(&head).starts_with(wanted)
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
