//! `/model`: which of the models in use answers first, in this chat or in all of them.

use cloister_policy::engine::{ChatCall, Request, WorkspaceCall};
use cloister_protocol::Level;
use cloister_store::inbox::InboxItem;
use cloister_words::{noted, say};

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
        self.control.chats().administers_if_shared(
            here,
            noted!(
                "others use this conversation too: its model is chosen only by who administers it"
            ),
        )?;
        let usable = self.usable_models(row).await?;
        let chosen = usable.iter().find(|model| model.as_str() == name && name != DEFAULT);
        if chosen.is_none() && name != DEFAULT {
            return Err(CommandRefusal::NoModel { usable: usable.join(", ") }.into());
        }
        let place = (row.workspace, (!always).then_some(row.chat));
        let chosen = chosen.map(String::as_str);
        self.control.store().models().choose(&who(row), place, chosen).await?;
        let to = here.to;
        Ok(match (chosen, always) {
            (Some(name), true) => {
                say!(to, "In all your chats {name} answers from now on, and does the tasks.", name)
            }
            (Some(name), false) => {
                say!(to, "In this chat {name} answers from now on, and does the tasks.", name)
            }
            (None, true) => say!(to, "In all your chats the default model answers from now on."),
            (None, false) => say!(to, "In this chat the default model answers from now on."),
        })
    }

    async fn show_model(&self, row: &InboxItem, here: &Here) -> Result<String, Fault> {
        let usable = self.usable_models(row).await?;
        let place = (row.workspace, row.chat);
        let models = self.control.store().models();
        let chain = models.chain_for(place, Level::Coordinator).await?;
        let first = chain.into_iter().find(|model| usable.contains(&model.name));
        let chosen = models.chosen(row.workspace, row.chat).await?;
        let (to, p) = (here.to, here.sign());
        let mut text = match first {
            Some(model) => say!(to, "{name} answers in this chat.", name = model.name),
            None => say!(to, "No model may answer in this chat."),
        };
        if let Some(missing) = chosen.filter(|name| !usable.contains(name)) {
            line(
                &mut text,
                &say!(to, "{missing} was chosen, and can't be used here now.", missing),
            );
        }
        line(&mut text, &say!(to, "To choose from: {usable}.", usable = usable.join(", ")));
        line(
            &mut text,
            &say!(
                to,
                "{p}model NAME chooses one for this chat, {p}model NAME always for all of them; \
                 {p}model default takes it back.",
                p
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
