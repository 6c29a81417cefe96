//! Commands that tell a person where they are, how they are set up, and what they can say.

use cloister_policy::engine::{Names, Ownership};
use cloister_store::inbox::{InboxItem, Meant};

use super::run::{Here, line};
use super::{COMMANDS, Command, Group, nearest, spell_commands, stored};
use crate::commands::{CommandError, CommandRefusal, Commands};
use crate::error::Fault;

/// `/help [COMMAND]`
pub(super) fn help(rest: &str, here: &Here) -> Result<String, CommandRefusal> {
    let p = here.sign();
    let spelled = |text: &str| spell_commands(here.customs.command_sign, text).into_owned();
    let name = rest.trim_start_matches(['/', '!']).to_ascii_lowercase();
    if let Some(command) = COMMANDS.iter().find(|command| command.name == name) {
        return Ok(spelled(&format!("{}: {}", command.usage, command.help)));
    }
    if let Some(nearest) = nearest(&name).filter(|_| !name.is_empty()) {
        return Err(CommandRefusal::NoHelp { nearest });
    }
    let mut text = "Just write what you want. Commands:".to_owned();
    for group in Group::ALL {
        let of_group = |command: &&Command| command.verb.group() == group;
        let usages: Vec<&str> = COMMANDS.iter().filter(of_group).map(|c| c.usage).collect();
        line(&mut text, &spelled(&format!("{}: {}", group.title(), usages.join(", "))));
    }
    line(&mut text, &format!("{p}help cancel says what {p}cancel does, and so for each."));
    Ok(text)
}

impl Commands {
    /// `/context`
    pub(super) async fn context(&self, row: &InboxItem, here: &Here) -> Result<String, Fault> {
        let chat = self.control.store().chats().chat(row.workspace, row.chat).await?;
        let owner = self.control.store().users().user_of(row.workspace).await?.name;
        let lists = self.control.contexts().context_lists(row.workspace, row.chat).await?;
        let since = self.control.store().chats().since_clear(row.workspace, row.chat).await?;
        let is_talk = |text: &&String| stored(&Meant::Undecided, text).is_none();
        let talk = since.undecided.iter().filter(is_talk).count();
        let messages = since.messages.saturating_add(i64::try_from(talk).unwrap_or(i64::MAX));
        let title =
            if chat.title.is_empty() { String::new() } else { format!(" “{}”", chat.title) };
        let whose = match here.place.ownership {
            Ownership::Private { .. } => "private",
            Ownership::Community => "shared by its members",
        };
        let mut text = format!("{}{title} in the workspace of {owner} ({whose}).", chat.id);
        let context = here.place.context.as_deref().unwrap_or("the workspace as a whole");
        line(&mut text, &format!("Context: {context}."));
        let named = [("Models", &lists.models), ("Tools", &lists.tools), ("Skills", &lists.skills)];
        for (what, names) in named {
            line(&mut text, &format!("{what}: {}.", listed(names)));
        }
        let count = match messages {
            1 => "1 message".to_owned(),
            n => format!("{n} messages"),
        };
        let began = match since.cleared_at {
            Some(at) => format!("since it was cleared at {}", time(at)),
            None => "since it began".to_owned(),
        };
        line(&mut text, &format!("In this conversation: {count} {began}."));
        line(&mut text, &format!("{}clear starts it afresh.", here.sign()));
        Ok(text)
    }

    /// `/settings`
    pub(super) async fn settings(
        &self,
        row: &InboxItem,
        here: &Here,
    ) -> Result<String, CommandError> {
        refuse_if_shared(here, "your settings are")?;
        let p = here.sign();
        let user = self.control.store().users().user_by_id(here.by).await?;
        let mut text = format!("You are {}.", user.name);
        let roles: Vec<String> = here.person.roles.iter().map(ToString::to_string).collect();
        let roles = if roles.is_empty() { "none".to_owned() } else { roles.join(", ") };
        line(&mut text, &format!("Roles: {roles}; whoever runs this gives them."));
        let budget = self.control.tasks().budget_line(&user).await?;
        line(&mut text, &format!("Budget: {budget} ({p}budget)."));
        let rules = self.control.store().egress().egress_rules(user.id).await?.len();
        line(&mut text, &format!("Hosts allowed: {rules} ({p}network, {p}allow, {p}forbid)."));
        let grants = self.control.gates().grants(user.workspace).await?.len();
        line(&mut text, &format!("Allowed for longer than once: {grants} ({p}grants, {p}revoke)."));
        let accounts = self.control.store().users().identities_of(user.id).await?;
        let accounts: Vec<String> = accounts
            .iter()
            .map(|identity| {
                format!("{} on {}", identity.account.external_id, identity.account.surface)
            })
            .collect();
        let accounts = if accounts.is_empty() { "none".to_owned() } else { accounts.join(", ") };
        line(
            &mut text,
            &format!(
                "Linked accounts: {accounts}; write `pair` to me from another one to link it."
            ),
        );
        let pushes = self.control.store().chats().last_surface(row.workspace, row.chat).await?;
        let pushes = pushes.unwrap_or_else(|| "web and terminal".to_owned());
        line(
            &mut text,
            &format!(
                "What ends in the background or needs you is told where you last were; for {}: {pushes}.",
                row.chat
            ),
        );
        line(
            &mut text,
            &format!("This chat: {p}context, {p}rename, {p}clear. All chats: {p}chats."),
        );
        Ok(text)
    }

    /// `/pair`
    pub(super) async fn pair(&self, here: &Here) -> Result<String, CommandError> {
        if here.surface.is_empty() {
            return Ok(
                "You are known here: no code is needed on the web or in the terminal. To link an \
                       account elsewhere, write `pair` to the agent from that account."
                    .to_owned(),
            );
        }
        refuse_if_shared(here, "codes are")?;
        let name = self.control.store().users().user_by_id(here.by).await?.name;
        let accounts = self.control.store().users().identities_of(here.by).await?;
        let on_surface = accounts.iter().filter(|known| known.account.surface == here.surface);
        let accounts: Vec<_> = on_surface.map(|known| &known.account).collect();
        let [account] = accounts.as_slice() else {
            return Ok(format!(
                "You are {name} here already. To link another account, write `pair` to me from that one."
            ));
        };
        let shown = account.display_name.as_str();
        let code =
            self.control.people().begin_pairing(&here.surface, &account.external_id, shown).await?;
        Ok(format!(
            "You are {name} here already. To make {} somebody else's, have whoever runs this unlink it and \
             enter the code {code} with `cloister pair {code}`, within ten minutes.",
            account.external_id
        ))
    }
}

/// What is a person's own is not said where others read along.
fn refuse_if_shared(here: &Here, what: &'static str) -> Result<(), CommandRefusal> {
    if here.is_shared() { Err(CommandRefusal::OthersReadAlong { what }) } else { Ok(()) }
}

fn listed(names: &Names) -> String {
    match names {
        Names::All => "all".to_owned(),
        Names::Only(names) if names.is_empty() => "none".to_owned(),
        Names::Only(names) => names.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    }
}

fn time(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
