//! Words: what quotes, escapes and blanks make of characters.

use super::expand::hole;
use super::lex::{Operator, Token};
use super::parse::Parser;
use super::syntax::{HOLE, SyntaxError, Word};

const fn ends_word(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '|' | '&' | ';' | '(' | ')' | '<' | '>')
}

impl Parser {
    pub(super) fn word(&mut self) -> Result<Word, SyntaxError> {
        let mut word = Word::default();
        let mut braces = Braces::default();
        loop {
            if self.lexer.at_process_substitution() {
                self.lexer.bump()?;
                self.lexer.bump()?;
                self.command_substitution()?;
                hole(&mut word, true);
                continue;
            }
            let Some(c) = self.lexer.look(0) else { break };
            if ends_word(c) {
                break;
            }
            self.lexer.bump()?;
            match c {
                HOLE => return Err(SyntaxError::Unexpected),
                '\'' => self.single_quoted(&mut word)?,
                '"' => self.double_quoted(&mut word)?,
                '\\' => match self.lexer.bump()? {
                    Some('\n') => {}
                    Some(escaped) => {
                        word.quoted = true;
                        word.text.push(escaped);
                    }
                    None => return Err(SyntaxError::Unclosed),
                },
                '$' => self.dollar(&mut word, false)?,
                '`' => {
                    self.backquoted()?;
                    hole(&mut word, true);
                }
                '=' => {
                    self.equals(&mut word)?;
                }
                _ => {
                    braces.see(c, &mut word);
                    word.text.push(c);
                }
            }
        }
        Ok(word)
    }

    fn equals(&mut self, word: &mut Word) -> Result<(), SyntaxError> {
        if word.assigns.is_none() && !word.quoted && can_be_assigned(&word.text) {
            word.assigns = Some(word.text.len());
        }
        word.text.push('=');
        if self.lexer.look(0) != Some('(') || word.assigns.is_none() {
            return Ok(());
        }
        self.lexer.bump()?;
        self.deeper()?;
        loop {
            match self.token()? {
                Token::Word(_) | Token::Newline => {}
                Token::Operator(Operator::Close) => break,
                Token::Operator(_) => return Err(SyntaxError::Unexpected),
                Token::End => return Err(SyntaxError::Unclosed),
            }
        }
        self.shallower();
        hole(word, false);
        Ok(())
    }

    pub(super) fn single_quoted(&mut self, word: &mut Word) -> Result<(), SyntaxError> {
        word.quoted = true;
        loop {
            match self.lexer.bump()? {
                Some('\'') => return Ok(()),
                Some(HOLE) => return Err(SyntaxError::Unexpected),
                Some(c) => word.text.push(c),
                None => return Err(SyntaxError::Unclosed),
            }
        }
    }

    pub(super) fn double_quoted(&mut self, word: &mut Word) -> Result<(), SyntaxError> {
        word.quoted = true;
        loop {
            match self.lexer.bump()? {
                Some('"') => return Ok(()),
                Some(HOLE) => return Err(SyntaxError::Unexpected),
                Some('\\') => match self.lexer.bump()? {
                    Some('\n') => {}
                    Some(c @ ('$' | '`' | '"' | '\\')) => word.text.push(c),
                    Some(c) => word.text.extend(['\\', c]),
                    None => return Err(SyntaxError::Unclosed),
                },
                Some('$') => self.dollar(word, true)?,
                Some('`') => {
                    self.backquoted()?;
                    hole(word, false);
                }
                Some(c) => word.text.push(c),
                None => return Err(SyntaxError::Unclosed),
            }
        }
    }

    /// `$'…'`, whose escapes can spell anything.
    pub(super) fn ansi_quoted(&mut self, word: &mut Word) -> Result<(), SyntaxError> {
        word.quoted = true;
        loop {
            match self.lexer.bump()? {
                Some('\'') => return Ok(()),
                Some('\\') => self.ansi_escape(word)?,
                Some(HOLE) => return Err(SyntaxError::Unexpected),
                Some(c) => word.text.push(c),
                None => return Err(SyntaxError::Unclosed),
            }
        }
    }

    fn ansi_escape(&mut self, word: &mut Word) -> Result<(), SyntaxError> {
        let Some(c) = self.lexer.bump()? else { return Err(SyntaxError::Unclosed) };
        let plain = match c {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'a' | 'b' | 'e' | 'E' | 'f' | 'v' => Some(' '),
            '\\' | '\'' | '"' | '?' => Some(c),
            _ => None,
        };
        if let Some(plain) = plain {
            word.text.push(plain);
            return Ok(());
        }
        let (radix, most, first) = match c {
            'x' => (16, 2, None),
            'u' => (16, 4, None),
            'U' => (16, 8, None),
            '0'..='7' => (8, 2, c.to_digit(8)),
            // `\c` and what no shell knows.
            _ => return Err(SyntaxError::Unexpected),
        };
        let mut code = first.unwrap_or(0);
        let mut digits = 0;
        while digits < most {
            let Some(digit) = self.lexer.look(0).and_then(|c| c.to_digit(radix)) else { break };
            self.lexer.bump()?;
            code = code.wrapping_mul(radix).wrapping_add(digit);
            digits += 1;
        }
        match char::from_u32(code).filter(|c| *c != HOLE) {
            // Bytes above 127 make up characters only together; none of them is in a program's name.
            Some(c) => word.text.push(c),
            None => return Err(SyntaxError::Unexpected),
        }
        Ok(())
    }
}

fn can_be_assigned(text: &str) -> bool {
    let name = text.strip_suffix('+').unwrap_or(text);
    let (name, subscript) = match name.split_once('[') {
        Some((name, subscript)) => (name, Some(subscript)),
        None => (name, None),
    };
    name.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && name.chars().all(|c| c == '_' || c.is_ascii_alphanumeric())
        && subscript.is_none_or(|subscript| subscript.ends_with(']'))
}

/// Unquoted characters by which one word becomes several.
#[derive(Default)]
struct Braces {
    bracket: bool,
    brace: bool,
    brace_first: bool,
    last: Option<char>,
}

impl Braces {
    fn see(&mut self, c: char, word: &mut Word) {
        let first = word.text.is_empty();
        match c {
            '*' | '?' => {
                word.splits = true;
                word.starts_open |= first;
            }
            '[' => {
                self.bracket = true;
                self.brace_first |= first;
            }
            ']' if self.bracket => {
                word.splits = true;
                word.starts_open |= self.brace_first;
            }
            '{' => {
                self.brace = true;
                self.brace_first |= first;
            }
            ',' if self.brace => {
                word.splits = true;
                word.starts_open |= self.brace_first;
            }
            '.' if self.brace && self.last == Some('.') => {
                word.splits = true;
                word.starts_open |= self.brace_first;
            }
            _ => {}
        }
        self.last = Some(c);
    }
}
