//! Expansions: what stands in a word for something else, and the commands in it.

use super::lex::{Lexer, Operator, Token};
use super::parse::Parser;
use super::syntax::{HOLE, SyntaxError, Word};

impl Parser {
    /// What follows a `$`.
    pub(super) fn dollar(&mut self, word: &mut Word, in_quotes: bool) -> Result<(), SyntaxError> {
        let splits = !in_quotes;
        match self.lexer.look(0) {
            Some('(') => {
                self.lexer.bump()?;
                if !self.try_arithmetic()? {
                    self.command_substitution()?;
                }
                hole(word, splits);
            }
            Some('{') => {
                self.lexer.bump()?;
                let all = self.parameter()?;
                hole(word, splits || all);
            }
            Some('[') => {
                self.lexer.bump()?;
                self.bracket_arithmetic()?;
                hole(word, splits);
            }
            Some('\'') if !in_quotes => {
                self.lexer.bump()?;
                self.ansi_quoted(word)?;
            }
            Some('"') if !in_quotes => {
                self.lexer.bump()?;
                self.double_quoted(word)?;
            }
            Some(c) if c == '_' || c.is_ascii_alphabetic() => {
                while self.lexer.look(0).is_some_and(|c| c == '_' || c.is_ascii_alphanumeric()) {
                    self.lexer.bump()?;
                }
                hole(word, splits);
            }
            Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                self.lexer.bump()?;
                hole(word, splits || c == '@');
            }
            _ => word.text.push('$'),
        }
        Ok(())
    }

    /// The commands up to the `)` that closes a substitution.
    pub(super) fn command_substitution(&mut self) -> Result<(), SyntaxError> {
        self.deeper()?;
        let here = self.lexer.here.take();
        self.list()?;
        let closed = self.next()? == Token::Operator(Operator::Close);
        if self.lexer.here.is_some() || !closed {
            return Err(SyntaxError::Unclosed);
        }
        self.lexer.here = here;
        self.shallower();
        Ok(())
    }

    pub(super) fn backquoted(&mut self) -> Result<(), SyntaxError> {
        let mut inner = String::new();
        loop {
            match self.lexer.bump()? {
                Some('`') => break,
                Some('\\') => match self.lexer.bump()? {
                    Some(c @ ('`' | '\\' | '$')) => inner.push(c),
                    Some(c) => inner.extend(['\\', c]),
                    None => return Err(SyntaxError::Unclosed),
                },
                Some(c) => inner.push(c),
                None => return Err(SyntaxError::Unclosed),
            }
        }
        self.within(&inner, |parser| {
            parser.list()?;
            if parser.next()? == Token::End { Ok(()) } else { Err(SyntaxError::Unexpected) }
        })
    }

    /// Reads other text as part of this script.
    fn within<T>(
        &mut self,
        text: &str,
        read: impl FnOnce(&mut Self) -> Result<T, SyntaxError>,
    ) -> Result<T, SyntaxError> {
        self.deeper()?;
        let inner = Lexer::new(text, self.lexer.budget());
        let outer = std::mem::replace(&mut self.lexer, inner);
        let result = read(self);
        let budget = self.lexer.budget();
        self.lexer = outer;
        self.lexer.set_budget(budget);
        self.shallower();
        result
    }

    /// `${…}`; whether it stands for a whole list (`${x[@]}`).
    fn parameter(&mut self) -> Result<bool, SyntaxError> {
        self.deeper()?;
        let mut inner = Word::default();
        loop {
            let Some(c) = self.lexer.bump()? else { return Err(SyntaxError::Unclosed) };
            match c {
                '}' => break,
                '\\' => {
                    self.lexer.bump()?;
                }
                '\'' => self.single_quoted(&mut inner)?,
                '"' => self.double_quoted(&mut inner)?,
                '$' => self.dollar(&mut inner, true)?,
                '`' => self.backquoted()?,
                _ => inner.text.push(c),
            }
        }
        self.shallower();
        if inner.text.ends_with("@P") {
            self.script.runs_values = true;
        }
        Ok(inner.text.contains('@') || inner.text.contains('*'))
    }

    fn bracket_arithmetic(&mut self) -> Result<(), SyntaxError> {
        self.deeper()?;
        let mut ignored = Word::default();
        let mut open = 1_u32;
        while open > 0 {
            match self.lexer.bump()? {
                Some('[') => open += 1,
                Some(']') => open -= 1,
                Some('$') => self.dollar(&mut ignored, true)?,
                Some('`') => self.backquoted()?,
                Some(_) => {}
                None => return Err(SyntaxError::Unclosed),
            }
        }
        self.shallower();
        Ok(())
    }

    /// After a `(`: reads `( … ))`, if that is what follows. If not, nothing was read.
    pub(super) fn try_arithmetic(&mut self) -> Result<bool, SyntaxError> {
        self.arithmetic_with(false)
    }

    /// The same in `for ((…; …; …))`.
    pub(super) fn counted_arithmetic(&mut self) -> Result<bool, SyntaxError> {
        self.arithmetic_with(true)
    }

    fn arithmetic_with(&mut self, semicolons: bool) -> Result<bool, SyntaxError> {
        if self.lexer.look(0) != Some('(') {
            return Ok(false);
        }
        let start = self.lexer.pos;
        self.lexer.bump()?;
        self.deeper()?;
        let (depth, here) = (self.depth, self.lexer.here);
        let closed = self.arithmetic(semicolons);
        self.depth = depth;
        self.lexer.here = here;
        self.forget_peeked();
        self.shallower();
        match closed {
            Ok(true) => Ok(true),
            Err(SyntaxError::TooDeep) => Err(SyntaxError::TooDeep),
            Ok(false)
            | Err(SyntaxError::Unclosed | SyntaxError::Unexpected | SyntaxError::TooLong) => {
                self.lexer.pos = start;
                Ok(false)
            }
        }
    }

    fn arithmetic(&mut self, semicolons: bool) -> Result<bool, SyntaxError> {
        let mut ignored = Word::default();
        let mut open = 0_u32;
        loop {
            match self.lexer.bump()? {
                Some('(') => open += 1,
                Some(')') if open > 0 => open -= 1,
                Some(')') => return self.lexer.eat(")"),
                Some('$') => self.dollar(&mut ignored, true)?,
                Some('`') => self.backquoted()?,
                Some('"') => self.double_quoted(&mut ignored)?,
                Some(';') if semicolons => {}
                Some(';' | '\n') => return Ok(false),
                Some(_) => {}
                None => return Ok(false),
            }
        }
    }

    /// Takes the body of a here-document out of the text after this line.
    pub(super) fn here_document(
        &mut self,
        end: &Word,
        strip_tabs: bool,
    ) -> Result<Word, SyntaxError> {
        let lexer = &mut self.lexer;
        let (line_end, mut at) = match lexer.here {
            Some(here) => here,
            None => {
                let rest = lexer.chars.iter().skip(lexer.pos);
                let ahead = rest.take_while(|c| **c != '\n').count();
                (lexer.pos + ahead, lexer.pos + ahead + 1)
            }
        };
        if end.text.contains(HOLE) {
            return Err(SyntaxError::Unexpected);
        }
        let mut body = String::new();
        loop {
            let rest = lexer.chars.get(at..).ok_or(SyntaxError::Unclosed)?;
            let line: String = rest.iter().take_while(|c| **c != '\n').collect();
            let last = at + line.chars().count() >= lexer.chars.len();
            at += line.chars().count() + 1;
            let shown = if strip_tabs { line.trim_start_matches('\t') } else { &line };
            if shown == end.text {
                break;
            }
            if last {
                return Err(SyntaxError::Unclosed);
            }
            body.push_str(shown);
            body.push('\n');
        }
        lexer.here = Some((line_end, at.min(lexer.chars.len())));
        if end.quoted {
            return Ok(Word { text: body, quoted: true, ..Word::default() });
        }
        self.within(&body, Self::expanded_text)
    }

    /// Text in which only `$`, backquotes and backslashes mean something.
    fn expanded_text(&mut self) -> Result<Word, SyntaxError> {
        let mut word = Word { quoted: true, ..Word::default() };
        while let Some(c) = self.lexer.bump()? {
            match c {
                '\\' => match self.lexer.bump()? {
                    Some(c @ ('$' | '`' | '\\')) => word.text.push(c),
                    Some('\n') | None => {}
                    Some(c) => word.text.extend(['\\', c]),
                },
                '$' => self.dollar(&mut word, true)?,
                '`' => {
                    self.backquoted()?;
                    hole(&mut word, false);
                }
                _ => word.text.push(c),
            }
        }
        Ok(word)
    }
}

/// Leaves a hole in a word for what is known only when the script runs.
pub(super) fn hole(word: &mut Word, splits: bool) {
    if word.text.is_empty() {
        word.starts_open = true;
    }
    word.splits |= splits;
    word.text.push(HOLE);
}
