//! What exactly will happen.
//!
//! An effect is everything that an approval is about. Its digest covers the kind, every argument, the
//! working folder, the environment, the target file and the resolved host: whoever changes a byte of
//! any of them has another effect. Who asks and why is shown, and is not part of it.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;

use cloister_protocol::link::Lasting;
use cloister_protocol::{ChatId, TaskId, UserId, WorkspaceId};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::render::{Reading, visible, visible_bytes};
use crate::class::Class;
use crate::egress::Host;
use crate::outgoing::Outgoing;
use crate::provenance::Labels;

/// The SHA-256 of an effect's canonical bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// As it is written out: 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Self(bytes)).filter(|digest| digest.to_string() == text)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A command, as the shell gets it.
    Command {
        text: String,
    },
    /// A change to a file of the person's.
    ChangeFile {
        path: String,
        diff: String,
    },
    DeleteFile {
        path: String,
    },
    /// A request to a host outside, as it is sent.
    Request(Box<Outgoing>),
    /// More of what a task chooses by itself to ask a host for, where others' content is in it.
    Choose {
        host: Host,
    },
    Mail(Mail),
    /// A message to a place on a surface.
    Post {
        place: String,
        text: String,
    },
    UseSecret {
        name: String,
        host: Host,
    },
    Spend {
        payee: String,
        amount: String,
        what: String,
    },
    /// A write that outlives the task.
    Keep {
        what: Lasting,
        path: String,
        diff: String,
    },
    /// A tool that is none of these, with its arguments as JSON text.
    Tool {
        name: String,
        arguments: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    pub mailbox: String,
    pub to: Vec<String>,
    pub cc: Vec<String>,
    pub bcc: Vec<String>,
    pub subject: String,
    pub body: String,
    pub attachments: Vec<AttachedFile>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedFile {
    pub name: String,
    pub bytes: u64,
    pub sha256: [u8; 32],
}

/// A file that is acted on, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFile {
    pub path: String,
    /// None: it does not exist.
    pub sha256: Option<[u8; 32]>,
}

/// What surrounds an action, and changes what it does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Surroundings {
    pub folder: String,
    pub environment: BTreeMap<String, String>,
    pub target: Option<TargetFile>,
    /// The addresses that the host was found at, one of which will be dialled.
    pub addresses: Vec<IpAddr>,
}

/// Who asks, and why; where that came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    pub user: UserId,
    pub workspace: WorkspaceId,
    /// Where it works.
    pub chat: ChatId,
    /// None: the coordinator itself.
    pub task: Option<TaskId>,
    /// In the words of the agent: shown as such, and believed by nothing.
    pub why: String,
    pub origin: Labels,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    pub action: Action,
    pub surroundings: Surroundings,
    pub asker: Asker,
}

/// A line of an approval: a name, and a value in full.
struct Field {
    name: &'static str,
    value: String,
    reading: Reading,
}

/// An effect as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rendered {
    /// One line: what kind of thing it is, and on what.
    pub title: String,
    /// Everything, in full, with nothing invisible in it.
    pub text: String,
    /// Of the effect: what the answer will be bound to.
    pub digest: String,
}

impl Effect {
    pub fn digest(&self) -> Digest {
        let mut canonical = Canonical(Sha256::new());
        canonical.add(b"cloister effect 2");
        self.action.canonical(&mut canonical);
        let Surroundings { folder, environment, target, addresses } = &self.surroundings;
        canonical.text(folder);
        canonical.count(environment.len());
        for (name, value) in environment {
            canonical.text(name);
            canonical.text(value);
        }
        canonical.option(target.as_ref(), |canonical, target| {
            canonical.text(&target.path);
            canonical.option(target.sha256.as_ref(), |canonical, hash| canonical.add(hash));
        });
        canonical.count(addresses.len());
        addresses.iter().for_each(|address| canonical.text(&address.to_string()));
        Digest(canonical.0.finalize().into())
    }

    /// One line: what kind of thing it is, and on what.
    pub fn title(&self) -> String {
        self.action.title()
    }

    /// The text of an approval. Values are indented, so that none can pass for a field of its own.
    pub fn render(&self, class: Class, reason: &str) -> Rendered {
        let digest = self.digest().to_string();
        let mut fields = self.action.fields();
        fields.extend(self.surroundings.fields());
        let Asker { user, workspace: _, chat: _, task, why, origin } = &self.asker;
        let asks = task.map_or_else(|| "the coordinator".to_owned(), |task| format!("task {task}"));
        fields.push(prose("asked by", &asks));
        fields.push(prose("says why (the agent's words)", why));
        for mark in origin.untrusted_for(*user) {
            fields.push(prose("has read (untrusted)", &mark.to_string()));
        }
        fields.push(prose("class", &format!("{class}: {reason}")));
        fields.push(machine("digest", &digest));
        let text: String = fields.iter().map(Field::to_string).collect();
        Rendered { title: self.action.title(), text, digest }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = match self.reading {
            Reading::Machine | Reading::Prose => visible(&self.value, self.reading),
            Reading::Shown => self.value.clone(),
        };
        if shown.contains('\n') {
            writeln!(f, "{}:", self.name)?;
            return shown.split('\n').try_for_each(|line| writeln!(f, "    {line}"));
        }
        writeln!(f, "{}: {shown}", self.name)
    }
}

fn machine(name: &'static str, value: &str) -> Field {
    Field { name, value: value.to_owned(), reading: Reading::Machine }
}

fn prose(name: &'static str, value: &str) -> Field {
    Field { name, value: value.to_owned(), reading: Reading::Prose }
}

impl Surroundings {
    fn fields(&self) -> Vec<Field> {
        let Self { folder, environment, target, addresses } = self;
        let mut fields = Vec::new();
        if !folder.is_empty() {
            fields.push(machine("in the folder", folder));
        }
        fields.extend(
            environment.iter().map(|(name, value)| machine("with", &format!("{name}={value}"))),
        );
        if let Some(target) = target {
            let now = if target.sha256.is_some() { "" } else { " (does not exist yet)" };
            fields.push(machine("on the file", &format!("{}{now}", target.path)));
        }
        let found = addresses.iter().map(|address| machine("found at", &address.to_string()));
        fields.extend(found);
        fields
    }
}

/// Bytes that mean one thing only: everything has its length in front of it.
pub(super) struct Canonical(Sha256);

impl Canonical {
    fn add(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.add(text.as_bytes());
    }

    fn count(&mut self, count: usize) {
        self.0.update(u64::try_from(count).unwrap_or(u64::MAX).to_be_bytes());
    }

    fn option<T>(&mut self, value: Option<&T>, add: impl FnOnce(&mut Self, &T)) {
        self.count(usize::from(value.is_some()));
        if let Some(value) = value {
            add(self, value);
        }
    }

    fn texts(&mut self, texts: &[String]) {
        self.count(texts.len());
        texts.iter().for_each(|text| self.text(text));
    }
}

impl Action {
    /// The kind, in a word that never changes.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Command { .. } => "command",
            Self::ChangeFile { .. } => "change_file",
            Self::DeleteFile { .. } => "delete_file",
            Self::Request(_) => "request",
            Self::Choose { .. } => "choose",
            Self::Mail(_) => "mail",
            Self::Post { .. } => "post",
            Self::UseSecret { .. } => "use_secret",
            Self::Spend { .. } => "spend",
            Self::Keep { .. } => "keep",
            Self::Tool { .. } => "tool",
        }
    }

    fn canonical(&self, to: &mut Canonical) {
        to.text(self.kind());
        match self {
            Self::Command { text } => to.text(text),
            Self::ChangeFile { path, diff } => {
                to.text(path);
                to.text(diff);
            }
            Self::DeleteFile { path } => to.text(path),
            Self::Request(request) => request_canonical(request, to),
            Self::Choose { host } => to.text(host.as_str()),
            Self::Mail(mail) => mail.canonical(to),
            Self::Post { place, text } => {
                to.text(place);
                to.text(text);
            }
            Self::UseSecret { name, host } => {
                to.text(name);
                to.text(host.as_str());
            }
            Self::Spend { payee, amount, what } => {
                to.text(payee);
                to.text(amount);
                to.text(what);
            }
            Self::Keep { what, path, diff } => {
                to.text(what.as_str());
                to.text(path);
                to.text(diff);
            }
            Self::Tool { name, arguments } => {
                to.text(name);
                to.text(arguments);
            }
        }
    }

    fn title(&self) -> String {
        let short = |text: &str| {
            let shown: String = visible(text, Reading::Machine).replace('\n', " ⏎ ");
            let cut: String = shown.chars().take(80).collect();
            let more = text.chars().count().saturating_sub(80);
            if shown.chars().count() > 80 {
                format!("{cut}… (about {more} characters more)")
            } else {
                cut
            }
        };
        match self {
            Self::Command { text } => format!("run: {}", short(text)),
            Self::ChangeFile { path, .. } => format!("change the file {}", short(path)),
            Self::DeleteFile { path } => format!("delete the file {}", short(path)),
            Self::Request(request) => {
                format!("send {} to {}", request.method().as_str(), request.to().authority())
            }
            Self::Choose { host } => format!("go on asking {host} for what it chooses"),
            Self::Mail(mail) => format!("send a mail to {}", short(&mail.everyone().join(", "))),
            Self::Post { place, .. } => format!("post to {}", short(place)),
            Self::UseSecret { name, host } => format!("use the secret {} at {host}", short(name)),
            Self::Spend { payee, amount, .. } => {
                format!("pay {} to {}", short(amount), short(payee))
            }
            Self::Keep { what, path, .. } => format!("write to {}: {}", what.as_str(), short(path)),
            Self::Tool { name, .. } => format!("call the tool {}", short(name)),
        }
    }

    fn fields(&self) -> Vec<Field> {
        match self {
            Self::Command { text } => vec![machine("command", text)],
            Self::ChangeFile { path, diff } => vec![machine("file", path), prose("change", diff)],
            Self::DeleteFile { path } => vec![machine("file", path)],
            Self::Request(request) => request_fields(request),
            Self::Choose { host } => vec![machine("host", host.as_str())],
            Self::Mail(mail) => mail.fields(),
            Self::Post { place, text } => vec![machine("to", place), prose("text", text)],
            Self::UseSecret { name, host } => {
                vec![machine("secret", name), machine("host", host.as_str())]
            }
            Self::Spend { payee, amount, what } => {
                vec![machine("amount", amount), machine("payee", payee), prose("for", what)]
            }
            Self::Keep { what, path, diff } => {
                vec![machine("in", what.as_str()), machine("file", path), prose("change", diff)]
            }
            Self::Tool { name, arguments } => {
                vec![machine("tool", name), machine("arguments", arguments)]
            }
        }
    }
}

fn request_canonical(request: &Outgoing, to: &mut Canonical) {
    let destination = request.to();
    to.text(request.method().as_str());
    to.text(destination.scheme.as_str());
    to.text(destination.host.as_str());
    to.count(usize::from(destination.port));
    to.text(&destination.path);
    to.option(request.query().as_ref(), |to, query| to.text(query));
    to.count(request.headers().len());
    for (name, value) in request.headers() {
        to.text(name);
        to.text(value);
    }
    to.texts(request.secrets());
    to.add(request.body());
}

fn request_fields(request: &Outgoing) -> Vec<Field> {
    let mut fields = vec![
        machine("method", request.method().as_str()),
        machine("host", request.to().host.as_str()),
        machine("address", &request.url()),
    ];
    for (name, value) in request.shown_headers() {
        fields.push(machine("header", &format!("{name}: {value}")));
    }
    fields.extend(request.secrets().iter().map(|name| machine("with the secret", name)));
    let body = request.body();
    if body.is_empty() {
        return fields;
    }
    let text = std::str::from_utf8(body);
    if text.is_err() {
        let hash = Digest(Sha256::digest(body).into());
        let what = format!("{} bytes, not all of them text, sha256 {hash}", body.len());
        fields.push(machine("body is", &what));
    }
    let shown = text.map_or_else(|_not_text| visible_bytes(body), |t| visible(t, Reading::Prose));
    fields.push(Field { name: "body", value: shown, reading: Reading::Shown });
    fields
}

impl Mail {
    pub(super) fn everyone(&self) -> Vec<String> {
        [&self.to, &self.cc, &self.bcc].into_iter().flatten().cloned().collect()
    }

    fn canonical(&self, to: &mut Canonical) {
        let Self { mailbox, to: recipients, cc, bcc, subject, body, attachments } = self;
        to.text(mailbox);
        to.texts(recipients);
        to.texts(cc);
        to.texts(bcc);
        to.text(subject);
        to.text(body);
        to.count(attachments.len());
        for AttachedFile { name, bytes, sha256 } in attachments {
            to.text(name);
            to.add(&bytes.to_be_bytes());
            to.add(sha256);
        }
    }

    fn fields(&self) -> Vec<Field> {
        let Self { mailbox, to, cc, bcc, subject, body, attachments } = self;
        let mut fields = vec![machine("from the mailbox", mailbox)];
        for (name, list) in [("to", to), ("cc", cc), ("bcc", bcc)] {
            fields.extend(list.iter().map(|recipient| machine(name, recipient)));
        }
        fields.push(prose("subject", subject));
        for AttachedFile { name, bytes, sha256 } in attachments {
            let hash = Digest(*sha256);
            fields.push(machine("attachment", &format!("{name} ({bytes} bytes, sha256 {hash})")));
        }
        fields.push(prose("text", body));
        fields
    }
}

#[cfg(all(test, feature = "engine"))]
#[path = "effect_tests.rs"]
mod tests;
