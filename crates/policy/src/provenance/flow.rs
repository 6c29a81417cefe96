//! How marks flow, and when content of others must not go on without a person.

use std::collections::BTreeSet;

use cloister_protocol::UserId;
use cloister_protocol::link::Lasting;

use super::address::Address;
use super::asked::Asked;
use super::mark::{Labels, Mark};
use super::phrase::Phrase;
use super::seen::Seen;
use crate::bits::ceil_log2;
use crate::egress::Host;

/// An address that goes on from more known ones is nobody's words behind one of them.
const MAX_BASES: usize = 32;

/// So many bits may a task with foreign content choose by itself at one host; then it is asked.
pub const FREE_BITS: u32 = 64;

/// Where something is about to go.
#[derive(Clone, Debug)]
pub enum Sink<'a> {
    /// A request that asks; what it says is in its address.
    Read {
        to: &'a Address,
    },
    /// A request with a body, or of a kind that changes something.
    Submit {
        to: &'a Address,
    },
    /// A search of the web, at the provider of the platform.
    Search {
        words: &'a str,
    },
    /// A message to people, by their mail addresses.
    Send {
        to: &'a [String],
    },
    /// A message to a place that has another kind of name, such as a room.
    Post {
        place: &'a str,
    },
    UseSecret {
        name: &'a str,
        host: &'a Host,
    },
    /// Text that is added behind what is kept.
    Write {
        what: Lasting,
        text: &'a str,
    },
    /// A new file, or one that loses something.
    Rewrite {
        what: Lasting,
    },
    Spend {
        payee: &'a str,
        amount: &'a str,
    },
    /// A file or an answer for the person whom the task works for.
    Deliver,
}

/// Whether provenance lets it go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Provenance has nothing against it; a gate still may.
    Run,
    Ask {
        sources: Vec<Mark>,
        reason: String,
    },
}

/// What the control plane knows of a task's content, and whom the task works for: without a person nothing
/// can be asked about trust.
#[derive(Clone, Debug)]
pub struct TaskContext {
    person: UserId,
    labels: Labels,
    asked: Asked,
    seen: Seen,
}

/// Flows: each takes content in, and none lets a mark out.
impl TaskContext {
    /// A task that a person's words led to. `files`: the labels of everything its sandbox can read,
    /// since what it does read there nobody sees.
    pub fn start(person: UserId, words: &Labels, asked: Asked, files: &Labels) -> Self {
        Self { person, labels: words.join(files), asked, seen: Seen::default() }
    }

    /// A task that goes on from what was recorded of it.
    pub const fn resume(person: UserId, labels: Labels, asked: Asked, seen: Seen) -> Self {
        Self { person, labels, asked, seen }
    }

    /// A sub-task: its instructions come out of all that the parent has seen.
    pub fn sub_task(&self, files: &Labels) -> Self {
        let Self { person, labels, asked, seen } = self;
        let (asked, seen) = (asked.clone(), seen.clone());
        Self { person: *person, labels: labels.join(files), asked, seen }
    }

    /// A page came through the broker.
    pub fn fetched(&mut self, from: &Address, text: &str) {
        if self.is_trusted() {
            self.seen.visit(&from.host);
        }
        self.labels.absorb(&Labels::of(Mark::web(&from.to_string())));
        self.seen.page(from, text);
    }

    /// Other content came in: a mail, a tool's result, a file, a memory with its labels.
    pub fn received(&mut self, labels: &Labels, text: &str) {
        self.labels.absorb(labels);
        self.seen.text(text);
    }

    /// The labels of whatever comes out of the task: an answer of its model, a file it wrote (its
    /// name as much as its content), a summary of its context, a result, a memory.
    pub const fn labels(&self) -> &Labels {
        &self.labels
    }

    /// Whom it works for.
    pub const fn person(&self) -> UserId {
        self.person
    }

    /// Whether everything in it may direct what is done for its person.
    pub fn is_trusted(&self) -> bool {
        self.labels.trusted_for(self.person)
    }

    /// What in it may not.
    pub fn untrusted(&self) -> Vec<Mark> {
        self.labels.untrusted_for(self.person)
    }

    /// Whether looking this host up tells nobody anything that the task chose: the person named it, it
    /// was there before, or there is nothing to tell.
    pub fn knows_host(&self, host: &Host) -> bool {
        self.is_trusted() || self.asked.names_host(host) || self.seen.visited(host)
    }

    /// The links and hosts that it was shown.
    pub const fn seen(&self) -> &Seen {
        &self.seen
    }
}

/// Sinks.
impl TaskContext {
    pub fn decide(&self, sink: &Sink<'_>) -> Flow {
        if self.is_trusted() {
            return Flow::Run;
        }
        let refusal = match sink {
            Sink::Deliver => None,
            Sink::Read { to } => self.read(to),
            // A host has many addresses, and what is sent may be anything: the person named this one.
            Sink::Submit { to } => (!self.asked.names_target(to))
                .then(|| format!("you did not name {:?} as a place to send to", to.to_string())),
            Sink::Search { words } => {
                let phrase = Phrase::in_search(words);
                let said = phrase.is_some_and(|phrase| self.asked.has_phrase(&phrase, None));
                (!said).then(|| format!("you did not write {words:?}, which would be looked for"))
            }
            Sink::Send { to } => self.send(to),
            Sink::Post { place } => {
                (!self.asked.names_place(place)).then(|| format!("you did not name {place:?}"))
            }
            Sink::UseSecret { name, host } => {
                let asked = self.asked.names_target_host(host);
                (!asked).then(|| format!("you did not name {host}, where {name:?} would be used"))
            }
            Sink::Write { what: Lasting::Memory, text } if self.asked.has_saying(text) => None,
            Sink::Write { what, .. } => {
                Some(format!("what would be kept in {} is not in your own words", what.as_str()))
            }
            Sink::Rewrite { what } => Some(format!(
                "it does more than add your own words to {}: it makes a file, or takes something away",
                what.as_str()
            )),
            // Money is asked for by the gate in any case; here nothing speaks for it.
            Sink::Spend { payee, amount } => Some(format!("it would pay {amount} to {payee:?}")),
        };
        match refusal {
            None => Flow::Run,
            Some(reason) => Flow::Ask { sources: self.untrusted(), reason },
        }
    }

    /// How many bits the task chooses by reading this address unasked, by which of two methods. These
    /// are the lengths of a code: over all that could be asked there unasked, the sum of 2 to the minus
    /// this is at most one, so that whoever listens learns no more than what is counted. A host with and
    /// without `www.` is one listener.
    pub fn choice(&self, to: &Address) -> u32 {
        let there = |known: &&Address| known.host.bare() == to.host.bare();
        let named = self.asked.addresses().filter(there).count();
        let more = self.seen.links().filter(there).filter(|link| !self.asked.names_address(link));
        let known = named + more.count();
        // Which method; and whether it is a known address, or one with words added.
        let kind = 2;
        if self.asked.names_address(to) || self.seen.has_link(to) {
            return kind + ceil_log2(known);
        }
        let said = usize::from(to.path != "/") + usize::from(to.query.is_some());
        let said = u32::try_from(said).unwrap_or(2).max(1);
        // Behind any of them, or behind the start page of either name.
        kind + ceil_log2(known + 2) + said * self.phrase_bits(Some(&to.host))
    }

    /// The same for a request that a person has allowed for as long as the task or the chat needs it: which of
    /// so many at the host.
    pub fn granted_choice(granted: usize) -> u32 {
        2 + ceil_log2(granted)
    }

    /// The same for a search.
    pub fn search_choice(&self) -> u32 {
        1 + self.phrase_bits(None)
    }

    /// Which phrase; and in which of two letters, with which of six separators, in the path with a slash behind
    /// it or not, or in the query under one of eight names (at most 122 ways, and a quarter of all for each
    /// place).
    fn phrase_bits(&self, to: Option<&Host>) -> u32 {
        ceil_log2(self.asked.phrases(to)) + 10 + 2
    }

    /// An address may be asked for whole, be a link that was there before, or be put together from
    /// the person's own words. Anything else could carry what the task has read.
    fn read(&self, to: &Address) -> Option<String> {
        if self.asked.names_address(to) {
            return None;
        }
        if !self.asked.names_host(&to.host) && !self.seen.visited(&to.host) {
            return Some(format!("you did not name {}, and it is a new destination", to.host));
        }
        if self.seen.has_link(to) || self.is_made_of_words(to) {
            return None;
        }
        Some(format!("the address {:?} was put together in the task", to.to_string()))
    }

    /// A known address (one that was asked for, a link, or the start page), to which nothing was
    /// added but the person's own words.
    fn is_made_of_words(&self, to: &Address) -> bool {
        let said = to.query.as_ref().is_none_or(|query| self.is_said(query, &to.host));
        let known = self.asked.addresses().chain(self.seen.links());
        // What is added depends on the path alone: it is looked at once, however many addresses have that.
        let mut added = BTreeSet::new();
        for base in known.filter(|known| known.same_origin(to)) {
            if base.path == to.path && (said || base.query == to.query) {
                return true;
            }
            let rest = to.path.strip_prefix(base.path.trim_end_matches('/'));
            added.extend(rest.filter(|rest| rest.is_empty() || rest.starts_with('/')));
        }
        let start = to.is_usual_https().then_some(to.path.as_str());
        let mut added = start.into_iter().chain(added.into_iter().take(MAX_BASES));
        said && added.any(|rest| self.is_path_said(rest, &to.host))
    }

    /// A path or the rest of one: nothing but a slash, or words of the person.
    fn is_path_said(&self, rest: &str, to: &Host) -> bool {
        let words = rest.strip_prefix('/').unwrap_or(rest);
        words.is_empty() || self.is_phrase(words.strip_suffix('/').unwrap_or(words), to)
    }

    /// `q=words of the person`
    fn is_said(&self, pair: &str, to: &Host) -> bool {
        const KEYS: &[&str] = &["q", "query", "search", "s", "term", "keyword", "text", "title"];
        pair.split_once('=')
            .is_some_and(|(key, value)| KEYS.contains(&key) && self.is_phrase(value, to))
    }

    fn is_phrase(&self, text: &str, to: &Host) -> bool {
        Phrase::in_address(text).is_some_and(|phrase| self.asked.has_phrase(&phrase, Some(to)))
    }

    fn send(&self, to: &[String]) -> Option<String> {
        let strangers: Vec<_> = to.iter().filter(|to| !self.asked.names_recipient(to)).collect();
        if strangers.is_empty() && !to.is_empty() {
            return None;
        }
        Some(format!("you did not name {strangers:?} as a recipient"))
    }
}

#[cfg(test)]
#[path = "flow_tests.rs"]
mod tests;
