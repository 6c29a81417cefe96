//! The catalogues: every sentence that the product says to people is there in every language, names what the English
//! one names, and nothing is there that nobody says.
//!
//! `CLOISTER_WRITE_WORDS=1` (`make words`) writes what is new into the files, to be translated, and takes out what is gone.

use std::collections::{BTreeMap, BTreeSet};

use cloister_words::{AREAS, Area, Entry, Language, read, said_by_script, write};

use super::root;
use super::source::{bracketed, line_of, product};

/// A sentence where it is said.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sentence {
    plural: Option<String>,
    place: String,
}

/// What begins a sentence, and which of its arguments are text.
const SAID_BY: [(&str, &[usize]); 4] =
    [("say!(", &[1]), ("phrase!(", &[1]), ("count!(", &[2, 3]), ("noted!(", &[0])];

fn said_in(area: &Area) -> BTreeMap<String, Sentence> {
    let mut said = BTreeMap::new();
    for (path, text) in product() {
        let of = path.split('/').next().unwrap_or_default();
        if !area.crates.contains(&of) {
            continue;
        }
        for (macro_name, texts) in SAID_BY {
            for (at, _) in text.match_indices(macro_name) {
                // Another macro may end in the same letters.
                if text
                    .get(..at)
                    .unwrap_or_default()
                    .ends_with(|c: char| c.is_alphanumeric() || c == '_')
                {
                    continue;
                }
                let place = format!("{path}:{}", line_of(&text, at));
                let literals = literals(bracketed(&text, at + macro_name.len()), texts, &place);
                let plural = literals.get(1).cloned();
                said.insert(literals[0].clone(), Sentence { plural, place });
            }
        }
    }
    if area.name == "web" {
        let script = std::fs::read_to_string(root().join("crates/web/static/app.js")).unwrap();
        for text in said_by_script(&script) {
            let at = script.find(text).unwrap_or_default();
            let place = format!("web/static/app.js:{}", line_of(&script, at));
            assert!(!text.contains('\\'), "{place}: no escapes are read here");
            said.insert(text.to_owned(), Sentence { plural: None, place });
        }
    }
    said
}

/// The arguments at these positions, which are string literals.
fn literals(arguments: &str, at: &[usize], place: &str) -> Vec<String> {
    let all = split(arguments);
    at.iter().map(|index| literal(all.get(*index).unwrap_or(&""), place)).collect()
}

/// Arguments, between commas that are in no string and no bracket.
fn split(arguments: &str) -> Vec<&str> {
    let (mut depth, mut in_string, mut escaped, mut from) = (0, false, false, 0);
    let mut found = Vec::new();
    for (at, character) in arguments.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(arguments.get(from..at).unwrap_or_default().trim());
                from = at + 1;
            }
            _ => {}
        }
    }
    found.push(arguments.get(from..).unwrap_or_default().trim());
    found
}

/// What the compiler reads of a string literal.
fn literal(source: &str, place: &str) -> String {
    let inside = source.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let inside = inside.unwrap_or_else(|| panic!("{place}: {source} is no plain string"));
    let mut text = String::new();
    let mut rest = inside.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match rest.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('\n') => while rest.next_if(|c| c.is_whitespace()).is_some() {},
            Some(same @ ('"' | '\\' | '\'')) => text.push(same),
            other => panic!("{place}: \\{other:?} is not understood here"),
        }
    }
    text
}

/// What a text names in brackets.
fn names(text: &str) -> BTreeSet<String> {
    let text = text.replace("{{", "").replace("}}", "");
    text.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0.to_owned())).collect()
}

const fn forms(language: Language) -> usize {
    match language {
        Language::En | Language::De => 2,
        Language::Ru => 3,
    }
}

fn path(area: &Area, language: Language) -> std::path::PathBuf {
    root().join(format!("crates/words/catalogues/{}.{language}.po", area.name))
}

fn translated(area: &Area) -> impl Iterator<Item = (Language, &'static str)> {
    Language::ALL.into_iter().filter_map(|language| Some((language, area.file(language)?)))
}

#[test]
#[expect(clippy::disallowed_methods, reason = "writes the files on request")]
fn every_sentence_is_in_every_catalogue() {
    let writes = std::env::var_os("CLOISTER_WRITE_WORDS").is_some();
    let mut flaws = Vec::new();
    for area in &AREAS {
        let said = said_in(area);
        for (language, file) in translated(area) {
            let (entries, unread) = read(file);
            flaws.extend(
                unread.iter().map(|flaw| format!("{}.{language}: line {}", area.name, flaw.line)),
            );
            if writes {
                let head = file.split_inclusive("\n\n").next().unwrap_or_default();
                let now = brought_up_to_date(&said, &entries, language);
                std::fs::write(path(area, language), write(head, &now)).unwrap();
            } else {
                flaws.extend(flaws_of(&said, &entries, language));
            }
        }
    }
    assert!(
        flaws.is_empty(),
        "{} flaws (`make words` writes what is new):\n{}",
        flaws.len(),
        flaws.join("\n")
    );
}

/// What is said, with the translations there are.
fn brought_up_to_date(
    said: &BTreeMap<String, Sentence>,
    entries: &[Entry],
    language: Language,
) -> Vec<Entry> {
    let entry = |(text, sentence): (&String, &Sentence)| {
        let known =
            entries.iter().find(|entry| entry.text == *text && entry.plural == sentence.plural);
        let count = if sentence.plural.is_some() { forms(language) } else { 1 };
        known.cloned().unwrap_or_else(|| Entry {
            text: text.clone(),
            plural: sentence.plural.clone(),
            forms: vec![String::new(); count],
        })
    };
    said.iter().map(entry).collect()
}

fn flaws_of(
    said: &BTreeMap<String, Sentence>,
    entries: &[Entry],
    language: Language,
) -> Vec<String> {
    let mut flaws = Vec::new();
    for (text, sentence) in said {
        let place = &sentence.place;
        let known =
            entries.iter().find(|entry| entry.text == *text && entry.plural == sentence.plural);
        let Some(entry) = known else {
            flaws.push(format!("{place}: {text:?} is not in the catalogue of {language}"));
            continue;
        };
        let wanted = if sentence.plural.is_some() { forms(language) } else { 1 };
        if entry.forms.len() != wanted || entry.forms.iter().any(String::is_empty) {
            flaws.push(format!("{place}: {text:?} is not translated into {language}"));
            continue;
        }
        let named = names(sentence.plural.as_deref().unwrap_or(text));
        for form in &entry.forms {
            if names(form) != named {
                flaws.push(format!(
                    "{place}: {form:?} ({language}) names other things than {text:?}"
                ));
            }
            let ends = |text: &str| text.chars().rev().take_while(|c| c.is_whitespace()).count();
            if ends(form) != ends(text) {
                flaws.push(format!("{place}: {form:?} ({language}) ends otherwise than {text:?}"));
            }
        }
    }
    let gone = entries.iter().filter(|entry| !said.contains_key(&entry.text));
    flaws.extend(gone.map(|entry| format!("{language}: nobody says {:?}", entry.text)));
    flaws
}
