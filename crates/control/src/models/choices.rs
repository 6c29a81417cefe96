//! What people chose among the models in use, and what they are told when it can't be had any more.

use cloister_protocol::{ChatId, Level, WorkspaceId};

use super::Models;
use crate::error::Fault;

impl Models {
    /// The models of all levels, each once.
    pub(crate) async fn in_use(&self) -> Result<Vec<String>, Fault> {
        let mut names: Vec<String> = Vec::new();
        for level in Level::ALL {
            for model in self.control.store().models().chain(level).await? {
                if !names.contains(&model.name) {
                    names.push(model.name);
                }
            }
        }
        Ok(names)
    }

    /// Says where a model had been chosen that another one answers: nobody is to find out by its words.
    pub(super) async fn tell_of_lost_choice(
        &self,
        name: &str,
        chosen_by: &[(WorkspaceId, Option<ChatId>)],
    ) -> Result<(), Fault> {
        let key = format!("lost-choice-{name}-{}", self.control.store().clock.now_ms());
        for (workspace, chat) in chosen_by {
            let (chat, place) = match chat {
                Some(chat) => (*chat, "here"),
                None => {
                    let last = self.control.store().users().last_chat(*workspace).await?;
                    (last, "in all chats")
                }
            };
            let text = format!(
                "The model {name}, which was chosen {place}, is not in use any more: the default model answers. \
                 /model lists those in use."
            );
            self.control.notices().tell_once(*workspace, chat, &key, text).await?;
        }
        Ok(())
    }
}
