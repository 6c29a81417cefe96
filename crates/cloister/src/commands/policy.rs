//! `cloister policy`: who may do what, checked, explained and put in force.

use std::path::Path;
use std::process::ExitCode;

use axum::http::Method;
use cloister_control::{CheckedPolicies, check_policy_files, read_policy_dir};
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{
    PoliciesView, PolicyChecked, PolicyExplanation, PolicyFile, PolicyFiles, PolicyProblem,
    PolicyQuestion, PolicyView,
};

use super::Context;
use crate::args::{Explain, Policy, Who};
use crate::output::{CliError, table};

const PATH: &str = "/admin/v1/policies";

pub(super) async fn run(context: Context, command: Policy) -> Result<ExitCode, CliError> {
    match command {
        Policy::List => {
            let view: PoliciesView = context.client().await?.get(PATH).await?;
            context.output.result(&view, || list(&view))?;
        }
        Policy::Show { id } => {
            let view: PoliciesView = context.client().await?.get(PATH).await?;
            let found = view.policies.into_iter().find(|policy| policy.id == id);
            let policy = found.ok_or_else(|| {
                CliError::new(ErrorCode::NotFound, format!("there is no policy {id:?}"))
                    .fix("`cloister policy list` shows which there are")
            })?;
            context.output.result(&policy, || show(&policy))?;
        }
        Policy::Check { dir } => {
            let found = check(&context, dir.as_deref()).await?;
            return said(&context, &found, "could take effect");
        }
        Policy::Test { files } => {
            let files = files.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
            let files = (!files.is_empty()).then_some(PolicyFiles { files, why: None });
            let client = context.client().await?;
            let found: PolicyChecked = client.post(&format!("{PATH}/test"), &files).await?;
            return said(&context, &found, "in force");
        }
        Policy::Explain(asked) => {
            let client = context.client().await?;
            let told: PolicyExplanation =
                client.post(&format!("{PATH}/explain"), &question(asked)).await?;
            context.output.result(&told, || told.text.clone())?;
        }
        Policy::Apply { dir, why } => {
            let client = context.client().await?;
            let found: PolicyChecked = match dir {
                Some(dir) => {
                    let files = files_of(&dir)?;
                    client.call(Method::PUT, PATH, Some(&PolicyFiles { files, why })).await?
                }
                None => client.post(&format!("{PATH}/reload"), &()).await?,
            };
            return said(&context, &found, "in force");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// On this machine the files are checked without a control plane: they may be what keeps it from
/// starting.
async fn check(context: &Context, dir: Option<&Path>) -> Result<PolicyChecked, CliError> {
    if context.is_remote() {
        let files = dir.map(files_of).transpose()?.map(|files| PolicyFiles { files, why: None });
        return context.client().await?.post(&format!("{PATH}/check"), &files).await;
    }
    let own = context.data.join("policies");
    let found = check_policy_files(&files_of(dir.unwrap_or(&own))?);
    let ok = found.ok();
    let CheckedPolicies { policies, problems, cases, failures, version } = found;
    Ok(PolicyChecked { ok, policies, problems, cases, failures, version })
}

fn files_of(dir: &Path) -> Result<Vec<PolicyFile>, CliError> {
    if dir.is_file() {
        return Ok(vec![read(dir)?]);
    }
    read_policy_dir(dir).map_err(|errors| CliError::new(ErrorCode::BadRequest, errors.to_string()))
}

fn read(path: &Path) -> Result<PolicyFile, CliError> {
    let failed = format!("{} could not be read", path.display());
    let text = std::fs::read_to_string(path).map_err(CliError::io(failed))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(PolicyFile { name, text })
}

fn said(context: &Context, found: &PolicyChecked, state: &str) -> Result<ExitCode, CliError> {
    context.output.result(found, || words(found, state))?;
    Ok(if found.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn words(found: &PolicyChecked, state: &str) -> String {
    let mut text = String::new();
    for problem in found.problems.iter().chain(&found.failures) {
        text.push_str(&problem_words(problem));
        text.push('\n');
    }
    let PolicyChecked { problems, failures, cases, policies, version, .. } = found;
    if !problems.is_empty() {
        text.push_str(&format!(
            "{} wrong: none of it takes effect.",
            many(problems.len(), "thing is", "things are")
        ));
        return text;
    }
    if !failures.is_empty() {
        text.push_str(&format!("{} of {cases} cases failed.", failures.len()));
        return text;
    }
    text.push_str(&format!(
        "{} of your own beside the default ones; {} came out as they should.",
        many(*policies, "policy", "policies"),
        many(*cases, "case", "cases")
    ));
    match version {
        Some(version) => text.push_str(&format!(" In force as {version}.")),
        None => text.push_str(&format!(" {}.", capitalised(state))),
    }
    text
}

fn many(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}", letters.as_str())
}

fn problem_words(problem: &PolicyProblem) -> String {
    let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
    let policy = problem.policy.as_ref().map(|id| format!(" ({id})")).unwrap_or_default();
    format!("{}{line}{policy}: {}", problem.file, problem.message)
}

fn list(view: &PoliciesView) -> String {
    let rows: Vec<Vec<String>> = view
        .policies
        .iter()
        .map(|policy| {
            let place = format!("{}:{}", policy.file, policy.line);
            vec![policy.id.clone(), policy.kind.clone(), place, policy.reason.clone()]
        })
        .collect();
    let mut text = table(&["POLICY", "KIND", "WHERE", "REASON"], &rows);
    text.push_str(&format!("In force since {}; your own are in {}.\n", view.since, view.directory));
    if let Some(differs) = &view.differs {
        text.push_str(&format!("But {differs}: `cloister policy apply` puts them in force.\n"));
    }
    text
}

fn show(policy: &PolicyView) -> String {
    format!("{} ({}:{})\n{}", policy.id, policy.file, policy.line, policy.text)
}

fn question(asked: Explain) -> PolicyQuestion {
    let who = match asked.who {
        Who::User => "user",
        Who::Coordinator => "coordinator",
        Who::Executor => "executor",
    };
    PolicyQuestion {
        who: who.to_owned(),
        user: Some(asked.user),
        action: asked.action,
        about: asked.about,
        roles: asked.roles,
        risk: asked.risk,
        class: asked.class,
        role: asked.role,
        own: asked.own,
        untrusted: asked.untrusted,
        plan_pending: asked.plan_pending,
        stopped: asked.stopped,
        unconfined: asked.unconfined,
        not_in_context: asked.not_in_context,
        not_in_manifest: asked.not_in_manifest,
    }
}
