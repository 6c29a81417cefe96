use cloister_control::files::{RelPath, safe_name};
use cloister_policy::is_hidden;
use cloister_testkit::Fuzz;

const PATHS: &[&str] = &[
    "chats/C1/files/report.md",
    "./a//b/./c",
    "../etc/passwd",
    "/etc/passwd",
    "incoming/my photo (1).jpeg",
    ".git/config",
    "a\\b\\c.txt",
    "naïve/日本語.txt",
];

const WORDS: &[&str] = &[
    "../",
    "..",
    "/",
    "//",
    "./",
    "\\",
    "\0",
    ".git",
    "CON",
    "nul.txt",
    "%2e%2e/",
    "\u{2024}\u{2024}/",
    "\u{2215}",
    "\u{202e}",
    "\u{200b}",
    "\n",
    "-rf",
    "~",
    "$(x)",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// What is accepted is beneath the workspace and has one spelling.
fn path(text: &str) -> Result<(bool, usize), String> {
    let Ok(path) = RelPath::parse(text) else { return Ok((false, 0)) };
    let shown = path.as_str();
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    if !shown.split('/').all(plain) || shown.contains('\0') {
        return Err(format!("{shown:?} is not made of plain names"));
    }
    if RelPath::parse(shown).as_ref().ok() != Some(&path) {
        return Err(format!("{shown:?} is not read as itself"));
    }
    Ok((true, shown.split('/').count().min(8)))
}

#[test]
fn fuzz_paths() {
    Fuzz::new("paths").seeds(PATHS).words(WORDS).run_text(path).unwrap();
}

/// E70: a name from outside is one plain name, with nothing hidden in it.
fn name(text: &str) -> Result<usize, String> {
    let name = safe_name(text);
    let wrong = name.is_empty()
        || name.len() > 255
        || name.starts_with(['.', '-'])
        || name.contains(['/', '\\', '\n', '"', '$', '`'])
        || name.chars().any(is_hidden);
    if wrong {
        return Err(format!("{name:?} is not a plain name"));
    }
    if RelPath::parse(&name).is_err() {
        return Err(format!("{name:?} can't be opened"));
    }
    Ok(name.len().min(32))
}

#[test]
fn fuzz_file_names() {
    Fuzz::new("file_names").seeds(PATHS).words(WORDS).run_text(name).unwrap();
}
