//! No surface is known by its name to what serves them all: what is different about one, its connector declares.

use super::source::{is_word, product};

const NAMES: &[&str] = &["matrix", "telegram", "discord"];
const SERVE_THEM_ALL: &[&str] = &["control/", "kit/", "policy/", "store/"];

/// The texts that stand in quotation marks on a line, as far as one line shows them.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    line.split('"').skip(1).step_by(2)
}

/// Whether a text has a surface's name in it as a word.
fn named(text: &str) -> Option<&'static str> {
    let text = text.to_ascii_lowercase();
    let is_there = |name: &&&str| {
        text.match_indices(**name).any(|(at, _)| {
            let (before, after) = text.split_at(at);
            let after = after.get(name.len()..).unwrap_or_default();
            !before.ends_with(is_word) && !after.starts_with(is_word)
        })
    };
    NAMES.iter().find(is_there).copied()
}

#[test]
fn no_surface_is_known_by_its_name() {
    let mut found = Vec::new();
    for (file, text) in product() {
        if !SERVE_THEM_ALL.iter().any(|of| file.starts_with(of)) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            if let Some(name) = literals(line).find_map(named) {
                found.push(format!("{file}:{} knows {name}", number + 1));
            }
        }
    }
    let found = found.join("\n");
    assert!(found.is_empty(), "let the connector declare what is different:\n{found}");
}

#[test]
fn names_are_seen_in_whatever_words() {
    for text in ["matrix", "cloister telegram status", "of Discord", "<data>/matrix/"] {
        assert!(named(text).is_some(), "{text}");
    }
    for text in ["", "matrixes", "an authorisation_matrix"] {
        assert!(named(text).is_none(), "{text}");
    }
    let line = r#"let (a, b) = ("one", "two"); // three"#;
    assert_eq!(literals(line).collect::<Vec<_>>(), ["one", "two"]);
}

/// What our connectors say of the hosts of their platforms, the control plane lets them.
#[test]
fn our_connectors_declare_what_they_may() {
    let read =
        |path: &str| std::fs::read_to_string(super::root().join("crates").join(path)).unwrap();
    let wiring = read("cloister/src/wiring.rs");
    for name in NAMES {
        let program = read(&format!("{name}/src/main.rs"));
        let (_, hosts) = program.split_once("hosts: &[").unwrap();
        let (hosts, _) = hosts.split_once(']').unwrap();
        let of = format!("const {}_HOSTS: &[&str] = &[", name.to_uppercase());
        let (_, most) = wiring.split_once(&of).unwrap();
        let (most, _) = most.split_once(']').unwrap();
        let (hosts, most): (Vec<_>, Vec<_>) = (literals(hosts).collect(), literals(most).collect());
        assert_eq!(hosts, most, "{name}");
    }
}
