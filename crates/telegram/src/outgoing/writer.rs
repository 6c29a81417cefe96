//! Writing a text with marks from its beginning to its end: lines, bullets, and marks that begin with the first
//! character after them.

use cloister_policy::legible;

use super::tables::Table;
use super::text::{Kind, Text};

/// What is nested deeper is shown without its form.
pub(super) const MAX_DEPTH: usize = 32;
const MAX_INDENT: usize = 8;

/// What was begun, and how it ends. A mark begins with the first character after it.
pub(super) enum OpenMarkup {
    Style {
        kind: Kind,
        start: Option<usize>,
    },
    Link {
        target: Target,
        start: Option<usize>,
    },
    Quote {
        start: Option<usize>,
    },
    Heading {
        start: Option<usize>,
    },
    Pre {
        language: Option<String>,
        start: usize,
    },
    Block,
    List,
    Item,
    Table,
    /// A cell, and what was written before it.
    Cell(Text),
    Row,
    /// Only its text is shown.
    Nothing,
}

/// Where a link leads.
pub(super) enum Target {
    Web {
        url: String,
        place: String,
    },
    /// To be read: a mail address, a host that Telegram takes for none.
    Told(String),
    Nowhere,
}

#[derive(Default)]
pub(super) struct Writer {
    pub(super) out: Text,
    /// The line breaks before whatever comes next.
    pub(super) gap: usize,
    pub(super) open: Vec<OpenMarkup>,
    /// The next number of each list that is open, if it has numbers.
    pub(super) lists: Vec<Option<u64>>,
    pub(super) table: Option<Table>,
    /// A bullet was written, and nothing after it.
    pub(super) after_bullet: bool,
}

impl Writer {
    /// A small text can ask for a very large table.
    pub(super) fn is_too_much(&self) -> bool {
        self.table.as_ref().is_some_and(Table::is_too_large)
    }

    pub(super) fn close(&mut self, kind: Kind, start: Option<usize>) {
        if let Some(start) = start {
            self.out.mark(kind, start..self.out.text.len());
        }
    }

    /// What comes next stands apart: after an empty line, or on the next line in a list.
    pub(super) fn new_block(&mut self) {
        if self.after_bullet || self.out.text.is_empty() {
            return;
        }
        self.gap = self.gap.max(if self.lists.is_empty() { 2 } else { 1 });
    }

    pub(super) fn new_line(&mut self) {
        if !self.out.text.is_empty() {
            self.gap = self.gap.max(1);
        }
    }

    /// Writes the line breaks that are due.
    pub(super) fn flush(&mut self) {
        self.flush_to(self.lists.len());
    }

    pub(super) fn flush_to(&mut self, depth: usize) {
        if self.gap > 0 {
            self.out.text.push_str(&"\n".repeat(self.gap.min(2)));
            self.out.text.push_str(&"  ".repeat(depth.min(MAX_INDENT)));
        }
        self.gap = 0;
        self.after_bullet = false;
    }

    pub(super) fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.flush();
        self.begin();
        self.out.text.push_str(&legible(text));
    }

    /// Whatever waited for its first character begins here.
    pub(super) fn begin(&mut self) {
        let here = self.out.text.len();
        for open in self.around() {
            match open {
                OpenMarkup::Style { start, .. }
                | OpenMarkup::Link { start, .. }
                | OpenMarkup::Quote { start }
                | OpenMarkup::Heading { start } => {
                    start.get_or_insert(here);
                }
                OpenMarkup::Pre { .. }
                | OpenMarkup::Block
                | OpenMarkup::List
                | OpenMarkup::Item
                | OpenMarkup::Table
                | OpenMarkup::Cell(_)
                | OpenMarkup::Row
                | OpenMarkup::Nothing => {}
            }
        }
    }

    /// What is open around the text that is being written: a cell's has nothing to do with what is around the
    /// table.
    fn around(&mut self) -> impl Iterator<Item = &mut OpenMarkup> {
        let cell =
            self.open.iter().take(MAX_DEPTH).rposition(|open| matches!(open, OpenMarkup::Cell(_)));
        self.open.iter_mut().take(MAX_DEPTH).skip(cell.unwrap_or(0))
    }

    /// Code lies in no style: those around it end before it and begin again after it. In a link it is only text.
    pub(super) fn code(&mut self, text: &str) {
        let in_link = self.open.iter().any(|open| matches!(open, OpenMarkup::Link { .. }));
        if in_link || text.trim().is_empty() {
            return self.text(text);
        }
        self.flush();
        let here = self.out.text.len();
        let mut ending = Vec::new();
        for open in self.around() {
            match open {
                OpenMarkup::Style { kind, start } => ending.push((kind.clone(), start.take())),
                OpenMarkup::Heading { start } => ending.push((Kind::Bold, start.take())),
                OpenMarkup::Quote { start } => {
                    start.get_or_insert(here);
                }
                OpenMarkup::Link { .. }
                | OpenMarkup::Pre { .. }
                | OpenMarkup::Block
                | OpenMarkup::List
                | OpenMarkup::Item
                | OpenMarkup::Table
                | OpenMarkup::Cell(_)
                | OpenMarkup::Row
                | OpenMarkup::Nothing => {}
            }
        }
        for (kind, start) in ending {
            self.close(kind, start);
        }
        self.out.push(&legible(text), Some(Kind::Code));
    }

    pub(super) fn bullet(&mut self) {
        let depth = self.lists.len().saturating_sub(1);
        let bullet = match self.lists.last_mut() {
            Some(Some(number)) => {
                let bullet = format!("{number}. ");
                *number = number.saturating_add(1);
                bullet
            }
            Some(None) | None => {
                let shape = if depth == 0 { "•" } else { "◦" };
                format!("{shape} ")
            }
        };
        if !self.after_bullet {
            self.new_line();
        }
        self.flush_to(depth);
        self.begin();
        self.out.text.push_str(&bullet);
        self.after_bullet = true;
    }

    /// A box takes the bullet's place.
    pub(super) fn checkbox(&mut self, done: bool) {
        for bullet in ["• ", "◦ "] {
            if self.after_bullet && self.out.text.ends_with(bullet) {
                self.out.text.truncate(self.out.text.len() - bullet.len());
            }
        }
        self.text(if done { "☑ " } else { "☐ " });
    }
}
