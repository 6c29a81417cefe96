//! Admin hubs: the one context of a connector where operators are told things.
//!
//! Owns: what is told there and how much of it. Promises: what is told is in the outbox before it is sent, and
//! told once; nothing of a person who is not staff is ever shown there, nor anything that was said before they
//! were told so; no secret and no pairing code is; whatever happens outside, a hub is told at a bounded rate.

mod mirroring;
mod trouble;

use std::collections::HashMap;
use std::time::Duration;

use cloister_policy::engine::{Assignment, PlatformCall, Request, Role, Scope};
use cloister_policy::legible;
use cloister_protocol::{UserId, WorkspaceId};
use cloister_store::Actor;
use cloister_store::admin_hub::AdminHub;
use cloister_store::connectors::ConnectorId;
use cloister_store::conversations::{Conversation, ConversationKind};
use cloister_store::identities::Account;
use cloister_store::outbox::OutboxItem;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::control::part;
use crate::crew::Rounds;
use crate::error::Fault;
use crate::limits::{Buckets, Rate};
use crate::surfaces::{SurfaceError, SurfaceRefusal};

/// How often it is looked for something to tell, and where nobody wants to be told.
const LOOK_EVERY: Duration = Duration::from_secs(2);
const LOOK_WITHOUT: Duration = Duration::from_secs(30);
/// The longest name of somebody's that is told, in characters.
const MAX_NAME: usize = 100;

/// How fast hubs are told things.
#[derive(Debug)]
pub(crate) struct Pace {
    /// A hub was made, or is no more.
    changed: Notify,
    /// What staff say, per hub: what is too fast waits.
    mirrored: Buckets<ConnectorId>,
    /// Codes that were asked for, per surface: what is too fast is left out.
    pairings: Buckets<String>,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            changed: Notify::new(),
            mirrored: Buckets::new(Rate::new(20, 1.0 / 3.0)),
            pairings: Buckets::new(Rate::new(5, 1.0 / 60.0)),
        }
    }
}

part! {
    /// The admin hubs.
    pub(crate) struct AdminHubs;
}

impl AdminHubs {
    fn hub_pace(&self) -> &Pace {
        &self.control.inner.surfaces.hubs
    }

    /// `/admin-channel`: makes this conversation the admin hub of its connector, or ends that.
    pub(crate) async fn admin_channel(
        &self,
        by: UserId,
        conversation: Option<&Conversation>,
        typed: &str,
    ) -> Result<String, SurfaceError> {
        let person = self.control.people().person(by).await?;
        self.control
            .people()
            .require(&Request::platform(&person, PlatformCall::ManageConnectors))?;
        let shared = conversation.filter(|found| found.kind == ConversationKind::Shared);
        let context = match shared {
            Some(found) => {
                self.control.store().chats().context_of_chat(found.workspace, found.chat).await?
            }
            None => None,
        };
        let (Some(here), Some(context)) = (shared, context) else {
            return Err(SurfaceRefusal::NoHubHere.into());
        };
        let actor = self.control.accounts().acting(by).await?;
        match typed.trim().to_ascii_lowercase().as_str() {
            "enable" => Ok(self.enable_hub(&actor, here, &context).await?),
            "disable" => Ok(self.disable_hub(&actor, here).await?),
            "" if self
                .hub_of(here.connector)
                .await?
                .is_some_and(|hub| hub.conversation.id == here.id) =>
            {
                Ok("This is the admin hub. /admin-channel disable ends that.".to_owned())
            }
            "" => Ok("This is not the admin hub. /admin-channel enable makes it one.".to_owned()),
            _ => Err(SurfaceRefusal::HubWhat.into()),
        }
    }

    async fn enable_hub(
        &self,
        actor: &Actor,
        here: &Conversation,
        context: &str,
    ) -> Result<String, Fault> {
        if !self.control.store().outbox().set_admin_hub(actor, here.connector, Some(here)).await? {
            return Ok("This is the admin hub already.".to_owned());
        }
        if let Some(hub) = self.hub_of(here.connector).await? {
            self.tell_staff(&hub).await?;
        }
        self.hub_pace().changed.notify_one();
        Ok(format!(
            "This is the admin hub of this account now. Told here: when an account stops working, when \
             somebody asks for a pairing code, an emergency stop, and what operators, admins and overlords \
             of the platform or of this workspace write to me in private, with my answers; they are told so \
             first. Whoever is in {context} reads it. /admin-channel disable ends it."
        ))
    }

    async fn disable_hub(&self, actor: &Actor, here: &Conversation) -> Result<String, Fault> {
        let is_this =
            self.hub_of(here.connector).await?.is_some_and(|hub| hub.conversation.id == here.id);
        if !is_this {
            return Ok("This is not the admin hub.".to_owned());
        }
        self.control.store().outbox().set_admin_hub(actor, here.connector, None).await?;
        Ok("This is no admin hub any more: nothing is told or shown here.".to_owned())
    }

    /// The admin hub of a connector.
    pub(super) async fn hub_of(&self, connector: ConnectorId) -> Result<Option<AdminHub>, Fault> {
        let hubs = self.control.store().outbox().admin_hubs().await?;
        Ok(hubs.into_iter().find(|hub| hub.connector == connector))
    }

    /// The hubs that are still a context, and where something can be sent.
    async fn open_hubs(&self) -> Result<Vec<AdminHub>, Fault> {
        let mut open = Vec::new();
        for hub in self.control.store().outbox().admin_hubs().await? {
            let place = &hub.conversation;
            let context =
                self.control.store().chats().context_of_chat(place.workspace, place.chat).await?;
            if place.broken.is_none() && context.is_some() {
                open.push(hub);
            }
        }
        Ok(open)
    }

    /// Works until everything stops: shows hubs what staff say, and tells them which connectors do not work.
    pub(crate) async fn keep_admin_hubs(&self, rounds: &Rounds) {
        let stop = self.control.surfaces().stop_token();
        let mut unwell = HashMap::new();
        loop {
            let pause = match self.look_after_hubs(&mut unwell).await {
                Ok(true) => LOOK_EVERY,
                Ok(false) => LOOK_WITHOUT,
                Err(error) => {
                    tracing::error!(error = error.chain(), "the admin hubs could not be told");
                    LOOK_WITHOUT
                }
            };
            rounds.begins(pause);
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.hub_pace().changed.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Whether there is a hub.
    async fn look_after_hubs(
        &self,
        unwell: &mut HashMap<ConnectorId, Instant>,
    ) -> Result<bool, Fault> {
        let hubs = self.open_hubs().await?;
        if hubs.is_empty() {
            return Ok(false);
        }
        self.tell_troubles(&hubs, unwell).await?;
        for hub in &hubs {
            self.mirror_to(hub).await?;
        }
        Ok(true)
    }

    /// Somebody asked for a pairing code. The code is theirs to give.
    pub(crate) async fn tell_hubs_of_pairing(&self, account: &Account) {
        let surface = account.surface.clone();
        let told = async {
            let mut hubs = self.open_hubs().await?;
            hubs.retain(|hub| hub.surface == surface);
            if hubs.is_empty()
                || self.hub_pace().pairings.take(surface.clone(), Instant::now()).is_err()
            {
                return Ok(());
            }
            let text = format!(
                "{} ({}) on {surface} asked for a pairing code. Who is given it sees with \
                 `cloister pair CODE` which account it is for.",
                code(&account.display_name),
                code(&account.external_id)
            );
            let key =
                format!("pairing-{}-{}", account.external_id, self.control.store().clock.now_ms());
            self.tell_hubs(&hubs, &key, &text).await
        };
        let told: Result<(), Fault> = told.await;
        if let Err(error) = told {
            tracing::error!(error = error.chain(), "the admin hubs could not be told of a code");
        }
    }

    /// Something that concerns everybody, told once per key; that it can't be told stops nothing.
    pub(crate) async fn tell_all_hubs(&self, key: &str, text: &str) {
        let told = async {
            let hubs = self.open_hubs().await?;
            self.tell_hubs(&hubs, key, text).await
        };
        let told: Result<(), Fault> = told.await;
        if let Err(error) = told {
            tracing::error!(error = error.chain(), "the admin hubs could not be told");
        }
    }

    async fn tell_hubs(&self, hubs: &[AdminHub], key: &str, text: &str) -> Result<(), Fault> {
        for hub in hubs {
            let told = self.control.store().outbox().tell_hub(hub, key, text).await?;
            self.say_all(told);
        }
        Ok(())
    }

    fn say_all(&self, told: impl IntoIterator<Item = OutboxItem>) {
        for item in told {
            self.control.hub().say_stored(item);
        }
    }
}

/// By which role somebody is staff to a hub in this workspace: one that runs things there or everywhere. Who only
/// takes part is not.
fn staff_role(roles: &[Assignment], workspace: WorkspaceId) -> Option<&Assignment> {
    roles.iter().find(|held| {
        let runs = match held.role {
            Role::Operator | Role::Admin | Role::Overlord => true,
            Role::Viewer | Role::Member => false,
        };
        let there = match &held.scope {
            Scope::Platform => true,
            Scope::Workspace(scope) => *scope == workspace,
            Scope::Context(..)
            | Scope::Skill(..)
            | Scope::Tool(..)
            | Scope::Model(_)
            | Scope::Mailbox(..) => false,
        };
        runs && there
    })
}

/// What somebody calls themselves, as code on one line, with nothing hidden in it.
fn code(text: &str) -> String {
    let short: String = text.chars().take(MAX_NAME).collect();
    let shown = legible(&short).replace('`', "'").replace(['\n', '\r'], " ");
    if shown.trim().is_empty() { "somebody".to_owned() } else { format!("`{shown}`") }
}

#[cfg(test)]
#[path = "admin_hub_tests.rs"]
mod tests;
