//! `/model`: which of the models in use answers first, in this chat or in all of them, for all or for one kind of work.

use cloister_policy::engine::{ChatCall, Request, WorkspaceCall};
use cloister_protocol::{Language, Level, WorkKind};
use cloister_store::inbox::InboxItem;
use cloister_words::{noted, say, text_of};

use super::run::{Here, line, who};
use crate::commands::{CommandError, CommandRefusal, Commands};
use crate::error::Fault;

/// Takes a choice back.
const DEFAULT: &str = "default";
/// The choice is for all chats.
const ALWAYS: &str = "always";
/// The choice is for the kind of work that follows.
const FOR: &str = "for";

/// What follows a model's name.
#[derive(Default)]
struct ChoiceReach {
    always: bool,
    kind: Option<WorkKind>,
}

impl ChoiceReach {
    fn of<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<Self, CommandRefusal> {
        let mut reach = Self::default();
        while let Some(word) = words.next() {
            match word {
                ALWAYS if !reach.always => reach.always = true,
                FOR if reach.kind.is_none() => {
                    let kind = words.next().and_then(|word| word.parse().ok());
                    reach.kind = Some(kind.ok_or(CommandRefusal::ModelWhat)?);
                }
                _ => return Err(CommandRefusal::ModelWhat),
            }
        }
        Ok(reach)
    }
}

impl Commands {
    pub(super) async fn model_command(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        let mut words = rest.split_whitespace();
        let Some(name) = words.next() else { return Ok(self.show_model(row, here).await?) };
        let ChoiceReach { always, kind } = ChoiceReach::of(words)?;
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
        let usable = self.control.models().usable((row.workspace, row.chat)).await?;
        let chosen = usable.iter().find(|model| model.as_str() == name && name != DEFAULT);
        if chosen.is_none() && name != DEFAULT {
            return Err(CommandRefusal::NoModel { usable: usable.join(", ") }.into());
        }
        let (chosen, models) = (chosen.map(String::as_str), self.control.store().models());
        let words = chosen_words(here.to, chosen, ChoiceReach { always, kind });
        if !always {
            let place = (row.workspace, Some(row.chat));
            models.choose(&who(row), place, kind, chosen).await?;
            return Ok(words);
        }
        let agent = self.control.store().chats().agent_of_chat(row.workspace, row.chat).await?;
        models.choose_for_agent(&who(row), (row.workspace, agent), kind, chosen).await?;
        let agents = self.control.chats().agents();
        Ok(match agents.one_of_several(row.workspace, agent, here.to).await? {
            Some(agent) => {
                let whose = say!(here.to, "That is for chats with {agent}.", agent);
                format!("{words} {whose}")
            }
            None => words,
        })
    }

    async fn show_model(&self, row: &InboxItem, here: &Here) -> Result<String, Fault> {
        let place = (row.workspace, row.chat);
        let usable = self.control.models().usable(place).await?;
        let models = self.control.store().models();
        let chain = models.chain_for(place, Level::Coordinator, WorkKind::Talk).await?;
        let first = chain.into_iter().find(|model| usable.contains(&model.name));
        let chosen = models.chosen(row.workspace, row.chat, None).await?;
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
        for kind in WorkKind::ALL {
            let chosen = models.chosen(row.workspace, row.chat, Some(kind)).await?;
            if let Some(name) = chosen.filter(|name| usable.contains(name)) {
                let work = text_of(to, work(kind));
                line(&mut text, &say!(to, "{name} was chosen to {work}.", name, work));
            }
        }
        line(&mut text, &say!(to, "To choose from: {usable}.", usable = usable.join(", ")));
        line(
            &mut text,
            &say!(
                to,
                "{p}model NAME chooses one for this chat, {p}model NAME always for all of them; \
                 {p}model default takes it back. {p}model NAME for vision chooses one for pictures alone; so do talk, \
                 work, summarise and research.",
                p
            ),
        );
        Ok(text)
    }
}

/// What a model of this kind is asked to do.
const fn work(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::Talk => noted!("talk"),
        WorkKind::Work => noted!("do the tasks"),
        WorkKind::Summarise => noted!("write summaries"),
        WorkKind::Research => noted!("do the tasks that search the web"),
        WorkKind::Vision => noted!("look at pictures"),
    }
}

/// What became of a choice.
fn chosen_words(
    to: Language,
    chosen: Option<&str>,
    ChoiceReach { always, kind }: ChoiceReach,
) -> String {
    let work = kind.map(|kind| text_of(to, work(kind)));
    match (chosen, always, work) {
        (Some(name), true, None) => {
            say!(to, "In all your chats {name} answers from now on, and does the tasks.", name)
        }
        (Some(name), false, None) => {
            say!(to, "In this chat {name} answers from now on, and does the tasks.", name)
        }
        (None, true, None) => say!(to, "In all your chats the default model answers from now on."),
        (None, false, None) => say!(to, "In this chat the default model answers from now on."),
        (Some(name), true, Some(work)) => {
            say!(to, "In all your chats {name} is asked first to {work}.", name, work)
        }
        (Some(name), false, Some(work)) => {
            say!(to, "In this chat {name} is asked first to {work}.", name, work)
        }
        (None, true, Some(work)) => {
            say!(to, "In all your chats whoever else would be is asked first to {work}.", work)
        }
        (None, false, Some(work)) => {
            say!(to, "In this chat whoever else would be is asked first to {work}.", work)
        }
    }
}
