//! Markdown of agents, as HTML that can neither run anything nor load anything.
//!
//! What an agent writes is not trusted: HTML in it is shown as text, a link leads only to the web or
//! to a mail address and says to which, and an image is a link that a person must follow (a picture
//! that loads by itself tells its server whatever the agent put into its address). Characters that
//! nobody sees are shown.

use std::borrow::Cow;
use std::fmt::Write as _;

use cloister_policy::{legible, link_place};
use maud::{Escaper, Markup, PreEscaped};
use pulldown_cmark::{
    CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, TextMergeStream, html,
};

use crate::math;

/// A longer text is shown as it is.
const MAX_BYTES: usize = 512 << 10;
/// Deeper nesting is flattened.
const MAX_DEPTH: usize = 24;

pub(crate) fn render(text: &str) -> Markup {
    if text.len() > MAX_BYTES {
        return maud::html! { pre.plain { (legible(text)) } };
    }
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH;
    let mut safe = Safe::default();
    let text = in_dollars(text);
    let events = TextMergeStream::new(Parser::new_ext(&text, options));
    let events = events.filter_map(|event| safe.event(event));
    let mut out = String::with_capacity(text.len() * 3 / 2);
    html::push_html(&mut out, events);
    PreEscaped(out)
}

/// Lets through only what is harmless.
#[derive(Default)]
struct Safe {
    depth: usize,
    /// For each open link or image, where it leads, if it is shown as a link.
    links: Vec<Option<String>>,
    in_code: bool,
}

impl Safe {
    fn event<'a>(&mut self, event: Event<'a>) -> Option<Event<'a>> {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(shown(text))),
            Event::InlineMath(text) => Some(formula(text, false)),
            Event::DisplayMath(text) => Some(formula(text, true)),
            Event::Code(text) => Some(Event::Code(shown(text))),
            Event::FootnoteReference(name) => Some(Event::Text(shown(name))),
            // People break lines where they want them broken.
            Event::SoftBreak => Some(Event::HardBreak),
            Event::Text(text) if !self.in_code && self.links.is_empty() => {
                Some(linked(shown(text)))
            }
            Event::Text(text) => Some(Event::Text(shown(text))),
            Event::HardBreak | Event::Rule => Some(event),
            Event::TaskListMarker(done) => Some(Event::Text(if done { "☑ " } else { "☐ " }.into())),
        }
    }

    fn start<'a>(&mut self, tag: Tag<'a>) -> Option<Event<'a>> {
        self.depth += 1;
        match tag {
            Tag::Link { dest_url, .. } => self.open_link(&dest_url, ""),
            Tag::Image { dest_url, .. } => self.open_link(&dest_url, "Image: "),
            // Alignment would be an inline style.
            Tag::Table(columns) => {
                let plain = columns.iter().map(|_| pulldown_cmark::Alignment::None).collect();
                Some(Event::Start(Tag::Table(plain)))
            }
            Tag::CodeBlock(kind) => {
                self.in_code = true;
                Some(Event::Start(Tag::CodeBlock(match language(&kind) {
                    Some(name) => CodeBlockKind::Fenced(name.into()),
                    None => CodeBlockKind::Indented,
                })))
            }
            Tag::Heading { level, .. } => Some(Event::Start(Tag::Heading {
                level,
                id: None,
                classes: Vec::new(),
                attrs: Vec::new(),
            })),
            Tag::BlockQuote(_) => self.shallow().then_some(Event::Start(Tag::BlockQuote(None))),
            Tag::List(_) | Tag::Item => self.shallow().then_some(Event::Start(tag)),
            Tag::HtmlBlock => Some(Event::Start(Tag::Paragraph)),
            Tag::Paragraph
            | Tag::TableHead
            | Tag::TableRow
            | Tag::TableCell
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough => Some(Event::Start(tag)),
            Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => None,
        }
    }

    fn end<'a>(&mut self, tag: TagEnd) -> Option<Event<'a>> {
        let shallow = self.shallow();
        self.depth = self.depth.saturating_sub(1);
        match tag {
            TagEnd::Link | TagEnd::Image => {
                let place = self.links.pop()??;
                Some(Event::InlineHtml(format!("</a>{}", told(&place)).into()))
            }
            TagEnd::CodeBlock => {
                self.in_code = false;
                Some(Event::End(tag))
            }
            TagEnd::BlockQuote(_) => shallow.then_some(Event::End(TagEnd::BlockQuote(None))),
            TagEnd::List(_) | TagEnd::Item => shallow.then_some(Event::End(tag)),
            TagEnd::HtmlBlock => Some(Event::End(TagEnd::Paragraph)),
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::Table
            | TagEnd::TableHead
            | TagEnd::TableRow
            | TagEnd::TableCell
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough => Some(Event::End(tag)),
            TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => None,
        }
    }

    fn shallow(&self) -> bool {
        self.depth <= MAX_DEPTH
    }

    /// Begins a link, if it leads where a link may and is in no other link.
    fn open_link<'a>(&mut self, target: &str, mark: &str) -> Option<Event<'a>> {
        let in_link = self.links.iter().any(Option::is_some);
        let place = if in_link { None } else { link_place(target) };
        let text = match &place {
            Some(_) => format!("{}{mark}", anchor(target)),
            None => mark.to_owned(),
        };
        self.links.push(place);
        (!text.is_empty()).then(|| Event::InlineHtml(text.into()))
    }
}

/// A formula; as code if it can't be read, and as text if it is none.
fn formula(text: CowStr<'_>, is_display: bool) -> Event<'_> {
    let is_one = |c: char| "\\^_=+-*/<>{}()|".contains(c);
    let is_prose = !is_display && text.contains(char::is_whitespace) && !text.contains(is_one);
    if is_prose {
        // Dollars of a price, say.
        return Event::Text(shown(format!("${text}$").into()));
    }
    match math::render(&text, is_display) {
        Some(html) => Event::InlineHtml(html.into()),
        None => Event::Code(shown(text)),
    }
}

/// Formulas between `\(` and `\)` or `\[` and `\]`, which many models write, as Markdown has them: in dollars. In
/// code everything stays as it is.
fn in_dollars(text: &str) -> Cow<'_, str> {
    if !text.contains("\\(") && !text.contains("\\[") {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        let begins = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| begins.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) if !line.contains('`') => {
                let line = line.replace("\\[", "$$").replace("\\]", "$$");
                out.push_str(
                    &line
                        .replace("\\( ", "$")
                        .replace("\\(", "$")
                        .replace(" \\)", "$")
                        .replace("\\)", "$"),
                );
                continue;
            }
            _ => {}
        }
        out.push_str(line);
    }
    out.into()
}

/// The language of a block of code, if it is a plain word: it becomes the name of a class.
fn language(kind: &CodeBlockKind<'_>) -> Option<String> {
    let CodeBlockKind::Fenced(info) = kind else { return None };
    let name = info.split([' ', ',', '{']).next()?.to_ascii_lowercase();
    let plain = |c: char| c.is_ascii_alphanumeric() || "+#.-_".contains(c);
    (!name.is_empty() && name.len() <= 20 && name.chars().all(plain)).then_some(name)
}

/// Text with nothing hidden in it.
fn shown(text: CowStr<'_>) -> CowStr<'_> {
    match legible(&text) {
        Cow::Owned(shown) => shown.into(),
        Cow::Borrowed(_) => text,
    }
}

/// The opening tag of a link whose place is known.
fn anchor(target: &str) -> String {
    let mut tag = String::from("<a href=\"");
    push_escaped(&mut tag, target);
    tag.push_str("\" title=\"");
    push_escaped(&mut tag, target);
    tag.push_str("\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">");
    tag
}

/// The place of a link, beside it.
fn told(place: &str) -> String {
    let mut text = String::from(" <span class=\"host\">(");
    push_escaped(&mut text, place);
    text.push_str(")</span>");
    text
}

/// Text with the addresses in it made into links, as people expect of a chat.
fn linked<'a>(text: CowStr<'a>) -> Event<'a> {
    let Some(first) = next_address(&text) else { return Event::Text(text) };
    let mut out = String::with_capacity(text.len() * 2);
    let mut rest: &str = &text;
    let mut found = Some(first);
    while let Some((start, end)) = found {
        let (before, address) = (rest.get(..start), rest.get(start..end));
        let (Some(before), Some(address)) = (before, address) else { break };
        push_escaped(&mut out, before);
        match link_place(address) {
            Some(place) => {
                out.push_str(&anchor(address));
                push_escaped(&mut out, address);
                out.push_str("</a>");
                // Letters of other alphabets can look like those of another host.
                if !address.is_ascii() {
                    out.push_str(&told(&place));
                }
            }
            None => push_escaped(&mut out, address),
        }
        rest = rest.get(end..).unwrap_or_default();
        found = next_address(rest);
    }
    push_escaped(&mut out, rest);
    Event::InlineHtml(out.into())
}

fn push_escaped(out: &mut String, text: &str) {
    // Writing to a string does not fail.
    write!(Escaper::new(out), "{text}").ok();
}

/// Where the next web address begins and ends.
fn next_address(text: &str) -> Option<(usize, usize)> {
    // Both begin alike: a look for one of them would go through all the rest where there is only the other.
    let is_address = |(at, _): &(usize, &str)| {
        let tail = text.get(*at..).unwrap_or_default();
        tail.starts_with("https://") || tail.starts_with("http://")
    };
    let (start, _) = text.match_indices("http").find(is_address)?;
    let tail = text.get(start..)?;
    let stops = |c: char| c.is_whitespace() || c.is_control() || "<>\"'`{}|\\^".contains(c);
    let length = tail.find(stops).unwrap_or(tail.len());
    // A full stop after an address ends the sentence, not the address.
    let address =
        tail.get(..length)?.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '*', '_']);
    Some((start, start + address.len()))
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
