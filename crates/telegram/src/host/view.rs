//! A bot as an operator sees it.

use cloister_kit::adding::goes_in_the_clear;
use cloister_protocol::surface::Connector;

use crate::bot::{Bot, BotSettings};

pub(super) fn settings(connector: &Connector) -> BotSettings {
    serde_json::from_value(connector.settings.clone()).unwrap_or_default()
}

/// What is known of a bot besides what every connector shows.
pub(super) fn facts(bot: Option<&Bot>, connector: &Connector) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut say = |what: &str, words: &str| facts.push((what.to_owned(), words.to_owned()));
    let settings = settings(connector);
    if let Some(bot) = bot {
        told_by_telegram(bot, &mut say);
    }
    say("serves", settings.owner.as_deref().unwrap_or("everybody who is known here"));
    match &settings.webhook {
        Some(base) => say("updates", &format!("delivered to {base} (webhook)")),
        None => say("updates", "asked for (long polling)"),
    }
    if goes_in_the_clear(&connector.address) {
        say("transport", "plain http: what is sent, the token too, can be read on the way");
    }
    facts
}

fn told_by_telegram(bot: &Bot, say: &mut impl FnMut(&str, &str)) {
    if let Some(username) = &bot.me.username {
        say("name", &format!("@{username}"));
    }
    say("bot", &format!("{} ({})", bot.me.first_name, bot.me.id));
    say("topics", if bot.topics().enabled() { "on: a topic per chat" } else { TOPICS_OFF });
    let all = bot.me.can_read_all_group_messages.unwrap_or(false);
    say("groups", if all { "reads everything" } else { "privacy mode: is told what names it" });
    if !bot.me.can_join_groups.unwrap_or(true) {
        say("joining", "can't be added to groups (/setjoingroups at @BotFather)");
    }
}

const TOPICS_OFF: &str =
    "off: one conversation shows one chat at a time (switch them on at @BotFather, Bot Settings)";
