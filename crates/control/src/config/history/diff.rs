//! What is different between two texts, line by line.

use std::fmt::Write;

/// Lines around a difference that are shown with it.
const CONTEXT: usize = 3;
/// Beyond this many comparisons the differing middle is shown as replaced.
const MOST_WORK: usize = 4_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DiffLine<'a> {
    Same(&'a str),
    Gone(&'a str),
    New(&'a str),
}

/// A unified diff of one file; empty if nothing differs.
pub(crate) fn unified(path: &str, from: Option<&[u8]>, to: Option<&[u8]>) -> String {
    if from == to {
        return String::new();
    }
    let side = |mark: &str, there: bool| {
        if there { format!("{mark}/{path}") } else { "/dev/null".to_owned() }
    };
    let mut out = format!("--- {}\n+++ {}\n", side("a", from.is_some()), side("b", to.is_some()));
    let text =
        |bytes: Option<&[u8]>| std::str::from_utf8(bytes.unwrap_or_default()).map(str::to_owned);
    let (Ok(from), Ok(to)) = (text(from), text(to)) else {
        out.push_str("(not text)\n");
        return out;
    };
    let (from, to): (Vec<&str>, Vec<&str>) = (from.lines().collect(), to.lines().collect());
    for hunk in hunks(&compare(&from, &to)) {
        out.push_str(&hunk);
    }
    out
}

fn compare<'a>(from: &[&'a str], to: &[&'a str]) -> Vec<DiffLine<'a>> {
    let before = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    let (from_rest, to_rest) = (from.get(before..).unwrap_or(&[]), to.get(before..).unwrap_or(&[]));
    let after =
        from_rest.iter().rev().zip(to_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let middle = |lines: &[&'a str]| -> Vec<&'a str> {
        lines.iter().take(lines.len() - after).copied().collect()
    };
    let mut lines: Vec<DiffLine<'a>> =
        from.iter().take(before).map(|line| DiffLine::Same(line)).collect();
    lines.extend(differing(&middle(from_rest), &middle(to_rest)));
    lines.extend(from.iter().skip(from.len() - after).map(|line| DiffLine::Same(line)));
    lines
}

/// The longest common subsequence, by the table; both ends differ already.
fn differing<'a>(from: &[&'a str], to: &[&'a str]) -> Vec<DiffLine<'a>> {
    let width = to.len() + 1;
    if from.len().saturating_mul(width) > MOST_WORK {
        let gone = from.iter().map(|line| DiffLine::Gone(line));
        return gone.chain(to.iter().map(|line| DiffLine::New(line))).collect();
    }
    // common[i][j]: how many lines from[i..] and to[j..] share.
    let mut common = vec![0_u32; (from.len() + 1) * width];
    let at = |common: &[u32], i: usize, j: usize| common.get(i * width + j).copied().unwrap_or(0);
    for (i, a) in from.iter().enumerate().rev() {
        for (j, b) in to.iter().enumerate().rev() {
            let value = if a == b {
                at(&common, i + 1, j + 1) + 1
            } else {
                at(&common, i + 1, j).max(at(&common, i, j + 1))
            };
            if let Some(cell) = common.get_mut(i * width + j) {
                *cell = value;
            }
        }
    }
    let (mut lines, mut i, mut j) = (Vec::new(), 0, 0);
    loop {
        match (from.get(i), to.get(j)) {
            (Some(a), Some(b)) if a == b => {
                lines.push(DiffLine::Same(a));
                (i, j) = (i + 1, j + 1);
            }
            (Some(a), b) if b.is_none() || at(&common, i + 1, j) >= at(&common, i, j + 1) => {
                lines.push(DiffLine::Gone(a));
                i += 1;
            }
            (_, Some(b)) => {
                lines.push(DiffLine::New(b));
                j += 1;
            }
            (_, None) => return lines,
        }
    }
}

/// The differences with what is around them, each with its place.
fn hunks(lines: &[DiffLine<'_>]) -> Vec<String> {
    let differs: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| !matches!(line, DiffLine::Same(_)))
        .map(|(at, _)| at)
        .collect();
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for at in differs {
        let (start, end) = (at.saturating_sub(CONTEXT), (at + CONTEXT + 1).min(lines.len()));
        match ranges.last_mut() {
            Some((_, last)) if start <= *last => *last = end,
            _ => ranges.push((start, end)),
        }
    }
    ranges.into_iter().map(|(start, end)| hunk(lines, start, end)).collect()
}

fn hunk(lines: &[DiffLine<'_>], start: usize, end: usize) -> String {
    let count = |lines: &[DiffLine<'_>], new: bool| {
        let counted = |line: &&DiffLine<'_>| match line {
            DiffLine::Same(_) => true,
            DiffLine::Gone(_) => !new,
            DiffLine::New(_) => new,
        };
        lines.iter().filter(counted).count()
    };
    let (before, shown) = (lines.get(..start).unwrap_or(&[]), lines.get(start..end).unwrap_or(&[]));
    let place = |new: bool| {
        let lines = count(shown, new);
        let first = count(before, new) + usize::from(lines > 0);
        format!("{first},{lines}")
    };
    let mut text = format!("@@ -{} +{} @@\n", place(false), place(true));
    for line in shown {
        let (mark, line) = match line {
            DiffLine::Same(line) => (' ', line),
            DiffLine::Gone(line) => ('-', line),
            DiffLine::New(line) => ('+', line),
        };
        // Writing to a string can't fail.
        writeln!(text, "{mark}{line}").ok();
    }
    text
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
