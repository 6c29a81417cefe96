//! Markdown of agents, as the HTML that Matrix clients show.
//!
//! What an agent writes is not trusted. Only tags that are written here come out, of those that the Matrix
//! specification lists, each closed and none nested deeper than clients take. HTML in the text is shown as
//! text; a link leads only to the web or a mail address and says to which; an image is a link that a person
//! must follow (a picture that loads by itself tells its server whatever the agent put into its address).
//! Characters that nobody sees are shown.

use std::fmt::Write as _;

use cloister_kit::markdown::{LinkTo, Markdown, Markup, pieces};
use cloister_policy::legible;

/// The specification lets clients refuse what is nested deeper than 100.
pub(super) const MAX_DEPTH: usize = 40;
/// A longer rendering is not sent: the event would not fit.
const MAX_BYTES: usize = 40 << 10;

/// A text as HTML.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rendered {
    /// There is nothing in it that a plain text would not show as well.
    Plain,
    Html(String),
    TooLong,
}

pub(super) fn render(markdown: &str) -> Rendered {
    if markdown.len() > MAX_BYTES {
        return Rendered::TooLong;
    }
    let mut writer = Writer::default();
    for piece in pieces(markdown) {
        writer.piece(piece);
        if writer.out.len() > MAX_BYTES {
            return Rendered::TooLong;
        }
    }
    let html = writer.finish();
    let mut plain = String::from("<p>");
    push_text(&mut plain, markdown.trim());
    plain.push_str("</p>");
    if html == plain { Rendered::Plain } else { Rendered::Html(html) }
}

/// Text with nothing hidden in it and nothing in it a tag.
pub(super) fn push_text(out: &mut String, text: &str) {
    for c in legible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
}

/// What was begun, and how it ends.
enum OpenMarkup {
    /// The closing tags, and how many they are.
    Tags(&'static str, usize),
    /// A link, and what is said after it.
    Link(Option<String>),
    /// Not shown as a block; its text is, on a line of its own.
    Flat,
    /// Not shown; its text is.
    Nothing,
}

#[derive(Default)]
struct Writer {
    out: String,
    open: Vec<OpenMarkup>,
    depth: usize,
    in_link: bool,
}

impl Writer {
    fn piece(&mut self, piece: Markdown<'_>) {
        match piece {
            Markdown::Begin(markup) => {
                let open = self.start(markup);
                self.open.push(open);
            }
            Markdown::End => self.end(),
            Markdown::Text(text) => push_text(&mut self.out, &text),
            Markdown::Html(text) | Markdown::InlineHtml(text) => {
                for (at, line) in text.trim_end_matches('\n').split('\n').enumerate() {
                    if at > 0 {
                        self.out.push_str("<br>");
                    }
                    push_text(&mut self.out, line);
                }
                if text.ends_with('\n') {
                    self.out.push_str("<br>");
                }
            }
            Markdown::Code(text) => {
                self.out.push_str("<code>");
                push_text(&mut self.out, &text);
                self.out.push_str("</code>");
            }
            Markdown::Break => self.out.push_str("<br>"),
            Markdown::Rule => self.out.push_str("<hr>"),
            Markdown::Box(done) => self.out.push_str(if done { "☑ " } else { "☐ " }),
        }
    }

    fn start(&mut self, markup: Markup<'_>) -> OpenMarkup {
        match markup {
            Markup::Paragraph => self.block("<p>", "</p>"),
            Markup::Heading(level) => {
                let (opening, closing) = heading(level);
                self.block(opening, closing)
            }
            Markup::Quote => self.block("<blockquote>", "</blockquote>"),
            Markup::CodeBlock { language } => self.code_block(language.as_deref()),
            Markup::List(None) => self.block("<ul>", "</ul>"),
            Markup::List(Some(1)) => self.block("<ol>", "</ol>"),
            Markup::List(Some(first)) => {
                self.block(&format!("<ol start=\"{}\">", first.min(999_999_999)), "</ol>")
            }
            Markup::Item if self.is_in(&["</ul>", "</ol>"]) => self.block("<li>", "</li>"),
            Markup::Table(_) => self.block("<table>", "</table>"),
            Markup::TableHead if self.is_in(&["</table>"]) => {
                self.tags("<thead><tr>", "</tr></thead>", 2)
            }
            Markup::TableRow if self.is_in(&["</table>"]) => self.tags("<tr>", "</tr>", 1),
            Markup::TableCell if self.is_in(&["</tr></thead>"]) => self.tags("<th>", "</th>", 1),
            Markup::TableCell if self.is_in(&["</tr>"]) => self.tags("<td>", "</td>", 1),
            Markup::Item | Markup::TableHead | Markup::TableRow => OpenMarkup::Flat,
            Markup::TableCell => {
                self.out.push(' ');
                OpenMarkup::Nothing
            }
            Markup::Emphasis => self.inline("<em>", "</em>"),
            Markup::Strong => self.inline("<strong>", "</strong>"),
            Markup::Strike => self.inline("<del>", "</del>"),
            Markup::Link(link) => self.link(link),
            Markup::Image(link) => {
                let open = self.link(link);
                self.out.push_str("Image: ");
                open
            }
            Markup::Nothing => OpenMarkup::Nothing,
        }
    }

    fn end(&mut self) {
        match self.open.pop() {
            Some(OpenMarkup::Tags(closing, tags)) => {
                self.depth = self.depth.saturating_sub(tags);
                self.out.push_str(closing);
            }
            Some(OpenMarkup::Link(told)) => {
                self.depth = self.depth.saturating_sub(1);
                self.in_link = false;
                self.out.push_str("</a>");
                if let Some(place) = told {
                    self.out.push_str(" (");
                    push_text(&mut self.out, &place);
                    self.out.push(')');
                }
            }
            Some(OpenMarkup::Flat) => self.out.push_str("<br>"),
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

    /// Whether the innermost thing that is open is shown as one of these.
    fn is_in(&self, closings: &[&str]) -> bool {
        matches!(self.open.last(), Some(OpenMarkup::Tags(closing, _)) if closings.contains(closing))
    }

    fn tags(&mut self, opening: &str, closing: &'static str, tags: usize) -> OpenMarkup {
        self.depth += tags;
        self.out.push_str(opening);
        OpenMarkup::Tags(closing, tags)
    }

    /// What stands inside a table's row or a list's item begins only where there is room for all of it.
    fn block(&mut self, opening: &str, closing: &'static str) -> OpenMarkup {
        if self.depth + 8 > MAX_DEPTH {
            return OpenMarkup::Flat;
        }
        self.tags(opening, closing, 1)
    }

    fn inline(&mut self, opening: &str, closing: &'static str) -> OpenMarkup {
        if self.depth + 3 > MAX_DEPTH {
            return OpenMarkup::Nothing;
        }
        self.tags(opening, closing, 1)
    }

    fn code_block(&mut self, language: Option<&str>) -> OpenMarkup {
        if self.depth + 8 > MAX_DEPTH {
            return OpenMarkup::Flat;
        }
        let mut opening = String::from("<pre><code>");
        if let Some(language) = language {
            opening.clear();
            // Writing to a string does not fail.
            write!(opening, "<pre><code class=\"language-{language}\">").ok();
        }
        self.tags(&opening, "</code></pre>", 2)
    }

    /// Begins a link, if it leads where a link may and is in no other link.
    fn link(&mut self, link: LinkTo<'_>) -> OpenMarkup {
        let has_room = !self.in_link && self.depth + 2 <= MAX_DEPTH;
        let Some(place) = link.place.filter(|_| has_room) else { return OpenMarkup::Nothing };
        self.in_link = true;
        self.depth += 1;
        self.out.push_str("<a href=\"");
        push_text(&mut self.out, &link.url);
        self.out.push_str("\">");
        // An address that is its own text needs no second telling, as long as its letters can't be mistaken.
        let told = !link.is_own_text || !link.url.is_ascii();
        OpenMarkup::Link(told.then_some(place))
    }
}

const fn heading(level: u8) -> (&'static str, &'static str) {
    match level {
        1 => ("<h1>", "</h1>"),
        2 => ("<h2>", "</h2>"),
        3 => ("<h3>", "</h3>"),
        4 => ("<h4>", "</h4>"),
        5 => ("<h5>", "</h5>"),
        _ => ("<h6>", "</h6>"),
    }
}

#[cfg(test)]
#[path = "html_tests.rs"]
pub(super) mod tests;
