//! The check before every admin call: who calls, what about, and what the policies say.
//!
//! Who calls is said by the listener (`Caller`), in whose workspace by the path. Whatever else a request
//! claims about either, in its body, query or headers, is not looked at here. What a person may not even
//! know of is answered as if it were not there.

use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams, Request as HttpRequest, State as Extract};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use cloister_control::rows::{AccountKind, User};
use cloister_control::{Actor, ControlError, Giver};
use cloister_policy::engine::{
    Assignment, Outcome, Ownership, Person, Place, PlatformCall, PolicyId, Request, Role, Scope,
    Verdict, WorkspaceCall,
};
use cloister_protocol::{ChatId, ErrorCode, TaskId, UserId, UserName};

use super::Admin;
use super::route::{About, Call};
use crate::caller::{Caller, acting};
use crate::reply::Failure;

/// Whoever runs the machine acts as the first user.
const FIRST_USER: u32 = 1;

/// What stands before a handler.
#[derive(Clone)]
pub(super) struct Guard {
    admin: Admin,
    call: Arc<Call>,
}

impl Guard {
    pub(super) fn new(admin: Admin, call: Call) -> Self {
        Self { admin, call: Arc::new(call) }
    }
}

pub(super) async fn authorise(
    Extract(guard): Extract<Guard>,
    params: RawPathParams,
    mut request: HttpRequest,
    next: Next,
) -> Response {
    let caller = request.extensions().get::<Caller>().copied();
    match guard.admit(caller, &params).await {
        Ok(asker) => {
            request.extensions_mut().insert(asker);
            next.run(request).await
        }
        Err(failure) => failure.into_response(),
    }
}

/// Something that is found by its name in the path, and where it is.
struct Target {
    what: &'static str,
    name: String,
    place: Place,
}

impl Target {
    fn hidden(&self) -> Failure {
        not_there(self.what, &self.name)
    }
}

/// Why there is nothing to decide about.
enum NoTarget {
    Missing { what: &'static str, name: String },
    Failed(Failure),
}

fn missing(what: &'static str, name: impl ToString) -> NoTarget {
    NoTarget::Missing { what, name: name.to_string() }
}

impl<E: Into<Failure>> From<E> for NoTarget {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The same for what is not there and for what must not be known to be.
fn not_there(what: &'static str, name: &str) -> Failure {
    let failure = Failure::from(ControlError::not_found(what, name)).refusal();
    match what {
        "user" => failure
            .fix("`cloister user list` shows who there is, `cloister user add NAME` adds one"),
        _ => failure,
    }
}

impl Guard {
    async fn admit(
        &self,
        caller: Option<Caller>,
        params: &RawPathParams,
    ) -> Result<Asker, Failure> {
        let asker = self.asker(caller).await?;
        let target = match self.target(params).await {
            Ok(target) => target,
            Err(NoTarget::Failed(failure)) => return Err(failure),
            Err(NoTarget::Missing { what, name }) => return Err(asker.missing(what, &name).await),
        };
        match self.question(&asker.person, target.as_ref(), params)? {
            Some(request) => asker.decide(&request, target.as_ref()).await?,
            None => asker.see(target.as_ref()).await?,
        }
        Ok(asker)
    }

    async fn asker(&self, caller: Option<Caller>) -> Result<Asker, Failure> {
        let (admin, call) = (self.admin.clone(), Arc::clone(&self.call));
        let user = match caller {
            Some(Caller::Local) => {
                let overlord = Assignment { role: Role::Overlord, scope: Scope::Platform };
                let person =
                    Person { user: UserId::from_number(FIRST_USER), roles: vec![overlord] };
                return Ok(Asker { admin, call, person, actor: Actor::Operator });
            }
            Some(Caller::User(user)) => user,
            None => {
                audit_refusal(
                    &admin,
                    &call,
                    (None, &Actor::person("nobody")),
                    "nobody is known to ask",
                )
                .await;
                let nobody = Failure::new(ErrorCode::Unauthorized, "nobody is known to ask");
                return Err(nobody.refusal());
            }
        };
        match admin.control.accounts().by_id(user).await {
            Ok(known) if known.kind == AccountKind::Person => {
                let person = admin.control.people().person(user).await?;
                let actor = acting(&known.name, &person);
                Ok(Asker { admin, call, person, actor })
            }
            Err(error) if error.code() != ErrorCode::NotFound => Err(error.into()),
            Ok(_) | Err(_) => {
                let why = "this person is not known any more";
                audit_refusal(&admin, &call, (None, &Actor::person("nobody")), why).await;
                Err(Failure::new(ErrorCode::Unauthorized, why).refusal())
            }
        }
    }

    /// Where the call is, by its path.
    async fn target(&self, params: &RawPathParams) -> Result<Option<Target>, NoTarget> {
        let control = &self.admin.control;
        if let Some(name) = param(params, "user") {
            return match control.accounts().named(&name.parse()?).await {
                Ok(user) => {
                    let place = control.people().place(user.workspace).await?;
                    self.in_chat(params, Target { what: "user", name: name.to_owned(), place })
                        .await
                        .map(Some)
                }
                Err(error) if error.code() == ErrorCode::NotFound => Err(missing("user", name)),
                Err(error) => Err(error.into()),
            };
        }
        if let Some(name) = param(params, "task") {
            let id: TaskId = name.parse()?;
            return match control.tasks().find(id).await {
                Ok(task) => {
                    let place = control.people().place_of_chat(task.workspace, task.chat).await?;
                    Ok(Some(Target { what: "task", name: id.to_string(), place }))
                }
                Err(error) if error.code() == ErrorCode::NotFound => Err(missing("task", id)),
                Err(error) => Err(error.into()),
            };
        }
        if let Some(name) = param(params, "workspace") {
            return match control.people().find_workspace(name).await? {
                Some(account) => {
                    let place = control.people().place(account.workspace).await?;
                    Ok(Some(Target { what: "workspace", name: name.to_owned(), place }))
                }
                None => Err(missing("workspace", name)),
            };
        }
        Ok(None)
    }

    async fn in_chat(&self, params: &RawPathParams, target: Target) -> Result<Target, NoTarget> {
        let Some(chat) = param(params, "chat") else { return Ok(target) };
        let (workspace, chat): (_, ChatId) = (target.place.workspace, chat.parse()?);
        let place = self.admin.control.people().place_of_chat(workspace, chat).await?;
        Ok(Target { place, ..target })
    }

    /// The question to the policies; none if the handler asks it.
    fn question(
        &self,
        person: &Person,
        target: Option<&Target>,
        params: &RawPathParams,
    ) -> Result<Option<Request>, Failure> {
        let path = self.call.path;
        // A line of the table that does not fit its path is our mistake: nobody gets in by it.
        let misdeclared = || {
            tracing::error!(path, about = ?self.call.about, "the path does not name what the call is about");
            Failure::new(ErrorCode::Internal, "this call can't be judged")
        };
        let place = || target.map(|target| &target.place).ok_or_else(misdeclared);
        let named = |name| param(params, name).ok_or_else(misdeclared);
        let chat = || place()?.chat.ok_or_else(misdeclared);
        Ok(Some(match self.call.about {
            About::Platform(call) => Request::platform(person, call),
            About::Workspace(call) => Request::workspace(person, call, place()?),
            About::Chat(call) | About::Task(call) => Request::chat(person, call, place()?, chat()?),
            About::Context(call) => Request::context(person, call, place()?, named("context")?),
            About::Secret(call) => Request::secret(person, call, place()?, named("secret")?),
            About::Model(call) => {
                Request::model(person, call, param(params, "model").unwrap_or_default())
            }
            About::Handler(_) => return Ok(None),
        }))
    }
}

fn param<'a>(params: &'a RawPathParams, name: &str) -> Option<&'a str> {
    params.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
}

/// Who makes this call; handlers have it once the call itself was allowed.
#[derive(Clone)]
pub(crate) struct Asker {
    admin: Admin,
    call: Arc<Call>,
    person: Person,
    actor: Actor,
}

impl Asker {
    pub(crate) fn user(&self) -> UserId {
        self.person.user
    }

    pub(crate) fn person(&self) -> &Person {
        &self.person
    }

    /// Them, as who does what the call asks for.
    pub(crate) fn actor(&self) -> &Actor {
        &self.actor
    }

    /// Whether it is whoever runs the machine, on its own socket.
    pub(crate) fn is_local(&self) -> bool {
        self.actor == Actor::Operator
    }

    /// As who gives and takes roles.
    pub(crate) fn giver(&self) -> Giver<'_> {
        Giver { user: self.user(), actor: self.actor() }
    }

    /// Whether the policies allow this, without a word about it: for lists that show what one may see.
    pub(crate) fn may(&self, request: &Request) -> bool {
        self.verdict(request).outcome == Outcome::Allow
    }

    /// Asks for something more than the call itself, which only its body names.
    pub(crate) async fn require(&self, request: &Request) -> Result<(), Failure> {
        self.decide(request, None).await
    }

    /// What changes a place for all who use it together: there only who administers it may, as in its rooms. In a
    /// private workspace the call itself is enough.
    pub(crate) async fn require_to_direct(&self, place: &Place) -> Result<(), Failure> {
        match place.ownership {
            Ownership::Private { .. } => Ok(()),
            Ownership::Community => {
                let call = WorkspaceCall::ChangeSettings;
                self.require(&Request::workspace(&self.person, call, place)).await
            }
        }
    }

    /// The same, about a user who may have to stay unknown.
    pub(crate) async fn require_of_user(
        &self,
        request: &Request,
        name: &str,
        place: &Place,
    ) -> Result<(), Failure> {
        let target = Target { what: "user", name: name.to_owned(), place: place.clone() };
        self.decide(request, Some(&target)).await
    }

    /// The user that a body or a query names.
    pub(crate) async fn find_user(&self, name: &UserName) -> Result<User, Failure> {
        match self.admin.control.accounts().named(name).await {
            Ok(user) => Ok(user),
            Err(error) if error.code() == ErrorCode::NotFound => {
                Err(self.missing("user", name.as_str()).await)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What is not there is refused with as much ado as what must not be known to be: how long an answer
    /// takes tells them apart no more than its words.
    async fn missing(&self, what: &'static str, name: &str) -> Failure {
        if !self.may(&Request::platform(&self.person, PlatformCall::ListUsers)) {
            self.refused(&format!("{what} {name} is not there")).await;
        }
        not_there(what, name)
    }

    /// Records it when control refused what this call asked of it.
    pub(crate) async fn noted<T>(
        &self,
        done: Result<T, impl Into<ControlError>>,
    ) -> Result<T, Failure> {
        let done = done.map_err(Into::into);
        if let Err(error) = &done
            && error.code() == ErrorCode::Forbidden
        {
            self.refused(&error.body().message).await;
        }
        Ok(done?)
    }

    fn verdict(&self, request: &Request) -> Verdict {
        self.admin.control.policies().engine().decide(request)
    }

    async fn decide(&self, request: &Request, target: Option<&Target>) -> Result<(), Failure> {
        let Verdict { outcome, policies, .. } = self.verdict(request);
        let reason = match outcome {
            Outcome::Allow => return Ok(()),
            Outcome::Deny { reason } => reason,
            Outcome::Ask { reason, .. } => format!("a person would have to be asked: {reason}"),
        };
        let by = said_by(&policies);
        self.refused(&format!("{request}: {reason}{by}")).await;
        match target {
            Some(target) if !self.sees(&target.place) => Err(target.hidden()),
            _ => Err(Failure::new(ErrorCode::Forbidden, format!("not allowed: {reason}{by}"))
                .fix("`cloister policy explain` says why; an admin can give you a role")),
        }
    }

    /// A place that the handler decides about must be visible, or a guest's.
    async fn see(&self, target: Option<&Target>) -> Result<(), Failure> {
        match target {
            Some(target) if !self.sees(&target.place) && !self.hosts(&target.place).await? => {
                let why = format!("{} {} is not theirs to see", target.what, target.name);
                self.refused(&why).await;
                Err(target.hidden())
            }
            _ => Ok(()),
        }
    }

    /// Whether whoever owns that place holds a role in this person's private workspace: its owner was told so, and
    /// decides about it, whoever gave it.
    async fn hosts(&self, place: &Place) -> Result<bool, Failure> {
        let Some(guest) = place.owner() else { return Ok(false) };
        let control = &self.admin.control;
        let home = control.accounts().by_id(self.person.user).await?.workspace;
        let held = control.people().person(guest).await?.roles;
        Ok(held.iter().any(|held| held.scope.workspace() == Some(home)))
    }

    /// Whether this person may know that a workspace exists.
    pub(crate) fn sees(&self, place: &Place) -> bool {
        [WorkspaceCall::ShowUser, WorkspaceCall::ListChats]
            .into_iter()
            .any(|call| self.may(&Request::workspace(&self.person, call, place)))
    }

    async fn refused(&self, why: &str) {
        audit_refusal(&self.admin, &self.call, (Some(self.person.user), &self.actor), why).await;
    }
}

fn said_by(policies: &[PolicyId]) -> String {
    policies.first().map(|id| format!(" (policy {id})")).unwrap_or_default()
}

/// Every refusal leaves an entry, until one caller makes a flood of them.
async fn audit_refusal(admin: &Admin, call: &Call, by: (Option<UserId>, &Actor), why: &str) {
    let (user, actor) = by;
    let Some(left_out) = admin.refusals.note(user) else { return };
    let mut detail: String = format!("{}: {why}", call.about.action()).chars().take(500).collect();
    if left_out > 0 {
        detail.push_str(&format!("; {left_out} more before it were not recorded"));
    }
    let subject = format!("{} {}", call.method, call.path);
    let noted = admin.control.audit().note(actor, "admin.refused", &subject, &detail).await;
    if let Err(error) = noted {
        tracing::error!(error = error.chain(), "a refusal could not be recorded");
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Asker {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Failure> {
        let asker = parts.extensions.get::<Self>().cloned();
        asker.ok_or_else(|| Failure::new(ErrorCode::Unauthorized, "nobody is known to ask"))
    }
}
