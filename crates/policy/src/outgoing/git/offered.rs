//! What repositories have told a task that they offer: which objects may be wanted without a question.

use std::collections::{BTreeMap, BTreeSet};

use super::is_id;
use super::lines::{GitLine, Lines};
use crate::bits::ceil_log2;

/// So many ids are known to one task, of all repositories; others are asked about.
const MAX_IDS: usize = 200_000;
const MAX_REPOSITORIES: usize = 32;

/// What repositories have offered to one task.
#[derive(Clone, Debug, Default)]
pub struct Repositories(BTreeMap<String, Offered>);

/// What one repository has offered.
#[derive(Clone, Debug, Default)]
pub(super) struct Offered {
    ids: BTreeSet<String>,
    head: Option<String>,
    branches: BTreeSet<String>,
    tags: BTreeSet<String>,
    /// It says who it is, and wants to know who asks.
    pub(super) agent: bool,
    pub(super) object_format: Option<&'static str>,
}

impl Repositories {
    pub(super) fn get(&self, place: &str) -> Option<&Offered> {
        self.0.get(place)
    }

    /// Whether this repository has told this task what it offers.
    pub fn knows(&self, place: &str) -> bool {
        self.0.contains_key(place)
    }

    fn ids(&self) -> usize {
        self.0.values().map(|offered| offered.ids.len()).sum()
    }

    /// Takes in what a repository answered to one who asked what there is.
    pub fn learn(&mut self, place: &str, answer: &[u8]) {
        if self.0.len() >= MAX_REPOSITORIES && !self.0.contains_key(place) {
            return;
        }
        let mut lines = Lines(answer);
        let mut read = Offered::default();
        let mut any = false;
        while let Some(Some(line)) = lines.next() {
            if let GitLine::Text(text) = line {
                any = true;
                read.take(text);
            }
        }
        if any {
            // Of those that were asked before, as many are forgotten as this one takes.
            while self.0.len() > 1 && self.ids() + read.ids.len() > MAX_IDS {
                let Some(other) = self.0.keys().find(|other| *other != place).cloned() else {
                    break;
                };
                self.0.remove(&other);
            }
            let known = self.0.entry(place.to_owned()).or_default();
            known.agent |= read.agent;
            known.object_format = known.object_format.or(read.object_format);
            // What it offers is what it said last.
            if !read.ids.is_empty() {
                *known = Offered { agent: known.agent, object_format: known.object_format, ..read };
            }
        }
    }
}

impl Offered {
    fn take(&mut self, line: &[u8]) {
        let (line, more) = match line.iter().position(|byte| *byte == 0) {
            Some(at) => {
                (line.get(..at).unwrap_or_default(), line.get(at + 1..).unwrap_or_default())
            }
            None => (line, line),
        };
        for word in String::from_utf8_lossy(more).split_ascii_whitespace() {
            self.agent |= word.starts_with("agent=");
            match word {
                "object-format=sha1" => self.object_format = Some("object-format=sha1"),
                "object-format=sha256" => self.object_format = Some("object-format=sha256"),
                _ => {}
            }
        }
        let Ok(line) = std::str::from_utf8(line) else { return };
        let mut words = line.trim_end().split(' ');
        let (Some(id), Some(name)) = (words.next(), words.next()) else { return };
        if !is_id(id) || self.ids.len() >= MAX_IDS {
            return;
        }
        self.ids.insert(id.to_owned());
        if name == "HEAD" {
            self.head = Some(id.to_owned());
        } else if name.starts_with("refs/heads/") {
            self.branches.insert(id.to_owned());
        } else if name.starts_with("refs/tags/") && !name.ends_with("^{}") {
            self.tags.insert(id.to_owned());
        }
    }

    /// Stands for whatever a clone has already: an id that no repository holds.
    pub(super) fn nothing(&self) -> String {
        let digits = if self.object_format == Some("object-format=sha256") { 64 } else { 40 };
        format!("{:0>digits$}", 1)
    }

    /// How much is chosen by wanting these; none where one of them was not offered.
    pub(super) fn bits_of(&self, wants: &BTreeSet<String>) -> Option<u32> {
        if !wants.is_subset(&self.ids) {
            return None;
        }
        let Self { branches, tags, ids, head, .. } = self;
        let head = || head.iter();
        let usual = [
            is_all(wants, head()),
            is_all(wants, branches),
            is_all(wants, branches.iter().chain(tags)),
            is_all(wants, branches.iter().chain(head())),
            is_all(wants, branches.iter().chain(tags).chain(head())),
            is_all(wants, ids),
        ];
        if usual.contains(&true) {
            return Some(ceil_log2(usual.len()));
        }
        let each = ceil_log2(self.ids.len()).saturating_mul(count(wants.len()));
        // Which of them are among the wanted ones can't be more than one bit for each.
        Some(3 + each.min(count(self.ids.len())))
    }
}

/// Whether these ids are what is wanted, all of it. The first that is not ends it: a short request costs little,
/// however much is offered.
fn is_all<'a>(wants: &BTreeSet<String>, these: impl IntoIterator<Item = &'a String>) -> bool {
    let mut found = BTreeSet::new();
    for id in these {
        if !wants.contains(id) {
            return false;
        }
        found.insert(id);
    }
    found.len() == wants.len()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
