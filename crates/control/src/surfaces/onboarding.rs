//! First words: to strangers, to people whose conversation leads nowhere, and to who has just arrived.
//!
//! Promises: the same stranger is told once in the time that is set, also across restarts, and all of them
//! together at a bounded rate; a stranger costs no model call and no workspace. Whatever the connectors of one surface
//! ask about, what is remembered for them is bounded and takes no room from another surface.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use cloister_protocol::{Language, UserId};
use cloister_words::say;
use tokio::time::Instant;

use crate::error::Fault;
use crate::limits::{Buckets, Rate};
use crate::options::SurfaceOptions;
use crate::people::account;
use crate::surfaces::{SurfaceError, Surfaces};

/// Of a key that a connector made up, so many bytes count.
const KEY_BYTES: usize = 512;

/// What was said lately on each surface.
#[derive(Debug, Default)]
pub(crate) struct TellingBySurface(Mutex<HashMap<String, Arc<Telling>>>);

impl TellingBySurface {
    fn on(&self, surface: &str) -> Arc<Telling> {
        let mut of = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(of.entry(surface.to_owned()).or_default())
    }
}

/// What was said lately on one surface, in memory. What must outlive a restart is in the database.
#[derive(Debug)]
struct Telling {
    /// Refusals of strangers over it.
    strangers: Buckets<()>,
    /// What a conversation that leads nowhere was told.
    not_here: Buckets<String>,
    /// Strangers who come again after they were told.
    again: Buckets<String>,
    /// Anything else that is worth saying now and then.
    once: Buckets<String>,
}

impl Default for Telling {
    fn default() -> Self {
        Self {
            strangers: Buckets::new(Rate::new(30, 0.2)),
            not_here: Buckets::new(Rate::new(1, 1.0 / 3600.0)),
            again: Buckets::new(Rate::new(3, 3.0 / 86_400.0)),
            once: Buckets::new(Rate::new(1, 1.0 / 60.0)),
        }
    }
}

impl Surfaces {
    fn telling(&self, surface: &str) -> Arc<Telling> {
        self.control.inner.surfaces.telling.on(surface)
    }

    /// What to say to an account that is nobody's, unless it was told.
    pub(crate) async fn refusal(
        &self,
        surface: &str,
        external_id: &str,
        reads: Option<Language>,
    ) -> Result<Option<String>, SurfaceError> {
        // What can't be an account's id is not worth remembering.
        let Ok(stranger) = account(surface, external_id, "") else { return Ok(None) };
        let telling = self.telling(surface);
        if telling.strangers.take((), Instant::now()).is_err() {
            return Ok(None);
        }
        let options = &self.control.inner.parts.surfaces;
        let every = i64::try_from(options.refusal_every_s.saturating_mul(1000)).unwrap_or(i64::MAX);
        let who = (stranger.surface.as_str(), stranger.external_id.as_str());
        let told = self.control.store().conversations().tell_stranger(who, every).await?;
        if !told {
            telling.strangers.give_back(&());
        }
        Ok(told.then(|| refusal_in(options, reads)))
    }

    /// What to say to a stranger who was told before and begins anew: they may have left, or cleared, where they were
    /// told. A few times a day for each, and at the same rate for all of them together.
    pub fn refusal_again(&self, surface: &str, external_id: &str) -> Option<String> {
        let stranger = account(surface, external_id, "").ok()?;
        let (telling, who) = (self.telling(surface), stranger.external_id);
        telling.again.take(who.clone(), Instant::now()).ok()?;
        if telling.strangers.take((), Instant::now()).is_err() {
            telling.again.give_back(&who);
            return None;
        }
        Some(refusal_in(&self.control.inner.parts.surfaces, None))
    }

    /// What a stranger was to be told could not be said: it is said when they come again.
    pub async fn take_back_refusal(&self, surface: &str, external_id: &str) -> Result<(), Fault> {
        Ok(self.control.store().conversations().forget_stranger(surface, external_id).await?)
    }

    /// What to say where somebody known may not speak, unless it was said lately.
    pub(crate) fn not_here(
        &self,
        surface: &str,
        conversation: &str,
        words: &str,
    ) -> Option<String> {
        let say = self.telling(surface).not_here.take(kept(conversation), Instant::now()).is_ok();
        say.then(|| naming(words, surface, conversation))
    }

    /// Whether to say something that would otherwise be said again and again: true once a minute per key.
    pub fn once_a_while(&self, surface: &str, key: &str) -> bool {
        self.telling(surface).once.take(kept(key), Instant::now()).is_ok()
    }

    /// The answer to who asks for a code; none if they asked too often and were told so.
    pub async fn pairing_words(
        &self,
        surface: &str,
        external_id: &str,
        display_name: &str,
    ) -> Option<String> {
        let to = self.control.people().languages().default_language();
        match self.control.people().begin_pairing(surface, external_id, display_name).await {
            Ok(code) => Some(say!(
                to,
                "Your code is **{code}**. Give it to whoever runs this: they enter it with \
                 `cloister pair {code}`, and see which account it is for. It is good once, for ten minutes.",
                code
            )),
            Err(error) => {
                tracing::warn!(surface, error = error.chain(), "no pairing code was given");
                let key = format!("pair {external_id}");
                let body = error.body_in(to);
                let fix = body.fix.map(|fix| format!("; {fix}")).unwrap_or_default();
                let told = || say!(to, "No code now: {why}{fix}.", why = body.message, fix);
                self.once_a_while(surface, &key).then(told)
            }
        }
    }

    /// Who the agent is and how to begin, for who has just arrived on a surface.
    pub async fn welcome(&self, user: UserId, surface: &str) -> Result<String, Fault> {
        let user = self.control.store().users().user_by_id(user).await?;
        let p = self.customs_of(surface).await?.command_sign.as_char();
        let to = self.control.people().languages().language_of(user.id).await?;
        let agent = match self.control.config().agent_name(user.workspace) {
            Some(name) => say!(to, "{name}, your agent", name),
            None => say!(to, "your agent"),
        };
        Ok(say!(
            to,
            "Hello {name}. I am {agent}. Just write what you want to have done: I answer here, work in the \
             background, and tell you when something is done or needs you.\n\n\
             - `{p}new [title]` starts another chat, `{p}chats` lists them, `{p}rename TITLE` names this one\n\
             - `{p}status` says what is going on, `{p}tasks` lists tasks, `{p}cancel 3` stops one\n\
             - `{p}yes` or `{p}no` answers what I ask here, `{p}approvals` shows all that waits\n\
             - `{p}clear` starts this chat afresh, `{p}archive` puts it away\n\
             - `{p}settings` shows how you are set up, `{p}help` lists everything",
            name = user.name,
            agent,
            p
        ))
    }
}

/// What is remembered of a key, however long it is.
fn kept(key: &str) -> String {
    key.get(..key.floor_char_boundary(KEY_BYTES)).unwrap_or(key).to_owned()
}

/// The operator's own words, or ours in a stranger's language.
fn refusal_in(options: &SurfaceOptions, reads: Option<Language>) -> String {
    let to = reads.unwrap_or(options.language);
    options.refusal.clone().unwrap_or_else(|| {
        say!(
            to,
            "I do not know you here yet. Write `pair` to get a code, and give it to whoever runs this: they enter \
             it with `cloister pair CODE`."
        )
    })
}

/// The words, with the whole command where they name one that needs the conversation's id: not every program
/// shows it. An id that could be more than a word to a shell is left out.
fn naming(words: &str, surface: &str, conversation: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "!:._/=+~-".contains(c);
    if !conversation.chars().all(plain) {
        return words.to_owned();
    }
    let command = format!(
        "`cloister context add NAME --in COMMUNITY --surface {surface} --conversation='{conversation}'`"
    );
    words.replace("`cloister context add`", &command)
}

#[cfg(test)]
#[path = "onboarding_tests.rs"]
mod tests;
