//! Whether a message is a command is decided once, when it comes in: who else reads commands out of text is listed here.

use super::source::{is_word, line_of, product};

/// Files that may, and why.
const MAY_PARSE: &[(&str, usize, &str)] = &[
    ("control/src/commands/deciding.rs", 1, "what was stored before it was kept what it is"),
    ("control/src/inbox/intake.rs", 1, "the way in: here it is decided"),
];

/// Where the function for it is called: by its path everywhere, by its name where the commands are.
fn calls(file: &str, text: &str) -> Vec<usize> {
    let home = file.starts_with("control/src/commands/");
    let is_call = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        let bare = !before.ends_with(|c| is_word(c) || matches!(c, '.' | ':'));
        let by_path = before.ends_with("commands::") || home && before.ends_with("super::");
        by_path || home && bare && !before.ends_with("fn ")
    };
    let found = text.match_indices("parse(").map(|(at, _)| at).filter(|at| is_call(*at));
    found.map(|at| line_of(text, at)).collect()
}

#[test]
fn commands_are_read_where_messages_come_in() {
    let (mut wrong, mut found) = (Vec::new(), 0);
    for (file, text) in product().iter().filter(|(file, _)| file.starts_with("control/")) {
        let lines = calls(file, text);
        let allowed = MAY_PARSE.iter().find(|(of, ..)| of == file).map_or(0, |(_, most, _)| *most);
        if lines.len() > allowed {
            wrong.push(format!("{file}: {lines:?}"));
        }
        found += lines.len().min(allowed);
    }
    let wrong = wrong.join("\n");
    assert!(wrong.is_empty(), "ask `commands::of` what a stored message is:\n{wrong}");
    let all: usize = MAY_PARSE.iter().map(|(_, most, _)| most).sum();
    assert_eq!(found, all, "somebody does not need to any more");
}

#[test]
fn calls_are_seen_however_they_are_written() {
    let text = "a = commands::parse(x);\nb = super::parse(x);\nc = parse(x);\nd = x.parse();\ne = Url::parse(x);\nfn parse(x)";
    assert_eq!(calls("control/src/commands/run.rs", text), [1, 2, 3]);
    assert_eq!(calls("control/src/cells/actor.rs", text), [1]);
}
