//! Text as it comes, cut into lines that fit: an answer grows line by line above the prompt.

/// Lines in the making.
#[derive(Debug)]
pub(super) struct Lines {
    width: usize,
    open: String,
    /// Inside a fence every line is code, which is not broken.
    fenced: bool,
}

impl Lines {
    pub(super) fn new(width: usize) -> Self {
        Self { width: width.max(20), open: String::new(), fenced: false }
    }

    /// Adds text; the lines that are complete now.
    pub(super) fn push(&mut self, text: &str) -> Vec<String> {
        let mut done = Vec::new();
        for c in text.chars() {
            if c == '\n' {
                done.push(self.take());
                continue;
            }
            self.open.push(c);
            if self.is_full()
                && let Some(line) = self.break_off()
            {
                done.push(line);
            }
        }
        done
    }

    /// What is left at the end.
    pub(super) fn finish(&mut self) -> Option<String> {
        let rest = self.take();
        (!rest.is_empty()).then_some(rest)
    }

    fn take(&mut self) -> String {
        if self.open.trim_start().starts_with("```") {
            self.fenced = !self.fenced;
        }
        std::mem::take(&mut self.open)
    }

    fn is_full(&self) -> bool {
        let code = self.fenced || self.open.starts_with("    ") || self.open.starts_with("```");
        !code && self.open.chars().count() > self.width
    }

    /// The line up to its last space; one without a space is left to the terminal.
    fn break_off(&mut self) -> Option<String> {
        let (line, rest) = self.open.rsplit_once(' ')?;
        if line.trim().is_empty() {
            return None;
        }
        let (line, rest) = (line.trim_end().to_owned(), rest.to_owned());
        self.open = rest;
        Some(line)
    }
}

#[cfg(test)]
#[path = "wrap_tests.rs"]
mod tests;
