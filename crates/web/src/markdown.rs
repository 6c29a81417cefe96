//! Markdown of agents, as HTML that can neither run anything nor load anything.
//!
//! What an agent writes is not trusted: HTML in it is shown as text, a link leads only to the web or
//! to a mail address, and an image is a link that a person must follow (a picture that loads by
//! itself tells its server whatever the agent put into its address).

use std::fmt::Write as _;

use maud::{Escaper, Markup, PreEscaped};
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// A longer text is shown as it is.
const MAX_BYTES: usize = 512 << 10;
/// Deeper nesting is flattened.
const MAX_DEPTH: usize = 24;
const MAX_HREF: usize = 4096;

pub(crate) fn render(text: &str) -> Markup {
    if text.len() > MAX_BYTES {
        return maud::html! { pre.plain { (text) } };
    }
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut safe = Safe::default();
    let events = Parser::new_ext(text, options).filter_map(|event| safe.event(event));
    let mut out = String::with_capacity(text.len() * 3 / 2);
    html::push_html(&mut out, events);
    PreEscaped(out)
}

/// Lets through only what is harmless.
#[derive(Default)]
struct Safe {
    depth: usize,
    /// For each open link or image, whether it is shown as a link.
    links: Vec<bool>,
    in_code: bool,
}

impl Safe {
    fn event<'a>(&mut self, event: Event<'a>) -> Option<Event<'a>> {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
            Event::InlineMath(text) | Event::DisplayMath(text) => Some(Event::Code(text)),
            Event::FootnoteReference(name) => Some(Event::Text(name)),
            // People break lines where they want them broken.
            Event::SoftBreak => Some(Event::HardBreak),
            Event::Text(text) if !self.in_code && self.links.is_empty() => Some(linked(text)),
            Event::Text(_) | Event::Code(_) | Event::HardBreak | Event::Rule => Some(event),
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
            Tag::CodeBlock(_) => {
                self.in_code = true;
                Some(Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)))
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
                self.links.pop()?.then_some(Event::InlineHtml("</a>".into()))
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
        let in_link = self.links.contains(&true);
        let opened = if in_link { None } else { anchor(target) };
        self.links.push(opened.is_some());
        let text = match opened {
            Some(anchor) => format!("{anchor}{mark}"),
            None => mark.to_owned(),
        };
        (!text.is_empty()).then(|| Event::InlineHtml(text.into()))
    }
}

/// The opening tag of a link, if it leads to the web or to a mail address.
fn anchor(target: &str) -> Option<String> {
    let (scheme, rest) = target.split_once(':')?;
    let allowed = ["http", "https", "mailto"].iter().any(|s| scheme.eq_ignore_ascii_case(s));
    let fits = target.len() <= MAX_HREF && !target.chars().any(char::is_control);
    if !allowed || !fits || rest.is_empty() {
        return None;
    }
    let mut tag = String::from("<a href=\"");
    // Writing to a string does not fail.
    write!(Escaper::new(&mut tag), "{target}").ok()?;
    tag.push_str("\" target=\"_blank\" rel=\"noopener noreferrer nofollow\">");
    Some(tag)
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
        match anchor(address) {
            Some(tag) => {
                out.push_str(&tag);
                push_escaped(&mut out, address);
                out.push_str("</a>");
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
    let start = ["https://", "http://"].iter().filter_map(|scheme| text.find(scheme)).min()?;
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
