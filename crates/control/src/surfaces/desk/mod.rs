//! Where the connectors of one surface come with what they ask: every call of the surface protocol is answered
//! here.
//!
//! Promises: a connector reaches what is its own surface's and nothing else. Its connectors, the conversations of
//! those and the people whose accounts are there are looked up anew with every call, whatever it says of them; what
//! is another's is not found.

mod files;
mod heard;
mod names;
mod rows;
mod words;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cloister_protocol::admin::{AddConnector, Key};
use cloister_protocol::surface::{
    AnyCall, Call, ConnectorId, MenuItem, Person, PutConnector, Settings,
};
use cloister_protocol::{ErrorBody, ErrorCode, UserId};
use cloister_store::connectors::Connector;
use cloister_store::conversations::{Conversation, ConversationId};
use cloister_store::{Actor, StoreError};
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;

use super::remote::{Reach, RemoteSurface};
use super::{Attachment, hosts};
use crate::commands;
use crate::control::Control;
use crate::error::Fault;
use crate::ports::Whereabouts;
use crate::surfaces::{SurfaceError, SurfaceRefusal};
pub(super) use files::Lent;
use files::OpenFiles;

/// Under how many names deliveries of one connector may come.
const MOST_NAMES: usize = 4;
/// When what may pass is to be asked again.
const AGAIN_AFTER_S: u64 = 5;

/// What an operator has done by the connector just now.
#[derive(Clone)]
struct Operating {
    by: Actor,
    /// The account that they add.
    adding: Option<AddConnector>,
}

/// The desk of one surface.
pub struct SurfaceDesk {
    pub(super) control: Control,
    pub(super) surface: &'static str,
    files: OpenFiles,
    attached: Mutex<HashMap<ConnectorId, (Arc<RemoteSurface>, Attachment)>>,
    /// The names that deliveries come under, and what proves them.
    expected: Mutex<HashMap<String, (ConnectorId, Key)>>,
    /// The hosts of its platform, as the program said when it began.
    declared: Mutex<Vec<String>>,
    /// The one order of an operator that is under way: what accounts become meanwhile is theirs.
    operating: Mutex<Option<Operating>>,
    /// Orders of operators, one after the other.
    turn: Arc<tokio::sync::Mutex<()>>,
    reach: Arc<dyn Reach>,
}

impl SurfaceDesk {
    /// The desk of a surface whose connectors are given their orders by `reach`.
    pub(super) fn new(control: Control, surface: &'static str, reach: Arc<dyn Reach>) -> Arc<Self> {
        Arc::new(Self {
            control,
            surface,
            files: OpenFiles::default(),
            attached: Mutex::default(),
            expected: Mutex::default(),
            declared: Mutex::default(),
            operating: Mutex::default(),
            turn: Arc::default(),
            reach,
        })
    }

    /// What connectors are told when they begin.
    pub(super) fn settings(&self) -> Settings {
        let urgent = commands::menu().filter(|item| item.urgent);
        let urgent = urgent.map(|item| item.name.to_owned()).collect();
        let menu = commands::menu().map(|item| MenuItem {
            name: item.name.to_owned(),
            usage: item.usage.to_owned(),
            help: item.help.to_owned(),
        });
        let menu = menu.collect();
        let largest_upload = self.control.work().max_upload_mb << 20;
        let (options, log) = (Value::Null, String::new());
        Settings { commands: menu, urgent, largest_upload, options, log }
    }

    /// Answers a call of this surface's connectors.
    pub async fn answer(self: &Arc<Self>, call: AnyCall) -> Result<Value, ErrorBody> {
        self.answered(call).await.map_err(|error| {
            if error.code() == ErrorCode::Internal {
                tracing::error!(surface = self.surface, error = error.chain(), "a call failed");
            }
            let mut body = error.body();
            if passes(&error) {
                body.retry_after_s.get_or_insert(AGAIN_AFTER_S);
            }
            body
        })
    }

    async fn answered(self: &Arc<Self>, call: AnyCall) -> Result<Value, SurfaceError> {
        names::bounded(&call)?;
        let call = match self.about_rows(call).await? {
            Done::Answered(answer) => return Ok(answer),
            Done::NotMine(call) => call,
        };
        let call = match self.about_what_is_heard(*call).await? {
            Done::Answered(answer) => return Ok(answer),
            Done::NotMine(call) => call,
        };
        let call = match self.about_files(*call).await? {
            Done::Answered(answer) => return Ok(answer),
            Done::NotMine(call) => call,
        };
        match self.about_words(*call).await? {
            Done::Answered(answer) => Ok(answer),
            Done::NotMine(call) => {
                Err(SurfaceRefusal::NobodyAnswers { call: format!("{call:?}") }.into())
            }
        }
    }

    /// What proves a delivery under this name.
    pub(super) fn proof_of(&self, name: &str) -> Option<Key> {
        lock(&self.expected).get(name).map(|(_, proof)| proof.clone())
    }

    /// Deliveries of the connector come under this name from now on.
    fn expect(
        &self,
        connector: ConnectorId,
        name: &str,
        proof: &Key,
    ) -> Result<(), SurfaceRefusal> {
        let mut expected = lock(&self.expected);
        let others = expected.iter().filter(|(other, _)| other.as_str() != name);
        if others.filter(|(_, (whose, _))| *whose == connector).count() >= MOST_NAMES {
            return Err(SurfaceRefusal::TooManyNames { most: MOST_NAMES });
        }
        if expected.get(name).is_some_and(|(whose, _)| *whose != connector) {
            return Err(SurfaceRefusal::NotOfThisSurface);
        }
        expected.insert(name.to_owned(), (connector, proof.clone()));
        Ok(())
    }

    pub(super) fn reach(&self) -> &Arc<dyn Reach> {
        &self.reach
    }

    pub(super) fn declares(&self, hosts: Vec<String>) {
        *self.declared.lock().unwrap_or_else(PoisonError::into_inner) = hosts;
    }

    fn adding(&self) -> Option<AddConnector> {
        lock(&self.operating).as_ref().and_then(|operating| operating.adding.clone())
    }

    /// Where a host may be that the connector wants to reach; none: it may not.
    pub(super) fn reachable(&self, to: (&str, u16), accounts: &[Connector]) -> Option<Whereabouts> {
        let declared = self.declared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        hosts::reachable(to, accounts, self.adding().as_ref(), &declared)
    }

    /// As long as the guard lives, an operator's order is under way, and perhaps adds an account. It waits for the
    /// one before: what a connector asks for meanwhile is put down to whoever ordered it, and there is one of them.
    pub(super) async fn operated(
        self: &Arc<Self>,
        by: Actor,
        adding: Option<AddConnector>,
    ) -> Operated {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        *lock(&self.operating) = Some(Operating { by, adding });
        Operated { desk: Arc::clone(self), _turn: turn }
    }

    /// An account is put down as the operator named it, at a server that they named, that the platform has, or that is
    /// on the public internet.
    async fn may_put_connector(&self, put: &PutConnector) -> Result<Actor, SurfaceRefusal> {
        let not_asked = || SurfaceRefusal::AccountNotAskedFor;
        let operating = lock(&self.operating).clone().ok_or_else(not_asked)?;
        let (by, new) = (operating.by, operating.adding.ok_or_else(not_asked)?);
        let named = new.account.trim();
        if !named.is_empty() && named != put.account {
            return Err(not_asked());
        }
        let gateway = put.settings.get("gateway_url").and_then(Value::as_str);
        let at = |url: &str| hosts::of_address(url);
        if gateway.is_some() && gateway.and_then(at) != new.gateway.as_deref().and_then(at) {
            return Err(not_asked());
        }
        let Some((host, port)) = hosts::of_address(&put.address) else { return Ok(by) };
        match self.reachable((&host, port), &[]) {
            Some(Whereabouts::Anywhere) => Ok(by),
            Some(Whereabouts::Public) if self.reach.is_outside(host, port).await => Ok(by),
            _ => Err(not_asked()),
        }
    }

    /// Accounts are added, changed and removed while an operator asks for that, and at no other time. It is they who
    /// do it, whoever the connector says it is.
    fn operator(&self) -> Result<Actor, SurfaceRefusal> {
        let operating = lock(&self.operating).clone();
        operating.map(|operating| operating.by).ok_or(SurfaceRefusal::NotAskedFor)
    }

    /// The connectors are gone: nothing is handed to them until they attach again, and what they had open is closed.
    pub fn left(&self) {
        lock(&self.attached).clear();
        lock(&self.expected).clear();
        self.files.close();
    }

    /// That it is one of this surface's connectors.
    async fn own(&self, id: ConnectorId) -> Result<(), SurfaceError> {
        let own = self.control.store().conversations().is_of_surface(id, self.surface).await?;
        if own { Ok(()) } else { Err(not_found()) }
    }

    /// One of this surface's connectors.
    async fn own_connector(&self, id: ConnectorId) -> Result<Connector, SurfaceError> {
        let all = self.control.store().conversations().connectors(self.surface).await?;
        all.into_iter().find(|connector| connector.id == id).ok_or_else(not_found)
    }

    /// A conversation of one of this surface's connectors.
    async fn own_conversation(&self, id: ConversationId) -> Result<Conversation, SurfaceError> {
        self.known_conversation(id).await?.ok_or_else(not_found)
    }

    async fn known_conversation(
        &self,
        id: ConversationId,
    ) -> Result<Option<Conversation>, SurfaceError> {
        let Some(found) = self.control.store().conversations().conversation_by_id(id).await? else {
            return Ok(None);
        };
        self.own(found.connector).await?;
        Ok(Some(found))
    }

    /// A person who has an account on this surface.
    async fn own_person(&self, user: UserId) -> Result<Person, SurfaceError> {
        if self.accounts_of(user).await?.is_empty() {
            return Err(not_found());
        }
        let user = self.control.store().users().user_by_id(user).await?;
        Ok(Person { user: user.id, name: user.name, workspace: user.workspace })
    }

    async fn accounts_of(&self, user: UserId) -> Result<Vec<String>, Fault> {
        let accounts = self.control.store().users().identities_of(user).await?.into_iter();
        let here = accounts.map(|identity| identity.account);
        let here = here.filter(|account| account.surface == self.surface);
        Ok(here.map(|account| account.external_id).collect())
    }
}

/// An order of an operator that is under way.
pub(super) struct Operated {
    desk: Arc<SurfaceDesk>,
    _turn: OwnedMutexGuard<()>,
}

impl Drop for Operated {
    fn drop(&mut self) {
        *lock(&self.desk.operating) = None;
    }
}

/// Whether it says nothing about what was asked: it may be answered when it is asked again.
fn passes(error: &SurfaceError) -> bool {
    match error {
        SurfaceError::Fault(Fault::Io { .. }) => true,
        SurfaceError::Fault(Fault::Store(error)) => {
            !matches!(error, StoreError::Corrupt { .. } | StoreError::NotFound { .. })
        }
        refused => refused.retry_after().is_some(),
    }
}

/// What became of a call.
enum Done {
    Answered(Value),
    /// It is about something else.
    NotMine(Box<AnyCall>),
}

/// An answer of the type that the call asks for.
fn answer<C: Call>(_call: &C, answer: C::Answer) -> Result<Done, Fault> {
    let failed = "an answer could not be written";
    let value = serde_json::to_value(answer);
    Ok(Done::Answered(value.map_err(|error| Fault::io(failed)(error.into()))?))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn not_found() -> SurfaceError {
    SurfaceRefusal::NotOfThisSurface.into()
}

#[cfg(test)]
#[path = "desk_tests.rs"]
mod tests;
