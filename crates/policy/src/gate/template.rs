//! Templates: what "always in this chat" means, per kind of action.
//!
//! A template is made from an effect that a person saw, never written by hand and never by a cell.
//! What makes an action dangerous is fixed in it, byte by byte; only what the person can't have meant
//! to fix (the text of a mail, the body of a request) is free. There are no wildcards and no prefixes,
//! so there is nothing that an argument could be made to look like.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::effect::{Action, Effect, Mail};
use crate::outgoing::Outgoing;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Template {
    /// This command, to the byte, in this folder and with these variables.
    Command {
        text: String,
        folder: String,
        environment: Vec<(String, String)>,
    },
    /// This method to this address; its query, its headers and the secrets on it are fixed, its body
    /// is free.
    Request {
        method: String,
        scheme: String,
        host: String,
        port: u16,
        path: String,
        query: Option<String>,
        /// As they are sent. A template from before they were part of it covers nothing.
        #[serde(default)]
        headers: Vec<(String, String)>,
        #[serde(default)]
        secrets: Vec<String>,
    },
    /// Mails from this mailbox to exactly these recipients, without attachments.
    Mail {
        mailbox: String,
        to: BTreeSet<String>,
        cc: BTreeSet<String>,
        bcc: BTreeSet<String>,
    },
    Post {
        place: String,
    },
    UseSecret {
        name: String,
        host: String,
    },
    /// Changes to this one file of the agent's.
    Keep {
        what: String,
        path: String,
    },
    /// This call, to the byte.
    Tool {
        name: String,
        arguments: String,
    },
}

impl Template {
    /// What "always" would cover after this effect. None: there is no always for it.
    pub fn of(effect: &Effect) -> Option<Self> {
        let surroundings = &effect.surroundings;
        match &effect.action {
            Action::Command { text } => Some(Self::Command {
                text: text.clone(),
                folder: surroundings.folder.clone(),
                environment: surroundings.environment.clone().into_iter().collect(),
            }),
            Action::Request(request) => Some(Self::of_request(request)),
            Action::Mail(mail) => Self::of_mail(mail),
            Action::Post { place, text: _ } => Some(Self::Post { place: place.clone() }),
            Action::UseSecret { name, host } => {
                Some(Self::UseSecret { name: name.clone(), host: host.to_string() })
            }
            Action::Keep { what, path, diff: _ } => {
                Some(Self::Keep { what: what.as_str().to_owned(), path: path.clone() })
            }
            Action::Tool { name, arguments } => {
                Some(Self::Tool { name: name.clone(), arguments: arguments.clone() })
            }
            // What is gone is gone, and money is money: each is asked about by itself.
            Action::ChangeFile { .. } | Action::DeleteFile { .. } | Action::Spend { .. } => None,
            // It is about one task.
            Action::Choose { .. } => None,
        }
    }

    fn of_request(request: &Outgoing) -> Self {
        let to = request.to();
        Self::Request {
            method: request.method().as_str().to_owned(),
            scheme: to.scheme.as_str().to_owned(),
            host: to.host.to_string(),
            port: to.port,
            path: to.path.clone(),
            query: request.query().map(str::to_owned),
            headers: request.headers().to_vec(),
            secrets: request.secrets().to_vec(),
        }
    }

    fn of_mail(mail: &Mail) -> Option<Self> {
        let Mail { mailbox, to, cc, bcc, subject: _, body: _, attachments } = mail;
        let set = |list: &[String]| list.iter().cloned().collect();
        attachments.is_empty().then(|| Self::Mail {
            mailbox: mailbox.clone(),
            to: set(to),
            cc: set(cc),
            bcc: set(bcc),
        })
    }

    /// Whether nothing in it is free: it covers the one action that was seen, again, and no other.
    pub const fn is_exact(&self) -> bool {
        match self {
            Self::Command { .. } | Self::Tool { .. } | Self::UseSecret { .. } => true,
            Self::Request { .. } | Self::Mail { .. } | Self::Post { .. } | Self::Keep { .. } => {
                false
            }
        }
    }

    pub fn covers(&self, effect: &Effect) -> bool {
        Self::of(effect).as_ref() == Some(self)
    }

    /// What it covers, for a list of grants.
    pub fn describe(&self) -> String {
        use super::render::{Reading, visible};
        let list = |set: &BTreeSet<String>| set.iter().cloned().collect::<Vec<_>>().join(", ");
        let text = match self {
            Self::Command { text, folder, environment: _ } => format!("run {text} in {folder}"),
            Self::Request { method, scheme, host, port, path, query, headers, secrets } => {
                let query = query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
                let to = format!("{scheme}://{host}:{port}{path}{query}");
                let kind = headers.iter().find(|(name, _)| name == "content-type");
                let kind = kind.map(|(_, kind)| format!(" of the kind {kind}")).unwrap_or_default();
                let with = if secrets.is_empty() {
                    String::new()
                } else {
                    format!(" and the secret {}", secrets.join(", "))
                };
                format!("send {method} to {to}, with any body{kind}{with} and the same headers")
            }
            Self::Mail { mailbox, to, cc, bcc } => {
                let copies = if cc.is_empty() && bcc.is_empty() {
                    String::new()
                } else {
                    format!(" (cc {}; bcc {})", list(cc), list(bcc))
                };
                format!("mail {}{copies} from {mailbox}, with any text and no attachment", list(to))
            }
            Self::Post { place } => format!("post to {place}, with any text"),
            Self::UseSecret { name, host } => format!("use the secret {name} at {host}"),
            Self::Keep { what, path } => format!("change {path} in {what}"),
            Self::Tool { name, arguments } => format!("call the tool {name} with {arguments}"),
        };
        visible(&text, Reading::Machine)
    }
}
