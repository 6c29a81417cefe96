//! Where a user's tasks may go, for the operator.

use axum::extract::State as Extract;
use cloister_control::rows::User;
use cloister_policy::egress::Rule;
use cloister_policy::engine::{DomainCall, Request, WorkspaceCall};
use cloister_protocol::admin::{EgressChange, EgressRuleView, EgressUsageView, EgressView};

use super::authorise::Asker;
use super::route::{About, Route};
use super::{Admin, time};
use crate::reply::{Answer, Body, Failure, Path, json};

/// How much of the usage is listed.
const USAGE_ROWS: u32 = 200;

pub(super) fn routes() -> Vec<Route> {
    let rules = "/admin/v1/users/{user}/egress";
    let usage_path = "/admin/v1/users/{user}/egress/usage";
    vec![
        Route::get(rules, About::Workspace(WorkspaceCall::ListEgressRules), show),
        Route::patch(rules, About::Handler("allow_domain"), change),
        Route::get(usage_path, About::Workspace(WorkspaceCall::ListEgressRules), usage),
    ]
}

async fn view(admin: &Admin, user: &User) -> Result<EgressView, Failure> {
    let rules = admin.control.egress().list(user.id).await?;
    let rules = rules.into_iter().map(|row| EgressRuleView {
        broken: row.rule.parse::<Rule>().err().map(|error| error.to_string()),
        rule: row.rule,
        added_by: row.added_by,
        added_at: time(row.added_at),
    });
    Ok(EgressView { rules: rules.collect() })
}

async fn show(Extract(admin): Extract<Admin>, Path(name): Path<String>) -> Answer<EgressView> {
    let user = super::user(&admin, &name).await?;
    json(view(&admin, &user).await?)
}

async fn change(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(change): Body<EgressChange>,
) -> Answer<EgressView> {
    let user = super::user(&admin, &name).await?;
    decide(&admin, &asker, &user, &change).await?;
    for rule in &change.allow {
        admin.control.egress().allow_egress(asker.actor(), user.id, rule).await?;
    }
    for rule in &change.forbid {
        if !admin.control.egress().forbid_egress(asker.actor(), user.id, rule).await? {
            let message = format!("{rule} is not on the allowlist of {}", user.name);
            return Err(Failure::new(cloister_protocol::ErrorCode::NotFound, message)
                .fix("`cloister egress list` shows what is"));
        }
    }
    json(view(&admin, &user).await?)
}

/// Each host is decided about by itself; a rule that names none is a setting like any other.
async fn decide(
    admin: &Admin,
    asker: &Asker,
    user: &User,
    change: &EgressChange,
) -> Result<(), Failure> {
    let (person, place) = (asker.person(), admin.control.people().place(user.workspace).await?);
    let settings = Request::workspace(person, WorkspaceCall::ChangeSettings, &place);
    let allowed = change.allow.iter().map(|rule| (rule, DomainCall::Allow));
    let forbidden = change.forbid.iter().map(|rule| (rule, DomainCall::Disallow));
    if change.allow.is_empty() && change.forbid.is_empty() {
        asker.require(&settings).await?;
    }
    for (rule, call) in allowed.chain(forbidden) {
        match rule.parse::<Rule>() {
            Ok(rule) => asker.require(&Request::domain(person, call, &place, rule.host())).await?,
            Err(_unreadable) => asker.require(&settings).await?,
        }
    }
    Ok(())
}

async fn usage(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
) -> Answer<Vec<EgressUsageView>> {
    let user = super::user(&admin, &name).await?;
    let usage = admin.control.egress().usage(user.id, USAGE_ROWS).await?;
    let usage = usage.into_iter().map(|row| EgressUsageView {
        day: row.day,
        host: row.host,
        requests: row.requests,
        bytes_out: row.bytes_out,
        bytes_in: row.bytes_in,
    });
    json(usage.collect())
}
