//! What staff and the agent say to each other in private, shown in the admin hub of the connector they say it
//! over: one notice per exchange, when it is answered.

use std::collections::BTreeMap;

use cloister_policy::legible;
use cloister_protocol::UserId;
use cloister_protocol::link::Cause;
use cloister_store::admin_hub::{AdminHub, Exchange, Mirrored};
use cloister_store::conversations::{Conversation, ConversationKind};
use cloister_store::inbox::InboxItem;
use cloister_vault::Owner;
use tokio::time::Instant;

use super::{code, staff_role};
use crate::commands;
use crate::error::Fault;
use crate::surfaces::AdminHubs;
use crate::surfaces::words;

/// How many exchanges are looked at in one go.
const AT_ONCE: u32 = 100;
/// How much of a message and of an answer is shown, in characters.
const MOST_ASKED: usize = 1_000;
const MOST_ANSWERED: usize = 2_000;
/// Files that are named.
const MOST_FILES: usize = 5;
/// What could not be shown for so long is not shown any more.
const TOO_LATE_MS: i64 = 60 * 60 * 1000;
/// Shorter secrets are found in too much that is none.
const SHORTEST_SECRET: usize = 6;

const HOLDS_A_SECRET: &str = "*(not shown: it holds a secret)*";

impl AdminHubs {
    /// Tells staff who have a private conversation on the connector already that it is shown from now on.
    pub(super) async fn tell_staff(&self, hub: &AdminHub) -> Result<(), Fault> {
        let mut private: BTreeMap<UserId, Conversation> = BTreeMap::new();
        for found in self.control.store().conversations().of(hub.connector).await? {
            let usable = found.external_id.is_some() && found.broken.is_none();
            if let (true, Some(user)) =
                (usable && found.kind != ConversationKind::Shared, found.user)
            {
                private.entry(user).or_insert(found);
            }
        }
        for (user, conversation) in private {
            self.tell_if_staff(hub, user, &conversation).await?;
        }
        Ok(())
    }

    /// Whether somebody is staff; they are told what that means here, once.
    async fn tell_if_staff(
        &self,
        hub: &AdminHub,
        user: UserId,
        conversation: &Conversation,
    ) -> Result<bool, Fault> {
        let person = self.control.people().person(user).await?;
        let place = &hub.conversation;
        let Some(held) = staff_role(&person.roles, place.workspace) else { return Ok(false) };
        if self.control.store().outbox().told_of_mirror(hub, user).await?.is_some() {
            return Ok(true);
        }
        let context =
            self.control.store().chats().context_of_chat(place.workspace, place.chat).await?;
        let community = self.control.store().users().user_of(place.workspace).await?.name;
        let text = format!(
            "From now on, what you write to me here and what I answer is also shown in the admin hub of \
             this account ({} of {community}), because you are {held}. Commands, what I ask you and the \
             contents of files are not. On the web and in the terminal you are by yourself with me.",
            code(&context.unwrap_or_default()),
        );
        let told =
            self.control.store().outbox().tell_of_mirror(hub, user, conversation, &text).await?;
        self.say_all(told);
        Ok(true)
    }

    /// Shows a hub what was said since it was last looked, as fast as that is allowed.
    pub(super) async fn mirror_to(&self, hub: &AdminHub) -> Result<(), Fault> {
        let (exchanges, all_up_to) = self.control.store().outbox().exchanges(hub, AT_ONCE).await?;
        let too_late = self.control.store().clock.now_ms().saturating_sub(TOO_LATE_MS);
        let mut shown = Vec::new();
        let mut up_to = all_up_to;
        let mut before = hub.mirrored_to;
        for exchange in exchanges {
            if let Some(text) = self.to_be_shown(hub, &exchange).await? {
                if exchange.answered_at < too_late {
                    tracing::warn!(hub = hub.account, "something was too late for the admin hub");
                } else if self.hub_pace().mirrored.take(hub.connector, Instant::now()).is_ok() {
                    shown.push(Mirrored { user: exchange.user, row: exchange.row, text });
                } else {
                    up_to = before;
                    break;
                }
            }
            before = exchange.row;
        }
        if up_to > hub.mirrored_to {
            let told = self.control.store().outbox().mirror(hub, up_to, &shown).await?;
            self.say_all(told);
        }
        Ok(())
    }

    /// What of an exchange is shown; none: it is nobody's business.
    async fn to_be_shown(
        &self,
        hub: &AdminHub,
        exchange: &Exchange,
    ) -> Result<Option<String>, Fault> {
        let Some(asked_at) = self.asked_there(hub, exchange).await? else { return Ok(None) };
        let user = exchange.user;
        let Some(there) =
            self.control.store().conversations().conversation_by_id(exchange.conversation).await?
        else {
            return Ok(None);
        };
        let told_at = self.control.store().outbox().told_of_mirror(hub, user).await?;
        if !self.tell_if_staff(hub, user, &there).await? {
            return Ok(None);
        }
        // What was said before they knew stays between the two.
        if told_at.is_none_or(|at| asked_at < at) {
            return Ok(None);
        }
        let secrets = self.secrets_near(user).await?;
        let name = self.control.store().users().user_by_id(user).await?.name;
        Ok(Some(said(name.as_str(), exchange, &secrets)))
    }

    /// When what an exchange is about was asked, if that was in private over the connector of the hub and is shown.
    /// What was begun on the web or over another connector stays there, wherever its end is told.
    async fn asked_there(&self, hub: &AdminHub, exchange: &Exchange) -> Result<Option<i64>, Fault> {
        let Some(began) = self.control.store().outbox().began_with(exchange.asked).await? else {
            return Ok(None);
        };
        let Some(id) = began.conversation.filter(|_| is_shown(&began)) else {
            return Ok(None);
        };
        let there = self.control.store().conversations().conversation_by_id(id).await?;
        let private = there.is_some_and(|there| {
            there.connector == hub.connector
                && there.kind != ConversationKind::Shared
                && there.user == Some(exchange.user)
        });
        Ok(private.then_some(began.received_at))
    }

    /// Every secret that this person or the platform has, with what is inside of those that have parts.
    async fn secrets_near(&self, user: UserId) -> Result<Vec<Vec<u8>>, Fault> {
        let mut secrets = Vec::new();
        for owner in [Owner::User(user), Owner::Platform] {
            for opened in
                self.control.store().secrets().open_secrets(self.control.keys(), owner).await?
            {
                let bytes = opened.value.expose();
                if let Ok(parts) = serde_json::from_slice::<serde_json::Map<_, _>>(bytes) {
                    let texts = parts.values().filter_map(serde_json::Value::as_str);
                    secrets.extend(texts.map(|text| text.as_bytes().to_vec()));
                }
                secrets.push(bytes.to_vec());
            }
        }
        secrets.retain(|secret| secret.len() >= SHORTEST_SECRET);
        Ok(secrets)
    }
}

/// Commands are answered by the control plane, with what is the asker's alone: limits, codes, what waits. What a
/// command began is as little shown as the command.
fn is_shown(began: &InboxItem) -> bool {
    match &began.cause {
        Cause::Message { text, .. } => {
            commands::of(began).is_none() && !cloister_kit::words::asks_to_pair(text)
        }
        Cause::TasksEnded { .. } | Cause::Clear => false,
    }
}

/// An exchange in words.
fn said(name: &str, exchange: &Exchange, secrets: &[Vec<u8>]) -> String {
    let chat = exchange.chat;
    let answer = quote(&exchange.answer, MOST_ANSWERED, secrets);
    match &exchange.cause {
        Cause::Message { text, attachments, .. } => {
            let names = attachments.iter().take(MOST_FILES).map(|file| code(&file.name));
            let names: Vec<String> = names.collect();
            let files = match attachments.len().checked_sub(names.len()) {
                Some(more) if more > 0 => {
                    format!("\n\nFiles: {} and {more} more", names.join(", "))
                }
                _ if names.is_empty() => String::new(),
                _ => format!("\n\nFiles: {}", names.join(", ")),
            };
            let asked = quote(text, MOST_ASKED, secrets);
            format!("**{name}** wrote in {chat}:\n\n{asked}{files}\n\nThe answer:\n\n{answer}")
        }
        Cause::TasksEnded { .. } | Cause::Clear => {
            format!("**{name}** was told in {chat}, when a task ended:\n\n{answer}")
        }
    }
}

fn quote(text: &str, most: usize, secrets: &[Vec<u8>]) -> String {
    let holds = |secret: &Vec<u8>| {
        text.as_bytes().windows(secret.len()).any(|window| window == secret.as_slice())
    };
    if secrets.iter().any(holds) {
        return HOLDS_A_SECRET.to_owned();
    }
    if text.trim().is_empty() {
        return "*(nothing)*".to_owned();
    }
    let short = words::short(text.trim(), most);
    let lines: Vec<String> = legible(&short).lines().map(|line| format!("> {line}")).collect();
    lines.join("\n")
}
