//! One word, one thing: a name that is defined all over the place says nothing about what it is of.

use std::collections::BTreeMap;

use super::source::{is_word, line_of, product};

/// How often a name of a type may be defined.
const MOST: usize = 5;

/// Names that may be defined more often, how often, and why.
const ALLOWED: &[(&str, usize, &str)] = &[
    ("Args", 25, "what a tool or a program takes, in the file that is named after it"),
    ("Row", 19, "a row of the one table that its file is about, before it is parsed"),
];

/// Who has no business with doors: a door is the one way out of a sandbox.
const WITHOUT_DOORS: &[&str] =
    &["matrix/", "pki/", "store/", "telegram/", "vault/", "web/", "protocol/src/surface/"];
/// The line of a connector and its way out go through its sandbox's door.
const DOOR_OF_CONNECTORS: &[&str] = &["kit/src/outside.rs", "kit/src/program.rs"];

const KEYWORDS: &[&str] = &["struct ", "enum ", "type ", "union ", "trait "];

/// The names of the types that a text defines, and where. Types that belong to an `impl` or a `trait` are named by it.
pub(super) fn defined(text: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        let code = match code.strip_prefix("pub(") {
            Some(rest) => rest.split_once(") ").map_or(rest, |(_, code)| code),
            None => code.strip_prefix("pub ").unwrap_or(code),
        };
        let of_an_impl = code.starts_with("type ") && line.starts_with(' ');
        let name = KEYWORDS.iter().find_map(|keyword| code.strip_prefix(keyword));
        let name = name.and_then(|rest| rest.split(|c| !is_word(c)).next()).unwrap_or_default();
        if !name.is_empty() && !of_an_impl {
            found.push((name, line_of(text, at)));
        }
        at += line.len();
    }
    found
}

#[test]
fn a_name_says_what_it_is_of() {
    let files = product();
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (file, text) in &files {
        for (name, line) in defined(text) {
            places.entry(name).or_default().push(format!("{file}:{line}"));
        }
    }
    assert!(places.len() > 1_000, "the walk found only {} names", places.len());
    let allowed = |name: &str| {
        ALLOWED.iter().find(|(known, ..)| *known == name).map_or(MOST, |(_, most, _)| *most)
    };
    let crowded: Vec<String> = places
        .iter()
        .filter(|(name, places)| places.len() > allowed(name))
        .map(|(name, places)| format!("{name} ×{}:\n  {}", places.len(), places.join("\n  ")))
        .collect();
    assert!(
        crowded.is_empty(),
        "give these names that say what they are of:\n{}",
        crowded.join("\n")
    );
    for (name, most, _) in ALLOWED {
        let count = places.get(name).map_or(0, Vec::len);
        assert!(count == *most, "{name} is defined {count} times now: say so, or drop its row");
    }
}

#[test]
fn a_door_is_the_way_out_of_a_sandbox() {
    for (file, text) in product() {
        let theirs = WITHOUT_DOORS.iter().any(|place| file.starts_with(place))
            || (file.starts_with("kit/") && !DOOR_OF_CONNECTORS.contains(&file.as_str()));
        let says = text.to_lowercase().contains("door");
        assert!(!(theirs && says), "{file} calls something else a door");
    }
}
