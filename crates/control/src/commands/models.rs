//! `/model`: which of the models in use answers first, in this chat or in all of them, for all or for one kind of work.

use cloister_policy::engine::{ChatCall, Request, WorkspaceCall};
use cloister_protocol::{Level, WorkKind};
use cloister_store::inbox::InboxItem;

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
struct Reach {
    always: bool,
    kind: Option<WorkKind>,
}

impl Reach {
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
        let Reach { always, kind } = Reach::of(words)?;
        let request = if always {
            Request::workspace(&here.person, WorkspaceCall::ChangeSettings, &here.place)
        } else {
            Request::chat(&here.person, ChatCall::Change, &here.place, row.chat)
        };
        self.control.people().require(&request)?;
        self.control.chats().administers_if_shared(here, "its model is chosen")?;
        let usable = self.control.models().usable((row.workspace, row.chat)).await?;
        let chosen = usable.iter().find(|model| model.as_str() == name && name != DEFAULT);
        if chosen.is_none() && name != DEFAULT {
            return Err(CommandRefusal::NoModel { usable: usable.join(", ") }.into());
        }
        let place = (row.workspace, (!always).then_some(row.chat));
        let chosen = chosen.map(String::as_str);
        self.control.store().models().choose(&who(row), place, kind, chosen).await?;
        let whose = if always { "In all your chats" } else { "In this chat" };
        Ok(match (chosen, kind) {
            (Some(name), None) => {
                format!("{whose} {name} answers from now on, and does the tasks.")
            }
            (None, None) => format!("{whose} the default model answers from now on."),
            (Some(name), Some(kind)) => format!("{whose} {name} is asked first to {}.", to(kind)),
            (None, Some(kind)) => {
                format!("{whose} whoever else would be is asked first to {}.", to(kind))
            }
        })
    }

    async fn show_model(&self, row: &InboxItem, here: &Here) -> Result<String, Fault> {
        let place = (row.workspace, row.chat);
        let usable = self.control.models().usable(place).await?;
        let models = self.control.store().models();
        let chain = models.chain_for(place, Level::Coordinator, WorkKind::Talk).await?;
        let first = chain.into_iter().find(|model| usable.contains(&model.name));
        let chosen = models.chosen(row.workspace, row.chat, None).await?;
        let p = here.sign();
        let mut text = match first {
            Some(model) => format!("{} answers in this chat.", model.name),
            None => "No model may answer in this chat.".to_owned(),
        };
        if let Some(missing) = chosen.filter(|name| !usable.contains(name)) {
            line(&mut text, &format!("{missing} was chosen, and can't be used here now."));
        }
        for kind in WorkKind::ALL {
            let chosen = models.chosen(row.workspace, row.chat, Some(kind)).await?;
            if let Some(name) = chosen.filter(|name| usable.contains(name)) {
                line(&mut text, &format!("{name} was chosen to {}.", to(kind)));
            }
        }
        line(&mut text, &format!("To choose from: {}.", usable.join(", ")));
        line(
            &mut text,
            &format!(
                "{p}model NAME chooses one for this chat, {p}model NAME always for all of them; \
                 {p}model default takes it back. {p}model NAME for vision chooses one for pictures alone; so do talk, \
                 work, summarise and research."
            ),
        );
        Ok(text)
    }
}

/// What a model of this kind is asked to do.
const fn to(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::Talk => "talk",
        WorkKind::Work => "do the tasks",
        WorkKind::Summarise => "write summaries",
        WorkKind::Research => "do the tasks that search the web",
        WorkKind::Vision => "look at pictures",
    }
}
