//! What would be decided about a request that somebody describes.

use cloister_policy::engine::{
    DescribeError, Described, Explanation, ModelCall, Ownership, Place, PlatformCall, Request,
};
use cloister_policy::{Class, ParseClassError, Rated};
use cloister_protocol::admin::PolicyQuestion;
use cloister_protocol::{ChatId, WorkspaceId};
use cloister_store::users::User;

use crate::config::{Config, ConfigError};

/// A question about a decision that can't be answered.
#[derive(Debug, thiserror::Error)]
pub enum BadQuestion {
    #[error("{0:?} names nothing: write platform, or KIND:NAME such as workspace:w1")]
    NamesNothing(String),
    #[error("{0:?} is not a workspace")]
    NoWorkspace(String),
    #[error(
        "{0:?} is not a kind of thing: expected workspace, chat, context, model, secret, \
         domain, skill, tool or mailbox"
    )]
    NoKind(String),
    #[error("{0:?} asks for nothing: expected user, coordinator or executor")]
    NoAsker(String),
    #[error("say which user")]
    NoUser,
    #[error("{0:?} is not a risk: expected safe, middle, destructive, outward or unknown")]
    NoRisk(String),
    #[error("{0}")]
    NoClass(ParseClassError),
    #[error("{0}")]
    NoRequest(DescribeError),
}

/// What a request is about, as people write it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct About {
    pub(super) workspace: Option<WorkspaceId>,
    pub(super) chat: Option<ChatId>,
    pub(super) context: Option<String>,
    pub(super) name: Option<String>,
    /// As it stands: where a role would be assigned.
    pub(super) scope: Option<String>,
}

impl About {
    pub(super) fn parse(text: &str) -> Result<Self, ConfigError> {
        let scope = Some(text.to_owned());
        if text == "platform" {
            return Ok(Self { scope, ..Self::default() });
        }
        if let Ok(chat) = text.parse() {
            return Ok(Self { chat: Some(chat), ..Self::default() });
        }
        let (kind, rest) =
            text.split_once(':').ok_or_else(|| BadQuestion::NamesNothing(text.to_owned()))?;
        let (first, name) = rest.split_once('/').unwrap_or((rest, ""));
        let workspace: Option<WorkspaceId> = first.parse().ok();
        let named = match (workspace, name) {
            (Some(_), "") | (None, _) => rest,
            (Some(_), name) => name,
        };
        let here = Self { workspace, scope, ..Self::default() };
        match kind {
            "workspace" | "chat" => {
                let missing = || BadQuestion::NoWorkspace(first.to_owned());
                let workspace = Some(workspace.ok_or_else(missing)?);
                let chat = (!name.is_empty()).then(|| name.parse::<ChatId>()).transpose()?;
                Ok(Self { workspace, chat, ..here })
            }
            "context" => Ok(Self { context: Some(named.to_owned()), ..here }),
            "model" => Ok(Self { workspace: None, name: Some(rest.to_owned()), ..here }),
            "secret" | "domain" | "skill" | "tool" | "mailbox" => {
                Ok(Self { name: Some(named.to_owned()), ..here })
            }
            _ => Err(BadQuestion::NoKind(kind.to_owned()).into()),
        }
    }
}

impl Config {
    /// What would be decided, by the roles that the person holds and whose the workspace is.
    pub async fn explain_policy(
        &self,
        question: &PolicyQuestion,
    ) -> Result<Explanation, ConfigError> {
        let request = self.described(question).await?;
        Ok(self.control.policies().engine().explain(&request))
    }

    async fn described(&self, question: &PolicyQuestion) -> Result<Request, ConfigError> {
        let part = match question.who.as_str() {
            "user" => None,
            part @ ("coordinator" | "executor") => Some(part.to_owned()),
            other => return Err(BadQuestion::NoAsker(other.to_owned()).into()),
        };
        let name = question.user.as_ref().ok_or(BadQuestion::NoUser)?;
        let user = self.control.store().users().user(name).await?;
        let about = question.about.as_deref().map(About::parse).transpose()?.unwrap_or_default();
        let roles = if question.roles.is_empty() {
            self.control
                .people()
                .person(user.id)
                .await?
                .roles
                .iter()
                .map(ToString::to_string)
                .collect()
        } else {
            question.roles.clone()
        };
        let place = self.place_of(question, &user, &about).await?;
        let (owner, community) = match place.ownership {
            Ownership::Private { owner } => (Some(owner), false),
            Ownership::Community => (None, true),
        };
        let class = question.class.as_deref().map(str::parse::<Class>).transpose();
        let described = Described {
            user: user.id,
            roles,
            part,
            action: question.action.clone(),
            workspace: Some(place.workspace),
            owner,
            community,
            context: about.context.or(place.context),
            chat: about.chat.or(place.chat).or(Some(ChatId::from_number(1))),
            name: about.name,
            role: question.role.clone(),
            scope: about.scope.or_else(|| Some("platform".to_owned())),
            to_self: question.own,
            class: class.map_err(BadQuestion::NoClass)?,
            own: question.own,
            risk: question.risk.as_deref().map(risk).transpose()?,
            // As the tools of executors are.
            confined: !question.unconfined,
            layered: !question.unconfined,
            stopped: question.stopped || self.control.stops().is_stopped(),
            plan_pending: question.plan_pending,
            untrusted: question.untrusted,
            not_in_context: question.not_in_context,
            not_in_manifest: question.not_in_manifest,
        };
        Ok(described.request().map_err(BadQuestion::NoRequest)?)
    }

    async fn place_of(
        &self,
        question: &PolicyQuestion,
        user: &User,
        about: &About,
    ) -> Result<Place, ConfigError> {
        let workspace = about.workspace.unwrap_or(user.workspace);
        let nowhere = PlatformCall::parse(&question.action).is_some()
            || ModelCall::parse(&question.action).is_some();
        if nowhere {
            return Ok(Place::workspace(workspace, Ownership::Community));
        }
        match about.chat {
            Some(chat) => Ok(self.control.people().place_of_chat(workspace, chat).await?),
            None => Ok(self.control.people().place(workspace).await?),
        }
    }
}

fn risk(word: &str) -> Result<Rated, BadQuestion> {
    Rated::parse(word).ok_or_else(|| BadQuestion::NoRisk(word.to_owned()))
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
