//! What the person asked for: the words, hosts and recipients that they themselves named.
//!
//! Only what a person wrote on a surface and plans that they approved go in here. Text that they
//! quoted, fenced or forwarded is somebody else's and stays out.

use std::collections::BTreeSet;

use super::address::{Address, mail_address};
use super::hidden::shown;
use super::own::own;
use super::phrase::Phrase;
use crate::egress::Host;
use crate::gate::{Reading, visible};

const MAX_TEXT_BYTES: usize = 256 << 10;
/// A longer phrase is nobody's words: it is looked for at every place of everything that was said.
pub(super) const MAX_PHRASE_WORDS: usize = 256;
/// The same of what is to be kept in mind.
const MAX_SAYING_BYTES: usize = 2 << 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    addresses: BTreeSet<Address>,
    hosts: BTreeSet<Host>,
    /// Those of what was asked now, not earlier: where something may be sent to.
    targets: BTreeSet<Address>,
    target_hosts: BTreeSet<Host>,
    recipients: BTreeSet<String>,
    /// `#room` and `@name`
    places: BTreeSet<String>,
    /// The sentences of each line, as written but for blanks.
    lines: Vec<Vec<String>>,
    /// The words of each sentence, with the hosts that it names.
    sentences: Vec<Sentence>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sentence {
    /// How many words it has.
    count: usize,
    /// They as they are written, each between two line ends; and the same in lower case.
    written: String,
    lower: String,
    hosts: BTreeSet<Host>,
}

impl Sentence {
    fn of(text: &str, hosts: BTreeSet<Host>) -> Self {
        let (mut count, mut written, mut lower) = (0, String::from("\n"), String::from("\n"));
        for word in words(text) {
            count += 1;
            for (all, word) in [(&mut written, word), (&mut lower, &word.to_lowercase())] {
                all.push_str(word);
                all.push('\n');
            }
        }
        Self { count, written, lower, hosts }
    }

    /// Whether these words stand in it in a row, as written or all in lower case. It is gone through once for each.
    fn has(&self, row: &str) -> bool {
        self.written.contains(row) || self.lower.contains(row)
    }
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
        own(text).lines.into_iter().for_each(|line| self.add_line(&shown(line)));
    }

    /// What the person said earlier. It lets things be read and looked for; nothing is sent anywhere
    /// because a place was named some time ago, for something else.
    pub fn add_earlier(&mut self, text: &str) {
        let earlier = Self::from_words(text);
        self.addresses.extend(earlier.addresses);
        self.hosts.extend(earlier.hosts);
        self.lines.extend(earlier.lines);
        self.sentences.extend(earlier.sentences);
    }

    /// Whether a message has parts that are somebody else's: quoted, fenced, forwarded, or more than
    /// is looked through.
    pub fn quotes_others(text: &str) -> bool {
        text.len() > MAX_TEXT_BYTES || own(text).others
    }

    fn add_line(&mut self, line: &str) {
        let mut said = Vec::new();
        for sentence in sentences(line) {
            self.add_sentence(sentence);
            said.push(sentence.split_whitespace().collect::<Vec<_>>().join(" "));
        }
        said.retain(|sentence| !sentence.is_empty());
        self.lines.push(said);
    }

    fn add_sentence(&mut self, line: &str) {
        let mut hosts = BTreeSet::new();
        let brackets = |c: char| c.is_whitespace() || "<>()[]{}\"'`«»“”‘’,;|".contains(c);
        for piece in line.split(brackets) {
            let piece = piece.trim_end_matches(['.', ':', '!', '?', '…']);
            if piece.starts_with(['#', '@']) {
                self.places.insert(piece.to_owned());
            }
            if let Some(recipient) = mail_address(piece.strip_prefix("mailto:").unwrap_or(piece)) {
                self.recipients.insert(recipient);
            } else if let Some(address) = Address::parse(piece) {
                hosts.insert(address.host.clone());
                self.targets.insert(address.clone());
                self.addresses.insert(address);
            } else if let Some(address) = Address::parse(&format!("https://{piece}")) {
                // `example.com/a`, written without a scheme. A file name looks like a host too, and
                // is one that no rule allows.
                if address.host.as_str().contains('.') && !piece.contains('@') {
                    hosts.insert(address.host.clone());
                    self.targets.insert(address.clone());
                    self.addresses.insert(address);
                }
            }
        }
        self.hosts.extend(hosts.iter().cloned());
        self.target_hosts.extend(hosts.iter().cloned());
        self.sentences.push(Sentence::of(line, hosts));
    }

    pub(super) fn names_address(&self, address: &Address) -> bool {
        self.addresses.contains(address)
    }

    /// Whether what was asked now names this address.
    pub(super) fn names_target(&self, address: &Address) -> bool {
        self.targets.contains(address)
    }

    pub(super) fn names_target_host(&self, host: &Host) -> bool {
        names(&self.target_hosts, host)
    }

    /// Named as it is, or with or without `www.`; a name below it is another host.
    pub fn names_host(&self, host: &Host) -> bool {
        names(&self.hosts, host)
    }

    pub(super) fn names_recipient(&self, recipient: &str) -> bool {
        mail_address(recipient).is_some_and(|recipient| self.recipients.contains(&recipient))
    }

    /// Whether a room or a name was written out, with its `#` or `@`.
    pub(super) fn names_place(&self, place: &str) -> bool {
        self.places.contains(place)
    }

    /// Whether a phrase is words that the person wrote one after the other in a sentence that names the
    /// host (none: in any), as written or all in lower case. Order and case could each carry a message of
    /// their own.
    pub(super) fn has_phrase(&self, phrase: &Phrase, to: Option<&Host>) -> bool {
        if phrase.words.len() > MAX_PHRASE_WORDS {
            return false;
        }
        let row = format!("\n{}\n", phrase.words.join("\n"));
        let meant = |sentence: &&Sentence| to.is_none_or(|host| names(&sentence.hosts, host));
        self.sentences.iter().filter(meant).any(|sentence| sentence.has(&row))
    }

    /// How many phrases there are in the sentences that name the host (none: in all).
    pub(super) fn phrases(&self, to: Option<&Host>) -> usize {
        let meant = |sentence: &&Sentence| to.is_none_or(|host| names(&sentence.hosts, host));
        let count = |sentence: &Sentence| sentence.count.saturating_mul(sentence.count + 1) / 2;
        self.sentences.iter().filter(meant).map(count).sum()
    }

    /// Whether each line of a text is whole sentences of the person, one after the other and byte for byte: as
    /// an item of a list or not, with or without the last full stop, and behind what asked to keep it in mind.
    /// Nothing in it may be hidden from who reads it. For text that stays here.
    pub(super) fn has_saying(&self, text: &str) -> bool {
        if text.len() > MAX_SAYING_BYTES {
            return false;
        }
        let lines = text.split('\n').filter(|line| !line.is_empty());
        let mut lines = lines.map(|line| line.strip_prefix("- ").unwrap_or(line)).peekable();
        lines.peek().is_some()
            && visible(text, Reading::Prose) == text
            && lines.all(|line| self.lines.iter().any(|said| has_sentences(said, line)))
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.addresses.iter()
    }
}

/// The sentences of a line. A full stop inside of a word, such as a host, ends nothing.
fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut last = '\0';
    line.split_inclusive(move |c: char| {
        let ends = c == ' ' && matches!(last, '.' | '!' | '?' | ';');
        last = c;
        ends
    })
}

/// Whether a line is some of these sentences in a row.
fn has_sentences(said: &[String], line: &str) -> bool {
    (0..said.len()).any(|at| {
        let Some((first, others)) = said.get(at..).and_then(<[String]>::split_first) else {
            return false;
        };
        let kept = behind_request(first);
        std::iter::once(first.as_str()).chain(kept).any(|first| {
            let others = others.iter().map(String::as_str);
            are_sentences(std::iter::once(first).chain(others), line)
        })
    })
}

fn are_sentences<'a>(said: impl Iterator<Item = &'a str>, line: &str) -> bool {
    let mut rest = line;
    for sentence in said {
        if rest == sentence || Some(rest) == sentence.strip_suffix('.') {
            return true;
        }
        match rest.strip_prefix(sentence).and_then(|rest| rest.strip_prefix(' ')) {
            Some(more) => rest = more,
            None => return false,
        }
    }
    false
}

/// What may stand before a request to keep something in mind, without turning it round.
const BEFORE: &[&str] =
    &["and", "also", "please", "then", "und", "auch", "bitte", "и", "также", "пожалуйста"];
/// Such requests.
const REQUESTS: &[&str] = &["remember", "keep in mind", "merk dir", "merke dir", "запомни"];
/// What may stand between one and what it is about.
const BETWEEN: &[&str] = &["this:", "that:", "that", "dass", "что", "это:"];

/// What a sentence asks to be kept in mind: all that stands behind its request.
fn behind_request(sentence: &str) -> Option<&str> {
    let mut rest = sentence;
    while let Some((word, more)) = rest.split_once(' ') {
        if !BEFORE.contains(&word.trim_end_matches(',').to_lowercase().as_str()) {
            break;
        }
        rest = more;
    }
    let behind = REQUESTS.iter().find_map(|request| {
        let said = rest.get(..request.len())?;
        (said.to_lowercase() == **request).then(|| rest.get(request.len()..)).flatten()
    })?;
    let behind = behind.strip_prefix([':', ',']).unwrap_or(behind).strip_prefix(' ')?;
    let kept = match behind.split_once(' ') {
        Some((word, more)) if BETWEEN.contains(&word.to_lowercase().as_str()) => more,
        _ => behind,
    };
    (!kept.is_empty()).then_some(kept)
}

/// As it is, or with or without `www.`; a name below it is another host.
fn names(hosts: &BTreeSet<Host>, host: &Host) -> bool {
    hosts.iter().any(|named| named.bare() == host.bare())
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}
