//! Writes Markdown within a bound: collapses white space, owes line breaks until text comes, and
//! begins each line with the marks of the lists and quotes it stands in.

/// What separates the next text from the last, the strongest wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    None,
    Space,
    Line,
    Paragraph,
}

/// What the beginnings of lines show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Margin {
    Quote,
    Item,
}

impl Margin {
    const fn mark(self) -> &'static str {
        match self {
            Self::Quote => "> ",
            Self::Item => "  ",
        }
    }
}

/// Deeper ones are not shown.
const SHOWN_MARGINS: usize = 8;
/// Deeper ones are not even remembered.
const MAX_MARGINS: usize = 64;

/// Marks beyond these are left out: nobody opens that many before a word.
const MAX_OPENING_BYTES: usize = 200;

/// A place in what is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Here {
    out: usize,
    opening: usize,
}

pub(super) struct Writer {
    out: String,
    most: usize,
    full: bool,
    gap: Gap,
    margins: Vec<Margin>,
    /// Begins the next line of text, in place of the last margin.
    bullet: Option<String>,
    /// Marks that wait for the text they stand before.
    opening: String,
    /// All of it on one line.
    flat: bool,
    /// The last line stands in a quote.
    in_quote: bool,
}

impl Writer {
    pub(super) fn new(most: usize) -> Self {
        Self {
            out: String::new(),
            most,
            full: false,
            gap: Gap::None,
            margins: Vec::new(),
            bullet: None,
            opening: String::new(),
            flat: false,
            in_quote: false,
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    pub(super) fn finish(mut self) -> (String, bool) {
        if self.out.len() > self.most {
            // Marks that close what was open went past the bound.
            self.out.truncate(self.out.floor_char_boundary(self.most));
            self.full = true;
        }
        self.out.truncate(self.out.trim_end().len());
        (self.out, self.full)
    }

    pub(super) fn gap(&mut self, gap: Gap) {
        let gap = if self.flat { gap.min(Gap::Space) } else { gap };
        self.gap = self.gap.max(gap);
    }

    /// While flat, breaks are spaces.
    pub(super) fn set_flat(&mut self, flat: bool) {
        self.flat = flat;
    }

    /// Text in which white space means nothing but a gap.
    pub(super) fn text(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() && !self.full {
            let word = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
            let (space, from_word) = rest.split_at(word);
            if !space.is_empty() {
                self.gap(Gap::Space);
            }
            let end = from_word.find(char::is_whitespace).unwrap_or(from_word.len());
            let (word, after) = from_word.split_at(end);
            self.put(word);
            rest = after;
        }
    }

    /// Text in which white space is kept.
    pub(super) fn verbatim(&mut self, text: &str) {
        for (at, line) in text.split('\n').enumerate() {
            if at > 0 && !self.full {
                self.settle();
                self.new_line();
            }
            self.put(line.trim_end_matches('\r'));
        }
    }

    /// A mark before the text that follows.
    pub(super) fn open(&mut self, mark: &str) {
        if self.opening.len() < MAX_OPENING_BYTES {
            self.opening.push_str(mark);
        }
    }

    /// The same mark after the text; both are left out if there was none.
    pub(super) fn close(&mut self, mark: &str) {
        match self.opening.strip_suffix(mark) {
            Some(before) => self.opening.truncate(before.len()),
            None => self.put_close(mark),
        }
    }

    /// Characters that belong to the text before them, and not to what is owed since.
    pub(super) fn put_close(&mut self, text: &str) {
        if !self.full {
            self.out.push_str(text);
        }
    }

    /// Where the next text will be.
    pub(super) fn here(&self) -> Here {
        Here { out: self.out.len(), opening: self.opening.len() }
    }

    /// How much was written since.
    pub(super) fn since(&self, here: Here) -> usize {
        self.out.len().saturating_sub(here.out)
    }

    /// If nothing was written since, forgets the marks that were opened since; whether it did.
    pub(super) fn take_back(&mut self, here: Here) -> bool {
        let nothing = self.since(here) == 0;
        if nothing {
            self.opening.truncate(here.opening);
        }
        nothing
    }

    /// Characters that are written as they are, after whatever is owed.
    pub(super) fn put(&mut self, text: &str) {
        if text.is_empty() || self.full {
            return;
        }
        self.settle();
        let room = self.most.saturating_sub(self.out.len());
        if text.len() > room {
            self.full = true;
        }
        // Invisible letters that some models read and no person sees.
        let seen = crate::text::head(text, room).chars();
        self.out.extend(seen.filter(|c| !('\u{e0000}'..='\u{e007f}').contains(c)));
    }

    /// Begins a list's item on a line of its own.
    pub(super) fn item(&mut self, bullet: String) {
        self.gap(Gap::Line);
        self.push(Margin::Item);
        self.bullet = Some(bullet);
    }

    pub(super) fn push(&mut self, margin: Margin) {
        if self.margins.len() < MAX_MARGINS {
            self.margins.push(margin);
        }
    }

    /// How deep the next line stands.
    pub(super) fn depth(&self) -> usize {
        self.margins.len()
    }

    /// Ends whatever was begun deeper than this.
    pub(super) fn back_to(&mut self, depth: usize) {
        self.margins.truncate(depth);
        self.bullet = None;
    }

    /// Ends the innermost quote, and with it what was left open inside.
    pub(super) fn end_quote(&mut self) {
        if let Some(at) = self.margins.iter().rposition(|open| *open == Margin::Quote) {
            self.back_to(at);
        }
    }

    /// Writes what is owed before text.
    fn settle(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        if self.out.is_empty() {
            self.begin_line();
        } else {
            match gap {
                Gap::None => {}
                Gap::Space => self.out.push(' '),
                Gap::Line if self.out.ends_with('\n') => self.begin_line(),
                Gap::Line => self.new_line(),
                Gap::Paragraph => {
                    self.new_line_of_marks();
                    self.new_line();
                }
            }
        }
        let opening = std::mem::take(&mut self.opening);
        self.out.push_str(&opening);
    }

    fn new_line(&mut self) {
        self.end_line();
        self.begin_line();
    }

    /// An empty line, which still shows that it stands in a quote.
    fn new_line_of_marks(&mut self) {
        self.end_line();
        if self.in_quote && self.margins.contains(&Margin::Quote) {
            let bullet = self.bullet.take();
            self.begin_line();
            self.bullet = bullet;
        }
    }

    fn end_line(&mut self) {
        self.out.truncate(self.out.trim_end_matches(' ').len());
        self.out.push('\n');
    }

    fn begin_line(&mut self) {
        let bullet = self.bullet.take();
        self.in_quote = self.margins.contains(&Margin::Quote);
        let shown = self.margins.len().min(SHOWN_MARGINS);
        let shown = if bullet.is_some() { shown.saturating_sub(1) } else { shown };
        for margin in self.margins.iter().take(shown) {
            self.out.push_str(margin.mark());
        }
        self.out.push_str(&bullet.unwrap_or_default());
    }
}
