//! Thoughts that a model writes into its text, between `<think>` and `</think>`, told from its words as they come. Pure.
//!
//! Promises: only what stands at the beginning of an answer is taken for thoughts; words are held back no longer than
//! they may be the beginning of a tag; what has no end is thought to its end.

const OPEN: [&str; 2] = ["<think>", "<thinking>"];
const CLOSE: [&str; 2] = ["</think>", "</thinking>"];

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum InText {
    Words(String),
    Thought(String),
    /// All that was told as words before was thought: the template had opened the tag.
    AllThought,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    /// Nothing but blanks has come.
    #[default]
    Start,
    Thought,
    /// Behind a thought, before the first word.
    Between,
    Words {
        /// It has thought before, so that no tag is looked for.
        thought: bool,
    },
}

#[derive(Debug, Default)]
pub(super) struct ThoughtsInText {
    at: At,
    held: String,
}

impl ThoughtsInText {
    /// Takes more of a text of which these words were told.
    pub(super) fn push(&mut self, text: &str, told: &str) -> Vec<InText> {
        let mut read = Vec::new();
        if text.is_empty() {
            return read;
        }
        self.held.push_str(text);
        while self.step(told, &mut read) {}
        read
    }

    /// Nothing follows.
    pub(super) fn finish(&mut self) -> Vec<InText> {
        let held = std::mem::take(&mut self.held);
        match self.at {
            At::Thought if !held.is_empty() => vec![InText::Thought(held)],
            At::Start | At::Words { .. } if !held.is_empty() => vec![InText::Words(held)],
            At::Start | At::Thought | At::Between | At::Words { .. } => Vec::new(),
        }
    }

    /// Reads on; whether there may be more to read.
    fn step(&mut self, told: &str, read: &mut Vec<InText>) -> bool {
        match self.at {
            At::Start => self.begin(),
            At::Thought => {
                let Some((place, tag)) = first(&self.held, &CLOSE) else {
                    let passed = self.without_unfinished(&CLOSE);
                    if !passed.is_empty() {
                        read.push(InText::Thought(passed));
                    }
                    return false;
                };
                let behind = self.held.split_off(place + tag.len());
                self.held.truncate(place);
                let thought = std::mem::replace(&mut self.held, behind);
                if !thought.is_empty() {
                    read.push(InText::Thought(thought));
                }
                self.at = At::Between;
                true
            }
            At::Between => {
                let blanks = self.held.len() - self.held.trim_start().len();
                self.held.drain(..blanks);
                if self.held.is_empty() {
                    return false;
                }
                self.at = At::Words { thought: true };
                true
            }
            At::Words { thought: true } => {
                read.push(InText::Words(std::mem::take(&mut self.held)));
                false
            }
            At::Words { thought: false } => self.words(told, read),
        }
    }

    fn begin(&mut self) -> bool {
        let text = self.held.trim_start();
        if let Some(tag) = OPEN.iter().find(|tag| text.starts_with(**tag)) {
            self.held = text.strip_prefix(*tag).unwrap_or(text).to_owned();
            self.at = At::Thought;
            return true;
        }
        if OPEN.iter().any(|tag| tag.starts_with(text)) {
            return false;
        }
        self.at = At::Words { thought: false };
        true
    }

    /// Words, as far as it is known: an end that nobody began says that they were none.
    fn words(&mut self, told: &str, read: &mut Vec<InText>) -> bool {
        let Some((place, tag)) = first(&self.held, &CLOSE) else {
            let passed = self.without_unfinished(&CLOSE);
            if !passed.is_empty() {
                read.push(InText::Words(passed));
            }
            return false;
        };
        let before = self.held.get(..place).unwrap_or_default().to_owned();
        // In a line of its own, and no code: who writes about the tag means it otherwise.
        let line_start = before.ends_with('\n') || (before.is_empty() && told.ends_with('\n'));
        let code = told.contains('`') || before.contains('`');
        self.at = At::Words { thought: true };
        if line_start && !code {
            self.held.drain(..place + tag.len());
            read.push(InText::AllThought);
            if !before.is_empty() {
                read.push(InText::Thought(before));
            }
            self.at = At::Between;
        }
        true
    }

    /// What is held, but for an end that may be the beginning of a tag.
    fn without_unfinished(&mut self, tags: &[&str]) -> String {
        let longest = tags.iter().filter_map(|tag| {
            let ends = (1..tag.len()).rev();
            ends.filter_map(|length| tag.get(..length)).find(|part| self.held.ends_with(part))
        });
        let unfinished = longest.map(str::len).max().unwrap_or(0);
        let rest = self.held.split_off(self.held.len() - unfinished);
        std::mem::replace(&mut self.held, rest)
    }
}

/// The first of these tags in a text, and where.
fn first<'a>(text: &str, tags: &[&'a str]) -> Option<(usize, &'a str)> {
    tags.iter().filter_map(|tag| Some((text.find(tag)?, *tag))).min()
}

#[cfg(test)]
#[path = "thoughts_tests.rs"]
mod tests;
