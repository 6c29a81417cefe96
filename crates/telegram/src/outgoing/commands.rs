//! The commands that Telegram offers while a person types, for whom and in which language.
//!
//! Told only when they changed since this bot was connected.

use cloister_protocol::surface::MenuItem;
use serde::de::IgnoredAny;
use sha2::{Digest, Sha256};

use super::locked;
use crate::bot::Bot;
use crate::session::Fault;
use crate::session::methods::{Command, CommandScope, SetMyCommands};

const MAX_DESCRIPTION: usize = 256;
const MAX_COMMANDS: usize = 100;
const MAX_NAME: usize = 32;

/// What is of use in a group.
const IN_GROUPS: &[&str] = &[
    "task",
    "tasks",
    "status",
    "cancel",
    "retry",
    "undo",
    "new",
    "chats",
    "rename",
    "approve",
    "deny",
    "yes",
    "no",
    "approvals",
    "context",
    "clear",
    "help",
];
/// What is of use in a group to those who administer it.
const FOR_ADMINS: &[&str] = &["admin_channel", "settings", "grants", "revoke", "network", "budget"];
/// What nobody needs to be reminded of.
const UNTOLD: &[&str] = &["stop", "release"];

/// What each command does, in Russian.
const RUSSIAN: &[(&str, &str)] = &[
    ("start", "кто я и с чего начать"),
    ("help", "что можно написать"),
    ("settings", "как всё настроено и чем это меняется"),
    ("config", "то же, что /settings"),
    ("language", "на каком языке я с вами говорю, или другой"),
    ("pair", "код, который свяжет этот аккаунт с пользователем"),
    ("new", "начать новый чат"),
    ("branch", "новый чат, который начинается с этого разговора"),
    ("chats", "список чатов или переход к одному из них"),
    ("rename", "назвать этот чат"),
    ("archive", "убрать чат в архив или достать из него"),
    ("clear", "забыть этот разговор и начать заново"),
    ("context", "что это за чат, его пределы и сколько в нём всего"),
    ("model", "какая модель отвечает в чате; выбрать другую"),
    ("agent", "какие у вас агенты; перейти к одному, создать или убрать"),
    ("status", "что сейчас происходит"),
    ("tasks", "задачи этого рабочего пространства"),
    ("task", "сразу начать задачу, показать одну или её файлы"),
    ("cancel", "остановить задачу или всё в этом чате"),
    ("retry", "повторить неудавшуюся или отменённую задачу"),
    ("undo", "отменить то, что задача сделала с файлами, или вернуть"),
    ("yes", "разрешить то, о чём спрашивают в этом чате"),
    ("no", "отказать в том, о чём спрашивают в этом чате"),
    ("approve", "разрешить: один раз, для задачи или всегда"),
    ("deny", "отказать; stop ещё и завершит задачу"),
    ("approvals", "что ждёт ответа, целиком"),
    ("grants", "что разрешено дольше, чем на один раз"),
    ("revoke", "отозвать разрешение"),
    ("budget", "сколько потрачено; владелец может задать дневной предел"),
    ("allow", "пустить задачи агента на узел сети"),
    ("forbid", "отменить это"),
    ("network", "куда могут ходить задачи агента"),
    ("admin_channel", "сообщать здесь операторам то, что им нужно знать"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Private,
    Groups,
    Admins,
}

impl Scope {
    const ALL: [Self; 3] = [Self::Private, Self::Groups, Self::Admins];

    const fn wire(self) -> CommandScope {
        match self {
            Self::Private => CommandScope::Private,
            Self::Groups => CommandScope::Groups,
            Self::Admins => CommandScope::Administrators,
        }
    }

    fn has(self, name: &str) -> bool {
        match self {
            _ if UNTOLD.contains(&name) => false,
            Self::Private => name != "admin_channel",
            Self::Groups => IN_GROUPS.contains(&name),
            Self::Admins => IN_GROUPS.contains(&name) || FOR_ADMINS.contains(&name),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    /// Whoever speaks no other.
    English,
    Russian,
}

impl Language {
    const ALL: [Self; 2] = [Self::English, Self::Russian];

    const fn code(self) -> Option<&'static str> {
        match self {
            Self::English => None,
            Self::Russian => Some("ru"),
        }
    }

    fn describes(self, item: &MenuItem) -> String {
        let told = match self {
            Self::English => None,
            Self::Russian => RUSSIAN.iter().find(|(name, _)| *name == item.name),
        };
        let told = told.map_or(item.help.as_str(), |(_, words)| words);
        told.chars().take(MAX_DESCRIPTION).collect()
    }
}

/// The commands of a scope, as Telegram takes them.
fn commands(menu: &[MenuItem], scope: Scope, language: Language) -> Vec<Command> {
    let offered = menu.iter().filter(|item| scope.has(&item.name) && is_name(&item.name));
    let command = |item: &MenuItem| Command {
        command: item.name.clone(),
        description: language.describes(item),
    };
    offered.map(command).take(MAX_COMMANDS).collect()
}

fn is_name(name: &str) -> bool {
    let fine = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    !name.is_empty() && name.len() <= MAX_NAME && name.bytes().all(fine)
}

fn all(menu: &[MenuItem]) -> Vec<SetMyCommands> {
    let mut all = Vec::new();
    for scope in Scope::ALL {
        for language in Language::ALL {
            all.push(SetMyCommands {
                commands: commands(menu, scope, language),
                scope: scope.wire(),
                language_code: language.code(),
            });
        }
    }
    all
}

/// Tells Telegram which commands there are, if it was not told the same before.
pub(crate) async fn set_commands(bot: &Bot) -> Result<(), Fault> {
    let all = all(&bot.plane.commands().menu);
    let mut hash = Sha256::new();
    for told in &all {
        hash.update(format!("{told:?}\n"));
    }
    let now: [u8; 32] = hash.finalize().into();
    if *locked(&bot.sending.commands) == Some(now) {
        return Ok(());
    }
    for told in &all {
        bot.api.call::<_, IgnoredAny>(told).await?;
    }
    *locked(&bot.sending.commands) = Some(now);
    Ok(())
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
