//! `/people/{user}`: one person's limits, spending, roles and accounts; changing them, and removing the person. Whoever
//! opens it sees and changes what their own admin calls would let them.

use axum::Form;
use axum::extract::{Path, State as Extract};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use cloister_control::rows::User;
use cloister_control::usd_to_nano;
use cloister_policy::engine::{Role, Scope, WorkspaceCall};
use cloister_protocol::admin::{
    BudgetView, Erase, Erased, PersonView, RoleChange, RoleView, UserChange, UserView,
};
use cloister_protocol::{ErrorBody, ErrorCode, Language, UserName};
use cloister_words::say;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use super::banner;
use super::calls::{Calls, May};
use super::session::Viewer;
use super::shell::{Page, Section, page};
use crate::language::phrase;
use crate::reply::Failure;
use crate::server::State;

#[derive(Deserialize)]
pub(super) struct AskedLimits {
    #[serde(default)]
    display_name: String,
    daily_usd: String,
    task_usd: String,
    quota_mb: String,
}

#[derive(Deserialize)]
pub(super) struct AskedRole {
    role: String,
    #[serde(default)]
    scope: String,
    /// To be taken away, not given.
    #[serde(default)]
    take: bool,
}

#[derive(Deserialize)]
pub(super) struct AskedRemoval {
    confirm: String,
}

pub(super) async fn show(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(user): Path<UserName>,
) -> Result<Markup, Failure> {
    person(&state, &viewer, &user, None).await
}

pub(super) async fn limit(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(user): Path<UserName>,
    Form(asked): Form<AskedLimits>,
) -> Result<Response, Failure> {
    let tried = match asked.read(viewer.to) {
        Ok(change) => {
            let path = format!("users/{user}");
            let call = Calls::of(&state, &viewer);
            call.send::<UserView>(Method::PATCH, &path, &change).await.map(drop)
        }
        Err(problem) => Err(problem),
    };
    after(&state, &viewer, &user, tried).await
}

impl AskedLimits {
    fn read(&self, to: Language) -> Result<UserChange, ErrorBody> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|n| n.is_finite());
        let (Some(daily), Some(task), Ok(quota)) =
            (number(&self.daily_usd), number(&self.task_usd), self.quota_mb.trim().parse::<u64>())
        else {
            return Err(ErrorBody::new(ErrorCode::BadRequest, say!(to, "these are no numbers")));
        };
        let (daily_usd, task_usd, quota_mb) = (Some(daily), Some(task), Some(quota));
        let display_name = Some(self.display_name.clone());
        Ok(UserChange {
            display_name,
            quota_mb,
            executors: None,
            daily_usd,
            task_usd,
            language: None,
        })
    }
}

pub(super) async fn role(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(user): Path<UserName>,
    Form(asked): Form<AskedRole>,
) -> Result<Response, Failure> {
    let path = format!("users/{user}/roles{}", if asked.take { "/take" } else { "" });
    let change =
        RoleChange { role: asked.role, scope: Some(asked.scope).filter(|s| !s.is_empty()) };
    let call = Calls::of(&state, &viewer);
    let tried = call.send::<PersonView>(Method::POST, &path, &change).await.map(drop);
    after(&state, &viewer, &user, tried).await
}

pub(super) async fn remove(
    Extract(state): Extract<State>,
    viewer: Viewer,
    Path(user): Path<UserName>,
    Form(asked): Form<AskedRemoval>,
) -> Result<Response, Failure> {
    let erase = Erase { confirm: asked.confirm.trim().to_owned(), why: String::new() };
    let path = format!("users/{user}/erase");
    let tried = Calls::of(&state, &viewer).send::<Erased>(Method::POST, &path, &erase).await;
    match tried {
        Ok(_erased) => Ok(Redirect::to("/people").into_response()),
        Err(problem) => after(&state, &viewer, &user, Err(problem)).await,
    }
}

/// Back to the page, or the page with what is wrong.
async fn after(
    state: &State,
    viewer: &Viewer,
    user: &UserName,
    tried: Result<(), ErrorBody>,
) -> Result<Response, Failure> {
    match tried {
        Ok(()) => Ok(Redirect::to(&format!("/people/{user}")).into_response()),
        Err(problem) if problem.code == ErrorCode::NotFound => Err(problem.into()),
        Err(problem) => {
            let shown = person(state, viewer, user, Some(&problem)).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
        }
    }
}

async fn person(
    state: &State,
    viewer: &Viewer,
    user: &UserName,
    problem: Option<&ErrorBody>,
) -> Result<Markup, Failure> {
    let calls = Calls::of(state, viewer);
    let about: UserView = calls.get(&format!("users/{user}")).await?;
    let budget: Option<BudgetView> = calls.get(&format!("users/{user}/budget")).await.ok();
    let person: Option<PersonView> = calls.get(&format!("users/{user}/person")).await.ok();
    let account = state.control.accounts().named(user).await?;
    let may = May::of(state, viewer, account.workspace).await?;
    let sets_limits =
        may.call(WorkspaceCall::ChangeLimits) && may.call(WorkspaceCall::ChangeBudget);
    let roles = match &person {
        Some(person) => Some(Roles::of(&may, &account, &person.roles).await?),
        None => None,
    };
    let to = viewer.to;
    let body = html! {
        section.card {
            h1 translate="no" { (account.called()) @if !account.display_name.is_empty() { " (" (user) ")" } }
            @if let Some(problem) = problem { (super::forms::problem(to, problem)) }
            (limits(to, &about, budget.as_ref(), sets_limits))
        }
        @if let Some(person) = &person {
            @if let Some(roles) = &roles { section.card { (roles.shown(to, user)) } }
            section.card { (accounts(to, person)) }
        }
        @if may.call(WorkspaceCall::EraseData) { section.card { (removal(to, user)) } }
    };
    let banner = banner::scripted(state, viewer).await;
    let around =
        Page { title: user.as_str(), to, place: Section::People, viewer: Some(viewer), banner };
    Ok(page(&around, &body))
}

fn limits(to: Language, about: &UserView, budget: Option<&BudgetView>, may_set: bool) -> Markup {
    let rows: [(&str, String, Value); 3] = [
        ("daily_usd", say!(to, "Dollars a day"), about.daily_usd.into()),
        ("task_usd", say!(to, "Dollars for one task"), about.task_usd.into()),
        ("quota_mb", say!(to, "Room for files, in MB"), about.quota_mb.into()),
    ];
    let dollars = |usd: f64| super::forms::dollars(usd_to_nano(usd));
    html! {
        h2 { (say!(to, "Limits")) }
        @if let Some(budget) = budget {
            p { (say!(to, "${spent} of ${daily} is spent today.", spent = dollars(budget.spent_usd), daily = dollars(budget.daily_usd))) }
        }
        @if may_set {
            form.stack method="post" action={ "/people/" (about.name) "/limits" } {
                label { (say!(to, "What they are called, in any script"))
                    input name="display_name" maxlength="60" autocomplete="off" value=(about.display_name) placeholder=(about.name);
                }
                @for (name, label, value) in &rows {
                    label { (label) input name=(name) inputmode="decimal" required value=(value); }
                }
                button.primary type="submit" { (say!(to, "Save")) }
            }
        } @else {
            ul { @for (_, label, value) in &rows { li { (label) ": " (value) } } }
        }
    }
}

/// The roles that somebody holds, and what who looks may change about them.
struct Roles {
    /// Each with whether it may be taken.
    held: Vec<(RoleView, bool)>,
    /// Those that may be given somewhere.
    given: Vec<Role>,
}

impl Roles {
    async fn of(may: &May<'_>, user: &User, held: &[RoleView]) -> Result<Self, Failure> {
        let mut roles = Self { held: Vec::new(), given: Vec::new() };
        for view in held {
            let takes = match (view.role.parse(), view.scope.parse()) {
                (Ok(role), Ok(scope)) => may.assign(role, &scope, user.id).await?,
                _ => false,
            };
            roles.held.push((view.clone(), takes));
        }
        for role in Role::ALL {
            let (everywhere, at_home) = (Scope::Platform, Scope::Workspace(user.workspace));
            if may.assign(role, &everywhere, user.id).await?
                || may.assign(role, &at_home, user.id).await?
            {
                roles.given.push(role);
            }
        }
        Ok(roles)
    }

    fn shown(&self, to: Language, user: &UserName) -> Markup {
        let action = format!("/people/{user}/roles");
        html! {
            h2 { (say!(to, "Roles")) }
            @if self.held.is_empty() { p { (say!(to, "None.")) } }
            ul {
                @for (role, takes) in &self.held {
                    li {
                        (phrase!(to, "{role} of {scope}, from {who}",
                            role = word(&role.role), scope = word(&role.scope), who = word(&role.given_by)))
                        " "
                        @if *takes { (taking(to, &action, role)) }
                    }
                }
            }
            @if !self.given.is_empty() {
                form.stack method="post" action=(action) {
                    label { (say!(to, "Role")) select name="role" {
                        @for role in &self.given { option translate="no" { (role.as_str()) } }
                    } }
                    label { (say!(to, "Where (platform, or a workspace such as w2)"))
                        input name="scope" value="platform" required maxlength="64" autocapitalize="none";
                    }
                    button type="submit" { (say!(to, "Give")) }
                }
                p.hint { (say!(to, "Whoever it concerns is told of it.")) }
            }
        }
    }
}

/// A word that is the same in every language: the name of a role, a scope, a person.
fn word(name: &str) -> Markup {
    html! { span translate="no" { (name) } }
}

fn taking(to: Language, action: &str, role: &RoleView) -> Markup {
    let what = say!(to, "Take away {role} of {scope}", role = role.role, scope = role.scope);
    html! {
        form.inline method="post" action=(action) {
            input type="hidden" name="role" value=(role.role);
            input type="hidden" name="scope" value=(role.scope);
            input type="hidden" name="take" value="true";
            button.small type="submit" aria-label=(what) { (say!(to, "Take away")) }
        }
    }
}

fn accounts(to: Language, person: &PersonView) -> Markup {
    html! {
        h2 { (say!(to, "Accounts")) }
        @if person.identities.is_empty() { p { (say!(to, "None is linked.")) } }
        ul {
            @for account in &person.identities {
                li translate="no" { (account.surface) ": " (account.id) @if !account.display_name.is_empty() { " (" (account.display_name) ")" } }
            }
        }
    }
}

fn removal(to: Language, user: &UserName) -> Markup {
    html! {
        details {
            summary { (say!(to, "Remove {name}", name = user)) }
            p { (say!(to, "Everything that is {name}’s is erased: chats, files, memory, secrets, sessions. It can’t be undone. The audit stays whole, without its content.", name = user)) }
            form.stack method="post" action={ "/people/" (user) "/remove" } {
                label { (say!(to, "The name once more")) input name="confirm" required maxlength="64" autocomplete="off" autocapitalize="none"; }
                button.danger type="submit" { (say!(to, "Remove for good")) }
            }
        }
    }
}
