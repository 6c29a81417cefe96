//! Users, their limits and budgets.

use axum::extract::State as Extract;
use cloister_control::rows::{AccountKind, UsageRow, User, UserLimits};
use cloister_control::{Control, nano_to_usd, usd_to_nano};
use cloister_policy::engine::{PlatformCall, Request, WorkspaceCall};
use cloister_policy::legible;
use cloister_protocol::ErrorCode;
use cloister_protocol::admin::{BudgetView, NewUser, UsageView, UserChange, UserView};
use cloister_words::say;

use super::Admin;
use super::authorise::Asker;
use super::route::{About, Route};
use crate::reply::{Answer, Body, Failure, Path, json};

/// The longest name that somebody is called by.
const MAX_DISPLAY_CHARS: usize = 60;
/// The largest quota that can be set, in MB: an exabyte is a typing mistake.
const MAX_QUOTA_MB: u64 = 1 << 40;
const MAX_EXECUTORS: u32 = 1000;
const MAX_USD: f64 = 1e6;

pub(super) fn routes() -> Vec<Route> {
    let (all, one) = ("/admin/v1/users", "/admin/v1/users/{user}");
    let workspace = About::Workspace;
    vec![
        Route::get(all, About::Platform(PlatformCall::ListUsers), list),
        Route::post(all, About::Platform(PlatformCall::CreateUser), add),
        Route::get(one, workspace(WorkspaceCall::ShowUser), show),
        Route::patch(one, workspace(WorkspaceCall::ChangeLimits), change),
        Route::get("/admin/v1/users/{user}/budget", workspace(WorkspaceCall::ReadBudget), budget),
    ]
}

fn view(user: &User) -> UserView {
    UserView {
        name: user.name.clone(),
        display_name: user.display_name.clone(),
        workspace: user.workspace,
        quota_mb: user.limits.quota_bytes >> 20,
        over_quota: user.over_quota,
        executors: user.limits.max_executors,
        daily_usd: nano_to_usd(user.limits.daily_budget),
        task_usd: nano_to_usd(user.limits.task_budget),
    }
}

async fn list(Extract(admin): Extract<Admin>) -> Answer<Vec<UserView>> {
    let users = admin.control.accounts().all().await?;
    let people = users.iter().filter(|user| user.kind == AccountKind::Person);
    json(people.map(view).collect())
}

async fn show(Extract(admin): Extract<Admin>, Path(name): Path<String>) -> Answer<UserView> {
    json(view(&super::user(&admin, &name).await?))
}

async fn add(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Body(new): Body<NewUser>,
) -> Answer<UserView> {
    let limits = limits_of(&admin.control, &new)?;
    let user = admin.control.accounts().add(asker.actor(), &new.name, limits).await?;
    json(view(&user))
}

/// The limits that a new user gets: what was asked for, and the defaults for the rest.
pub(super) fn limits_of(control: &Control, new: &NewUser) -> Result<UserLimits, Failure> {
    let change = UserChange {
        display_name: None,
        quota_mb: new.quota_mb,
        executors: new.executors,
        daily_usd: new.daily_usd,
        task_usd: new.task_usd,
        language: None,
    };
    changed(control.users().limits(), &change)
}

async fn change(
    Extract(admin): Extract<Admin>,
    asker: Asker,
    Path(name): Path<String>,
    Body(change): Body<UserChange>,
) -> Answer<UserView> {
    let user = super::user(&admin, &name).await?;
    if change.daily_usd.is_some() || change.task_usd.is_some() {
        let place = admin.control.people().place(user.workspace).await?;
        let call = WorkspaceCall::ChangeBudget;
        asker.require(&Request::workspace(asker.person(), call, &place)).await?;
    }
    let limits = changed(user.limits, &change)?;
    if let Some(called) = &change.display_name {
        let called = checked_display_name(called)?;
        admin.control.accounts().set_display_name(asker.actor(), &user.name, &called).await?;
    }
    if let Some(language) = change.language {
        let languages = admin.control.people().languages();
        languages.choose_language(asker.actor(), user.id, Some(language)).await?;
    }
    if change.leaves_limits() {
        return json(view(&admin.control.accounts().named(&user.name).await?));
    }
    json(view(&admin.control.accounts().set_limits(asker.actor(), &user.name, limits).await?))
}

/// What somebody may be called: a line in any script, with nothing hidden in it.
pub(crate) fn checked_display_name(called: &str) -> Result<String, Failure> {
    let called = called.trim();
    if called.chars().count() > MAX_DISPLAY_CHARS || legible(called) != called {
        return Err(Failure::said(ErrorCode::BadRequest, |to| {
            say!(to, "a name is one line of at most {most} letters", most = MAX_DISPLAY_CHARS)
        }));
    }
    Ok(called.to_owned())
}

fn changed(mut limits: UserLimits, change: &UserChange) -> Result<UserLimits, Failure> {
    let refuse =
        |what: &str| Failure::new(ErrorCode::BadRequest, format!("{what} is out of range"));
    if let Some(mb) = change.quota_mb {
        if mb == 0 || mb > MAX_QUOTA_MB {
            return Err(refuse("the quota"));
        }
        limits.quota_bytes = mb << 20;
    }
    if let Some(executors) = change.executors {
        if executors == 0 || executors > MAX_EXECUTORS {
            return Err(refuse("the number of executors"));
        }
        limits.max_executors = executors;
    }
    let money = |usd: f64| {
        if (0.0..=MAX_USD).contains(&usd) {
            Ok(usd_to_nano(usd))
        } else {
            Err(refuse("the budget"))
        }
    };
    if let Some(usd) = change.daily_usd {
        limits.daily_budget = money(usd)?;
    }
    if let Some(usd) = change.task_usd {
        limits.task_budget = money(usd)?;
    }
    Ok(limits)
}

async fn budget(Extract(admin): Extract<Admin>, Path(name): Path<String>) -> Answer<BudgetView> {
    let user = super::user(&admin, &name).await?;
    let state = admin.control.accounts().budget_state(user.id).await?;
    let usage = admin.control.accounts().usage(user.id).await?;
    let own = admin.control.accounts().own_usage(user.id).await?;
    json(BudgetView {
        daily_usd: nano_to_usd(user.limits.daily_budget),
        task_usd: nano_to_usd(user.limits.task_budget),
        spent_usd: nano_to_usd(state.spent),
        reserved_usd: nano_to_usd(state.reserved),
        usage: usage.into_iter().map(usage_view).collect(),
        own_spent_usd: nano_to_usd(admin.control.accounts().own_spent_today(user.id).await?),
        own_usage: own.into_iter().map(usage_view).collect(),
        user: user.name,
    })
}

fn usage_view(row: UsageRow) -> UsageView {
    UsageView {
        day: row.day,
        level: row.level,
        model: row.model,
        calls: row.calls,
        prompt_tokens: row.usage.prompt_tokens,
        cached_tokens: row.cached_tokens,
        completion_tokens: row.usage.completion_tokens,
        usd: nano_to_usd(row.cost),
    }
}
