//! The policies: what is in force, what they would decide, and putting others in force.

use axum::extract::State as Extract;
use cloister_control::CheckedPolicies;
use cloister_policy::engine::{Explanation, Outcome, PlatformCall, ShownPolicy};
use cloister_protocol::admin::{
    PoliciesView, PolicyChecked, PolicyExplanation, PolicyFiles, PolicyQuestion, PolicyView,
};

use super::authorise::Asker;
use super::route::{About, Route};
use super::{Admin, time};
use crate::reply::{Answer, Body, json};

pub(super) fn routes() -> Vec<Route> {
    use PlatformCall::{ChangePolicies, ExplainPolicy, ReadPolicies};
    vec![
        Route::get("/admin/v1/policies", About::Platform(ReadPolicies), list),
        Route::put("/admin/v1/policies", About::Platform(ChangePolicies), apply),
        Route::post("/admin/v1/policies/reload", About::Platform(ChangePolicies), reload),
        Route::post("/admin/v1/policies/check", About::Platform(ReadPolicies), check),
        Route::post("/admin/v1/policies/test", About::Platform(ReadPolicies), test),
        Route::post("/admin/v1/policies/explain", About::Platform(ExplainPolicy), explain),
    ]
}

fn view(policy: ShownPolicy) -> PolicyView {
    let ShownPolicy { id, file, line, kind, reason, text } = policy;
    PolicyView { id: id.to_string(), file, line, kind: kind.to_owned(), reason, text }
}

fn checked(found: CheckedPolicies) -> PolicyChecked {
    PolicyChecked {
        ok: found.ok(),
        policies: found.policies,
        problems: found.problems,
        cases: found.cases,
        failures: found.failures,
        version: found.version,
    }
}

async fn list(Extract(admin): Extract<Admin>) -> Answer<PoliciesView> {
    let control = &admin.control;
    let since = control.config().policies_since();
    json(PoliciesView {
        policies: control.policies().engine().policies().into_iter().map(view).collect(),
        directory: control.layout().policies().display().to_string(),
        since: since.map_or_else(|| "the start".to_owned(), time),
        differs: control.config().policies_differ(),
    })
}

async fn apply(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Body(given): Body<PolicyFiles>,
) -> Answer<PolicyChecked> {
    let why = given.why.as_deref();
    let applied =
        admin.control.config().apply_policies(asker.actor(), Some(given.files), why).await?;
    json(checked(applied))
}

async fn reload(Extract(admin): Extract<Admin>, asker: Asker) -> Answer<PolicyChecked> {
    json(checked(admin.control.config().apply_policies(asker.actor(), None, None).await?))
}

/// The files that were given, or those of the policy directory.
async fn check(
    Extract(admin): Extract<Admin>,
    Body(given): Body<Option<PolicyFiles>>,
) -> Answer<PolicyChecked> {
    let files = given.map(|given| given.files);
    json(checked(admin.control.config().check_policies(files.as_deref())?))
}

/// The cases that were given, or the operator's own.
async fn test(
    Extract(admin): Extract<Admin>,
    Body(given): Body<Option<PolicyFiles>>,
) -> Answer<PolicyChecked> {
    let files = given.map(|given| given.files);
    json(checked(admin.control.config().test_policies(files.as_deref())))
}

async fn explain(
    Extract(admin): Extract<Admin>,
    Body(question): Body<PolicyQuestion>,
) -> Answer<PolicyExplanation> {
    let explanation = admin.control.config().explain_policy(&question).await?;
    let text = explanation.to_string();
    let Explanation { request, verdict, decided, did_not_apply } = explanation;
    let (outcome, class, people, reason) = match verdict.outcome {
        Outcome::Allow => ("allow", None, None, String::new()),
        Outcome::Ask { class, people, reason } => {
            ("ask", Some(class.to_string()), Some(people), reason)
        }
        Outcome::Deny { reason } => ("deny", None, None, reason),
    };
    json(PolicyExplanation {
        request,
        outcome: outcome.to_owned(),
        class,
        people,
        reason,
        decided: decided.into_iter().map(view).collect(),
        did_not_apply: did_not_apply.into_iter().map(view).collect(),
        text,
    })
}
