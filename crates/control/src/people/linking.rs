//! Who a person is: an account that is linked to them acts as them. So whoever links one needs their word for it, or
//! is an overlord; and they are told, where they were before.

use cloister_policy::{Class, legible};
use cloister_protocol::{Answer, ApprovalId, UserId};
use cloister_store::Actor;
use cloister_store::approvals::{Allowed, Approval, ApprovalKind, NewApproval};
use cloister_store::identities::Account;
use cloister_store::users::User;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::Fault;
use crate::people::{People, PeopleError, PeopleRefusal};

/// Who links an account to somebody.
#[derive(Clone, Copy, Debug)]
pub struct Linker<'a> {
    pub user: UserId,
    /// How the audit calls them.
    pub actor: &'a Actor,
    /// It is their own account, or they are an overlord.
    pub sure: bool,
}

/// What became of it.
#[derive(Debug)]
pub enum Linking {
    Linked(Account),
    /// The person is asked, and it is done when they allow it.
    Asked(ApprovalId),
}

/// What became of what a person has allowed.
#[derive(Debug)]
pub(crate) enum AllowedLink {
    Done(Result<(), PeopleError>),
    /// It was about something else: the leave is given back.
    Other(Box<Allowed>),
}

/// An account that is linked when its person allows it, as it is stored. No proposal of a cell has these fields.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ToLink {
    link_surface: String,
    link_id: String,
    link_name: String,
    /// Who wants it.
    by: String,
}

impl People {
    /// Asks a person whether an account is theirs.
    pub(super) async fn ask_to_link(
        &self,
        actor: &Actor,
        user: &User,
        account: &Account,
    ) -> Result<ApprovalId, PeopleError> {
        let to_link = ToLink {
            link_surface: account.surface.clone(),
            link_id: account.external_id.clone(),
            link_name: account.display_name.clone(),
            by: actor.to_string(),
        };
        let json = serde_json::to_string(&to_link).map_err(PeopleRefusal::LinkNotKept)?;
        let text = format!(
            "Account: {} on {}\nIt calls itself: {}\nAsked by: {actor}\n\nWhoever has this account would be you: they \
             would read your chats and write in your name. Allow it only if the account is yours and you have just \
             asked for this.",
            legible(&account.external_id),
            legible(&account.surface),
            legible(&account.display_name),
        );
        let new = NewApproval {
            workspace: user.workspace,
            chat: self.control.store().users().last_chat(user.workspace).await?,
            task: None,
            user: user.id,
            kind: ApprovalKind::Proposal,
            digest: hex_digest(&json),
            class: Class::Outward.as_str().to_owned(),
            reason: format!("{actor} wants to link an account to you"),
            sources: Vec::new(),
            people: 1,
            offered: vec![Answer::Allow, Answer::Deny],
            title: format!("link {} on {} to you", legible(&account.external_id), account.surface),
            text,
            describes: String::new(),
            template: None,
            host: None,
            call: None,
            proposal: Some(json),
            raise: None,
            park: false,
        };
        let asked = self.control.store().approvals().ask(new).await?;
        if let Some(told) = asked.told {
            self.control.hub().say_stored(told);
        }
        Ok(asked.approval.id)
    }

    /// Links what a person has allowed, if that question was about an account.
    pub(crate) async fn link_if_allowed(&self, allowed: Allowed) -> AllowedLink {
        let proposal = allowed.approval().proposal.as_deref();
        match proposal.and_then(|json| serde_json::from_str::<ToLink>(json).ok()) {
            Some(to_link) => {
                AllowedLink::Done(self.link_allowed(allowed.approval(), to_link).await)
            }
            None => AllowedLink::Other(Box::new(allowed)),
        }
    }

    async fn link_allowed(&self, approval: &Approval, to_link: ToLink) -> Result<(), PeopleError> {
        let user = self.control.store().users().user_of(approval.workspace).await?;
        let ToLink { link_surface, link_id, link_name, by } = to_link;
        let account = super::account(&link_surface, &link_id, &link_name)?;
        let said: Vec<&str> = approval.answers.iter().map(|given| given.by.as_str()).collect();
        let by = Actor::person(format_args!("{by}, allowed by {}", said.join(" and ")));
        let linked = self.link_identity(&by, &user, &account).await;
        self.control.store().approvals().proposal_applied(approval.id).await?;
        linked
    }

    /// Tells a person who has accounts elsewhere that a browser was logged in as them.
    pub async fn tell_of_login(&self, user: &User) -> Result<(), Fault> {
        if self.control.store().users().identities_of(user.id).await?.is_empty() {
            return Ok(());
        }
        let chat = self.control.store().users().last_chat(user.workspace).await?;
        let text = format!(
            "A browser was logged in as you, by a login link. If that was not you, tell whoever runs this: \
             `cloister user logout {}` ends it.",
            user.name
        );
        let key = format!("login-{}", self.control.store().clock.now_ms());
        self.control.notices().tell_once(user.workspace, chat, &key, text).await
    }

    /// Tells a person that somebody else changed who they are. Once per what happened and day.
    pub async fn tell_of_identity(
        &self,
        by: &Linker<'_>,
        user: &User,
        what: &str,
    ) -> Result<(), Fault> {
        if by.user == user.id {
            return Ok(());
        }
        let chat = self.control.store().users().last_chat(user.workspace).await?;
        let text = format!(
            "{} {what}. If you did not want this, tell whoever runs this: `cloister user show {}` lists your accounts, \
             and `cloister user unlink` and `cloister user logout` end them.",
            by.actor.shown(),
            user.name
        );
        let key = format!("identity-{}-{}", self.control.store().clock.now_ms(), hex_digest(what));
        self.control.notices().tell_once(user.workspace, chat, &key, text).await
    }
}

fn hex_digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "linking_tests.rs"]
mod tests;
