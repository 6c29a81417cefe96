//! File patterns: `*`, `?`, `[a-z]`, `**` across folders, `{a,b}`.

const MAX_ALTERNATIVES: usize = 64;

pub(super) struct Pattern {
    alternatives: Vec<Vec<String>>,
}

impl Pattern {
    pub(super) fn new(pattern: &str) -> Self {
        let alternatives = expand(pattern)
            .into_iter()
            .map(|one| {
                one.split('/')
                    .filter(|part| !part.is_empty() && *part != ".")
                    .map(str::to_owned)
                    .collect()
            })
            .collect();
        Self { alternatives }
    }

    /// Whether a path relative to the root matches.
    pub(super) fn matches(&self, path: &str) -> bool {
        let parts: Vec<&str> = path.split('/').collect();
        self.alternatives.iter().any(|pattern| match_parts(pattern, &parts))
    }
}

/// Writes out the first pair of braces, then the next.
fn expand(pattern: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![pattern.to_owned()];
    while let Some(one) = open.pop() {
        let braces = one.split_once('{').and_then(|(before, rest)| {
            let (inside, after) = rest.split_once('}')?;
            Some((before.to_owned(), inside.to_owned(), after.to_owned()))
        });
        match braces {
            Some((before, inside, after)) if open.len() + done.len() < MAX_ALTERNATIVES => {
                let choices = inside.split(',').rev().take(MAX_ALTERNATIVES);
                open.extend(choices.map(|choice| format!("{before}{choice}{after}")));
            }
            _ => done.push(one),
        }
    }
    done
}

fn match_parts(pattern: &[String], parts: &[&str]) -> bool {
    match pattern.split_first() {
        None => parts.is_empty(),
        Some((first, rest)) if first == "**" => {
            (0..=parts.len()).any(|skip| match_parts(rest, parts.get(skip..).unwrap_or_default()))
        }
        Some((first, rest)) => match parts.split_first() {
            Some((part, others)) => {
                let pattern: Vec<char> = first.chars().collect();
                let part: Vec<char> = part.chars().collect();
                match_part(&pattern, &part) && match_parts(rest, others)
            }
            None => false,
        },
    }
}

fn match_part(pattern: &[char], text: &[char]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some(('*', rest)), _) => {
            (0..=text.len()).any(|skip| match_part(rest, text.get(skip..).unwrap_or_default()))
        }
        (Some(('?', rest)), Some((_, others))) => match_part(rest, others),
        (Some(('[', rest)), Some((letter, others))) => match class(rest, *letter) {
            Some((matched, after)) => matched && match_part(after, others),
            None => *letter == '[' && match_part(rest, others),
        },
        (Some((wanted, rest)), Some((letter, others))) => {
            wanted == letter && match_part(rest, others)
        }
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Whether `letter` is in the class that starts here, and what follows the class.
fn class(pattern: &[char], letter: char) -> Option<(bool, &[char])> {
    let end = pattern.iter().skip(1).position(|c| *c == ']')? + 1;
    let (inside, after) = (pattern.get(..end)?, pattern.get(end + 1..)?);
    let (negated, mut inside) = match inside.split_first() {
        Some(('!' | '^', rest)) => (true, rest),
        _ => (false, inside),
    };
    let mut found = false;
    while let Some((first, rest)) = inside.split_first() {
        inside = match rest {
            ['-', last, rest @ ..] => {
                found |= (*first..=*last).contains(&letter);
                rest
            }
            _ => {
                found |= *first == letter;
                rest
            }
        };
    }
    Some((found != negated, after))
}

#[cfg(test)]
#[path = "pattern_tests.rs"]
mod tests;
