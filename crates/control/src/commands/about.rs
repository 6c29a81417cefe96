//! Commands that tell a person where they are, how they are set up, and what they can say.

use cloister_policy::engine::{Names, Ownership};
use cloister_protocol::{Language, UserId};
use cloister_store::identities::Identity;
use cloister_store::inbox::{InboxItem, Meant};
use cloister_words::{count, noted, say, text_of};

use super::run::{Here, line};
use super::{COMMANDS, Command, Group, nearest, spell_commands, stored};
use crate::commands::{CommandError, CommandRefusal, Commands};
use crate::error::Fault;
use crate::options::SecondMessage;

/// `/help [COMMAND]`
pub(super) fn help(rest: &str, here: &Here) -> Result<String, CommandRefusal> {
    let p = here.sign();
    let spelled = |text: &str| spell_commands(here.customs.command_sign, text).into_owned();
    let name = rest.trim_start_matches(['/', '!']).to_ascii_lowercase();
    if let Some(command) = COMMANDS.iter().find(|command| command.name == name) {
        return Ok(spelled(&format!("{}: {}", command.usage, text_of(here.to, command.help))));
    }
    if let Some(nearest) = nearest(&name).filter(|_| !name.is_empty()) {
        return Err(CommandRefusal::NoHelp { nearest });
    }
    let mut text = say!(here.to, "Just write what you want. Commands:");
    for group in Group::ALL {
        let of_group = |command: &&Command| command.verb.group() == group;
        let usages: Vec<&str> = COMMANDS.iter().filter(of_group).map(|c| c.usage).collect();
        line(
            &mut text,
            &spelled(&format!("{}: {}", text_of(here.to, group.title()), usages.join(", "))),
        );
    }
    line(
        &mut text,
        &say!(here.to, "{p}help cancel says what {p}cancel does, and so for each.", p = p),
    );
    Ok(text)
}

impl Commands {
    /// `/context`
    pub(super) async fn context(&self, row: &InboxItem, here: &Here) -> Result<String, Fault> {
        let to = here.to;
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
            Ownership::Private { .. } => say!(to, "private"),
            Ownership::Community => say!(to, "shared by its members"),
        };
        let mut text = say!(
            to,
            "{chat}{title} in the workspace of {owner} ({whose}).",
            chat = chat.id,
            title = title,
            owner = owner,
            whose = whose
        );
        let context = here.place.context.clone();
        let context = context.unwrap_or_else(|| say!(to, "the workspace as a whole"));
        line(&mut text, &say!(to, "Context: {context}.", context = context));
        line(&mut text, &say!(to, "Models: {names}.", names = listed(to, &lists.models)));
        line(&mut text, &say!(to, "Tools: {names}.", names = listed(to, &lists.tools)));
        line(&mut text, &say!(to, "Skills: {names}.", names = listed(to, &lists.skills)));
        let count = count!(to, messages.max(0), "{n} message", "{n} messages");
        let began = match since.cleared_at {
            Some(at) => say!(to, "since it was cleared at {time}", time = time(at)),
            None => say!(to, "since it began"),
        };
        line(
            &mut text,
            &say!(to, "In this conversation: {count} {began}.", count = count, began = began),
        );
        line(&mut text, &say!(to, "{p}clear starts it afresh.", p = here.sign()));
        Ok(text)
    }

    /// `/settings [second HOW]`
    pub(super) async fn settings(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        refuse_if_shared(
            here,
            noted!("others read along here, and your settings are for you alone"),
        )?;
        if !rest.is_empty() {
            return self.choose_second_message(row, here, rest).await;
        }
        let (to, p) = (here.to, here.sign());
        let none = || say!(to, "none");
        let user = self.control.store().users().user_by_id(here.by).await?;
        let mut text = say!(to, "You are {name}.", name = user.name);
        let roles: Vec<String> = here.person.roles.iter().map(ToString::to_string).collect();
        let roles = if roles.is_empty() { none() } else { roles.join(", ") };
        line(&mut text, &say!(to, "Roles: {roles}; whoever runs this gives them.", roles = roles));
        line(
            &mut text,
            &say!(to, "Language: {language} ({p}language).", language = to.own_name(), p = p),
        );
        let second = self.control.store().users().second_message(user.name.as_str()).await?;
        let second = second.as_deref().and_then(SecondMessage::parse);
        let second = second.unwrap_or(self.control.inner.parts.cells.second_message);
        line(
            &mut text,
            &say!(
                to,
                "Writing while I still answer you: {what} ({p}settings second queue, steer, interrupt or default).",
                what = what_it_does(to, second),
                p = p
            ),
        );
        let budget = self.control.tasks().budget_line(&user, to).await?;
        line(&mut text, &say!(to, "Budget: {budget} ({p}budget).", budget = budget, p = p));
        let rules = self.control.store().egress().egress_rules(user.id).await?.len();
        line(
            &mut text,
            &say!(
                to,
                "Hosts allowed: {rules} ({p}network, {p}allow, {p}forbid).",
                rules = rules,
                p = p
            ),
        );
        let grants = self.control.gates().grants(user.workspace).await?.len();
        line(
            &mut text,
            &say!(
                to,
                "Allowed for longer than once: {grants} ({p}grants, {p}revoke).",
                grants = grants,
                p = p
            ),
        );
        line(&mut text, &self.linked_accounts(user.id, to).await?);
        let pushes = self.control.store().chats().last_surface(row.workspace, row.chat).await?;
        let pushes = pushes.unwrap_or_else(|| say!(to, "web and terminal"));
        line(
            &mut text,
            &say!(
                to,
                "What ends in the background or needs you is told where you last were; for {chat}: {pushes}.",
                chat = row.chat,
                pushes = pushes
            ),
        );
        line(
            &mut text,
            &say!(to, "This chat: {p}context, {p}rename, {p}clear. All chats: {p}chats.", p = p),
        );
        Ok(text)
    }

    /// `/settings second queue`
    async fn choose_second_message(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        let mut words = rest.split_whitespace();
        let (Some("second"), Some(how), None) = (words.next(), words.next(), words.next()) else {
            return Err(CommandRefusal::SettingWhat.into());
        };
        let chosen = SecondMessage::parse(how);
        if chosen.is_none() && !how.eq_ignore_ascii_case("default") {
            return Err(CommandRefusal::SettingWhat.into());
        }
        let (users, by) = (self.control.store().users(), super::run::who(row));
        users.choose_second_message(&by, here.by, chosen.map(SecondMessage::as_str)).await?;
        let now = chosen.unwrap_or(self.control.inner.parts.cells.second_message);
        Ok(say!(
            here.to,
            "From now on, if you write while I still answer you: {what}.",
            what = what_it_does(here.to, now)
        ))
    }

    async fn linked_accounts(&self, user: UserId, to: Language) -> Result<String, Fault> {
        let accounts = self.control.store().users().identities_of(user).await?;
        let on_surface = |identity: &Identity| {
            let account = &identity.account;
            say!(
                to,
                "{account} on {surface}",
                account = account.external_id,
                surface = account.surface
            )
        };
        let accounts: Vec<String> = accounts.iter().map(on_surface).collect();
        let accounts = if accounts.is_empty() { say!(to, "none") } else { accounts.join(", ") };
        Ok(say!(
            to,
            "Linked accounts: {accounts}; write `pair` to me from another one to link it.",
            accounts = accounts
        ))
    }

    /// `/language [LANGUAGE]`
    pub(super) async fn language(
        &self,
        row: &InboxItem,
        here: &Here,
        rest: &str,
    ) -> Result<String, CommandError> {
        if !rest.is_empty() {
            let no_language = |error| CommandRefusal::NoLanguage { error };
            let language: Language = rest.parse().map_err(no_language)?;
            let languages = self.control.people().languages();
            languages.choose_language(&super::run::who(row), here.by, Some(language)).await?;
            return Ok(say!(language, "I speak English with you now."));
        }
        let others: Vec<&str> = Language::ALL
            .into_iter()
            .filter(|other| *other != here.to)
            .map(Language::own_name)
            .collect();
        Ok(say!(
            here.to,
            "I speak English with you. {p}language and one of these changes it: {others}.",
            p = here.sign(),
            others = others.join(", ")
        ))
    }

    /// `/pair`
    pub(super) async fn pair(&self, here: &Here) -> Result<String, CommandError> {
        let to = here.to;
        if here.surface.is_empty() {
            return Ok(say!(
                to,
                "You are known here: no code is needed on the web or in the terminal. To link an \
                 account elsewhere, write `pair` to the agent from that account."
            ));
        }
        refuse_if_shared(here, noted!("others read along here, and codes are for you alone"))?;
        let name = self.control.store().users().user_by_id(here.by).await?.name;
        let accounts = self.control.store().users().identities_of(here.by).await?;
        let on_surface = accounts.iter().filter(|known| known.account.surface == here.surface);
        let accounts: Vec<_> = on_surface.map(|known| &known.account).collect();
        let [account] = accounts.as_slice() else {
            return Ok(say!(
                to,
                "You are {name} here already. To link another account, write `pair` to me from that one.",
                name = name
            ));
        };
        let shown = account.display_name.as_str();
        let code =
            self.control.people().begin_pairing(&here.surface, &account.external_id, shown).await?;
        Ok(say!(
            to,
            "You are {name} here already. To make {account} somebody else's, have whoever runs this unlink it and \
             enter the code {code} with `cloister pair {code}`, within ten minutes.",
            name = name,
            account = account.external_id,
            code = code
        ))
    }
}

fn what_it_does(to: Language, second: SecondMessage) -> &'static str {
    text_of(
        to,
        match second {
            SecondMessage::Queue => noted!("the answer is finished first"),
            SecondMessage::Steer => noted!("it stops where it is, and both are answered together"),
            SecondMessage::Interrupt => noted!("it is stopped, and the new message is answered"),
        },
    )
}

/// What is a person's own is not said where others read along.
fn refuse_if_shared(here: &Here, noted: &'static str) -> Result<(), CommandRefusal> {
    if here.is_shared() { Err(CommandRefusal::OthersReadAlong { noted }) } else { Ok(()) }
}

fn listed(to: Language, names: &Names) -> String {
    match names {
        Names::All => say!(to, "all"),
        Names::Only(names) if names.is_empty() => say!(to, "none"),
        Names::Only(names) => names.iter().map(String::as_str).collect::<Vec<_>>().join(", "),
    }
}

fn time(ms: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(ms).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
