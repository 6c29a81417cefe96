//! Markdown of agents, as a text with marks.
//!
//! What an agent writes is not trusted. HTML in it is shown as text; a link leads only to the web, and says
//! where; an image is a link that a person must follow; characters that nobody sees are shown. What Telegram has
//! no mark for becomes readable text: headings are bold, lists have bullets, a table is aligned or told row by
//! row.

use cloister_kit::markdown::{LinkTo, Markdown, Markup, pieces};
use cloister_policy::legible;

use super::tables::Table;
use super::text::{Kind, MAX_MARKS, Text, units};
use super::writer::{MAX_DEPTH, OpenMarkup, Target, Writer};

/// The most of one message, in units of UTF-16.
pub(super) const LONGEST: usize = 4096;
/// What is longer, or becomes longer, is shown as it was written.
const MAX_BYTES: usize = 64 << 10;
/// A longer quote is folded.
const LONG_QUOTE: usize = 600;
const LONG_QUOTE_LINES: usize = 8;
const RULE: &str = "———";

/// A text as Telegram shows it. Never empty if anything can be seen in what was written.
pub(super) fn render(markdown: &str) -> Text {
    let rendered = if markdown.len() > MAX_BYTES { None } else { formed(markdown) };
    match rendered {
        Some(text) if !text.is_blank() => text,
        Some(_) | None => Text::plain(legible(markdown.trim()).into_owned()),
    }
}

/// How much of a message a text takes. One with more marks than a message may have does not fit, either.
pub(super) fn measure(markdown: &str) -> usize {
    let raw = units(markdown);
    if raw > LONGEST * 4 {
        return raw;
    }
    let text = render(markdown);
    match text.marks.len() {
        0..=MAX_MARKS => text.units(),
        many => text.units().max(LONGEST + many),
    }
}

fn formed(markdown: &str) -> Option<Text> {
    let mut writer = Writer::default();
    for piece in pieces(markdown) {
        writer.piece(piece);
        if writer.out.text.len() > MAX_BYTES || writer.is_too_much() {
            return None;
        }
    }
    while !writer.open.is_empty() {
        writer.end();
    }
    Some(writer.out.trimmed())
}

impl Writer {
    fn piece(&mut self, piece: Markdown<'_>) {
        match piece {
            Markdown::Begin(markup) => {
                let deep = self.open.len() >= MAX_DEPTH;
                let open = if deep { flat(&markup) } else { self.start(markup) };
                if matches!(open, OpenMarkup::Block) {
                    self.new_block();
                }
                self.open.push(open);
            }
            Markdown::End => self.end(),
            Markdown::Text(text) => self.text(&text),
            Markdown::Html(text) => {
                self.text(text.trim_end_matches('\n'));
                self.gap = self.gap.max(1);
            }
            Markdown::InlineHtml(text) if is_break(&text) => self.new_line(),
            Markdown::InlineHtml(text) => self.text(&text),
            Markdown::Code(text) => self.code(&text),
            Markdown::Break => self.new_line(),
            Markdown::Rule => {
                self.new_block();
                self.text(RULE);
                self.new_block();
            }
            Markdown::Box(done) => self.checkbox(done),
        }
    }

    fn start(&mut self, markup: Markup<'_>) -> OpenMarkup {
        match markup {
            Markup::Paragraph => OpenMarkup::Block,
            Markup::Heading(_) => {
                self.new_block();
                OpenMarkup::Heading { start: None }
            }
            Markup::Quote => self.quote(),
            Markup::CodeBlock { language } => self.code_block(language),
            Markup::List(first) => {
                self.new_block();
                self.lists.push(first);
                OpenMarkup::List
            }
            Markup::Item => {
                self.bullet();
                OpenMarkup::Item
            }
            Markup::Table(_) => {
                self.new_block();
                self.flush_to(0);
                self.begin();
                self.table = Some(Table::default());
                OpenMarkup::Table
            }
            Markup::TableHead | Markup::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
                OpenMarkup::Row
            }
            Markup::TableCell => {
                self.gap = 0;
                OpenMarkup::Cell(std::mem::take(&mut self.out))
            }
            Markup::Emphasis => self.style(Kind::Italic),
            Markup::Strong => self.style(Kind::Bold),
            Markup::Strike => self.style(Kind::Strike),
            Markup::Link(link) => self.link(link),
            Markup::Image(link) => {
                self.text("Image: ");
                self.link(link)
            }
            Markup::Nothing => OpenMarkup::Nothing,
        }
    }

    fn end(&mut self) {
        match self.open.pop() {
            Some(OpenMarkup::Style { kind, start }) => self.close(kind, start),
            Some(OpenMarkup::Heading { start }) => {
                self.close(Kind::Bold, start);
                self.new_block();
            }
            Some(OpenMarkup::Link { target, start }) => self.end_link(target, start),
            Some(OpenMarkup::Quote { start }) => {
                let said = start.and_then(|start| self.out.text.get(start..)).unwrap_or_default();
                let long = units(said) > LONG_QUOTE || said.lines().count() > LONG_QUOTE_LINES;
                self.close(Kind::Quote { long }, start);
                self.new_block();
            }
            Some(OpenMarkup::Pre { language, start }) => {
                let end = self.out.text.trim_end_matches('\n').len().max(start);
                self.out.text.truncate(end);
                self.close(Kind::Pre(language), Some(start));
                self.new_block();
            }
            Some(OpenMarkup::Block) => self.new_block(),
            Some(OpenMarkup::List) => {
                self.lists.pop();
                self.new_block();
            }
            Some(OpenMarkup::Item) => {
                self.after_bullet = false;
                self.gap = self.gap.max(1);
            }
            Some(OpenMarkup::Cell(before)) => {
                let cell = std::mem::replace(&mut self.out, before);
                self.gap = 0;
                if let Some(table) = &mut self.table {
                    table.add(cell);
                }
            }
            Some(OpenMarkup::Table) => {
                if let Some(table) = self.table.take() {
                    table.write(&mut self.out);
                }
                self.new_block();
            }
            Some(OpenMarkup::Row | OpenMarkup::Nothing) | None => {}
        }
    }

    fn style(&mut self, kind: Kind) -> OpenMarkup {
        let same = |open: &OpenMarkup| match open {
            OpenMarkup::Style { kind: outer, .. } => *outer == kind,
            OpenMarkup::Heading { .. } => kind == Kind::Bold,
            _ => false,
        };
        if self.open.iter().any(same) {
            OpenMarkup::Nothing
        } else {
            OpenMarkup::Style { kind, start: None }
        }
    }

    fn quote(&mut self) -> OpenMarkup {
        self.new_block();
        // One in another is not taken; one in a list would begin in the middle of a line.
        let inside = self
            .open
            .iter()
            .any(|open| matches!(open, OpenMarkup::Quote { .. } | OpenMarkup::List));
        if inside { OpenMarkup::Block } else { OpenMarkup::Quote { start: None } }
    }

    fn code_block(&mut self, language: Option<String>) -> OpenMarkup {
        self.after_bullet = false;
        self.new_block();
        self.flush_to(0);
        self.begin();
        OpenMarkup::Pre { language, start: self.out.text.len() }
    }

    fn link(&mut self, link: LinkTo<'_>) -> OpenMarkup {
        if self.open.iter().any(|open| matches!(open, OpenMarkup::Link { .. })) {
            return OpenMarkup::Nothing;
        }
        let target = match link.place {
            // Telegram finds an address that is its own text by itself, if its letters can't be mistaken.
            Some(_) if link.is_own_text && link.url.is_ascii() => Target::Nowhere,
            Some(place) if is_web(&link.url) && place.contains('.') => {
                Target::Web { url: link.url.into_owned(), place }
            }
            Some(place) => Target::Told(place),
            None => Target::Nowhere,
        };
        OpenMarkup::Link { target, start: None }
    }

    fn end_link(&mut self, target: Target, start: Option<usize>) {
        let said = start.and_then(|start| self.out.text.get(start..)).unwrap_or_default();
        let says = |what: &str| said.trim() == what;
        let (link, told) = match target {
            Target::Web { url, place } => {
                let told = (!says(&place) && !says(&url)).then_some(place);
                (Some(url), told)
            }
            Target::Told(place) => (None, (!says(&place)).then_some(place)),
            Target::Nowhere => (None, None),
        };
        if let Some(url) = link {
            self.close(Kind::Link(url), start);
        }
        if let Some(place) = told {
            self.text(&format!(" ({place})"));
        }
    }
}

/// How something is shown that is nested too deep.
fn flat(markup: &Markup<'_>) -> OpenMarkup {
    match markup {
        Markup::Paragraph
        | Markup::Item
        | Markup::CodeBlock { .. }
        | Markup::Heading(_)
        | Markup::TableRow => OpenMarkup::Block,
        _ => OpenMarkup::Nothing,
    }
}

fn is_break(html: &str) -> bool {
    let name = html.trim_matches(['<', '>', '/', ' ']);
    name.eq_ignore_ascii_case("br")
}

fn is_web(url: &str) -> bool {
    url.split_once(':').is_some_and(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    })
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
