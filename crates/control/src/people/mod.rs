//! Who someone is to the policies: the roles they hold, whose a workspace is, what its contexts allow,
//! and how an account on a surface becomes a person's.
//!
//! Promises: a role or an identity that is taken away counts no more from the next decision on, and what
//! it holds open is told to look again at once; a conversation leads to one workspace or to none.

mod access;
mod accounts;
mod contexts;
mod error;
mod languages;
mod linking;
mod naming;
mod pairing;
mod readers;
mod roles;
mod route;
mod sessions;
mod telling;

use cloister_policy::engine::{
    Assignment, ChatCall, Outcome, Ownership, Person, Place, Request, WorkspaceCall,
};
use cloister_protocol::{ChatId, UserId, UserName, WorkspaceId};
use cloister_store::identities::Account;
use cloister_store::users::{AccountKind, User};
use cloister_store::{Actor, StoreError};

use crate::control::part;
use crate::error::Fault;

pub(crate) use access::Access;
pub use access::AccessChanges;
pub use accounts::Accounts;
pub use error::{PeopleError, PeopleRefusal};
pub(crate) use linking::AllowedLink;
pub use linking::{Linker, Linking};
pub(crate) use naming::Named;
pub(crate) use pairing::Pairings;
pub use roles::Giver;
pub use route::{Heard, Route, Routed};
pub use sessions::Sessions;
pub(crate) use telling::ToOwners;

/// The longest name of a surface, of an account there, and what of a display name is kept.
const MAX_SURFACE_CHARS: usize = 32;
const MAX_ACCOUNT_CHARS: usize = 255;
const MAX_DISPLAY_CHARS: usize = 80;

part! {
    /// The contexts: where a conversation leads, and what is allowed there.
    pub struct Contexts;
}

part! {
    /// The people: who someone is, what they may do and which accounts are theirs.
    pub struct People;
}

impl People {
    /// A user with every role they hold. A role that can't be read is held by nobody.
    pub async fn person(&self, user: UserId) -> Result<Person, Fault> {
        let held = self.control.store().users().roles_of(user).await?;
        let roles = held.into_iter().filter_map(|held| {
            let text = format!("{}@{}", held.role, held.scope);
            let assignment: Result<Assignment, _> = text.parse();
            if assignment.is_err() {
                tracing::warn!(%user, role = text, "a role can't be read and counts for nothing");
            }
            assignment.ok()
        });
        Ok(Person { user, roles: roles.collect() })
    }

    /// Where a workspace is, and whose.
    pub async fn place(&self, workspace: WorkspaceId) -> Result<Place, Fault> {
        let account = self.control.store().users().user_of(workspace).await?;
        Ok(Place::workspace(workspace, ownership(&account)))
    }

    /// Where a chat is: also in which context of its workspace.
    pub async fn place_of_chat(
        &self,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Place, Fault> {
        let place = self.place(workspace).await?;
        let context = self.control.store().chats().context_of_chat(workspace, chat).await?;
        Ok(Place { context, chat: Some(chat), ..place })
    }

    /// A workspace by its id or by the name of whose it is.
    pub async fn find_workspace(&self, text: &str) -> Result<Option<User>, Fault> {
        let found = if let Ok(id) = text.parse::<WorkspaceId>() {
            self.control.store().users().user_of(id).await
        } else if let Ok(name) = text.parse::<UserName>() {
            self.control.store().users().user(&name).await
        } else {
            return Ok(None);
        };
        match found {
            Ok(account) => Ok(Some(account)),
            Err(StoreError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Refuses what the policies do not let a user do in a chat.
    pub async fn require_in_chat(
        &self,
        user: UserId,
        call: ChatCall,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<(), PeopleError> {
        let person = self.person(user).await?;
        let place = self.place_of_chat(workspace, chat).await?;
        self.require(&Request::chat(&person, call, &place, chat))
    }

    /// The same for a workspace as a whole.
    pub async fn require_in_workspace(
        &self,
        user: UserId,
        call: WorkspaceCall,
        workspace: WorkspaceId,
    ) -> Result<(), PeopleError> {
        let person = self.person(user).await?;
        let place = self.place(workspace).await?;
        self.require(&Request::workspace(&person, call, &place))
    }

    /// Where a message is said; refuses one of somebody who may not speak in its chat.
    pub(crate) async fn require_speaker(
        &self,
        from: &UserName,
        workspace: WorkspaceId,
        chat: ChatId,
    ) -> Result<Place, PeopleError> {
        let user = self.control.store().users().user(from).await?.id;
        let person = self.person(user).await?;
        let place = self.place_of_chat(workspace, chat).await?;
        self.require(&Request::chat(&person, ChatCall::SendMessage, &place, chat))?;
        Ok(place)
    }

    /// Refuses what the policies do not allow, with their reason.
    pub fn require(&self, request: &Request) -> Result<(), PeopleError> {
        let verdict = self.control.policies().engine().decide(request);
        let reason = match verdict.outcome {
            Outcome::Allow => return Ok(()),
            Outcome::Ask { reason, .. } | Outcome::Deny { reason } => reason,
        };
        let by = verdict.policies.first().map(ToString::to_string);
        Err(PeopleRefusal::NotAllowed { reason, by }.into())
    }

    /// Makes the account and workspace of a community. Someone must be there to run it.
    pub async fn add_community(&self, actor: &Actor, name: &UserName) -> Result<User, PeopleError> {
        if self.control.store().users().all().await?.is_empty() {
            return Err(PeopleRefusal::NobodyToRunIt.into());
        }
        let limits = self.control.users().limits();
        let account = self
            .control
            .store()
            .users()
            .add_account(actor, name, AccountKind::Community, limits)
            .await?;
        self.control.store().chats().ensure_first_chat(actor, account.workspace).await?;
        Ok(account)
    }

    /// Links an account on a surface to a person.
    pub async fn link_identity(
        &self,
        actor: &Actor,
        user: &User,
        account: &Account,
    ) -> Result<(), PeopleError> {
        require_person(user)?;
        self.control.store().users().link_identity(actor, account, user.id).await?;
        self.access().changed();
        Ok(())
    }

    /// Unlinks an account: it is nobody's from now on, and is told nothing more.
    pub async fn unlink_identity(
        &self,
        actor: &Actor,
        user: &User,
        account: &Account,
    ) -> Result<(), Fault> {
        let Account { surface, external_id, .. } = account;
        self.control.store().users().unlink_identity(actor, user.id, surface, external_id).await?;
        self.access().changed();
        self.control.surfaces().chats_changed();
        Ok(())
    }
}

fn ownership(account: &User) -> Ownership {
    match account.kind {
        AccountKind::Person => Ownership::Private { owner: account.id },
        AccountKind::Community => Ownership::Community,
    }
}

fn require_person(user: &User) -> Result<(), PeopleRefusal> {
    match user.kind {
        AccountKind::Person => Ok(()),
        AccountKind::Community => Err(PeopleRefusal::Community { name: user.name.clone() }),
    }
}

/// An account as a surface or a person names it: its parts have a bound, and nothing in them can be
/// taken for something else on a terminal.
pub fn account(
    surface: &str,
    external_id: &str,
    display_name: &str,
) -> Result<Account, PeopleError> {
    let is_word = |text: &str, most: usize| {
        (1..=most).contains(&text.chars().count())
            && !text.chars().any(|c| c.is_control() || c.is_whitespace() || is_invisible(c))
    };
    if !is_word(surface, MAX_SURFACE_CHARS) {
        let (what, most) = ("a surface", MAX_SURFACE_CHARS);
        return Err(PeopleRefusal::NoWord { what, most }.into());
    }
    if !is_word(external_id, MAX_ACCOUNT_CHARS) {
        let (what, most) = ("the id of an account", MAX_ACCOUNT_CHARS);
        return Err(PeopleRefusal::NoWord { what, most }.into());
    }
    let shown = display_name.chars().filter(|c| !c.is_control() && !is_invisible(*c));
    Ok(Account {
        surface: surface.to_owned(),
        external_id: external_id.to_owned(),
        display_name: shown.take(MAX_DISPLAY_CHARS).collect(),
    })
}

/// Characters that turn or hide what is around them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}')
}

#[cfg(test)]
#[path = "people_tests.rs"]
mod tests;
