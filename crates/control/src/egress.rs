//! What people hear of, and decide about, where their agent may go.

use cloister_policy::egress::{Rule, RuleError};
use cloister_protocol::{
    AgentFrame, ChatId, ErrorCode, Language, TaskState, Update, UserId, WorkspaceId,
};
use cloister_store::Actor;
use cloister_store::egress::{EgressRule, EgressUsage};
use cloister_words::say;

use crate::control::part;
use crate::error::{Failed, Fault, Refusal};
use crate::ports::{Principal, RefusedEgress};

/// Rules of one user.
const MAX_RULES: usize = 500;
/// Of so many tasks the latest of a chat is looked for.
const LATEST_TASKS: u32 = 20;
/// Rules of one task's own list.
const MAX_TASK_HOSTS: usize = 50;

pub type EgressError = Failed<EgressRefusal>;

#[derive(Debug, thiserror::Error)]
pub enum EgressRefusal {
    #[error("there are {MAX_RULES} rules already")]
    TooManyRules,
    #[error("{rule} is not on your allowlist")]
    NotAllowed { rule: String },
    #[error("say which host, such as example.com or *.example.com")]
    NoHost,
    #[error("{rule:?} can't be allowed: {error}")]
    NoRule { rule: String, error: RuleError },
    #[error("a task names at most {MAX_TASK_HOSTS} hosts")]
    TooManyHosts,
}

impl Refusal for EgressRefusal {
    fn code(&self) -> ErrorCode {
        match self {
            Self::TooManyRules => ErrorCode::Conflict,
            Self::NotAllowed { .. } => ErrorCode::NotFound,
            Self::NoHost | Self::NoRule { .. } | Self::TooManyHosts => ErrorCode::BadRequest,
        }
    }

    fn fix(&self, _to: Language) -> Option<String> {
        let fix = match self {
            Self::TooManyRules => "remove some: /network lists them, /forbid removes one",
            Self::NotAllowed { .. } => "/network shows what is",
            Self::NoRule { .. } => {
                "name a host (example.com), its subdomains (*.example.com), or a part of it \
                 (example.com/path); https is meant unless http:// is in front"
            }
            Self::NoHost | Self::TooManyHosts => return None,
        };
        Some(fix.to_owned())
    }
}

part! {
    /// Where agents may go.
    pub struct EgressRules;
}

impl EgressRules {
    /// A user's rules.
    pub async fn of(&self, user: UserId) -> Result<Vec<String>, Fault> {
        Ok(self.control.store().egress().egress_rules(user).await?)
    }

    /// The same, with who added them and when.
    pub async fn list(&self, user: UserId) -> Result<Vec<EgressRule>, Fault> {
        Ok(self.control.store().egress().egress_rule_list(user).await?)
    }

    /// How much went where, the newest days first.
    pub async fn usage(&self, user: UserId, rows: u32) -> Result<Vec<EgressUsage>, Fault> {
        Ok(self.control.store().egress().egress_usage(user, rows).await?)
    }

    /// Tells the chat of a task that a destination was refused, once per task and destination.
    pub(crate) fn hear_of_refusal(&self, who: Principal, refused: RefusedEgress) {
        let control = self.control.clone();
        self.control.inner.crew.go("refusal", async move {
            if let Err(error) = control.egress().tell_refusal(who, refused).await {
                tracing::error!(workspace = %who.workspace, error = error.chain(), "a refusal could not be told");
            }
        });
    }

    async fn tell_refusal(&self, who: Principal, refused: RefusedEgress) -> Result<(), Fault> {
        let Some(task) = who.task else { return Ok(()) };
        let task = self.control.store().tasks().task(task).await?;
        let key = format!("egress-{}-{}", task.id, refused.host);
        let frame = AgentFrame::Update(Update::Blocked {
            task: Some(task.id),
            host: refused.host,
            reason: refused.reason,
            allow: refused.rule.map(|rule| format!("/allow {rule}")),
        });
        let told =
            self.control.store().outbox().notify((task.workspace, task.chat), &key, &frame).await?;
        if let Some(told) = told {
            self.control.hub().say_stored(told);
        }
        Ok(())
    }

    /// Lets a user's tasks go where a rule says; whether that is new.
    pub async fn allow_egress(
        &self,
        actor: &Actor,
        user: UserId,
        rule: &str,
    ) -> Result<(Rule, bool), EgressError> {
        let rule = checked_rule(rule)?;
        if self.control.store().egress().egress_rules(user).await?.len() >= MAX_RULES {
            return Err(EgressRefusal::TooManyRules.into());
        }
        let new =
            self.control.store().egress().allow_egress(actor, user, &rule.to_string()).await?;
        Ok((rule, new))
    }

    /// Takes a rule away; whether there was one.
    pub async fn forbid_egress(
        &self,
        actor: &Actor,
        user: UserId,
        rule: &str,
    ) -> Result<bool, EgressError> {
        // A rule that can't be read (any more) must still be removable, as it stands.
        if self.control.store().egress().forbid_egress(actor, user, rule.trim()).await? {
            return Ok(true);
        }
        let rule = checked_rule(rule)?;
        Ok(self.control.store().egress().forbid_egress(actor, user, &rule.to_string()).await?)
    }

    pub(crate) async fn allow_host(
        &self,
        actor: &Actor,
        (workspace, chat): (WorkspaceId, ChatId),
        (rule, to): (&str, Language),
    ) -> Result<String, EgressError> {
        let user = self.control.store().users().user_of(workspace).await?;
        let (rule, new) = self.allow_egress(actor, user.id, rule).await?;
        let latest = self.control.store().tasks().list(workspace, LATEST_TASKS).await?;
        let latest = latest.iter().find(|task| task.chat == chat);
        let failed = latest.filter(|task| task.state == TaskState::Failed);
        Ok(match failed {
            _ if !new => say!(to, "{rule} was allowed already.", rule),
            None => say!(
                to,
                "Your agent's tasks may now reach {rule}. A task that runs can try again; /forbid {rule} takes it back.",
                rule
            ),
            Some(task) => say!(
                to,
                "Your agent's tasks may now reach {rule}. A task that runs can try again, /retry {id} repeats {id}, which failed; /forbid {rule} takes it back.",
                rule,
                id = task.id
            ),
        })
    }

    pub(crate) async fn forbid_host(
        &self,
        actor: &Actor,
        workspace: WorkspaceId,
        (rule, to): (&str, Language),
    ) -> Result<String, EgressError> {
        let user = self.control.store().users().user_of(workspace).await?;
        if self.forbid_egress(actor, user.id, rule).await? {
            return Ok(say!(to, "{rule} is no longer allowed.", rule = rule.trim()));
        }
        Err(EgressRefusal::NotAllowed { rule: rule.trim().to_owned() }.into())
    }

    pub(crate) async fn network(
        &self,
        workspace: WorkspaceId,
        to: Language,
    ) -> Result<String, Fault> {
        let user = self.control.store().users().user_of(workspace).await?;
        let rules = self.control.store().egress().egress_rule_list(user.id).await?;
        if rules.is_empty() {
            return Ok(say!(
                to,
                "Your agent's tasks reach nothing outside. /allow HOST lets them reach a host, such as /allow pypi.org."
            ));
        }
        let mut text = say!(to, "Your agent's tasks may reach:");
        for rule in rules {
            let (rule, by) = (rule.rule, rule.added_by);
            text.push('\n');
            text.push_str(&say!(to, "{rule} (allowed by {by})", rule, by));
        }
        Ok(text)
    }
}

fn checked_rule(rule: &str) -> Result<Rule, EgressRefusal> {
    let rule = rule.trim();
    if rule.is_empty() {
        return Err(EgressRefusal::NoHost);
    }
    rule.parse().map_err(|error| EgressRefusal::NoRule { rule: rule.to_owned(), error })
}

/// The rules of a task are those of its manifest; each must be one that a person could allow.
pub(crate) fn checked_hosts(
    hosts: Option<&[String]>,
) -> Result<Option<Vec<String>>, EgressRefusal> {
    let Some(hosts) = hosts else { return Ok(None) };
    if hosts.len() > MAX_TASK_HOSTS {
        return Err(EgressRefusal::TooManyHosts);
    }
    let rules = hosts.iter().map(|host| checked_rule(host).map(|rule| rule.to_string()));
    rules.collect::<Result<_, _>>().map(Some)
}
