//! Where a user's tasks may go, for the operator.

use axum::extract::State as Extract;
use cloister_policy::egress::Rule;
use cloister_protocol::admin::{EgressChange, EgressRuleView, EgressUsageView, EgressView};
use cloister_store::users::User;

use super::{Admin, time};
use crate::reply::{Answer, Body, Failure, Path, json};

/// How much of the usage is listed.
const USAGE_ROWS: u32 = 200;

async fn view(admin: &Admin, user: &User) -> Result<EgressView, Failure> {
    let rules = admin.control.store().egress_rule_list(user.id).await?;
    let rules = rules.into_iter().map(|row| EgressRuleView {
        broken: row.rule.parse::<Rule>().err().map(|error| error.to_string()),
        rule: row.rule,
        added_by: row.added_by,
        added_at: time(row.added_at),
    });
    Ok(EgressView { rules: rules.collect() })
}

pub(super) async fn show(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
) -> Answer<EgressView> {
    let user = super::user(&admin, &name).await?;
    json(view(&admin, &user).await?)
}

pub(super) async fn change(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
    Body(change): Body<EgressChange>,
) -> Answer<EgressView> {
    let user = super::user(&admin, &name).await?;
    for rule in &change.allow {
        admin.control.allow_egress(user.id, rule, "operator").await?;
    }
    for rule in &change.forbid {
        if !admin.control.forbid_egress(user.id, rule, "operator").await? {
            let message = format!("{rule} is not on the allowlist of {}", user.name);
            return Err(Failure::new(cloister_protocol::ErrorCode::NotFound, message)
                .fix("`cloister egress list` shows what is"));
        }
    }
    json(view(&admin, &user).await?)
}

pub(super) async fn usage(
    Extract(admin): Extract<Admin>,
    Path(name): Path<String>,
) -> Answer<Vec<EgressUsageView>> {
    let user = super::user(&admin, &name).await?;
    let usage = admin.control.store().egress_usage(user.id, USAGE_ROWS).await?;
    let usage = usage.into_iter().map(|row| EgressUsageView {
        day: row.day,
        host: row.host,
        requests: row.requests,
        bytes_out: row.bytes_out,
        bytes_in: row.bytes_in,
    });
    json(usage.collect())
}
