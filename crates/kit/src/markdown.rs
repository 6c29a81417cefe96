//! Markdown of agents, read once: what there is to show, in order, for whoever writes it in the form of a surface.
//!
//! What an agent writes is not trusted. Every link says where it leads, or that it may lead nowhere; what a fence
//! names is a language or nothing. HTML comes as what it is, to be shown as text. What no surface has a form for
//! comes as its text.

use std::borrow::Cow;

use cloister_policy::link_place;
use pulldown_cmark::{
    Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, LinkType, Options, Parser, Tag,
    TextMergeStream,
};

const MAX_LANGUAGE: usize = 32;

/// What comes next in a text. What is begun ends in the order that it nests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Markdown<'a> {
    Begin(Markup<'a>),
    End,
    Text(Cow<'a, str>),
    Code(Cow<'a, str>),
    /// A line or more of HTML between blocks.
    Html(Cow<'a, str>),
    InlineHtml(Cow<'a, str>),
    /// People break lines where they want them broken: there is only one kind.
    Break,
    /// A line across.
    Rule,
    /// The box before an item, and whether it is ticked.
    Box(bool),
}

/// What can be begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Markup<'a> {
    Paragraph,
    /// From 1, the largest, to 6.
    Heading(u8),
    Quote,
    CodeBlock {
        language: Option<String>,
    },
    /// The number of its first item, if it has numbers.
    List(Option<u64>),
    Item,
    /// How its columns are aligned. Its first row is its head.
    Table(Vec<Aligned>),
    TableHead,
    TableRow,
    TableCell,
    Emphasis,
    Strong,
    Strike,
    Link(LinkTo<'a>),
    Image(LinkTo<'a>),
    /// Only its text is shown.
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aligned {
    Left,
    Center,
    Right,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkTo<'a> {
    pub url: Cow<'a, str>,
    /// Where it leads, in words that can't be mistaken; none: nowhere that a link may lead.
    pub place: Option<String>,
    /// The address is its own text, and needs no second telling.
    pub is_own_text: bool,
}

impl LinkTo<'_> {
    fn to(url: CowStr<'_>, kind: LinkType) -> LinkTo<'_> {
        let place = link_place(&url);
        let is_own_text = matches!(kind, LinkType::Autolink | LinkType::Email);
        LinkTo { url: url.into(), place, is_own_text }
    }
}

/// What there is to show of a text.
pub fn pieces(markdown: &str) -> impl Iterator<Item = Markdown<'_>> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    TextMergeStream::new(Parser::new_ext(markdown, options)).map(piece)
}

fn piece(event: Event<'_>) -> Markdown<'_> {
    match event {
        Event::Start(tag) => Markdown::Begin(part(tag)),
        Event::End(_) => Markdown::End,
        Event::Text(text) | Event::FootnoteReference(text) => Markdown::Text(text.into()),
        Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
            Markdown::Code(text.into())
        }
        Event::Html(text) => Markdown::Html(text.into()),
        Event::InlineHtml(text) => Markdown::InlineHtml(text.into()),
        Event::SoftBreak | Event::HardBreak => Markdown::Break,
        Event::Rule => Markdown::Rule,
        Event::TaskListMarker(done) => Markdown::Box(done),
    }
}

fn part(tag: Tag<'_>) -> Markup<'_> {
    match tag {
        Tag::Paragraph | Tag::HtmlBlock => Markup::Paragraph,
        Tag::Heading { level, .. } => Markup::Heading(number(level)),
        Tag::BlockQuote(_) => Markup::Quote,
        Tag::CodeBlock(CodeBlockKind::Fenced(info)) => {
            Markup::CodeBlock { language: language(&info).map(str::to_owned) }
        }
        Tag::CodeBlock(CodeBlockKind::Indented) => Markup::CodeBlock { language: None },
        Tag::List(first) => Markup::List(first),
        Tag::Item => Markup::Item,
        Tag::Table(columns) => Markup::Table(columns.into_iter().map(aligned).collect()),
        Tag::TableHead => Markup::TableHead,
        Tag::TableRow => Markup::TableRow,
        Tag::TableCell => Markup::TableCell,
        Tag::Emphasis => Markup::Emphasis,
        Tag::Strong => Markup::Strong,
        Tag::Strikethrough => Markup::Strike,
        Tag::Link { link_type, dest_url, .. } => Markup::Link(LinkTo::to(dest_url, link_type)),
        Tag::Image { link_type, dest_url, .. } => Markup::Image(LinkTo::to(dest_url, link_type)),
        Tag::FootnoteDefinition(_)
        | Tag::DefinitionList
        | Tag::DefinitionListTitle
        | Tag::DefinitionListDefinition
        | Tag::Superscript
        | Tag::Subscript
        | Tag::MetadataBlock(_) => Markup::Nothing,
    }
}

const fn number(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

const fn aligned(column: Alignment) -> Aligned {
    match column {
        Alignment::None | Alignment::Left => Aligned::Left,
        Alignment::Center => Aligned::Center,
        Alignment::Right => Aligned::Right,
    }
}

/// The language that a fence names, if it looks like one.
fn language(info: &str) -> Option<&str> {
    let word = info.split([' ', ',', '{']).next().filter(|word| !word.is_empty())?;
    let fine = |c: char| c.is_ascii_alphanumeric() || "+-_.#".contains(c);
    (word.len() <= MAX_LANGUAGE && word.chars().all(fine)).then_some(word)
}

#[cfg(test)]
#[path = "markdown_tests.rs"]
mod tests;
