//! What the person asked for: the words, hosts and recipients that they themselves named.
//!
//! Only what a person wrote on a surface and plans that they approved go in here. Text that they
//! quoted, fenced or forwarded is somebody else's and stays out.

use std::collections::BTreeSet;

use super::address::{Address, mail_address};
use crate::egress::Host;

const MAX_TEXT_BYTES: usize = 256 << 10;

/// Lines after which a message is somebody else's.
const FORWARDED: &[&str] = &[
    "---------- forwarded message",
    "-----original message-----",
    "begin forwarded message",
    "-------- original message",
    "-------- пересылаемое сообщение",
    "---------- пересланное сообщение",
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    addresses: BTreeSet<Address>,
    hosts: BTreeSet<Host>,
    recipients: BTreeSet<String>,
    /// `#room` and `@name`
    places: BTreeSet<String>,
    /// The words of each line, as written.
    lines: Vec<Vec<String>>,
}

impl Asked {
    /// What a person wrote.
    pub fn from_words(text: &str) -> Self {
        let mut asked = Self::default();
        asked.add(text);
        asked
    }

    /// More of the person's own words, or a plan as they saw and approved it.
    pub fn add(&mut self, text: &str) {
        if text.len() > MAX_TEXT_BYTES {
            return;
        }
        let mut fenced = false;
        for line in text.lines() {
            let trimmed = line.trim_start();
            let lower = trimmed.to_lowercase();
            if FORWARDED.iter().any(|start| lower.starts_with(start)) {
                return;
            }
            if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
                fenced = !fenced;
            } else if !fenced && !trimmed.starts_with('>') {
                self.add_line(trimmed);
            }
        }
    }

    fn add_line(&mut self, line: &str) {
        let brackets = |c: char| c.is_whitespace() || "<>()[]{}\"'`«»“”‘’,;|".contains(c);
        for piece in line.split(brackets) {
            let piece = piece.trim_end_matches(['.', ':', '!', '?', '…']);
            if piece.starts_with(['#', '@']) {
                self.places.insert(piece.to_owned());
            }
            if let Some(recipient) = mail_address(piece.strip_prefix("mailto:").unwrap_or(piece)) {
                self.recipients.insert(recipient);
            } else if let Some(address) = Address::parse(piece) {
                self.hosts.insert(address.host.clone());
                self.addresses.insert(address);
            } else if let Some(address) = Address::parse(&format!("https://{piece}")) {
                // `example.com/a`, written without a scheme. A file name looks like a host too, and
                // is one that no rule allows.
                if address.host.as_str().contains('.') && !piece.contains('@') {
                    self.hosts.insert(address.host.clone());
                    self.addresses.insert(address);
                }
            }
        }
        self.lines.push(words(line).map(str::to_owned).collect());
    }

    pub(super) fn names_address(&self, address: &Address) -> bool {
        self.addresses.contains(address)
    }

    /// Named as it is, or with or without `www.`; a name below it is another host.
    pub fn names_host(&self, host: &Host) -> bool {
        let bare =
            |host: &Host| host.as_str().strip_prefix("www.").unwrap_or(host.as_str()).to_owned();
        self.hosts.contains(host) || self.hosts.iter().any(|named| bare(named) == bare(host))
    }

    pub(super) fn names_recipient(&self, recipient: &str) -> bool {
        mail_address(recipient).is_some_and(|recipient| self.recipients.contains(&recipient))
    }

    /// Whether a room or a name was written out, with its `#` or `@`.
    pub(super) fn names_place(&self, place: &str) -> bool {
        self.places.contains(place)
    }

    /// Whether a text is words that the person wrote one after the other, as written or all in lower
    /// case, with one plain separator between each two. Order, case and punctuation could each carry
    /// a message of their own.
    pub(super) fn has_phrase(&self, text: &str) -> bool {
        let is_separator = |c: char| matches!(c, ' ' | '-' | '_' | '/');
        let text = text.strip_prefix('/').unwrap_or(text);
        let text = text.strip_suffix('/').unwrap_or(text);
        if text.is_empty() {
            return true;
        }
        let parts: Vec<&str> = text.split(is_separator).collect();
        let clean = |part: &&str| !part.is_empty() && part.chars().all(char::is_alphanumeric);
        parts.iter().all(clean) && self.has_words(&parts)
    }

    /// Whether a text has only words that the person wrote one after the other, however it is
    /// punctuated. For text that stays here.
    pub(super) fn has_saying(&self, text: &str) -> bool {
        let parts: Vec<&str> = words(text).collect();
        !parts.is_empty() && self.has_words(&parts)
    }

    fn has_words(&self, parts: &[&str]) -> bool {
        let lower = |word: &str| word.to_lowercase();
        self.lines.iter().any(|line| {
            line.windows(parts.len()).any(|window| {
                let pairs = || window.iter().zip(parts);
                pairs().all(|(said, part)| said == part)
                    || pairs().all(|(said, part)| lower(said) == **part)
            })
        })
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses.iter()
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}
