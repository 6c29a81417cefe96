//! HTML to Markdown, token by token. There is no tree, so there is nothing that deep nesting, tags
//! that never close or tables of any size could exhaust; what is wrongly nested comes out a little
//! crooked.

use html5gum::emitters::default::DefaultEmitter;
use html5gum::{StartTag, Token, Tokenizer};

use super::Readable;
use super::address;
use super::hidden::{self, Reach, Skipped};
use super::tables::Tables;
use super::writer::{Gap, Here, Margin, Writer};
use crate::text;

const MAX_TITLE_BYTES: usize = 300;
/// A link whose text is longer was probably never closed.
const MAX_LINK_BYTES: usize = 1_000;
const MAX_LISTS: usize = 64;

/// What stands before text in the colour of paper.
const PALE: &str = "[in white]";

pub(super) fn to_markdown(html: &str, url: &str, most: usize) -> Readable {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut page = Converter::new(url, most);
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => page.start(&tag),
            Token::EndTag(tag) => page.end(&tag.name),
            Token::String(text) => page.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if page.to.is_full() {
            break;
        }
    }
    page.finish()
}

struct Converter {
    to: Writer,
    base: String,
    title: String,
    in_title: bool,
    /// An element whose content is left out.
    skipped: Option<Skipped>,
    lists: Vec<List>,
    link: Option<Link>,
    /// Where the last heading began.
    heading: Option<Here>,
    tables: Tables,
    verbatim: bool,
    /// A line break that comes next is not part of the text.
    fresh: bool,
    /// How many of each are open.
    strong: usize,
    emphasis: usize,
    code: usize,
}

struct Link {
    address: String,
    from: Here,
}

struct List {
    /// The next one; none for bullets.
    number: Option<u32>,
    /// How deep it stands itself.
    depth: usize,
}

impl Converter {
    fn new(url: &str, most: usize) -> Self {
        Self {
            to: Writer::new(most),
            base: url.to_owned(),
            title: String::new(),
            in_title: false,
            skipped: None,
            lists: Vec::new(),
            link: None,
            heading: None,
            tables: Tables::default(),
            verbatim: false,
            fresh: false,
            strong: 0,
            emphasis: 0,
            code: 0,
        }
    }

    fn finish(mut self) -> Readable {
        self.end_link();
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        let (text, cut) = self.to.finish();
        Readable { title, text, cut }
    }

    fn text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        if self.in_title {
            let room = MAX_TITLE_BYTES.saturating_sub(self.title.len());
            self.title.push_str(text::head(text, room));
        } else if self.verbatim {
            let fresh = std::mem::take(&mut self.fresh);
            self.to.verbatim(text.strip_prefix('\n').filter(|_| fresh).unwrap_or(text));
        } else {
            self.to.text(text);
        }
        let overlong = |link: &Link| self.to.since(link.from) > MAX_LINK_BYTES;
        if self.link.as_ref().is_some_and(overlong) {
            self.end_link();
        }
    }

    fn start(&mut self, tag: &StartTag<()>) {
        let name = tag.name.as_slice();
        match self.skipped.as_mut().map(|skipped| skipped.start(tag)) {
            Some(Reach::Inside | Reach::Last) => return,
            Some(Reach::Beyond) => self.skipped = None,
            None => {}
        }
        let foreign = name == b"svg" || name == b"math";
        if let Some(skipped) = Skipped::at(tag) {
            if !(tag.self_closing && foreign) {
                self.skipped = Some(skipped);
            }
            return;
        }
        self.start_shown(name, tag);
        if hidden::is_pale(tag) {
            self.to.put(PALE);
            self.to.gap(Gap::Space);
        }
    }

    fn start_shown(&mut self, name: &[u8], tag: &StartTag<()>) {
        match name {
            b"title" => self.in_title = self.title.is_empty(),
            b"base" => self.rebase(tag),
            b"a" => self.begin_link(tag),
            b"img" => self.image(tag),
            b"br" => self.to.gap(Gap::Line),
            b"hr" => {
                self.to.gap(Gap::Paragraph);
                self.to.put("---");
                self.to.gap(Gap::Paragraph);
            }
            b"pre" => self.begin_verbatim(),
            b"code" | b"kbd" | b"samp" | b"tt" if !self.verbatim => {
                self.code += 1;
                self.to.open("`");
            }
            b"b" | b"strong" => {
                self.strong += 1;
                self.to.open("**");
            }
            b"i" | b"em" => {
                self.emphasis += 1;
                self.to.open("_");
            }
            b"ul" | b"menu" | b"dir" => self.begin_list(None),
            b"ol" => self.begin_list(Some(1)),
            b"li" => self.item(),
            b"blockquote" => {
                self.to.gap(Gap::Paragraph);
                self.to.push(Margin::Quote);
            }
            b"table" | b"tr" | b"td" | b"th" => self.of_table(name),
            b"option" => self.to.gap(Gap::Space),
            _ => self.block(name, true),
        }
    }

    fn end(&mut self, name: &[u8]) {
        match self.skipped.as_mut().map(|skipped| skipped.end(name)) {
            Some(Reach::Inside) => return,
            Some(Reach::Last) => {
                self.skipped = None;
                return;
            }
            Some(Reach::Beyond) => self.skipped = None,
            None => {}
        }
        match name {
            b"title" => self.in_title = false,
            b"a" => self.end_link(),
            b"pre" => self.end_verbatim(),
            b"code" | b"kbd" | b"samp" | b"tt" => close(&mut self.to, &mut self.code, "`"),
            b"b" | b"strong" => close(&mut self.to, &mut self.strong, "**"),
            b"i" | b"em" => close(&mut self.to, &mut self.emphasis, "_"),
            b"ul" | b"menu" | b"dir" | b"ol" => self.end_list(),
            b"li" => self.to.gap(Gap::Line),
            b"blockquote" => {
                self.to.end_quote();
                self.to.gap(Gap::Paragraph);
            }
            b"table" => self.tables.edge(&mut self.to),
            b"tr" => self.tables.end_row(&mut self.to),
            _ => self.block(name, false),
        }
    }

    /// Headings, paragraphs and whatever else stands on lines of its own.
    fn block(&mut self, name: &[u8], begins: bool) {
        match name {
            [b'h', level @ b'1'..=b'6'] => {
                self.to.gap(Gap::Paragraph);
                // A heading without text leaves no marks.
                if let Some(from) = self.heading.take() {
                    self.to.take_back(from);
                }
                if begins && self.link.is_none() {
                    self.heading = Some(self.to.here());
                    self.to.open(&format!("{} ", "#".repeat(usize::from(level - b'0'))));
                }
            }
            b"p" | b"dl" | b"details" | b"figure" | b"fieldset" | b"form" | b"article"
            | b"section" | b"header" | b"footer" | b"main" | b"nav" | b"aside" => {
                self.to.gap(Gap::Paragraph);
            }
            b"dd" if begins => {
                self.to.gap(Gap::Line);
                self.to.open(": ");
            }
            b"div" | b"dt" | b"dd" | b"summary" | b"figcaption" | b"caption" | b"address"
            | b"legend" | b"center" | b"body" | b"head" | b"html" => self.to.gap(Gap::Line),
            _ => {}
        }
    }

    fn rebase(&mut self, tag: &StartTag<()>) {
        if let Some(base) = address::absolute(&self.base, &attribute(tag, b"href")) {
            self.base = base;
        }
    }

    fn of_table(&mut self, name: &[u8]) {
        self.end_link();
        match name {
            b"table" => self.tables.edge(&mut self.to),
            b"tr" => self.tables.row(&mut self.to),
            _ => self.tables.cell(name == b"th", &mut self.to),
        }
    }

    fn begin_link(&mut self, tag: &StartTag<()>) {
        self.end_link();
        let Some(address) = address::absolute(&self.base, &attribute(tag, b"href")) else { return };
        if self.verbatim {
            return;
        }
        self.link = Some(Link { address, from: self.to.here() });
        self.to.open("[");
        self.to.set_flat(true);
    }

    fn end_link(&mut self) {
        let Some(link) = self.link.take() else { return };
        self.to.set_flat(self.tables.in_flat_cell());
        // One without text is a picture, or nothing.
        if !self.to.take_back(link.from) {
            self.to.put_close(&format!("]({})", link.address));
        }
    }

    /// A picture is shown as a link: whoever passes the text on must not make others load it.
    fn image(&mut self, tag: &StartTag<()>) {
        let about = attribute(tag, b"alt");
        let about = text::head(about.trim(), MAX_TITLE_BYTES);
        if about.is_empty() {
            return;
        }
        self.to.put("[image:");
        self.to.gap(Gap::Space);
        self.to.text(about);
        let address = address::absolute(&self.base, &attribute(tag, b"src"));
        match address.filter(|_| self.link.is_none()) {
            Some(address) => self.to.put_close(&format!("]({address})")),
            None => self.to.put_close("]"),
        }
    }

    fn begin_verbatim(&mut self) {
        if !self.verbatim {
            self.end_link();
            self.to.gap(Gap::Paragraph);
            self.to.put("```");
            self.to.gap(Gap::Line);
            (self.verbatim, self.fresh) = (true, true);
        }
    }

    fn end_verbatim(&mut self) {
        if std::mem::take(&mut self.verbatim) {
            self.to.gap(Gap::Line);
            self.to.put("```");
            self.to.gap(Gap::Paragraph);
        }
    }

    fn begin_list(&mut self, number: Option<u32>) {
        self.to.gap(if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line });
        if self.lists.len() < MAX_LISTS {
            self.lists.push(List { number, depth: self.to.depth() });
        }
    }

    fn end_list(&mut self) {
        if let Some(list) = self.lists.pop() {
            self.to.back_to(list.depth);
        }
        self.to.gap(if self.lists.is_empty() { Gap::Paragraph } else { Gap::Line });
    }

    fn item(&mut self) {
        let Some(list) = self.lists.last_mut() else {
            self.to.gap(Gap::Line);
            return self.to.open("- ");
        };
        let bullet = match &mut list.number {
            None => "- ".to_owned(),
            Some(number) => {
                let bullet = format!("{number}. ");
                *number = number.saturating_add(1);
                bullet
            }
        };
        self.to.back_to(list.depth);
        self.to.item(bullet);
    }
}

fn close(to: &mut Writer, open: &mut usize, mark: &str) {
    if *open > 0 {
        *open -= 1;
        to.close(mark);
    }
}

pub(super) fn attribute(tag: &StartTag<()>, name: &[u8]) -> String {
    let found = tag.attributes.get(name);
    found.map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
}
