//! Requests as an operator writes them, for `explain` and for their own test cases.

use std::fmt;
use std::str::FromStr;

use cloister_protocol::{ChatId, TaskId, UserId, WorkspaceId};
use serde::Deserialize;

use super::action::{
    CellCall, ChatCall, ContextCall, DomainCall, MailboxCall, ModelCall, PlatformCall, Proposal,
    SecretCall, SkillCall, ToolCall, WorkspaceCall,
};
use super::manifest::{ContextLists, Manifest, Names};
use super::place::{Ownership, ParseRoleError, Person, Place, Role, Scope};
use super::request::{Assigned, Bounds, Cell, CellAsk, FetchKind, Known, Part, Request};
use super::{Engine, Outcome, PolicyId, Verdict};
use crate::class::{Class, Rated};
use crate::egress;

/// A request in words. What is not said is the usual: no role, the person's own private workspace,
/// nothing untrusted, everything listed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// Who asks, or for whom the cell works.
    pub user: UserId,
    /// Such as `admin@platform` or `member@workspace:w1`.
    #[serde(default)]
    pub roles: Vec<String>,
    /// `coordinator` or `executor`, where a part of a cell asks.
    #[serde(default)]
    pub part: Option<String>,
    pub action: String,
    #[serde(default)]
    pub workspace: Option<WorkspaceId>,
    /// The owner of a private workspace; the user themselves where nothing is said.
    #[serde(default)]
    pub owner: Option<UserId>,
    /// The workspace is a community's.
    #[serde(default)]
    pub community: bool,
    #[serde(default)]
    pub context: Option<String>,
    #[serde(default)]
    pub chat: Option<ChatId>,
    /// Of the model, secret, host, skill, tool or mailbox.
    #[serde(default)]
    pub name: Option<String>,
    /// The role to be assigned, and where.
    #[serde(default)]
    pub role: Option<String>,
    #[serde(default)]
    pub scope: Option<String>,
    #[serde(default)]
    pub to_self: bool,
    /// The class of what an approval is about.
    #[serde(default)]
    pub class: Option<Class>,
    #[serde(default)]
    pub own: bool,
    #[serde(default)]
    pub risk: Option<Rated>,
    /// The tool runs in the sandbox.
    #[serde(default)]
    pub confined: bool,
    /// And what it does to files is on a layer of its task.
    #[serde(default)]
    pub layered: bool,
    #[serde(default)]
    pub stopped: bool,
    #[serde(default)]
    pub plan_pending: bool,
    #[serde(default)]
    pub untrusted: bool,
    /// What the context's list does not have, or the manifest, or the egress rules.
    #[serde(default)]
    pub not_in_context: bool,
    #[serde(default)]
    pub not_in_manifest: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescribeError {
    #[error("there is no action {0:?} for a person")]
    UnknownCall(String),
    #[error("there is no action {0:?} for a part of a cell")]
    UnknownAsk(String),
    #[error("{0:?} is not a part of a cell: expected coordinator or executor")]
    UnknownPart(String),
    #[error("{action} needs {field} to be given")]
    Missing { action: String, field: &'static str },
    #[error(transparent)]
    Role(#[from] ParseRoleError),
    #[error("{name:?} is not a host")]
    Host { name: String, source: egress::HostError },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    Allow,
    Ask,
    Deny,
}

/// One test case of an operator.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: String,
    pub request: Described,
    pub expect: Expected,
    /// The policy that must be among those that decide.
    #[serde(default)]
    pub by: Option<String>,
}

/// A case that did not come out as expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub name: String,
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

impl Engine {
    /// Runs an operator's cases; what it returns did not come out as expected.
    pub fn test(&self, cases: &[Case]) -> Vec<Failure> {
        cases.iter().filter_map(|case| self.test_one(case)).collect()
    }

    fn test_one(&self, case: &Case) -> Option<Failure> {
        let failure = |message| Some(Failure { name: case.name.clone(), message });
        let request = match case.request.request() {
            Ok(request) => request,
            Err(error) => return failure(error.to_string()),
        };
        let verdict = self.decide_checked(&request);
        let same = match (&verdict.outcome, case.expect) {
            (Outcome::Allow, Expected::Allow)
            | (Outcome::Ask { .. }, Expected::Ask)
            | (Outcome::Deny { .. }, Expected::Deny) => true,
            (Outcome::Allow | Outcome::Ask { .. } | Outcome::Deny { .. }, _) => false,
        };
        let by = case.by.as_deref();
        let by_whom = by.is_none_or(|id| verdict.policies.iter().any(|p| p.as_str() == id));
        if same && by_whom {
            return None;
        }
        let Verdict { policies, .. } = &verdict;
        let ids: Vec<_> = policies.iter().map(PolicyId::as_str).collect();
        failure(format!("{request}: {verdict} (by {})", ids.join(", ")))
    }
}

impl Described {
    /// The request that is meant.
    pub fn request(&self) -> Result<Request, DescribeError> {
        let roles = self.roles.iter().map(|role| role.parse()).collect::<Result<_, _>>()?;
        let person = Person { user: self.user, roles };
        match self.part.as_deref() {
            None => self.call(&person),
            Some("coordinator") => self.cell_ask(person, Part::Coordinator),
            Some("executor") => {
                let limited = if self.not_in_manifest { Names::none() } else { Names::All };
                let manifest = Manifest {
                    tools: limited.clone(),
                    models: limited.clone(),
                    skills: limited.clone(),
                    secrets: limited.clone(),
                    mailboxes: limited,
                };
                self.cell_ask(person, Part::Executor { task: TaskId::from_number(1), manifest })
            }
            Some(other) => Err(DescribeError::UnknownPart(other.to_owned())),
        }
    }

    fn need<T>(&self, value: Option<T>, field: &'static str) -> Result<T, DescribeError> {
        value.ok_or_else(|| DescribeError::Missing { action: self.action.clone(), field })
    }

    fn name(&self) -> Result<&str, DescribeError> {
        self.need(self.name.as_deref(), "name")
    }

    fn host(&self) -> Result<egress::Host, DescribeError> {
        let name = self.name()?;
        let error = |source| DescribeError::Host { name: name.to_owned(), source };
        egress::Host::from_str(name).map_err(error)
    }

    fn place(&self) -> Result<Place, DescribeError> {
        let workspace = self.need(self.workspace, "workspace")?;
        let (context, chat) = (self.context.clone(), self.chat);
        Ok(Place { workspace, ownership: self.ownership(), context, chat })
    }

    fn ownership(&self) -> Ownership {
        let owner = self.owner.unwrap_or(self.user);
        if self.community { Ownership::Community } else { Ownership::Private { owner } }
    }

    fn call(&self, person: &Person) -> Result<Request, DescribeError> {
        let action = self.action.as_str();
        if let Some(call) = PlatformCall::parse(action) {
            return Ok(Request::platform(person, call));
        }
        if let Some(call) = ModelCall::parse(action) {
            return Ok(Request::model(person, call, self.name()?));
        }
        if action == "assign_role" {
            let role: Role = self.need(self.role.as_deref(), "role")?.parse()?;
            let scope: Scope = self.need(self.scope.as_deref(), "scope")?.parse()?;
            let owner = scope.workspace().and_then(|_| self.ownership().owner());
            let assigned = Assigned { owner, to_self: self.to_self };
            return Ok(Request::assign_role(person, role, &scope, assigned));
        }
        let place = self.place()?;
        let chat = || self.need(self.chat, "chat");
        if action == "answer_approval" {
            let class = self.need(self.class, "class")?;
            return Ok(Request::answer(person, &place, chat()?, class, self.own));
        }
        if let Some(call) = WorkspaceCall::parse(action) {
            return Ok(Request::workspace(person, call, &place));
        }
        if let Some(call) = ContextCall::parse(action) {
            let context = self.need(self.context.as_deref(), "context")?;
            return Ok(Request::context(person, call, &place, context));
        }
        if let Some(call) = ChatCall::parse(action) {
            return Ok(Request::chat(person, call, &place, chat()?));
        }
        self.call_named(person, &place)
    }

    /// Calls about something in the workspace that has a name.
    fn call_named(&self, person: &Person, place: &Place) -> Result<Request, DescribeError> {
        let action = self.action.as_str();
        if let Some(call) = SecretCall::parse(action) {
            return Ok(Request::secret(person, call, place, self.name()?));
        }
        if let Some(call) = DomainCall::parse(action) {
            return Ok(Request::domain(person, call, place, &self.host()?));
        }
        if let Some(call) = SkillCall::parse(action) {
            return Ok(Request::skill(person, call, place, self.name()?));
        }
        if let Some(call) = ToolCall::parse(action) {
            return Ok(Request::tool(person, call, place, self.name()?));
        }
        if let Some(call) = MailboxCall::parse(action) {
            return Ok(Request::mailbox(person, call, place, self.name()?));
        }
        Err(DescribeError::UnknownCall(self.action.clone()))
    }

    fn cell_ask(&self, person: Person, part: Part) -> Result<Request, DescribeError> {
        let place = self.place()?;
        let limited = if self.not_in_context { Names::none() } else { Names::All };
        let lists =
            ContextLists { tools: limited.clone(), models: limited.clone(), skills: limited };
        let chat = self.chat.unwrap_or(ChatId::from_number(1));
        let cell = Cell { part, person, place: place.clone(), chat, lists };
        let Self { stopped, plan_pending, untrusted, .. } = *self;
        let known = Known { stopped, plan_pending, untrusted };
        Ok(Request::cell(&cell, &self.asked()?, &place, known))
    }

    fn asked(&self) -> Result<CellAsk, DescribeError> {
        let action = self.action.as_str();
        if let Some(call) = CellCall::parse(action) {
            return Ok(CellAsk::Chat(call));
        }
        if let Some(proposal) = Proposal::parse(action) {
            return Ok(CellAsk::Propose(proposal));
        }
        let name = || self.name().map(str::to_owned);
        let tool = |changes| {
            let risk = self.risk.unwrap_or(Rated::Unknown);
            let bounds = match (self.confined, self.layered) {
                (_, true) => Bounds::Layer,
                (true, false) => Bounds::Sandbox,
                (false, false) => Bounds::Nothing,
            };
            Ok(CellAsk::CallTool { tool: name()?, changes, risk, bounds })
        };
        let fetch = |kind| {
            let rules = if self.not_in_manifest {
                egress::Decision::Deny(egress::Reason::NotListed.into())
            } else {
                egress::Decision::Allow
            };
            Ok(CellAsk::Fetch { host: self.host()?, kind, rules })
        };
        match action {
            "call_model" => Ok(CellAsk::CallModel { model: name()? }),
            "fetch_reading" => fetch(FetchKind::Reading),
            "fetch_writing" => fetch(FetchKind::Writing),
            "call_tool" => tool(false),
            "change_by_tool" => tool(true),
            "use_skill" => Ok(CellAsk::UseSkill { skill: name()? }),
            "use_secret" => Ok(CellAsk::UseSecret { secret: name()? }),
            "read_mail" => Ok(CellAsk::ReadMail { mailbox: name()? }),
            "send_mail" => Ok(CellAsk::SendMail { mailbox: name()? }),
            _ => Err(DescribeError::UnknownAsk(self.action.clone())),
        }
    }
}
