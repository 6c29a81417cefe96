//! An operator's policies and cases, as files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use cloister_policy::engine::{Case, Engine, PolicyError, PolicyErrors, Source};
use cloister_protocol::admin::{PolicyFile, PolicyProblem};
use serde::Deserialize;

use super::changing::CheckedPolicies;
use crate::config::is_policy_file;

/// The largest file, and the most of them.
const MAX_BYTES: u64 = 1 << 20;
const MAX_FILES: usize = 200;

fn is_policies(file: &PolicyFile) -> bool {
    file.name.ends_with(".cedar")
}

/// The files that hold policies, in the order of their names.
pub(crate) fn sources(files: &[PolicyFile]) -> Vec<Source<'_>> {
    let policies = files.iter().filter(|file| is_policies(file));
    policies.map(|file| Source { file: &file.name, text: &file.text }).collect()
}

/// The files of a directory, in the order of their names; none if there is no such directory. What is
/// neither policies nor cases is not looked at.
pub fn read_dir(dir: &Path) -> Result<Vec<PolicyFile>, PolicyErrors> {
    let failed = |error: io::Error| wrong(&dir.display().to_string(), &error.to_string());
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let name = entry.map_err(failed)?.file_name();
        let Some(name) = name.to_str().filter(|name| is_policy_file(name)) else { continue };
        let text = read(&dir.join(name)).map_err(|error| wrong(name, &error.to_string()))?;
        files.push(PolicyFile { name: name.to_owned(), text });
        if files.len() > MAX_FILES {
            return Err(wrong(&dir.display().to_string(), "it holds too many files"));
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = File::open(path)?.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if u64::try_from(read).is_ok_and(|read| read > MAX_BYTES) {
        return Err(io::Error::other("it is larger than 1 MB"));
    }
    Ok(text)
}

fn wrong(file: &str, message: &str) -> PolicyErrors {
    let (file, message) = (file.to_owned(), message.to_owned());
    PolicyErrors(vec![PolicyError { file, line: None, policy: None, message }])
}

/// What is wrong with files as such.
fn misnamed(files: &[PolicyFile]) -> Vec<PolicyProblem> {
    let mut problems = Vec::new();
    for (at, file) in files.iter().enumerate() {
        let again = files.iter().take(at).any(|other| other.name == file.name);
        let message = if again {
            "the same name twice"
        } else if !is_policy_file(&file.name) {
            "a file is called NAME.cedar or NAME.cases, of letters, digits, '-', '_' and '.'"
        } else {
            continue;
        };
        problems.push(problem(&file.name, None, message));
    }
    problems
}

fn problem(file: &str, line: Option<usize>, message: impl Into<String>) -> PolicyProblem {
    PolicyProblem { file: file.to_owned(), line, policy: None, message: message.into() }
}

/// Whether files could be put in force, and whether the cases among them come out as they should.
pub fn check(files: &[PolicyFile]) -> CheckedPolicies {
    let mut checked = CheckedPolicies { problems: misnamed(files), ..CheckedPolicies::default() };
    if files.len() > MAX_FILES {
        checked.problems.push(problem("policies", None, "there are too many files"));
    }
    match Engine::new(&sources(files)) {
        Ok(engine) => {
            let defaults = cloister_policy::engine::DEFAULT_POLICIES;
            let own = |file: &str| !defaults.iter().any(|default| default.file == file);
            checked.policies = engine.policies().iter().filter(|p| own(&p.file)).count();
            checked.run_cases(&engine, files);
        }
        Err(errors) => checked.problems.extend(errors.0.into_iter().map(policy_problem)),
    }
    checked
}

pub(super) fn policy_problem(error: PolicyError) -> PolicyProblem {
    let PolicyError { file, line, policy, message } = error;
    PolicyProblem { file, line, policy, message }
}

/// A file of cases: `[[case]]`, as often as there are cases.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    #[serde(default)]
    case: Vec<Case>,
}

impl CheckedPolicies {
    /// Runs the operator's own cases against these policies.
    pub(super) fn run_cases(&mut self, engine: &Engine, files: &[PolicyFile]) {
        for file in files.iter().filter(|file| !is_policies(file)) {
            let cases = match toml::from_str::<Cases>(&file.text) {
                Ok(cases) => cases.case,
                Err(error) => {
                    let line = error.span().map(|span| line_at(&file.text, span.start));
                    self.problems.push(problem(&file.name, line, error.message()));
                    continue;
                }
            };
            self.cases += cases.len();
            for failure in engine.test(&cases) {
                let line = line_of(&file.text, &failure.name);
                self.failures.push(problem(&file.name, line, failure.to_string()));
            }
        }
    }
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}

/// Where a case of this name is.
fn line_of(text: &str, name: &str) -> Option<usize> {
    let named = |line: &str| line.trim_start().starts_with("name") && line.contains(name);
    text.lines().position(named).map(|line| line + 1)
}
