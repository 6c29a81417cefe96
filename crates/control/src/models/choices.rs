//! What people chose among the models in use, and what they are told when it can't be had any more.

use cloister_protocol::{ChatId, WorkspaceId};
use cloister_words::say;

use super::Models;
use crate::error::Fault;

impl Models {
    /// The models that people may be answered by: those of all chains and those on offer, each once.
    pub(crate) async fn in_use(&self) -> Result<Vec<String>, Fault> {
        let models = self.control.store().models().in_use().await?;
        Ok(models.into_iter().map(|model| model.name).collect())
    }

    /// The models that people may choose in a chat: their own and those in use, as its context allows.
    pub async fn usable(
        &self,
        (workspace, chat): (WorkspaceId, ChatId),
    ) -> Result<Vec<String>, Fault> {
        let lists = self.control.contexts().context_lists(workspace, chat).await?;
        let own = self.control.store().models().own_in(workspace).await?;
        let mut usable: Vec<String> = own.into_iter().map(|model| model.name).collect();
        usable.extend(self.in_use().await?);
        usable.retain(|name| lists.models.has(name));
        Ok(usable)
    }

    /// The model that was chosen for a chat, by itself or with all others.
    pub async fn chosen(
        &self,
        (workspace, chat): (WorkspaceId, ChatId),
    ) -> Result<Option<String>, Fault> {
        Ok(self.control.store().models().chosen(workspace, chat, None).await?)
    }

    /// After a change: says where models were chosen that are in use no more.
    pub(super) async fn tell_of_what_left(&self, before: &[String]) -> Result<(), Fault> {
        let now = self.in_use().await?;
        for gone in before.iter().filter(|name| !now.contains(name)) {
            let chosen_by = self.control.store().models().chosen_by(gone).await?;
            self.tell_of_lost_choice(gone, &chosen_by).await?;
        }
        Ok(())
    }

    /// Says where a model had been chosen that another one answers: nobody is to find out by its words.
    pub(super) async fn tell_of_lost_choice(
        &self,
        name: &str,
        chosen_by: &[(WorkspaceId, Option<ChatId>)],
    ) -> Result<(), Fault> {
        let key = format!("lost-choice-{name}-{}", self.control.store().clock.now_ms());
        for (workspace, chat) in chosen_by {
            let to = self.control.people().languages().language_in(*workspace).await?;
            let (chat, text) = match chat {
                Some(chat) => (
                    *chat,
                    say!(
                        to,
                        "The model {name}, which was chosen here, is not in use any more: the default model answers. /model lists those in use.",
                        name
                    ),
                ),
                None => {
                    let last = self.control.store().users().last_chat(*workspace).await?;
                    (
                        last,
                        say!(
                            to,
                            "The model {name}, which was chosen in all chats, is not in use any more: the default model answers. /model lists those in use.",
                            name
                        ),
                    )
                }
            };
            self.control.notices().tell_once(*workspace, chat, &key, text).await?;
        }
        Ok(())
    }
}
