//! Tables as they come: a row per line, bars between its cells, a rule below its head.

use super::writer::{Gap, Writer};

/// Columns beyond these are not counted for the rule.
const MAX_RULED: usize = 100;

#[derive(Default)]
pub(super) struct Tables {
    /// Cells of the row so far.
    cells: usize,
    heads: usize,
    /// The table has a head: its cells are data, each on one line.
    is_data: bool,
    in_flat_cell: bool,
}

impl Tables {
    /// Whether text stands in a cell that must stay on its line.
    pub(super) fn in_flat_cell(&self) -> bool {
        self.in_flat_cell
    }

    /// A table begins or ends.
    pub(super) fn edge(&mut self, to: &mut Writer) {
        self.end_row(to);
        self.is_data = false;
        to.gap(Gap::Paragraph);
    }

    pub(super) fn row(&mut self, to: &mut Writer) {
        self.end_row(to);
        to.gap(Gap::Line);
    }

    pub(super) fn cell(&mut self, is_head: bool, to: &mut Writer) {
        self.in_flat_cell = self.is_data || is_head;
        to.set_flat(self.in_flat_cell);
        if self.cells > 0 {
            to.gap(Gap::Space);
            to.put("|");
            to.gap(Gap::Space);
        }
        self.cells += 1;
        self.heads += usize::from(is_head);
    }

    pub(super) fn end_row(&mut self, to: &mut Writer) {
        self.in_flat_cell = false;
        to.set_flat(false);
        // A head of one's own row of cells; a lone head is a caption.
        if self.heads > 1 && self.heads == self.cells && !self.is_data {
            to.gap(Gap::Line);
            to.put(&vec!["---"; self.cells.min(MAX_RULED)].join(" | "));
            self.is_data = true;
        }
        if self.cells > 0 {
            to.gap(Gap::Line);
        }
        (self.cells, self.heads) = (0, 0);
    }
}
