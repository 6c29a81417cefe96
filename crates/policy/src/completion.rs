//! Verified completion: a claim of "done" against what the task's ledger shows.
//!
//! Says what is *not* shown. It can miss a false claim made in words it does not know; it never
//! vouches for one.

use std::collections::{BTreeMap, BTreeSet};

use cloister_protocol::link::{Call, CallStatus, Finish, Step};

use crate::tools::is_mutating;

/// How much of a command or claim is quoted.
const QUOTE_CHARS: usize = 80;
/// Shorter words are in everything.
const LEAST_WORD: usize = 4;
/// How many files of a report are looked for: each in all that was done.
const MAX_NAMES: usize = 100;

/// A call of the ledger and how it ended; none if it never ran.
struct Ran<'a> {
    call: &'a Call,
    status: Option<CallStatus>,
    output: &'a str,
}

/// What of a finished task's claim the ledger does not show, in sentences for a person.
pub fn not_shown(ledger: &[Step], finish: &Finish) -> Vec<String> {
    not_shown_beside(ledger, finish, None)
}

/// The same, where it is known which files the task changed: by their paths.
pub fn not_shown_beside(
    ledger: &[Step],
    finish: &Finish,
    changed: Option<&[String]>,
) -> Vec<String> {
    let ran = calls(ledger);
    let mut missing = unknown_outcomes(&ran);
    if !finish.ok {
        return missing;
    }
    for claim in &finish.claims {
        missing.extend(unshown_claim(&ran, &claim.what, claim.call.as_deref()));
    }
    missing.extend(unshown_files(&ran, &finish.result, changed));
    missing.extend(unshown_tests(&ran, &finish.result));
    let anything = ran.values().any(|r| r.status == Some(CallStatus::Ok));
    if !anything && says_done(&finish.result) {
        missing.push("it is said to be done, and no step of the task succeeded".to_owned());
    }
    missing.dedup();
    missing
}

fn calls(ledger: &[Step]) -> BTreeMap<(usize, &str), Ran<'_>> {
    let mut ran = BTreeMap::new();
    for (at, step) in ledger.iter().enumerate() {
        match step {
            Step::Answer { calls, .. } => {
                for call in calls {
                    ran.insert((at, call.id.as_str()), Ran { call, status: None, output: "" });
                }
            }
            // Begun; without a result nobody knows what became of it.
            Step::Call { call } => set_status(&mut ran, call, (CallStatus::Unknown, "")),
            Step::Result { call, outcome } => {
                set_status(&mut ran, call, (outcome.status, &outcome.output));
            }
        }
    }
    ran
}

/// Providers may repeat call ids between answers: the newest one is meant.
fn set_status<'a>(
    ran: &mut BTreeMap<(usize, &'a str), Ran<'a>>,
    call: &str,
    (status, output): (CallStatus, &'a str),
) {
    let newest = ran.iter_mut().rev().find(|((_, id), _)| *id == call);
    if let Some((_, found)) = newest {
        found.status = Some(status);
        found.output = output;
    }
}

fn unknown_outcomes(ran: &BTreeMap<(usize, &str), Ran<'_>>) -> Vec<String> {
    let unknown = |r: &&Ran<'_>| r.status == Some(CallStatus::Unknown) && is_mutating(&r.call.name);
    ran.values()
        .filter(unknown)
        .map(|r| format!("outcome unknown: {} {}", r.call.name, quote(&r.call.in_words())))
        .collect()
}

fn unshown_claim(
    ran: &BTreeMap<(usize, &str), Ran<'_>>,
    what: &str,
    cited: Option<&str>,
) -> Option<String> {
    // Most models never see the ids of their calls: one that is none of them says nothing.
    let named = cited.and_then(|cited| ran.iter().rev().find(|((_, id), _)| *id == cited));
    let status = match named {
        Some((_, r)) => r.status,
        None if is_mentioned(ran, what) => return None,
        None => return Some(format!("{}: no step shows it", quote(what))),
    };
    let what = quote(what);
    match status {
        Some(CallStatus::Ok) => None,
        Some(CallStatus::Failed) => Some(format!("{what}: the step it names failed")),
        Some(CallStatus::Refused) => Some(format!("{what}: the step it names was refused")),
        Some(CallStatus::Unknown) => {
            Some(format!("{what}: the step it names has an unknown outcome"))
        }
        None => Some(format!("{what}: the step it names did not run")),
    }
}

/// Whether a step that succeeded has to do with a claim: a file it names, or else a word of it, is in what the step was
/// asked or answered.
fn is_mentioned(ran: &BTreeMap<(usize, &str), Ran<'_>>, what: &str) -> bool {
    let words = what.split(|c: char| !(c.is_alphanumeric() || "._-/".contains(c)));
    let words = words.map(|word| word.trim_matches(['.', '-', '/']).to_lowercase());
    let words: Vec<String> =
        words.filter(|word| word.chars().count() >= LEAST_WORD).take(MAX_NAMES).collect();
    let files: Vec<String> = words.iter().filter(|word| word.contains('.')).cloned().collect();
    let wanted = if files.is_empty() { words } else { files };
    let succeeded = ran.values().filter(|r| r.status == Some(CallStatus::Ok));
    let texts: Vec<String> = succeeded
        .map(|r| format!("{} {} {}", r.call.name, r.call.arguments, r.output).to_lowercase())
        .collect();
    wanted.iter().any(|word| texts.iter().any(|text| text.contains(word.as_str())))
}

/// What is said of a file that is there then.
const MAKING: &[&str] = &[
    "created",
    "wrote",
    "written",
    "saved",
    "generated",
    "updated",
    "edited",
    "produced",
    "built",
    "создал",
    "записал",
    "сохранил",
];
/// What is said of one that is not, or was before.
const PASSING: &[&str] = &["deleted", "sent", "отправил"];
/// Behind one of these a file is what was read, and not what came of it.
const SOURCES: &[&str] = &[
    "from", "of", "using", "with", "based", "on", "about", "read", "reading", "opened", "see",
    "из", "по", "от",
];

/// Files that a sentence with a verb of doing names, and that no successful call mentions; or that the task did not
/// change, where that is known.
fn unshown_files(
    ran: &BTreeMap<(usize, &str), Ran<'_>>,
    result: &str,
    changed: Option<&[String]>,
) -> Vec<String> {
    let acted: Vec<&str> = ran
        .values()
        .filter(|r| r.status == Some(CallStatus::Ok) && is_mutating(&r.call.name))
        .map(|r| r.call.arguments.as_str())
        .collect();
    let mut missing = Vec::new();
    let mut looked_for = BTreeSet::new();
    for sentence in result.split(['\n', '!', '?', ';']).flat_map(|line| line.split(". ")) {
        let lower = sentence.to_lowercase();
        let says = |verbs: &[&str]| verbs.iter().any(|verb| lower.contains(verb));
        let makes = says(MAKING);
        if !makes && !says(PASSING) {
            continue;
        }
        let mut before = "";
        for word in sentence.split_whitespace() {
            let is_source = SOURCES.contains(&before.to_lowercase().as_str());
            before = word;
            let Some(name) = file_name(word) else { continue };
            let bare = name.rsplit('/').next().unwrap_or(name);
            if !looked_for.insert(name) {
                continue;
            }
            if looked_for.len() > MAX_NAMES {
                missing.push(format!(
                    "it names more than {MAX_NAMES} files; the others were not looked for"
                ));
                return missing;
            }
            let is_changed = changed.map(|all| all.iter().any(|path| is_named(path, bare)));
            let is_mentioned = acted.iter().any(|arguments| arguments.contains(bare));
            match is_changed {
                Some(true) => {}
                Some(false) if makes && !is_source => {
                    let name = quote(name);
                    missing.push(format!("{name}: no such file is among those that it changed"));
                }
                _ if !is_mentioned => {
                    missing.push(format!("{}: no successful step names this file", quote(name)));
                }
                Some(false) | None => {}
            }
        }
    }
    missing
}

fn is_named(path: &str, bare: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.eq_ignore_ascii_case(bare))
}

/// The word, if it looks like a file name: a stem, a dot and a short extension.
fn file_name(word: &str) -> Option<&str> {
    let name = word.trim_matches(|c: char| !c.is_alphanumeric() && !"/_-".contains(c));
    let (stem, extension) = name.rsplit_once('.')?;
    let plausible = stem.chars().any(char::is_alphabetic)
        && (1..=5).contains(&extension.len())
        && extension.chars().all(|c| c.is_ascii_alphanumeric())
        && extension.chars().any(|c| c.is_ascii_alphabetic())
        && !name.contains("//")
        && !name.contains('@');
    plausible.then_some(name)
}

fn unshown_tests(ran: &BTreeMap<(usize, &str), Ran<'_>>, result: &str) -> Option<String> {
    let lower = result.to_lowercase();
    let claimed = ["tests pass", "test passes", "all tests", "tests are green", "тесты проходят"]
        .iter()
        .any(|phrase| lower.contains(phrase));
    let shown = ran.values().any(|r| {
        r.status == Some(CallStatus::Ok)
            && matches!(r.call.name.as_str(), "bash" | "python")
            && r.call.arguments.to_lowercase().contains("test")
    });
    (claimed && !shown)
        .then(|| "tests are said to pass, and no successful step ran them".to_owned())
}

fn says_done(result: &str) -> bool {
    const DONE: &[&str] = &[
        "done",
        "completed",
        "finished",
        "successfully",
        "created",
        "wrote",
        "saved",
        "sent",
        "deleted",
        "fixed",
        "installed",
        "готово",
        "сделано",
        "выполнено",
    ];
    let lower = result.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| DONE.contains(&word))
}

fn quote(text: &str) -> String {
    let flat: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(QUOTE_CHARS).collect();
    let more = if text.chars().count() > QUOTE_CHARS { "…" } else { "" };
    format!("“{}{more}”", flat.trim())
}

#[cfg(test)]
#[path = "completion_tests.rs"]
mod tests;
