//! What a page hides from people. Instructions are put there for those who read the source, so it is not
//! read.

use html5gum::StartTag;

use super::html::attribute;

/// What is no text, whatever is inside.
const UNSEEN: [&[u8]; 13] = [
    b"script",
    b"style",
    b"template",
    b"svg",
    b"math",
    b"iframe",
    b"object",
    b"canvas",
    b"audio",
    b"video",
    b"noframes",
    b"noembed",
    b"datalist",
];

/// Elements whose end may be left out; others, but for the whole page, are taken to have one.
const LOOSE: [&[u8]; 11] =
    [b"p", b"li", b"dd", b"dt", b"td", b"th", b"tr", b"tbody", b"thead", b"option", b"optgroup"];
/// Elements that have no content, or are all of the page.
const NEVER: [&[u8]; 17] = [
    b"html", b"body", b"head", b"title", b"area", b"base", b"br", b"col", b"embed", b"hr", b"img",
    b"input", b"link", b"meta", b"source", b"track", b"wbr",
];
/// What ends a paragraph by beginning.
const BLOCKS: [&[u8]; 24] = [
    b"address",
    b"article",
    b"aside",
    b"blockquote",
    b"div",
    b"dl",
    b"fieldset",
    b"footer",
    b"form",
    b"h1",
    b"h2",
    b"h3",
    b"h4",
    b"h5",
    b"h6",
    b"header",
    b"hr",
    b"main",
    b"nav",
    b"ol",
    b"pre",
    b"section",
    b"table",
    b"ul",
];

/// A part of the page that is left out, from its first tag to its last.
pub(super) struct Skipped {
    name: Vec<u8>,
    /// How many of its name are open.
    open: usize,
    /// How many other elements with an end are open inside of it.
    inside: usize,
}

/// Whether a tag still belongs to what is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Inside,
    /// It was the last of it.
    Last,
    /// It is the first that is not part of it.
    Beyond,
}

impl Skipped {
    /// What begins with this tag, if it is to be left out.
    pub(super) fn at(tag: &StartTag<()>) -> Option<Self> {
        let name = tag.name.as_slice();
        let hidden = !NEVER.contains(&name) && !tag.attributes.is_empty() && is_hidden(tag);
        (UNSEEN.contains(&name) || hidden).then(|| Self { name: name.to_vec(), open: 1, inside: 0 })
    }

    fn is_loose(&self) -> bool {
        LOOSE.contains(&self.name.as_slice())
    }

    pub(super) fn start(&mut self, tag: &StartTag<()>) -> Reach {
        let name = tag.name.as_slice();
        let ends_paragraph = self.name == b"p" && BLOCKS.contains(&name);
        if self.is_loose() && self.inside == 0 && (self.name == name || ends_paragraph) {
            return Reach::Beyond;
        }
        if self.name == name {
            self.open += usize::from(!tag.self_closing);
        } else if !LOOSE.contains(&name) && !NEVER.contains(&name) {
            self.inside += usize::from(!tag.self_closing);
        }
        Reach::Inside
    }

    pub(super) fn end(&mut self, name: &[u8]) -> Reach {
        if self.name == name {
            self.open -= 1;
            return if self.open == 0 { Reach::Last } else { Reach::Inside };
        }
        if LOOSE.contains(&name) || NEVER.contains(&name) {
            return Reach::Inside;
        }
        if self.inside == 0 && self.is_loose() {
            // What it is part of has ended.
            return Reach::Beyond;
        }
        self.inside = self.inside.saturating_sub(1);
        Reach::Inside
    }
}

/// Text in the colour of paper: on most pages it is not seen.
pub(super) fn is_pale(tag: &StartTag<()>) -> bool {
    let style = Style::of(tag);
    let attribute = attribute(tag, b"color").to_ascii_lowercase();
    let colour = style.get("color").unwrap_or(&attribute);
    let on_paper = style.get("background").or(style.get("background-color")).is_none();
    on_paper && matches!(colour_of(colour).as_str(), "#ffffff" | "transparent")
}

fn is_hidden(tag: &StartTag<()>) -> bool {
    if tag.attributes.contains_key(b"hidden".as_slice()) {
        return true;
    }
    let style = Style::of(tag);
    let is = |name: &str, values: &[&str]| style.get(name).is_some_and(|v| values.contains(&v));
    let zero = |name: &str| style.number(name).is_some_and(|number| number.abs() < 0.05);
    let far = |name: &str| style.number(name).is_some_and(|number| number <= -500.0);
    let background = style.get("background").or(style.get("background-color"));
    let same_colour = style.get("color").zip(background);
    is("display", &["none"])
        || is("visibility", &["hidden", "collapse"])
        || is("content-visibility", &["hidden"])
        || style.number("font-size").is_some_and(|size| size <= 1.0)
        || ["left", "top", "text-indent", "margin-left", "margin-top"].iter().any(|name| far(name))
        || zero("opacity")
        || (is("overflow", &["hidden", "clip"]) && (zero("height") || zero("width")))
        || same_colour.is_some_and(|(text, paper)| colour_of(text) == colour_of(paper))
}

/// The declarations of a `style` attribute.
struct Style(Vec<(String, String)>);

impl Style {
    fn of(tag: &StartTag<()>) -> Self {
        let text = attribute(tag, b"style").to_ascii_lowercase();
        let declarations = text.split(';').filter_map(|declaration| {
            let (name, value) = declaration.split_once(':')?;
            let value: String = value.replace("!important", "");
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
            Some((name.trim().to_owned(), value))
        });
        Self(declarations.collect())
    }

    /// The last one counts.
    fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The number that a value begins with; of percentages and the like none that would mean little.
    fn number(&self, name: &str) -> Option<f64> {
        let value = self.get(name)?;
        let end = value.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c));
        let (number, unit) = value.split_at_checked(end.unwrap_or(value.len()))?;
        let number: f64 = number.parse().ok()?;
        let small_means_little = matches!(unit, "em" | "rem" | "%" | "vw" | "vh");
        (number <= 0.0 || name == "opacity" || !small_means_little).then_some(number)
    }
}

/// One spelling for each colour that is often used to hide.
fn colour_of(value: &str) -> String {
    let plain: String = value.chars().filter(|c| !c.is_whitespace()).collect();
    match plain.as_str() {
        "white"
        | "#fff"
        | "#ffff"
        | "#ffffff"
        | "#ffffffff"
        | "rgb(255,255,255)"
        | "rgba(255,255,255,1)" => "#ffffff".to_owned(),
        "black" | "#000" | "#000000" | "rgb(0,0,0)" | "rgba(0,0,0,1)" => "#000000".to_owned(),
        "transparent" => plain,
        _ if plain.starts_with("rgba(") && plain.ends_with(",0)") => "transparent".to_owned(),
        _ => plain,
    }
}
