//! Tables: aligned in a block of code where they fit a phone, else told row by row.

use unicode_segmentation::UnicodeSegmentation;

use super::text::{Kind, Text};

/// What fits beside one another on a phone.
const MAX_WIDTH: usize = 44;
/// Of one table.
const MAX_CELLS: usize = 4_000;

/// The rows of a table; the first is its head.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Text>>,
    cells: usize,
}

impl Table {
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn add(&mut self, cell: Text) {
        self.cells += 1;
        if let Some(row) = self.rows.last_mut() {
            row.push(cell.trimmed());
        }
    }

    pub(super) const fn is_too_large(&self) -> bool {
        self.cells > MAX_CELLS
    }

    pub(super) fn write(&self, out: &mut Text) {
        let has_links =
            |cell: &Text| cell.marks.iter().any(|mark| matches!(mark.kind, Kind::Link(_)));
        let widths = self.widths();
        let width = widths.iter().sum::<usize>() + 3 * widths.len().saturating_sub(1);
        // A block of code has no links in it.
        if width > MAX_WIDTH || self.rows.iter().flatten().any(has_links) {
            self.tell(out);
        } else {
            self.align(out, &widths);
        }
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = Vec::new();
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                let width = width(&one_line(&cell.text));
                match widths.get_mut(column) {
                    Some(widest) => *widest = width.max(*widest),
                    None => widths.push(width),
                }
            }
        }
        widths
    }

    fn align(&self, out: &mut Text, widths: &[usize]) {
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let mut cells = Vec::new();
            for (column, widest) in widths.iter().enumerate() {
                let text = row.get(column).map(|cell| one_line(&cell.text)).unwrap_or_default();
                cells.push(format!("{text}{}", " ".repeat(widest.saturating_sub(width(&text)))));
            }
            lines.push(cells.join(" | ").trim_end().to_owned());
            if at == 0 {
                let rules: Vec<String> = widths.iter().map(|widest| "-".repeat(*widest)).collect();
                lines.push(rules.join("-+-"));
            }
        }
        out.push(&lines.join("\n"), Some(Kind::Pre(None)));
    }

    /// Each row: what it is about, then its other cells with what they are.
    fn tell(&self, out: &mut Text) {
        let Some((head, rows)) = self.rows.split_first() else { return };
        if rows.is_empty() {
            return tell_row(out, head, &[]);
        }
        for (at, row) in rows.iter().enumerate() {
            if at > 0 {
                out.push("\n\n", None);
            }
            tell_row(out, row, head);
        }
    }
}

fn tell_row(out: &mut Text, row: &[Text], head: &[Text]) {
    let cells = row.iter().enumerate().filter(|(_, cell)| !cell.is_blank());
    for (line, (column, cell)) in cells.enumerate() {
        if line > 0 {
            out.push("\n", None);
        }
        let name = head.get(column).filter(|name| column > 0 && !name.is_blank());
        if let Some(name) = name {
            out.push(&format!("{}: ", one_line(&name.text)), None);
        }
        let start = out.text.len();
        append(out, cell);
        let end = out.text.len();
        // Code lies in nothing bold.
        let has_code = cell.marks.iter().any(|mark| matches!(mark.kind, Kind::Code | Kind::Bold));
        if column == 0 && !head.is_empty() && !has_code {
            out.mark(Kind::Bold, start..end);
        }
    }
}

fn append(out: &mut Text, text: &Text) {
    let start = out.text.len();
    out.text.push_str(&text.text);
    for mark in &text.marks {
        out.mark(mark.kind.clone(), start + mark.at.start..start + mark.at.end);
    }
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

fn width(text: &str) -> usize {
    text.graphemes(true).count()
}
