//! What a person or a community is told when somebody else changes what is theirs.
//!
//! Promises: silence is what is listed here with a reason; everything else that somebody else does to it is told, if
//! need be by the name that the audit has for it.

use cloister_policy::legible;
use cloister_protocol::Language;
use cloister_store::outbox::OutboxItem;
use cloister_store::telling::{Deed, Teller};
use cloister_words::say;

use crate::hub::Hub;

/// What is not told from here, and why.
pub(super) const SILENT: &[(&str, &str)] = &[
    ("identity.link", "told by who links: also somebody who was never here"),
    ("session.new", "told by who opens it, unless that is whoever runs the machine"),
    ("login.new", "told by who makes it, unless that is whoever runs the machine"),
    ("role.give", "told with the role, as its holder and the owner of the place need it"),
    ("role.take", "told with the role, as its holder and the owner of the place need it"),
    ("approval.answer", "shown at the question"),
    ("approval.refused", "nothing was changed"),
    ("budget.raise", "shown at the question"),
    ("gate.pass", "what it allows is told where it was asked"),
    ("gate.deny", "nothing was changed"),
    ("chat.new", "shown in the list of chats"),
    ("chat.rename", "shown in the list of chats"),
    ("chat.archive", "shown in the list of chats"),
    ("chat.reopen", "shown in the list of chats"),
    ("chat.restore", "shown in the list of chats"),
    ("chat.pin", "shown in the list of chats"),
    ("chat.unpin", "shown in the list of chats"),
    ("chat.branch", "shown in the list of chats"),
    ("chat.clear", "said in the chat"),
    ("model.choose", "what somebody else connects is told; the choice follows from it"),
    ("message.in", "shown in the chat"),
    ("file.upload", "shown in the chat"),
    ("file.download", "nothing was changed"),
    ("file.delete", "shown in the chat"),
    ("task.new", "told when it ends"),
    ("task.end", "told as the end of the task"),
    ("task.retry", "told when it ends"),
    ("cell.stop", "started again by the next message"),
];

/// Tells them in their language, and whoever looks at once.
#[derive(Clone, Debug)]
pub(crate) struct ToOwners {
    pub(crate) hub: Hub,
    /// That of who chose none.
    pub(crate) language: Language,
}

impl Teller for ToOwners {
    fn words(&self, deed: &Deed<'_>, to: Option<Language>) -> Option<String> {
        let to = to.unwrap_or(self.language);
        if SILENT.iter().any(|(action, _)| *action == deed.action) {
            return None;
        }
        // Of what was made ready for somebody who was never here there is nobody to tell.
        let ends_presence = ["identity.unlink", "session.end", "session.end_all"];
        if deed.is_newcomer && !ends_presence.contains(&deed.action) {
            return None;
        }
        let tail = say!(to, "If you did not want this, tell whoever runs this.");
        Some(format!("{} {tail}", said(deed, to)))
    }

    fn stored(&self, item: OutboxItem) {
        self.hub.say_stored(item);
    }
}

fn said(deed: &Deed<'_>, to: Language) -> String {
    let by = deed.by.map_or_else(|| say!(to, "the operator"), |name| legible(name).into_owned());
    let (what, with) = (legible(deed.subject), legible(deed.detail));
    match deed.action {
        "egress.allow" => {
            say!(
                to,
                "{by} let your agent's tasks reach {with}: /forbid {with} takes it back.",
                by,
                with
            )
        }
        "egress.forbid" => {
            say!(to, "{by} took {with} from what your agent's tasks may reach.", by, with)
        }
        "model.add_own" => say!(
            to,
            "{by} connected the model {what} in your name ({with}). What you write goes there where it answers: /model shows and changes that.",
            by,
            what,
            with
        ),
        "model.remove_own" => {
            say!(to, "{by} removed the model {what} that was connected in your name.", by, what)
        }
        "secret.set" => say!(to, "{by} set the value of your secret {what}.", by, what),
        "secret.rotate" => say!(to, "{by} gave your secret {what} a new value.", by, what),
        "secret.bind" => say!(to, "{by} changed where your secret {what} is sent.", by, what),
        "secret.remove" => say!(to, "{by} removed your secret {what}.", by, what),
        "config.change" => say!(
            to,
            "{by} changed what your agent is told of itself and of you: {files}.",
            by,
            files = without_folder(&what)
        ),
        "agent.add" => say!(to, "{by} made an agent for you: {with}.", by, with),
        "agent.rename" => {
            say!(to, "{by} gave your agent {what} another name: {with}.", by, what, with)
        }
        "agent.rm" => say!(to, "{by} removed your agent {what}.", by, what),
        "agent.restore" => say!(to, "{by} took back your agent {what} that was removed.", by, what),
        "context.set" => match room_of(deed.detail) {
            Some(room) => say!(
                to,
                "{by} set up the context {what}: what is said in {room} belongs to it.",
                by,
                what,
                room = legible(&room)
            ),
            None => say!(to, "{by} changed what may be used in the context {what}.", by, what),
        },
        "context.rm" => say!(to, "{by} removed the context {what} with its chats.", by, what),
        "grant.revoke" => {
            say!(to, "{by} took back what you had allowed for good ({what}).", by, what)
        }
        "session.end" => say!(to, "{by} ended a session of yours.", by),
        "session.end_all" => {
            say!(to, "{by} ended all your sessions in browsers and terminals.", by)
        }
        "identity.unlink" => {
            say!(to, "{by} unlinked your account {what}: it is nobody here now.", by, what)
        }
        "user.export" => {
            say!(to, "{by} reads all that is yours, to take a copy of it along.", by)
        }
        "client.invite" => {
            say!(
                to,
                "{by} invited a machine that can then administer as you: `cloister admin clients` lists them.",
                by
            )
        }
        other => say!(to, "{by} did this to what is yours: {other} {what}.", by, other, what),
    }
}

/// The conversation that a context is bound to, as its entry says it.
fn room_of(detail: &str) -> Option<String> {
    let detail: serde_json::Value = serde_json::from_str(detail).ok()?;
    detail.get("conversation")?.as_str().map(str::to_owned)
}

/// Paths in a workspace as its owner knows them.
fn without_folder(paths: &str) -> String {
    let names = paths.split_whitespace();
    names
        .map(|path| path.split_once('/').map_or(path, |(_, name)| name))
        .collect::<Vec<_>>()
        .join(", ")
}

#[cfg(test)]
#[path = "telling_tests.rs"]
mod tests;
