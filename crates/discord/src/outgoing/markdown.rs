//! Markdown of agents, as Discord understands it.
//!
//! What an agent writes is not trusted. It is read as Markdown and written anew: only markup that is written here
//! comes out, each piece of it closed. HTML is shown as text; a link leads only to the web or a mail address and
//! says to which; an image is a link that a person must follow; nothing in the text is a mention. What Discord has
//! no markup for becomes what comes next to it: a table a block of code, a small heading bold words.

use cloister_kit::markdown::{LinkTo, Markdown, Markup, pieces};

use super::links::{Link, aside};
use super::tables::Table;
use super::text::{in_block, length, push_code, push_text};

/// Longer than any message; not worth rendering.
const MAX_BYTES: usize = 32 << 10;
/// Clients show lists no deeper than this.
const MAX_LISTS: usize = 8;
const INDENT: &str = "  ";

/// What stands where there is nothing to see.
const NOTHING: &str = "…";

/// How long a text is as a message; never less than it is as it stands.
pub(super) fn measure(markdown: &str) -> usize {
    let plain = length(markdown);
    if markdown.len() > MAX_BYTES {
        plain.max(MAX_BYTES)
    } else {
        plain.max(length(&render(markdown)))
    }
}

/// A text as it is sent; never empty.
pub(super) fn render(markdown: &str) -> String {
    let mut writer = Writer::default();
    for piece in pieces(markdown) {
        writer.piece(piece);
    }
    let out = writer.finish();
    match out.trim() {
        "" => NOTHING.to_owned(),
        text => text.to_owned(),
    }
}

/// What was begun, and how it ends.
enum OpenMarkup {
    /// Ends with these marks.
    Marks(&'static str),
    /// A block: what follows is on a line of its own, after an empty one if it is loose.
    Block {
        loose: bool,
    },
    Quote,
    List,
    Item,
    Code {
        language: String,
        code: String,
    },
    Table(Table),
    Link(Link),
    /// A link in a table, where there are none: what is said after it.
    Aside(String),
    /// Not shown; its text is.
    Nothing,
}

#[derive(Default)]
struct Writer {
    out: String,
    open: Vec<OpenMarkup>,
    /// The numbers of the lists that are open; none: not numbered.
    lists: Vec<Option<u64>>,
    quotes: usize,
    /// Line ends that come before whatever is written next.
    pending: usize,
    /// What the line was before.
    was_quote: bool,
    /// An item has its mark and nothing else.
    fresh_item: bool,
    in_heading: bool,
}

impl Writer {
    fn piece(&mut self, piece: Markdown<'_>) {
        match piece {
            Markdown::Begin(markup) => {
                let open = self.start(markup);
                self.open.push(open);
            }
            Markdown::End => self.end(),
            Markdown::Text(text) | Markdown::Html(text) | Markdown::InlineHtml(text) => {
                self.text(&text);
            }
            Markdown::Code(text) => self.code(&text),
            Markdown::Break => self.line_break(),
            Markdown::Rule => {
                self.block(2);
                self.raw("———");
                self.block(2);
            }
            Markdown::Box(done) => self.raw(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, markup: Markup<'_>) -> OpenMarkup {
        match markup {
            Markup::Paragraph => self.begin_block(),
            Markup::Heading(level) => self.heading(level),
            Markup::Quote => {
                self.fresh_item = false;
                self.block(2);
                self.quotes += 1;
                OpenMarkup::Quote
            }
            Markup::CodeBlock { language } => {
                OpenMarkup::Code { language: language.unwrap_or_default(), code: String::new() }
            }
            Markup::List(first) => {
                self.block(if self.lists.is_empty() { 2 } else { 1 });
                self.lists.push(first);
                OpenMarkup::List
            }
            Markup::Item => self.item(),
            Markup::Table(aligned) => OpenMarkup::Table(Table::new(aligned)),
            Markup::TableHead | Markup::TableRow => {
                self.in_table(Table::row);
                OpenMarkup::Nothing
            }
            Markup::TableCell => {
                self.in_table(Table::cell);
                OpenMarkup::Nothing
            }
            Markup::Emphasis => self.marks("*", "_"),
            Markup::Strong => self.marks("**", "**"),
            Markup::Strike => self.marks("~~", "~~"),
            Markup::Link(link) => self.link(link),
            Markup::Image(link) => {
                self.raw("Image: ");
                self.link(link)
            }
            Markup::Nothing => OpenMarkup::Nothing,
        }
    }

    fn end(&mut self) {
        match self.open.pop() {
            Some(OpenMarkup::Marks(closing)) => self.raw(closing),
            Some(OpenMarkup::Block { loose }) => {
                self.in_heading = false;
                self.block(if loose { 2 } else { 1 });
            }
            Some(OpenMarkup::Quote) => {
                self.quotes = self.quotes.saturating_sub(1);
                self.block(2);
            }
            Some(OpenMarkup::List) => {
                self.lists.pop();
                self.block(if self.lists.is_empty() { 2 } else { 1 });
            }
            Some(OpenMarkup::Item) => {
                self.fresh_item = false;
                self.block(1);
            }
            Some(OpenMarkup::Aside(said)) => self.text(&said),
            Some(OpenMarkup::Code { language, code }) => self.code_block(&language, &code),
            Some(OpenMarkup::Table(table)) => self.code_block("", &table.finish()),
            Some(OpenMarkup::Link(link)) => {
                self.begin(true);
                link.write(&mut self.out);
            }
            Some(OpenMarkup::Nothing) | None => {}
        }
    }

    /// Whatever is still open ends, as it began.
    fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.end();
        }
        self.out
    }

    fn begin_block(&mut self) -> OpenMarkup {
        let loose = self.lists.is_empty();
        self.block(if loose { 2 } else { 1 });
        OpenMarkup::Block { loose }
    }

    fn heading(&mut self, level: u8) -> OpenMarkup {
        let mark = match level {
            1 => "# ",
            2 => "## ",
            3 => "### ",
            _ => "",
        };
        self.block(2);
        if mark.is_empty() || !self.lists.is_empty() {
            // Bold words, on a line of their own.
            return self.marks("**", "**");
        }
        self.raw(mark);
        self.in_heading = true;
        OpenMarkup::Block { loose: false }
    }

    fn item(&mut self) -> OpenMarkup {
        self.fresh_item = false;
        self.block(1);
        let depth = self.lists.len().min(MAX_LISTS).saturating_sub(1);
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            Some(None) | None => "- ".to_owned(),
        };
        self.begin(false);
        self.out.push_str(&format!("{}{mark}", INDENT.repeat(depth)));
        self.fresh_item = true;
        OpenMarkup::Item
    }

    /// Puts at least so many line ends before what comes next.
    fn block(&mut self, lines: usize) {
        if !self.out.is_empty() && !self.fresh_item {
            self.pending = self.pending.max(lines);
        }
    }

    /// Begins to write: the line ends that were put off, and what the line begins with. `indent`: what belongs to
    /// an item stands below its words.
    fn begin(&mut self, indent: bool) {
        let new_line = self.pending > 0;
        for number in 0..self.pending {
            // An empty line between two of a quotation belongs to it.
            if number > 0 && self.quotes > 0 && self.was_quote {
                self.out.push_str("> ");
            }
            self.out.push('\n');
        }
        if (new_line || self.out.is_empty()) && self.quotes > 0 {
            self.out.push_str("> ");
        }
        if new_line && indent {
            self.out.push_str(&INDENT.repeat(self.lists.len().min(MAX_LISTS)));
        }
        self.fresh_item = false;
        self.pending = 0;
        self.was_quote = self.quotes > 0;
    }

    /// Marks of ours.
    fn raw(&mut self, marks: &str) {
        if marks.is_empty() {
            return;
        }
        match self.open.iter_mut().rev().find(|open| open.collects()) {
            Some(OpenMarkup::Link(link)) => link.raw(marks),
            // Where there is no markup, there are no marks.
            Some(_) => {}
            None => {
                self.begin(true);
                self.out.push_str(marks);
            }
        }
    }

    /// Words, as they are.
    fn text(&mut self, words: &str) {
        match self.open.iter_mut().rev().find(|open| open.collects()) {
            Some(OpenMarkup::Code { code, .. }) => code.push_str(words),
            Some(OpenMarkup::Table(table)) => table.text(words),
            Some(OpenMarkup::Link(link)) => link.text(words),
            Some(_) | None => self.lines(words),
        }
    }

    fn lines(&mut self, words: &str) {
        let ends = words.ends_with('\n');
        for (number, line) in words.trim_end_matches('\n').split('\n').enumerate() {
            if number > 0 {
                self.line_break();
            }
            if line.is_empty() {
                continue;
            }
            self.begin(true);
            let at_start = self.is_line_start();
            push_text(&mut self.out, line, at_start);
        }
        if ends {
            self.block(1);
        }
    }

    /// Whether nothing but marks of ours stands on the line.
    fn is_line_start(&self) -> bool {
        let marks = |c: char| {
            matches!(c, '>' | '-' | ' ' | '*' | '_' | '~' | '#' | '.') || c.is_ascii_digit()
        };
        self.out.chars().rev().take_while(|c| *c != '\n').all(marks)
    }

    fn line_break(&mut self) {
        match self.open.iter_mut().rev().find(|open| open.collects()) {
            Some(OpenMarkup::Code { code, .. }) => code.push('\n'),
            Some(OpenMarkup::Table(table)) => table.text(" "),
            Some(OpenMarkup::Link(link)) => link.raw(" "),
            // A heading is one line.
            Some(_) | None if self.in_heading => self.raw(" "),
            Some(_) | None => self.block(1),
        }
    }

    fn code(&mut self, code: &str) {
        match self.open.iter_mut().rev().find(|open| open.collects()) {
            Some(OpenMarkup::Code { code: block, .. }) => block.push_str(code),
            Some(OpenMarkup::Table(table)) => table.text(code),
            Some(OpenMarkup::Link(link)) => link.code(code),
            Some(_) | None => {
                self.begin(true);
                push_code(&mut self.out, code);
            }
        }
    }

    fn in_table(&mut self, act: fn(&mut Table)) {
        if let Some(OpenMarkup::Table(table)) =
            self.open.iter_mut().rev().find(|open| matches!(open, OpenMarkup::Table(_)))
        {
            act(table);
        }
    }

    fn code_block(&mut self, language: &str, code: &str) {
        let code = in_block(code);
        let code = code.trim_matches('\n');
        if code.trim().is_empty() {
            return;
        }
        self.fresh_item = false;
        self.block(if self.lists.is_empty() { 2 } else { 1 });
        self.begin(false);
        self.out.push_str("```");
        self.out.push_str(language);
        for line in code.split('\n').chain(["```"]) {
            self.block(1);
            self.begin(false);
            self.out.push_str(line);
        }
        self.block(if self.lists.is_empty() { 2 } else { 1 });
    }

    /// `other`: instead of the marks where the same ones are open already.
    fn marks(&mut self, marks: &'static str, other: &'static str) -> OpenMarkup {
        let like =
            |open: &OpenMarkup| matches!(open, OpenMarkup::Marks(open) if open.starts_with('*'));
        let same = |open: &OpenMarkup| matches!(open, OpenMarkup::Marks(open) if *open == marks);
        if self.open.iter().any(same) || self.open.iter().any(OpenMarkup::is_verbatim) {
            return OpenMarkup::Nothing;
        }
        let marks = if self.open.iter().any(like) { other } else { marks };
        self.raw(marks);
        OpenMarkup::Marks(marks)
    }

    /// Begins a link, if it leads where a link may and is in no other.
    fn link(&mut self, to: LinkTo<'_>) -> OpenMarkup {
        if self.open.iter().any(|open| matches!(open, OpenMarkup::Table(_))) {
            return aside(&to).map_or(OpenMarkup::Nothing, OpenMarkup::Aside);
        }
        let in_link = self.open.iter().any(|open| matches!(open, OpenMarkup::Link(_)));
        let link = if in_link { None } else { Link::begin(to) };
        link.map_or(OpenMarkup::Nothing, OpenMarkup::Link)
    }
}

impl OpenMarkup {
    /// What is inside is kept until it ends.
    const fn collects(&self) -> bool {
        matches!(self, Self::Code { .. } | Self::Table(_) | Self::Link(_))
    }

    const fn is_verbatim(&self) -> bool {
        matches!(self, Self::Code { .. } | Self::Table(_))
    }
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
