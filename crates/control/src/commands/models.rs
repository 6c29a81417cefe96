//! `/model`: which of the models in use answers first, in this chat or in all of them.

use cloister_policy::engine::{ChatCall, Request, WorkspaceCall};
use cloister_protocol::Level;
use cloister_store::inbox::InboxItem;

use super::run::{Here, line, who};
use crate::commands::{CommandError, CommandRefusal, Commands};
use crate::error::Fault;

/// Takes a choice back.
const DEFAULT: &str = "default";
/// The choice is for all chats.
const ALWAYS: &str = "always";

impl Commands {
    pub(super) async fn model_command(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        let mut words = rest.split_whitespace();
        let (name, reach, more) = (words.next(), words.next(), words.next());
        let Some(name) = name else { return Ok(self.show_model(row, here).await?) };
        let always = reach == Some(ALWAYS);
        if more.is_some() || reach.is_some() && !always {
            return Err(CommandRefusal::ModelWhat.into());
        }
        let request = if always {
            Request::workspace(&here.person, WorkspaceCall::ChangeSettings, &here.place)
        } else {
            Request::chat(&here.person, ChatCall::Change, &here.place, row.chat)
        };
        self.control.people().require(&request)?;
        self.control.chats().administers_if_shared(here, "its model is chosen")?;
        let usable = self.usable_models(row).await?;
        let chosen = usable.iter().find(|model| model.as_str() == name && name != DEFAULT);
        if chosen.is_none() && name != DEFAULT {
            return Err(CommandRefusal::NoModel { usable: usable.join(", ") }.into());
        }
        let place = (row.workspace, (!always).then_some(row.chat));
        let chosen = chosen.map(String::as_str);
        self.control.store().models().choose(&who(row), place, chosen).await?;
        let whose = if always { "In all your chats" } else { "In this chat" };
        Ok(match chosen {
            Some(name) => format!("{whose} {name} answers from now on, and does the tasks."),
            None => format!("{whose} the default model answers from now on."),
        })
    }

    async fn show_model(&self, row: &InboxItem, here: &Here) -> Result<String, Fault> {
        let usable = self.usable_models(row).await?;
        let place = (row.workspace, row.chat);
        let models = self.control.store().models();
        let chain = models.chain_for(place, Level::Coordinator).await?;
        let first = chain.into_iter().find(|model| usable.contains(&model.name));
        let chosen = models.chosen(row.workspace, row.chat).await?;
        let p = here.sign();
        let mut text = match first {
            Some(model) => format!("{} answers in this chat.", model.name),
            None => "No model may answer in this chat.".to_owned(),
        };
        if let Some(missing) = chosen.filter(|name| !usable.contains(name)) {
            line(&mut text, &format!("{missing} was chosen, and can't be used here now."));
        }
        line(&mut text, &format!("To choose from: {}.", usable.join(", ")));
        line(
            &mut text,
            &format!(
                "{p}model NAME chooses one for this chat, {p}model NAME always for all of them; \
                 {p}model default takes it back."
            ),
        );
        Ok(text)
    }

    /// The models in use that the context allows.
    async fn usable_models(&self, row: &InboxItem) -> Result<Vec<String>, Fault> {
        let lists = self.control.contexts().context_lists(row.workspace, row.chat).await?;
        let mut usable = self.control.models().in_use().await?;
        usable.retain(|name| lists.models.has(name));
        Ok(usable)
    }
}
