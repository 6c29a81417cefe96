//! Looking at an operator's policies, and putting others in force.

use std::collections::BTreeMap;

use cloister_protocol::admin::{PolicyFile, PolicyProblem};
use cloister_store::Actor;

use super::files::{check, read_dir, sources};
use crate::config::{Config, ConfigError, ConfigRefusal, ConfigScope};
use crate::error::Fault;

const FOLDER: &str = "policies/";

/// What a check of policies found.
#[derive(Clone, Debug, Default)]
pub struct CheckedPolicies {
    /// An operator's own.
    pub policies: usize,
    pub problems: Vec<PolicyProblem>,
    pub cases: usize,
    /// Cases that do not come out as they should.
    pub failures: Vec<PolicyProblem>,
    /// The version that took effect.
    pub version: Option<String>,
}

impl CheckedPolicies {
    pub fn ok(&self) -> bool {
        self.problems.is_empty() && self.failures.is_empty()
    }

    /// Refuses what does not check.
    fn require(&self) -> Result<(), ConfigRefusal> {
        let wrong: Vec<String> = self.problems.iter().chain(&self.failures).map(words).collect();
        if wrong.is_empty() { Ok(()) } else { Err(ConfigRefusal::PoliciesTried { wrong }) }
    }
}

fn words(problem: &PolicyProblem) -> String {
    let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
    let policy = problem.policy.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
    format!("{}{line}{policy}: {}", problem.file, problem.message)
}

impl Config {
    /// Whether files could be put in force. Without files: those of the policy directory.
    pub fn check_policies(
        &self,
        files: Option<&[PolicyFile]>,
    ) -> Result<CheckedPolicies, ConfigError> {
        match files {
            Some(files) => Ok(check(files)),
            None => match read_dir(&self.control.layout().policies()) {
                Ok(files) => Ok(check(&files)),
                Err(errors) => Ok(CheckedPolicies {
                    problems: errors.0.into_iter().map(super::files::policy_problem).collect(),
                    ..CheckedPolicies::default()
                }),
            },
        }
    }

    /// Runs cases against what is in force. Without files: the operator's own cases.
    pub fn test_policies(&self, files: Option<&[PolicyFile]>) -> CheckedPolicies {
        let (in_force, _) = self.control.policies().files();
        let mut checked = CheckedPolicies::default();
        checked.run_cases(&self.control.policies().engine(), files.unwrap_or(&in_force));
        checked
    }

    /// Puts these files in force in place of all that were, as one version; without files, those of the
    /// policy directory, which may have been changed by hand. What does not check changes nothing.
    pub async fn apply_policies(
        &self,
        actor: &Actor,
        files: Option<Vec<PolicyFile>>,
        why: Option<&str>,
    ) -> Result<CheckedPolicies, ConfigError> {
        let on_disk = read_dir(&self.control.layout().policies());
        let files = match (files, on_disk) {
            (Some(files), _) => files,
            (None, Ok(files)) => files,
            (None, Err(errors)) => return Err(ConfigRefusal::Policies(errors).into()),
        };
        let mut checked = check(&files);
        checked.require()?;
        let path = |name: &str| format!("{FOLDER}{name}");
        let mut contents: BTreeMap<_, _> = files
            .iter()
            .map(|file| (path(&file.name), Some(file.text.clone().into_bytes())))
            .collect();
        for there in self.policy_names()? {
            contents.entry(path(&there)).or_insert(None);
        }
        let why = why.unwrap_or("Policies");
        checked.version = self.change_config(actor, ConfigScope::Platform, contents, why).await?;
        let now = self.control.store().clock.now_ms();
        self.control.policies().replace(files, now).map_err(ConfigRefusal::Policies)?;
        self.control.people().access_changed();
        Ok(checked)
    }

    fn policy_names(&self) -> Result<Vec<String>, ConfigError> {
        let failed = "the policy directory could not be read";
        let dir = self.control.layout().policies();
        let mut names = Vec::new();
        for entry in std::fs::read_dir(dir).map_err(Fault::io(failed))? {
            let name = entry.map_err(Fault::io(failed))?.file_name();
            let name = name.to_str().filter(|name| crate::config::is_policy_file(name));
            names.extend(name.map(str::to_owned));
        }
        Ok(names)
    }

    /// Puts the files of the policy directory in force, after they were written.
    pub(crate) fn reload_policies(&self) -> Result<(), ConfigError> {
        let files = read_dir(&self.control.layout().policies()).map_err(ConfigRefusal::Policies)?;
        let now = self.control.store().clock.now_ms();
        self.control.policies().replace(files, now).map_err(ConfigRefusal::Policies)?;
        self.control.people().access_changed();
        Ok(())
    }

    /// Checks what the policy directory would hold after this change.
    pub(crate) fn check_policies_with(
        &self,
        contents: &BTreeMap<String, Option<Vec<u8>>>,
    ) -> Result<(), ConfigRefusal> {
        let now = read_dir(&self.control.layout().policies()).unwrap_or_default();
        let untouched = now
            .into_iter()
            .filter(|file| !contents.contains_key(&format!("{FOLDER}{}", file.name)));
        let changed = contents.iter().filter_map(|(path, bytes)| {
            let (name, bytes) = (path.strip_prefix(FOLDER)?, bytes.as_ref()?);
            let text = String::from_utf8_lossy(bytes).into_owned();
            Some(PolicyFile { name: name.to_owned(), text })
        });
        let mut files: Vec<PolicyFile> = untouched.chain(changed).collect();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        check(&files).require()
    }

    /// Why the policy directory is not what is in force; none if it is.
    pub fn policies_differ(&self) -> Option<String> {
        let (in_force, _) = self.control.policies().files();
        match read_dir(&self.control.layout().policies()) {
            Ok(files) if files == *in_force => None,
            Ok(files) => Some(match cloister_policy::engine::Engine::check(&sources(&files)) {
                Ok(()) => "the files were changed and are not in force yet".to_owned(),
                Err(errors) => format!("the files were changed and can't take effect: {errors}"),
            }),
            Err(errors) => Some(format!("the files can't be read: {errors}")),
        }
    }

    /// Since when these policies are in force; none: since the start.
    pub fn policies_since(&self) -> Option<i64> {
        self.control.policies().files().1
    }
}
