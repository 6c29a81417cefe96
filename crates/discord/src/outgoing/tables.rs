//! Tables, for clients that have none: lined up in a block of code.

use cloister_kit::markdown::Aligned;

/// Wider cells are cut short in no way; they are only not waited for by the others.
const WIDEST_COLUMN: usize = 40;

/// A table as it is read.
pub(super) struct Table {
    aligned: Vec<Aligned>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) const fn new(aligned: Vec<Aligned>) -> Self {
        Self { aligned, rows: Vec::new() }
    }

    /// The next row begins.
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// The next cell begins.
    pub(super) fn cell(&mut self) {
        if let Some(row) = self.rows.last_mut() {
            row.push(String::new());
        }
    }

    pub(super) fn text(&mut self, words: &str) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.push_str(&words.replace('\n', " "));
        }
    }

    /// Its lines, the first one underlined.
    pub(super) fn finish(self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.trim().chars().count()).max().unwrap_or(0).min(WIDEST_COLUMN)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut lines = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let cells = widths.iter().enumerate().map(|(column, width)| {
                let cell = row.get(column).map(|cell| cell.trim()).unwrap_or_default();
                pad(cell, *width, self.aligned.get(column).copied())
            });
            let line = cells.collect::<Vec<_>>().join(" │ ");
            lines.push(line.trim_end().to_owned());
            if number == 0 {
                let under: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(under.join("─┼─"));
            }
        }
        lines.join("\n")
    }
}

fn pad(cell: &str, width: usize, aligned: Option<Aligned>) -> String {
    let missing = width.saturating_sub(cell.chars().count());
    match aligned {
        Some(Aligned::Right) => format!("{}{cell}", " ".repeat(missing)),
        Some(Aligned::Center) => {
            let left = missing / 2;
            format!("{}{cell}{}", " ".repeat(left), " ".repeat(missing - left))
        }
        Some(Aligned::Left) | None => format!("{cell}{}", " ".repeat(missing)),
    }
}
