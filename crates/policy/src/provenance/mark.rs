//! Where content came from.

use std::collections::BTreeSet;
use std::fmt;

use cloister_protocol::UserId;
use serde::{Deserialize, Serialize};

/// How many sources are told apart; more of them are remembered as more.
const MAX_MARKS: usize = 64;
/// How much of a source's name is kept.
const MAX_NAME_CHARS: usize = 200;

/// One source of content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Mark {
    /// A person's own words on a surface. Whether they may direct a task depends on whom it works for.
    Own {
        user: UserId,
    },
    /// The control plane itself.
    System,
    Web {
        url: String,
    },
    Mail {
        sender: String,
    },
    /// A file that someone sent or that came from outside.
    File {
        name: String,
    },
    /// Somebody else, such as another member of a shared room.
    Person {
        name: String,
    },
    /// What a tool answered that speaks to something outside.
    Tool {
        name: String,
    },
    /// It was there before anything was recorded about it.
    Unrecorded,
}

impl Mark {
    pub fn web(url: &str) -> Self {
        Self::Web { url: cut(url) }
    }

    pub fn mail(sender: &str) -> Self {
        Self::Mail { sender: cut(sender) }
    }

    pub fn file(name: &str) -> Self {
        Self::File { name: cut(name) }
    }

    pub fn person(name: &str) -> Self {
        Self::Person { name: cut(name) }
    }

    pub fn tool(name: &str) -> Self {
        Self::Tool { name: cut(name) }
    }

    /// Whether its author may direct what is done for this person. Trust is relative: what one member of a
    /// community wrote is theirs, and content of somebody else to all others.
    pub fn trusted_for(&self, person: UserId) -> bool {
        match self {
            Self::Own { user } => *user == person,
            Self::System => true,
            Self::Web { .. }
            | Self::Mail { .. }
            | Self::File { .. }
            | Self::Person { .. }
            | Self::Tool { .. }
            | Self::Unrecorded => false,
        }
    }
}

fn cut(name: &str) -> String {
    name.chars().take(MAX_NAME_CHARS).collect()
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Named only where it is not the reader's own.
            Self::Own { user } => write!(f, "what another member ({user}) wrote"),
            Self::System => f.write_str("Cloister itself"),
            Self::Web { url } => write!(f, "the web page {url:?}"),
            Self::Mail { sender } => write!(f, "a mail from {sender:?}"),
            Self::File { name } => write!(f, "the file {name:?}"),
            Self::Person { name } => write!(f, "what {name:?} wrote"),
            Self::Tool { name } => write!(f, "what the tool {name:?} answered"),
            Self::Unrecorded => f.write_str("content of unrecorded origin"),
        }
    }
}

/// The sources of a piece of content, or of all that a task has seen. Only ever grows: there is no
/// way to take a mark away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Labels {
    marks: BTreeSet<Mark>,
    /// There were more untrusted ones than are told apart.
    #[serde(default)]
    more: bool,
}

impl Labels {
    pub fn of(mark: Mark) -> Self {
        Self { marks: BTreeSet::from([mark]), more: false }
    }

    /// Everything that must be remembered of content which others may read: all of it but the control
    /// plane's own words, since whom it is trusted for is up to the reader.
    pub fn to_remember(&self) -> Vec<Mark> {
        let mut marks: Vec<_> =
            self.marks.iter().filter(|mark| **mark != Mark::System).cloned().collect();
        if self.more {
            marks.push(Mark::Unrecorded);
        }
        marks
    }

    /// Everything that either came from.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        let mut marks: BTreeSet<Mark> = self.marks.union(&other.marks).cloned().collect();
        let more = self.more || other.more || marks.len() > MAX_MARKS;
        while marks.len() > MAX_MARKS {
            marks.pop_last();
        }
        Self { marks, more }
    }

    pub fn absorb(&mut self, other: &Self) {
        *self = self.join(other);
    }

    pub fn trusted_for(&self, person: UserId) -> bool {
        !self.more && self.marks.iter().all(|mark| mark.trusted_for(person))
    }

    /// The sources that may not direct what is done for this person.
    pub fn untrusted_for(&self, person: UserId) -> Vec<Mark> {
        let mut marks: Vec<_> =
            self.marks.iter().filter(|mark| !mark.trusted_for(person)).cloned().collect();
        if marks.is_empty() && self.more {
            marks.push(Mark::Unrecorded);
        }
        marks
    }

    pub fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.marks.iter()
    }

    /// Whether everything in these is also in `other`.
    pub fn is_within(&self, other: &Self) -> bool {
        (other.more || !self.more)
            && self.marks.iter().all(|mark| other.marks.contains(mark) || other.more)
    }
}

impl FromIterator<Mark> for Labels {
    fn from_iter<I: IntoIterator<Item = Mark>>(marks: I) -> Self {
        marks.into_iter().fold(Self::default(), |labels, mark| labels.join(&Self::of(mark)))
    }
}
