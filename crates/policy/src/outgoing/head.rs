//! The head of a request: what is constant, what is left out, and what could say anything.

use std::collections::BTreeMap;

use super::{Content, Draft, git};

/// What every request is asked with, where nothing else is said.
pub const ACCEPT: &str = "*/*";
/// An answer that comes readable can be looked through: for secrets, and for the links in it.
pub const ACCEPT_ENCODING: &str = "identity";
pub const USER_AGENT: &str = "cloister";

/// Headers that frame a request, or that the broker says itself.
const FRAMING: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "git-protocol",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers that a program puts on by itself and no answer depends on much: left out once foreign
/// content is in the task, since their values could be anything; and from whatever changes something,
/// so that what was allowed is the same request before and after.
const IDLE: &[&str] = &[
    "accept",
    "accept-charset",
    "accept-language",
    "cache-control",
    "dnt",
    "forwarded",
    "from",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "max-forwards",
    "origin",
    "pragma",
    "priority",
    "range",
    "referer",
    "save-data",
    "upgrade-insecure-requests",
    "user-agent",
    "via",
    "x-requested-with",
];
/// Those of them that say under which condition something is changed: what changes something is asked
/// about with them.
const CONDITIONS: &[&str] =
    &["if-match", "if-modified-since", "if-none-match", "if-range", "if-unmodified-since"];
/// Idle ones by how they begin: what browsers and package managers say about themselves.
const IDLE_PREFIXES: &[&str] = &["sec-", "npm-", "pacote-", "x-forwarded-", "x-npm-"];

/// What a request with a secret is never asked with: its answer is looked through whole.
const NOT_WITH_SECRET: &[&str] = &["if-range", "range"];

/// The headers that are sent, by name, and which of them the program chose.
pub(super) struct Head {
    headers: BTreeMap<String, String>,
    chosen: Vec<String>,
}

impl Head {
    pub(super) fn of(draft: &Draft<'_>, content: Content<'_>, git: Option<&git::Read>) -> Self {
        let mut head = Self { headers: BTreeMap::new(), chosen: Vec::new() };
        for (name, value) in draft.headers {
            let name = name.to_ascii_lowercase();
            if !is_left_out(&name, draft, content, git) {
                head.add(&name, value.trim());
            }
        }
        head.chosen = head.headers.keys().cloned().collect();
        if let Some(agent) = head.headers.get_mut("user-agent") {
            // The program's name and version, without what some add about the machine.
            *agent = agent.split(' ').next().unwrap_or_default().to_owned();
        }
        for (name, value) in constants(git) {
            head.headers.entry(name.to_owned()).or_insert_with(|| value.to_owned());
        }
        head
    }

    /// One that is said several times is said once, with all of it.
    fn add(&mut self, name: &str, value: &str) {
        let between = if name == "cookie" { "; " } else { ", " };
        self.headers
            .entry(name.to_owned())
            .and_modify(|said| {
                said.push_str(between);
                said.push_str(value);
            })
            .or_insert_with(|| value.to_owned());
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    pub(super) fn set(&mut self, name: &str, value: &str) {
        self.headers.insert(name.to_owned(), value.to_owned());
    }

    pub(super) fn into_parts(self) -> (Vec<(String, String)>, Vec<String>) {
        (self.headers.into_iter().collect(), self.chosen)
    }
}

fn is_left_out(
    name: &str,
    draft: &Draft<'_>,
    content: Content<'_>,
    git: Option<&git::Read>,
) -> bool {
    let reads = draft.body.is_empty() && matches!(draft.method, "GET" | "HEAD");
    let means = !reads && CONDITIONS.contains(&name);
    let known = IDLE.contains(&name) || IDLE_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let idle = known && !means;
    let describes_body = name == "content-type" && (draft.body.is_empty() || git.is_some());
    let fixed_by_git = git.is_some() && matches!(name, "accept" | "user-agent");
    FRAMING.contains(&name)
        || describes_body
        || fixed_by_git
        || (!draft.secrets.is_empty() && NOT_WITH_SECRET.contains(&name))
        || match content {
            Content::Own => idle && !reads,
            Content::Foreign(_) => idle,
        }
}

fn constants(git: Option<&git::Read>) -> Vec<(&'static str, &'static str)> {
    let mut constants = vec![("accept-encoding", ACCEPT_ENCODING)];
    match git {
        None => constants.extend([("accept", ACCEPT), ("user-agent", USER_AGENT)]),
        Some(read) => constants.extend(read.headers()),
    }
    constants
}

/// Whether it is what every request is asked with.
pub(super) fn is_constant(name: &str, value: &str) -> bool {
    [("accept", ACCEPT), ("accept-encoding", ACCEPT_ENCODING), ("user-agent", USER_AGENT)]
        .contains(&(name, value))
}
