//! Pairing: someone on a surface gets a code, and who may link enters it.
//!
//! Whoever asks gets a code, known or not: the answer tells nothing about accounts. Asking is limited
//! per account and in all, and so is entering wrong codes.

use std::time::Duration;

use cloister_policy::engine::Assignment;
use cloister_protocol::{UserId, with_causes};
use cloister_store::Actor;
use cloister_store::audit::Entry;
use cloister_store::identities::Account;
use cloister_store::pairing::{Pairing, Redeemed, WithRole, code_hash};
use cloister_store::users::User;
use tokio::time::Instant;

use super::linking::{Linker, Linking};
use super::roles::{Change, Giver};
use crate::error::Fault;
use crate::limits::{Buckets, Rate};
use crate::people::{People, PeopleError, PeopleRefusal};

/// 32 letters and digits that nobody mistakes for one another.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const CODE_CHARS: usize = 8;
const LIFE: Duration = Duration::from_secs(10 * 60);

/// What is asked and guessed, in memory: a restart forgets it, and that gives nobody more than a burst.
#[derive(Debug)]
pub(crate) struct Pairings {
    asked_by: Buckets<(String, String)>,
    asked: Buckets<()>,
    wrong_by: Buckets<UserId>,
    wrong: Buckets<()>,
}

impl Default for Pairings {
    fn default() -> Self {
        Self {
            asked_by: Buckets::new(Rate::new(3, 1.0 / 60.0)),
            asked: Buckets::new(Rate::new(60, 1.0)),
            wrong_by: Buckets::new(Rate::new(5, 1.0 / 30.0)),
            wrong: Buckets::new(Rate::new(50, 0.5)),
        }
    }
}

impl People {
    /// A code for an account on a surface, to be entered by who may link it to a user.
    pub async fn begin_pairing(
        &self,
        surface: &str,
        external_id: &str,
        display_name: &str,
    ) -> Result<String, PeopleError> {
        let account = super::account(surface, external_id, display_name)?;
        let key = (account.surface.clone(), account.external_id.clone());
        let now = Instant::now();
        let busy = |retry_after| PeopleRefusal::TooManyCodes { retry_after };
        let pairings = &self.control.inner.pairings;
        pairings.asked_by.take(key.clone(), now).map_err(busy)?;
        pairings.asked.take((), now).map_err(|wait| {
            pairings.asked_by.give_back(&key);
            busy(wait)
        })?;
        let code = new_code().map_err(Fault::io("no code could be made"))?;
        let life = i64::try_from(LIFE.as_millis()).unwrap_or(i64::MAX);
        let expires_at = self.control.store().clock.now_ms().saturating_add(life);
        self.control.store().users().add_pairing(&code_hash(&code), &account, expires_at).await?;
        self.control.admin_hubs().tell_hubs_of_pairing(&account).await;
        Ok(spelled(&code))
    }

    /// Whose code this is, for who is to decide about it.
    pub async fn pairing(&self, by: Giver<'_>, typed: &str) -> Result<Pairing, PeopleError> {
        let code = self.guess(typed, by.user)?;
        match self.control.store().users().pairing(&code_hash(&code)).await? {
            Some(pairing) => {
                self.right(by.user);
                Ok(pairing)
            }
            None => Err(self.wrong(by.actor).await.into()),
        }
    }

    /// Uses a code up: its account is the user's from now on, with this role if one is given. Somebody who was
    /// here before is asked first, unless it is them or an overlord who does this.
    pub async fn answer_pairing(
        &self,
        by: Linker<'_>,
        typed: &str,
        user: &User,
        role: Option<&Assignment>,
    ) -> Result<Linking, PeopleError> {
        super::require_person(user)?;
        let code = self.guess(typed, by.user)?;
        let giver = Giver { user: by.user, actor: by.actor };
        let concerned = match role {
            Some(held) => self.concerned(Change::Give, user, held, giver).await?,
            None => Vec::new(),
        };
        let scope = role.map(|held| held.scope.to_string()).unwrap_or_default();
        let role = role.map(|held| WithRole {
            role: held.role.as_str(),
            scope: &scope,
            concerned: &concerned,
        });
        let hash = code_hash(&code);
        match self
            .control
            .store()
            .users()
            .redeem_pairing(by.actor, &hash, user.id, role, by.sure)
            .await?
        {
            Redeemed::Linked { pairing, newcomer, told } => {
                self.right(by.user);
                self.access().changed();
                self.tell_concerned(told);
                if !(newcomer && by.sure) {
                    self.tell_of_link(&by, user, &pairing.account).await?;
                }
                Ok(Linking::Linked(pairing.account))
            }
            Redeemed::MustAsk(_) if role.is_some() => {
                self.right(by.user);
                Err(PeopleRefusal::RoleCantWait { name: user.name.clone() }.into())
            }
            Redeemed::MustAsk(pairing) => {
                self.right(by.user);
                let asked = self.ask_to_link(by.actor, user, &pairing.account).await?;
                self.control.store().users().drop_pairing(&hash).await?;
                Ok(Linking::Asked(asked))
            }
            Redeemed::Wrong => Err(self.wrong(by.actor).await.into()),
        }
    }

    /// Tells a person of an account that is theirs now.
    pub async fn tell_of_link(
        &self,
        by: &Linker<'_>,
        user: &User,
        account: &Account,
    ) -> Result<(), Fault> {
        let id = cloister_policy::legible(&account.external_id);
        let what =
            format!("linked the account {id} on {} to you: it is you here now", account.surface);
        self.tell_of_identity(by, user, &what).await
    }

    /// Every code that is entered counts as wrong until it turns out right.
    fn guess(&self, typed: &str, by: UserId) -> Result<String, PeopleRefusal> {
        let now = Instant::now();
        let pairings = &self.control.inner.pairings;
        let busy = |retry_after| PeopleRefusal::TooManyWrongCodes { retry_after };
        pairings.wrong_by.take(by, now).map_err(busy)?;
        pairings.wrong.take((), now).map_err(|wait| {
            pairings.wrong_by.give_back(&by);
            busy(wait)
        })?;
        let code = typed.chars().filter(|c| !c.is_whitespace() && *c != '-');
        // Longer than any code is as wrong as any other.
        Ok(code.take(CODE_CHARS + 1).map(|c| c.to_ascii_uppercase()).collect())
    }

    fn right(&self, by: UserId) {
        self.control.inner.pairings.wrong_by.give_back(&by);
        self.control.inner.pairings.wrong.give_back(&());
    }

    /// One answer for every code that is no good, whatever the reason. What was typed is not recorded:
    /// it may be a code with a slip in it.
    async fn wrong(&self, actor: &Actor) -> PeopleRefusal {
        let entry = Entry::new(actor, "pairing.wrong", "code");
        if let Err(error) = self.control.store().audit().record(entry).await {
            tracing::error!(
                error = with_causes(&error),
                "a wrong pairing code could not be recorded"
            );
        }
        PeopleRefusal::WrongCode
    }
}

fn new_code() -> std::io::Result<String> {
    let mut bytes = [0u8; CODE_CHARS];
    getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
    // 32 divides 256: every letter is as likely.
    let letters = bytes.iter().filter_map(|byte| ALPHABET.get(usize::from(byte % 32)));
    Ok(letters.map(|letter| char::from(*letter)).collect())
}

/// In two halves, as people read it out.
fn spelled(code: &str) -> String {
    match code.split_at_checked(CODE_CHARS / 2) {
        Some((first, second)) => format!("{first}-{second}"),
        None => code.to_owned(),
    }
}
