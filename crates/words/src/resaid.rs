//! Saying in somebody's language what was kept in English: which sentence it is, is found out from its words.

use std::fmt::Display;

use cloister_protocol::Language;

use crate::fill::{sentence, text_of};

/// The first of these sentences that this text could be, in a language, with what the text names in it. None: it is
/// none of them. They are tried in order, so that what is a special case of another stands before it. What is named
/// stays as it is, but for these words.
pub fn resaid(
    to: Language,
    (sentences, words): (&[&'static str], &[&'static str]),
    text: &str,
) -> Option<String> {
    sentences.iter().find_map(|known| {
        let mut named = named_in(known, text)?;
        for (_, value) in &mut named {
            *value =
                words.iter().find(|word| *word == value).map_or(*value, |word| text_of(to, word));
        }
        let given: Vec<(&str, &dyn Display)> =
            named.iter().map(|(name, value)| (*name, value as &dyn Display)).collect();
        Some(sentence(to, known, &given))
    })
}

/// What a text names, if it is this sentence. Sentences with brackets of their own are none that can be told.
fn named_in<'a>(sentence: &'static str, text: &'a str) -> Option<Vec<(&'static str, &'a str)>> {
    let (first, mut names) = sentence.split_once('{').unwrap_or((sentence, ""));
    let mut rest = text.strip_prefix(first)?;
    let mut named = Vec::new();
    while !names.is_empty() {
        let (name, after) = names.split_once('}')?;
        let (between, more) = after.split_once('{').unwrap_or((after, ""));
        // The last words are the last of the text too; what is named may hold the same words.
        let (value, behind) = if more.is_empty() {
            (rest.strip_suffix(between)?, "")
        } else {
            rest.split_once(between)?
        };
        named.push((name, value));
        (rest, names) = (behind, more);
    }
    rest.is_empty().then_some(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENTENCES: [&str; 3] =
        ["nothing is named", "{a} is with {b}, and stays", "{a} is with {b}"];

    fn said(text: &str) -> Option<Vec<(&str, &str)>> {
        SENTENCES.iter().find_map(|sentence| named_in(sentence, text))
    }

    #[test]
    fn what_a_sentence_names_is_found_in_it() {
        assert_eq!(said("nothing is named"), Some(Vec::new()));
        assert_eq!(said("x is with y"), Some(vec![("a", "x"), ("b", "y")]));
        assert_eq!(said("x is with y, and stays"), Some(vec![("a", "x"), ("b", "y")]));
        assert_eq!(said(" is with {b}"), Some(vec![("a", ""), ("b", "{b}")]));
    }

    #[test]
    fn what_is_none_of_them_stays_as_it_is() {
        for other in ["", "nothing is named.", "nothing", "x was with y", " is wit"] {
            assert_eq!(resaid(Language::De, (&SENTENCES, &[]), other), None, "{other}");
        }
    }
}
