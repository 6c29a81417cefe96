//! Tokens: operators and words.

use super::parse::Parser;
use super::syntax::{RedirectKind, SyntaxError, Word};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
    Semicolon,
    /// `;;`, `;&` or `;;&`
    CaseEnd,
    Background,
    Pipe,
    Open,
    Close,
    Redirect(RedirectKind),
    Here {
        strip_tabs: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    Operator(Operator),
    Newline,
    End,
}

/// The text, how far it is read, and how much more reading is paid for: going back is allowed, and
/// going back without end is not.
pub(super) struct Lexer {
    pub(super) chars: Vec<char>,
    pub(super) pos: usize,
    budget: usize,
    /// Where the line with a here-document ends, and where the text after its body goes on.
    pub(super) here: Option<(usize, usize)>,
}

impl Lexer {
    pub(super) fn new(text: &str, budget: usize) -> Self {
        Self { chars: text.chars().collect(), pos: 0, budget, here: None }
    }

    pub(super) const fn budget(&self) -> usize {
        self.budget
    }

    pub(super) const fn set_budget(&mut self, budget: usize) {
        self.budget = budget;
    }

    pub(super) fn look(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.pos + ahead).copied()
    }

    pub(super) fn bump(&mut self) -> Result<Option<char>, SyntaxError> {
        let Some(found) = self.look(0) else { return Ok(None) };
        self.budget = self.budget.checked_sub(1).ok_or(SyntaxError::TooDeep)?;
        self.pos += 1;
        Ok(Some(found))
    }

    pub(super) fn eat(&mut self, text: &str) -> Result<bool, SyntaxError> {
        let found = text.chars().enumerate().all(|(at, c)| self.look(at) == Some(c));
        if found {
            for _ in text.chars() {
                self.bump()?;
            }
        }
        Ok(found)
    }

    fn skip_blanks(&mut self) -> Result<(), SyntaxError> {
        loop {
            match (self.look(0), self.look(1)) {
                (Some(' ' | '\t'), _) => {
                    self.bump()?;
                }
                (Some('\\'), Some('\n')) => {
                    self.bump()?;
                    self.bump()?;
                }
                (Some('#'), _) => {
                    while self.look(0).is_some_and(|c| c != '\n') {
                        self.bump()?;
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn operator(&mut self) -> Result<Option<Operator>, SyntaxError> {
        // Longer ones first.
        const OPERATORS: &[(&str, Operator)] = &[
            (";;&", Operator::CaseEnd),
            (";;", Operator::CaseEnd),
            (";&", Operator::CaseEnd),
            (";", Operator::Semicolon),
            ("&>>", Operator::Redirect(RedirectKind::Append)),
            ("&>", Operator::Redirect(RedirectKind::Write)),
            ("&&", Operator::And),
            ("&", Operator::Background),
            ("||", Operator::Or),
            ("|&", Operator::Pipe),
            ("|", Operator::Pipe),
            ("<<<", Operator::Redirect(RedirectKind::Text)),
            ("<<-", Operator::Here { strip_tabs: true }),
            ("<<", Operator::Here { strip_tabs: false }),
            ("<>", Operator::Redirect(RedirectKind::Append)),
            ("<&", Operator::Redirect(RedirectKind::Duplicate)),
            ("<", Operator::Redirect(RedirectKind::Read)),
            (">>", Operator::Redirect(RedirectKind::Append)),
            (">|", Operator::Redirect(RedirectKind::Write)),
            (">&", Operator::Redirect(RedirectKind::Duplicate)),
            (">", Operator::Redirect(RedirectKind::Write)),
            ("(", Operator::Open),
            (")", Operator::Close),
        ];
        if self.at_process_substitution() {
            return Ok(None);
        }
        for (text, operator) in OPERATORS {
            if self.eat(text)? {
                return Ok(Some(*operator));
            }
        }
        Ok(None)
    }

    pub(super) fn at_process_substitution(&self) -> bool {
        matches!((self.look(0), self.look(1)), (Some('<' | '>'), Some('(')))
    }

    /// Skips the number of a descriptor in front of a redirection.
    fn skip_descriptor(&mut self) -> Result<(), SyntaxError> {
        let digits = (0..4).take_while(|at| self.look(*at).is_some_and(|c| c.is_ascii_digit()));
        let digits = digits.count();
        if digits > 0 && matches!(self.look(digits), Some('<' | '>')) {
            for _ in 0..digits {
                self.bump()?;
            }
        }
        Ok(())
    }
}

impl Parser {
    pub(super) fn token(&mut self) -> Result<Token, SyntaxError> {
        self.lexer.skip_blanks()?;
        let before = self.lexer.pos;
        self.lexer.skip_descriptor()?;
        if self.lexer.look(0) == Some('\n') {
            self.lexer.bump()?;
            if let Some((_, resume)) = self.lexer.here.take_if(|(end, _)| *end == before) {
                self.lexer.pos = resume;
            }
            return Ok(Token::Newline);
        }
        let token = match self.lexer.operator()? {
            Some(operator) => Token::Operator(operator),
            None if self.lexer.look(0).is_none() => Token::End,
            None => Token::Word(self.word()?),
        };
        // A quote or substitution that runs over the end of such a line is read as no shell would.
        let passed = self.lexer.here.is_some_and(|(end, _)| self.lexer.pos > end);
        if passed { Err(SyntaxError::Unexpected) } else { Ok(token) }
    }
}
