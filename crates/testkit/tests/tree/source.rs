//! The product's sources, as text that can be searched: no tests, no comments.

use std::path::{Path, PathBuf};

use super::{root, rust_files};

/// Every file that ships, by its path below `crates/`.
pub(super) fn product() -> Vec<(String, String)> {
    let crates = root().join("crates");
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(&crates).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with("testkit") {
            rust_files(&path.join("src"), &mut files);
        }
    }
    files.sort();
    let named = |path: &PathBuf| {
        let name = path.strip_prefix(&crates).unwrap().to_string_lossy().into_owned();
        (name, without_comments(&std::fs::read_to_string(path).unwrap()))
    };
    let product: Vec<_> = files.iter().filter(|path| !is_test(path)).map(named).collect();
    assert!(product.len() > 500, "the walk found only {} files", product.len());
    product
}

/// Tests, and what only they use.
fn is_test(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_string_lossy().into_owned();
    name.ends_with("_tests.rs") || name.starts_with("test_") || name == "fake.rs"
}

/// Whole lines only: a comment behind code does not matter to who searches for code.
fn without_comments(text: &str) -> String {
    let code = |line: &&str| !line.trim_start().starts_with("//");
    text.lines().map(|line| if code(&line) { line } else { "" }).collect::<Vec<_>>().join("\n")
}

/// The line of a byte of the text, from 1.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

pub(super) fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// What stands between the bracket that ends at `from` and the one that closes it; strings are skipped.
pub(super) fn bracketed(text: &str, from: usize) -> &str {
    let rest = text.get(from..).unwrap_or_default();
    let (mut depth, mut in_string, mut escaped) = (1, false, false);
    for (at, character) in rest.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            _ if in_string => {}
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return rest.get(..at).unwrap_or_default();
        }
    }
    rest
}
