//! Who reads what people write: the models of the chains and those on offer, by the hosts they are at. When that changes, people are told.

use std::collections::BTreeSet;

use cloister_protocol::{Language, UserId};
use cloister_store::users::AccountKind;
use cloister_words::say;

use crate::error::Fault;
use crate::people::People;

/// Each model that may be asked, and where it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readers(BTreeSet<(String, String)>);

impl Readers {
    fn named(&self, to: Language) -> String {
        let named = |(model, host): &(String, String)| match host.as_str() {
            "" => say!(to, "the built-in script"),
            host => say!(to, "{model} at {host}", model, host),
        };
        self.0.iter().map(named).collect::<Vec<_>>().join(", ")
    }

    fn hosts(&self) -> BTreeSet<&str> {
        self.0.iter().map(|(_, host)| host.as_str()).filter(|host| !host.is_empty()).collect()
    }
}

impl People {
    /// Who reads what people write, now.
    pub async fn readers(&self) -> Result<Readers, Fault> {
        let mut readers = BTreeSet::new();
        for model in self.control.store().models().in_use().await? {
            readers.insert((model.model.clone(), host(&model.base_url).to_owned()));
        }
        Ok(Readers(readers))
    }

    /// Tells everybody who was ever here, but for who did it, when somebody reads with them who did not `before`.
    pub async fn tell_of_readers(&self, by: UserId, before: &Readers) -> Result<(), Fault> {
        let now = self.readers().await?;
        if now.hosts().is_subset(&before.hosts()) {
            return Ok(());
        }
        let key = format!("readers-{}", self.control.store().clock.now_ms());
        for user in self.control.store().users().all().await? {
            let told = user.kind == AccountKind::Community || user.id != by;
            if !told || self.control.store().users().is_newcomer(user.id).await? {
                continue;
            }
            let to = self.languages().language_of(user.id).await?;
            let text = say!(
                to,
                "Other models answer here from now on, and read what you write: {now}. Until now: {before}.",
                now = now.named(to),
                before = before.named(to)
            );
            let chat = self.control.store().users().last_chat(user.workspace).await?;
            self.control.notices().tell_once(user.workspace, chat, &key, text).await?;
        }
        Ok(())
    }
}

/// The host and port of a base URL; nothing for the built-in model.
fn host(base_url: &str) -> &str {
    let rest = base_url.split_once("://").map_or(base_url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default()
}
