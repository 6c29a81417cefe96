//! Formulas as agents write them (a part of LaTeX), as MathML: nothing is loaded or run, and browsers draw it with
//! what they have.
//!
//! Promises: every letter of a formula is escaped; what is not understood is not guessed at, it stays as it was written.

use std::fmt::Write as _;

use cloister_policy::legible;
use maud::Escaper;

use crate::math_symbols::{Letters, Symbol, accent, letter, symbol};

/// A longer one is shown as it is.
const MAX_BYTES: usize = 4000;
const MAX_DEPTH: usize = 32;

/// A formula as MathML, with its source as the text for who can't see it; none if it can't be read.
pub(crate) fn render(source: &str, is_display: bool) -> Option<String> {
    if source.len() > MAX_BYTES {
        return None;
    }
    let mut reader = Reader { rest: source, depth: 0, is_display };
    let body = reader.row()?;
    if !reader.rest.is_empty() || body.is_empty() {
        return None;
    }
    let mut out = String::from("<math");
    if is_display {
        out.push_str(" display=\"block\"");
    }
    out.push_str(" alttext=\"");
    push(&mut out, &legible(source.trim()));
    out.push_str("\"><mrow>");
    out.push_str(&body);
    out.push_str("</mrow></math>");
    Some(out)
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
    is_display: bool,
}

/// One thing that scripts can be put on.
struct Atom {
    html: String,
    /// What stands below and above it does so, and not beside it.
    takes_limits: bool,
}

impl Atom {
    fn plain(html: String) -> Self {
        Self { html, takes_limits: false }
    }
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let first = chars.next();
        self.rest = chars.as_str();
        first
    }

    fn eat(&mut self, wanted: &str) -> bool {
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// What ends a row, and is left to who began it.
    fn is_at_end(&self) -> bool {
        let ends = ["}", "&", "\\\\", "\\right", "\\end"];
        // An arrow is no end.
        let is_arrow = self
            .rest
            .strip_prefix("\\right")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()));
        self.rest.is_empty() || !is_arrow && ends.iter().any(|end| self.rest.starts_with(end))
    }

    /// Everything up to what ends it.
    fn row(&mut self) -> Option<String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut out = String::new();
        loop {
            self.skip_space();
            if self.is_at_end() {
                self.depth -= 1;
                return Some(out);
            }
            // A script without a base hangs on nothing.
            let base = match self.peek() {
                Some('_' | '^') => Atom::plain("<mrow></mrow>".to_owned()),
                _ => self.atom()?,
            };
            out.push_str(&self.scripts(base)?);
        }
    }

    fn scripts(&mut self, base: Atom) -> Option<String> {
        let (mut below, mut above) = (None, None);
        loop {
            self.skip_space();
            if self.eat("_") {
                let script = self.argument()?;
                below.replace(script).is_none().then_some(())?;
            } else if self.eat("^") {
                let script = self.argument()?;
                above.replace(script).is_none().then_some(())?;
            } else if self.eat("'") {
                let mut primes = String::from("′");
                while self.eat("'") {
                    primes.push('′');
                }
                above.replace(format!("<mo>{primes}</mo>")).is_none().then_some(())?;
            } else if !self.eat("\\limits") && !self.eat("\\nolimits") {
                break;
            }
        }
        let Atom { html, takes_limits } = base;
        let (under, over, both) = match takes_limits && self.is_display {
            true => ("munder", "mover", "munderover"),
            false => ("msub", "msup", "msubsup"),
        };
        Some(match (below, above) {
            (None, None) => html,
            (Some(below), None) => format!("<{under}>{html}{below}</{under}>"),
            (None, Some(above)) => format!("<{over}>{html}{above}</{over}>"),
            (Some(below), Some(above)) => format!("<{both}>{html}{below}{above}</{both}>"),
        })
    }

    /// What a command is about: a group, or a single thing.
    fn argument(&mut self) -> Option<String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let argument = self.one_argument();
        self.depth -= 1;
        argument
    }

    fn one_argument(&mut self) -> Option<String> {
        self.skip_space();
        match self.peek()? {
            '{' => self.group(),
            digit if digit.is_ascii_digit() => {
                self.take();
                Some(format!("<mn>{digit}</mn>"))
            }
            '}' | '&' | '_' | '^' => None,
            _ => self.atom().map(|atom| atom.html),
        }
    }

    fn group(&mut self) -> Option<String> {
        self.eat("{").then_some(())?;
        let row = self.row()?;
        self.eat("}").then_some(())?;
        Some(format!("<mrow>{row}</mrow>"))
    }

    /// The letters in braces, as they are.
    fn letters(&mut self) -> Option<&'a str> {
        self.skip_space();
        let inside = self.rest.strip_prefix('{')?;
        let (letters, rest) = inside.split_once('}')?;
        self.rest = rest;
        (!letters.contains(['{', '\\'])).then_some(letters)
    }

    fn atom(&mut self) -> Option<Atom> {
        let first = self.peek()?;
        if first == '{' {
            return self.group().map(Atom::plain);
        }
        if first.is_ascii_digit() {
            return Some(Atom::plain(self.number()));
        }
        self.take();
        let html = match first {
            '\\' => return self.command(),
            '-' => tag("mo", "−"),
            '*' => tag("mo", "∗"),
            '~' => "<mspace width=\"0.33em\"/>".to_owned(),
            '$' | '%' | '#' => return None,
            letter if letter.is_alphabetic() => tag("mi", letter.encode_utf8(&mut [0; 4])),
            sign => tag("mo", sign.encode_utf8(&mut [0; 4])),
        };
        Some(Atom::plain(html))
    }

    fn number(&mut self) -> String {
        let is_part = |c: char| c.is_ascii_digit() || c == '.';
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        // A full stop behind a number ends the sentence.
        let whole = number.trim_end_matches('.');
        self.rest = if whole.len() == end {
            rest
        } else {
            self.rest.get(whole.len()..).unwrap_or_default()
        };
        tag("mn", whole)
    }

    fn command(&mut self) -> Option<Atom> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        if end == 0 {
            return self.sign().map(Atom::plain);
        }
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        if let Some(known) = symbol(name) {
            return Some(match known {
                Symbol::Letter(text) | Symbol::Function(text) => Atom::plain(tag("mi", text)),
                Symbol::Sign(text) => Atom::plain(tag("mo", text)),
                Symbol::Limit(text) => Atom { html: tag("mo", text), takes_limits: true },
                Symbol::Space(width) => Atom::plain(format!("<mspace width=\"{width}\"/>")),
            });
        }
        if let Some(mark) = accent(name) {
            let about = self.argument()?;
            let (kind, side) = if name.starts_with("under") {
                ("munder", "accentunder")
            } else {
                ("mover", "accent")
            };
            return Some(Atom::plain(format!(
                "<{kind} {side}=\"true\">{about}<mo>{mark}</mo></{kind}>"
            )));
        }
        self.structure(name).map(Atom::plain)
    }

    /// `\,` and its kin.
    fn sign(&mut self) -> Option<String> {
        let sign = self.take()?;
        Some(match sign {
            ',' => "<mspace width=\"0.17em\"/>".to_owned(),
            ':' | '>' => "<mspace width=\"0.22em\"/>".to_owned(),
            ';' | ' ' => "<mspace width=\"0.28em\"/>".to_owned(),
            '!' => String::new(),
            '|' => tag("mo", "‖"),
            '{' | '}' | '%' | '$' | '#' | '_' | '&' => tag("mo", sign.encode_utf8(&mut [0; 4])),
            _ => return None,
        })
    }

    fn structure(&mut self, name: &str) -> Option<String> {
        match name {
            "frac" | "dfrac" | "tfrac" | "cfrac" => {
                let (above, below) = (self.argument()?, self.argument()?);
                Some(format!("<mfrac>{above}{below}</mfrac>"))
            }
            "binom" => {
                let (above, below) = (self.argument()?, self.argument()?);
                Some(format!(
                    "<mrow><mo>(</mo><mfrac linethickness=\"0\">{above}{below}</mfrac><mo>)</mo></mrow>"
                ))
            }
            "sqrt" => self.root(),
            "text" | "textrm" | "textit" | "textbf" | "mbox" => {
                Some(tag("mtext", &self.letters()?.replace(' ', "\u{a0}")))
            }
            "mathrm" | "operatorname" => Some(tag("mi", self.letters()?)),
            "mathbb" => self.lettered(Letters::Double),
            "mathbf" | "boldsymbol" | "bm" => self.lettered(Letters::Bold),
            "mathcal" | "mathscr" => self.lettered(Letters::Script),
            "left" => self.fenced(),
            "begin" => self.table(),
            "displaystyle" | "textstyle" | "big" | "Big" | "bigg" | "Bigg" | "bigl" | "bigr"
            | "Bigl" | "Bigr" => Some(String::new()),
            "not" => {
                let about = self.take().filter(|c| "=<>".contains(*c))?;
                Some(tag(
                    "mo",
                    match about {
                        '=' => "≠",
                        '<' => "≮",
                        _ => "≯",
                    },
                ))
            }
            _ => None,
        }
    }

    fn root(&mut self) -> Option<String> {
        self.skip_space();
        if !self.eat("[") {
            return Some(format!("<msqrt>{}</msqrt>", self.argument()?));
        }
        let (degree, rest) = self.rest.split_once(']')?;
        let mut inside = Reader { rest: degree, depth: self.depth, is_display: false };
        let degree = inside.row()?;
        inside.rest.is_empty().then_some(())?;
        self.rest = rest;
        Some(format!("<mroot>{}<mrow>{degree}</mrow></mroot>", self.argument()?))
    }

    fn lettered(&mut self, letters: Letters) -> Option<String> {
        self.skip_space();
        let text = match self.peek()? {
            '{' => self.letters()?,
            _ => {
                let (one, rest) = self.rest.split_at(self.peek()?.len_utf8());
                self.rest = rest;
                one
            }
        };
        let text: Option<String> = text.chars().map(|c| letter(letters, c)).collect();
        Some(tag("mi", &text?))
    }

    /// A bracket that is as high as what it is around.
    fn bracket(&mut self) -> Option<String> {
        self.skip_space();
        let bracket = match self.take()? {
            '.' => return Some(String::new()),
            '\\' => {
                let letters =
                    self.rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(self.rest.len());
                let end = if letters == 0 { self.peek()?.len_utf8() } else { letters };
                let (name, rest) = self.rest.split_at(end);
                self.rest = rest;
                match name {
                    "{" => "{",
                    "}" => "}",
                    "|" | "Vert" => "‖",
                    "vert" => "|",
                    "langle" => "⟨",
                    "rangle" => "⟩",
                    "lfloor" => "⌊",
                    "rfloor" => "⌋",
                    "lceil" => "⌈",
                    "rceil" => "⌉",
                    _ => return None,
                }
            }
            '(' => "(",
            ')' => ")",
            '[' => "[",
            ']' => "]",
            '|' => "|",
            '/' => "/",
            _ => return None,
        };
        Some(format!("<mo stretchy=\"true\">{bracket}</mo>"))
    }

    fn fenced(&mut self) -> Option<String> {
        let open = self.bracket()?;
        let inside = self.row()?;
        self.eat("\\right").then_some(())?;
        let close = self.bracket()?;
        Some(format!("<mrow>{open}{inside}{close}</mrow>"))
    }

    /// `\begin{…}` to its end: rows of cells.
    fn table(&mut self) -> Option<String> {
        let name = self.letters()?;
        let (open, close) = match name.trim_end_matches('*') {
            "matrix" | "smallmatrix" | "aligned" | "align" | "gathered" | "equation" | "split" => {
                ("", "")
            }
            "array" => {
                self.letters()?;
                ("", "")
            }
            "pmatrix" => ("(", ")"),
            "bmatrix" => ("[", "]"),
            "Bmatrix" => ("{", "}"),
            "vmatrix" => ("|", "|"),
            "Vmatrix" => ("‖", "‖"),
            "cases" => ("{", ""),
            _ => return None,
        };
        let (mut rows, mut cells) = (String::new(), String::new());
        loop {
            cells.push_str(&format!("<mtd>{}</mtd>", self.row()?));
            if self.eat("&") {
                continue;
            }
            rows.push_str(&format!("<mtr>{}</mtr>", std::mem::take(&mut cells)));
            if !self.eat("\\\\") {
                break;
            }
            self.skip_space();
            if self.rest.starts_with("\\end") {
                break;
            }
        }
        self.eat("\\end").then_some(())?;
        (self.letters()? == name).then_some(())?;
        let fence = |bracket: &str| match bracket {
            "" => String::new(),
            bracket => format!("<mo stretchy=\"true\">{bracket}</mo>"),
        };
        Some(format!("<mrow>{}<mtable>{rows}</mtable>{}</mrow>", fence(open), fence(close)))
    }
}

fn tag(name: &str, text: &str) -> String {
    let mut out = format!("<{name}>");
    push(&mut out, &legible(text));
    out.push_str(&format!("</{name}>"));
    out
}

fn push(out: &mut String, text: &str) {
    // Writing to a string does not fail.
    write!(Escaper::new(out), "{text}").ok();
}

#[cfg(test)]
#[path = "math_tests.rs"]
mod tests;
