//! Who is told of what somebody else did to what is theirs: it follows from the audit entry, in the transaction that
//! has it.
//!
//! Promises: no change by somebody whom we recognised reaches the chain of another person or a community without the
//! teller having been asked for its words; the notice is stored with the change or there is neither.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use cloister_protocol::{AgentFrame, Language, TurnId, Update, UserId};
use cloister_vault::Owner;

use crate::audit::Entry;
use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::outbox::{self, OutboxItem};
use crate::{languages, persons};

/// What somebody did to what is another's.
#[derive(Clone, Copy, Debug)]
pub struct Deed<'a> {
    /// Their name; none: whoever runs the machine.
    pub by: Option<&'a str>,
    pub action: &'static str,
    pub subject: &'a str,
    pub detail: &'a str,
    /// Nobody was ever here as whose it is.
    pub is_newcomer: bool,
}

/// Says it in words, and passes on what was stored.
pub trait Teller: Send + Sync + fmt::Debug {
    /// None: whose it is need not be told, or is in another way. Without a language, in that of this installation.
    fn words(&self, deed: &Deed<'_>, to: Option<Language>) -> Option<String>;

    /// It is on disk.
    fn stored(&self, item: OutboxItem);
}

/// The teller of a store, once there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tellers(Arc<Mutex<Option<Arc<dyn Teller>>>>);

impl Tellers {
    pub(crate) fn telling(&self) -> Telling {
        let teller = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Telling { teller, told: Vec::new() }
    }
}

/// What one transaction tells.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    teller: Option<Arc<dyn Teller>>,
    told: Vec<OutboxItem>,
}

impl Telling {
    /// The transaction is on disk.
    pub(crate) fn pass_on(self) {
        if let Some(teller) = self.teller {
            self.told.into_iter().for_each(|item| teller.stored(item));
        }
    }
}

impl Store {
    /// Has this teller asked from now on.
    pub fn tell_with(&self, teller: Arc<dyn Teller>) {
        *self.tellers.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(teller);
    }
}

/// Tells whose chain it is of an entry that somebody else makes in it.
pub(crate) async fn tell(
    tx: &mut Tx,
    (chain, seq): (Owner, u64),
    entry: &Entry,
    at: i64,
) -> Result<(), StoreError> {
    let (Some(by), Owner::User(owner)) = (entry.by(), chain) else { return Ok(()) };
    let Some(teller) = tx.telling.teller.clone().filter(|_| by.0 != owner) else { return Ok(()) };
    let deed = Deed {
        by: by.1.as_deref(),
        action: entry.action,
        subject: &entry.subject,
        detail: &entry.detail,
        is_newcomer: persons::is_newcomer(tx, owner).await?,
    };
    let Some(text) = teller.words(&deed, languages::best_of(tx, owner).await?) else {
        return Ok(());
    };
    let key = notice_key(entry.action, owner, seq);
    let Some(place) = persons::last_place_of(tx, owner).await? else { return Ok(()) };
    let frame = AgentFrame::Update(Update::Notice { text });
    let item = outbox::push(tx, place, &TurnId::of_notice(key), &frame, at).await?;
    tx.telling.told.push(item);
    Ok(())
}

fn notice_key(action: &str, owner: UserId, seq: u64) -> String {
    format!("{action}-{owner}-{seq}")
}
