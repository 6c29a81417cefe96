//! Catalogue files, in gettext's form: `msgid`, `msgid_plural`, `msgstr`, `msgstr[0]`, strings in several lines, comments.

use std::fmt::Write as _;

/// A sentence and what it is in a language.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub text: String,
    /// For sentences about a number of things: about many of them.
    pub plural: Option<String>,
    /// One, or one per plural form of the language.
    pub forms: Vec<String>,
}

/// A line that is not of this form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// From 1.
    pub line: usize,
}

enum Field {
    Nothing,
    Text,
    Plural,
    Form(usize),
}

/// The sentences of a file, and what could not be read in it. The head (an empty `msgid`) is left out.
pub fn read(file: &str) -> (Vec<Entry>, Vec<Flaw>) {
    let (mut entries, mut flaws) = (Vec::new(), Vec::new());
    let mut entry = Entry::default();
    let mut field = Field::Nothing;
    for (number, line) in file.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (keyword, string) = line.split_at(line.find('"').unwrap_or(line.len()));
        let begun = match keyword.trim() {
            "" => None,
            "msgid" => {
                keep(std::mem::take(&mut entry), &mut entries);
                Some(Field::Text)
            }
            "msgid_plural" => Some(Field::Plural),
            "msgstr" => Some(Field::Form(0)),
            other => match form_number(other) {
                Some(form) => Some(Field::Form(form)),
                None => {
                    flaws.push(Flaw { line: number + 1 });
                    continue;
                }
            },
        };
        field = begun.unwrap_or(field);
        match (unquoted(string), &field) {
            (Some(part), Field::Text) => entry.text.push_str(&part),
            (Some(part), Field::Plural) => entry.plural.get_or_insert_default().push_str(&part),
            (Some(part), Field::Form(form)) => {
                if entry.forms.len() <= *form {
                    entry.forms.resize(form + 1, String::new());
                }
                if let Some(known) = entry.forms.get_mut(*form) {
                    known.push_str(&part);
                }
            }
            (None, _) | (_, Field::Nothing) => flaws.push(Flaw { line: number + 1 }),
        }
    }
    keep(entry, &mut entries);
    (entries, flaws)
}

fn keep(entry: Entry, entries: &mut Vec<Entry>) {
    if !entry.text.is_empty() {
        entries.push(entry);
    }
}

/// The number in `msgstr[2]`; no language has more than six forms.
fn form_number(keyword: &str) -> Option<usize> {
    let number = keyword.strip_prefix("msgstr[")?.strip_suffix(']')?;
    number.parse().ok().filter(|number| *number < 6)
}

fn unquoted(string: &str) -> Option<String> {
    let inside = string.strip_prefix('"')?.strip_suffix('"')?;
    let mut text = String::with_capacity(inside.len());
    let mut characters = inside.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => return None,
            '\\' => text.push(match characters.next()? {
                'n' => '\n',
                't' => '\t',
                same @ ('"' | '\\') => same,
                _ => return None,
            }),
            plain => text.push(plain),
        }
    }
    Some(text)
}

/// A file with these sentences, behind `head`: comments and the empty `msgid`, ending in an empty line.
pub fn write(head: &str, entries: &[Entry]) -> String {
    let mut file = head.to_owned();
    for entry in entries {
        field(&mut file, "msgid", &entry.text);
        match &entry.plural {
            Some(plural) => {
                field(&mut file, "msgid_plural", plural);
                for (number, form) in entry.forms.iter().enumerate() {
                    field(&mut file, &format!("msgstr[{number}]"), form);
                }
            }
            None => field(&mut file, "msgstr", entry.forms.first().map_or("", String::as_str)),
        }
        file.push('\n');
    }
    file
}

/// One line, or one per line of the text.
fn field(file: &mut String, keyword: &str, text: &str) {
    let quoted = |part: &str| {
        let escaped = part.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{}\"", escaped.replace('\n', "\\n").replace('\t', "\\t"))
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // Writing to a String does not fail.
    let written = match lines.as_slice() {
        [] => writeln!(file, "{keyword} \"\""),
        [one] => writeln!(file, "{keyword} {}", quoted(one)),
        several => {
            let lines: Vec<String> = several.iter().map(|line| quoted(line)).collect();
            writeln!(file, "{keyword} \"\"\n{}", lines.join("\n"))
        }
    };
    debug_assert!(written.is_ok());
}

#[cfg(test)]
#[path = "po_tests.rs"]
mod tests;
