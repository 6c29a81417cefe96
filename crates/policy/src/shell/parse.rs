//! The grammar: lists, pipelines, compound commands, functions, simple commands.

use super::lex::{Lexer, Operator, Token};
use super::syntax::{
    Assignment, MAX_CHARS, MAX_DEPTH, Redirect, RedirectKind, Script, Simple, SyntaxError, Word,
};

/// Words that end a list where a command could start.
const CLOSING_WORDS: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}"];

/// How often, on average, each character may be looked at.
const READS_PER_CHAR: usize = 16;

/// Reads a script that stands `depth` levels deep in another one.
pub(super) fn parse(text: &str, depth: u32) -> Result<Script, SyntaxError> {
    if text.len() > MAX_CHARS {
        return Err(SyntaxError::TooLong);
    }
    let lexer = Lexer::new(text, READS_PER_CHAR * (text.len() + 64));
    let mut parser = Parser { lexer, peeked: None, script: Script::default(), depth };
    parser.deeper()?;
    parser.list()?;
    match parser.next()? {
        Token::End => Ok(parser.script),
        Token::Word(_) | Token::Operator(_) | Token::Newline => Err(SyntaxError::Unexpected),
    }
}

pub(super) struct Parser {
    pub(super) lexer: Lexer,
    peeked: Option<Token>,
    pub(super) script: Script,
    pub(super) depth: u32,
}

type Parsed = Result<(), SyntaxError>;

impl Parser {
    pub(super) fn deeper(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(SyntaxError::TooDeep) } else { Ok(()) }
    }

    pub(super) const fn shallower(&mut self) {
        self.depth -= 1;
    }

    fn peek(&mut self) -> Result<&Token, SyntaxError> {
        if self.peeked.is_none() {
            let token = self.token()?;
            self.peeked = Some(token);
        }
        self.peeked.as_ref().ok_or(SyntaxError::Unexpected)
    }

    /// For going back in the text.
    pub(super) fn forget_peeked(&mut self) {
        self.peeked = None;
    }

    pub(super) fn next(&mut self) -> Result<Token, SyntaxError> {
        self.peek()?;
        self.peeked.take().ok_or(SyntaxError::Unexpected)
    }

    fn at(&mut self, operator: Operator) -> Result<bool, SyntaxError> {
        Ok(*self.peek()? == Token::Operator(operator))
    }

    fn eat(&mut self, operator: Operator) -> Result<bool, SyntaxError> {
        let found = self.at(operator)?;
        if found {
            self.next()?;
        }
        Ok(found)
    }

    fn expect(&mut self, operator: Operator) -> Parsed {
        if self.eat(operator)? { Ok(()) } else { Err(SyntaxError::Unexpected) }
    }

    fn at_word(&mut self, text: &str) -> Result<bool, SyntaxError> {
        Ok(matches!(self.peek()?, Token::Word(word) if word.is_bare(text)))
    }

    fn eat_word(&mut self, text: &str) -> Result<bool, SyntaxError> {
        let found = self.at_word(text)?;
        if found {
            self.next()?;
        }
        Ok(found)
    }

    fn expect_word(&mut self, text: &str) -> Parsed {
        if self.eat_word(text)? { Ok(()) } else { Err(SyntaxError::Unexpected) }
    }

    fn newlines(&mut self) -> Parsed {
        while *self.peek()? == Token::Newline {
            self.next()?;
        }
        Ok(())
    }

    /// Commands up to something that can't start one; possibly none.
    pub(super) fn list(&mut self) -> Parsed {
        loop {
            self.newlines()?;
            if !self.starts_command()? {
                return Ok(());
            }
            self.pipeline()?;
            match self.peek()? {
                Token::Operator(
                    Operator::And | Operator::Or | Operator::Semicolon | Operator::Background,
                )
                | Token::Newline => {
                    self.next()?;
                }
                Token::Operator(_) | Token::Word(_) | Token::End => return Ok(()),
            }
        }
    }

    fn starts_command(&mut self) -> Result<bool, SyntaxError> {
        Ok(match self.peek()? {
            Token::Word(word) => !CLOSING_WORDS.iter().any(|closing| word.is_bare(closing)),
            Token::Operator(operator) => {
                matches!(operator, Operator::Open | Operator::Redirect(_) | Operator::Here { .. })
            }
            Token::Newline | Token::End => false,
        })
    }

    fn pipeline(&mut self) -> Parsed {
        let mut piped = false;
        loop {
            while self.eat_word("!")? || self.eat_word("time")? {}
            let from = self.script.commands.len();
            self.command()?;
            if piped {
                let inside = self.script.commands.iter_mut().skip(from);
                inside.for_each(|command| command.piped = true);
            }
            if !self.eat(Operator::Pipe)? {
                return Ok(());
            }
            piped = true;
            self.newlines()?;
        }
    }

    fn command(&mut self) -> Parsed {
        self.deeper()?;
        let compound = self.compound()?;
        if compound {
            self.group_redirects()?;
        } else {
            self.simple()?;
        }
        self.shallower();
        Ok(())
    }

    /// Reads a compound command, if one stands here.
    fn compound(&mut self) -> Result<bool, SyntaxError> {
        if self.at(Operator::Open)? {
            self.parenthesised()?;
            return Ok(true);
        }
        let Token::Word(word) = self.peek()? else { return Ok(false) };
        if word.quoted || word.splits {
            return Ok(false);
        }
        match word.text.as_str() {
            "{" => self.braced()?,
            "if" => self.conditional()?,
            "while" | "until" => {
                self.next()?;
                self.list()?;
                self.loop_body()?;
            }
            "for" | "select" => self.counted()?,
            "case" => self.choice()?,
            "[[" => self.condition()?,
            "function" => self.function_keyword()?,
            "coproc" => {
                self.next()?;
                self.command()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn parenthesised(&mut self) -> Parsed {
        // `((` is arithmetic where `))` closes it, and two subshells otherwise.
        self.next()?;
        if self.try_arithmetic()? {
            return Ok(());
        }
        self.list()?;
        self.expect(Operator::Close)
    }

    fn braced(&mut self) -> Parsed {
        self.next()?;
        self.list()?;
        self.expect_word("}")
    }

    fn conditional(&mut self) -> Parsed {
        self.next()?;
        self.list()?;
        self.expect_word("then")?;
        self.list()?;
        while self.eat_word("elif")? {
            self.list()?;
            self.expect_word("then")?;
            self.list()?;
        }
        if self.eat_word("else")? {
            self.list()?;
        }
        self.expect_word("fi")
    }

    fn loop_body(&mut self) -> Parsed {
        self.expect_word("do")?;
        self.list()?;
        self.expect_word("done")
    }

    fn counted(&mut self) -> Parsed {
        self.next()?;
        if self.eat(Operator::Open)? {
            if !self.counted_arithmetic()? {
                return Err(SyntaxError::Unexpected);
            }
        } else {
            let Token::Word(name) = self.next()? else { return Err(SyntaxError::Unexpected) };
            let assignments = vec![Assignment { name: name.text, value: String::new() }];
            self.script.commands.push(Simple { assignments, ..Simple::default() });
            self.newlines()?;
            if self.eat_word("in")? {
                while matches!(self.peek()?, Token::Word(_)) {
                    self.next()?;
                }
            }
        }
        self.eat(Operator::Semicolon)?;
        self.newlines()?;
        if self.at_word("{")? { self.braced() } else { self.loop_body() }
    }

    fn choice(&mut self) -> Parsed {
        self.next()?;
        let Token::Word(_) = self.next()? else { return Err(SyntaxError::Unexpected) };
        self.newlines()?;
        self.expect_word("in")?;
        self.newlines()?;
        while !self.eat_word("esac")? {
            self.eat(Operator::Open)?;
            loop {
                let Token::Word(_) = self.next()? else { return Err(SyntaxError::Unexpected) };
                if !self.eat(Operator::Pipe)? {
                    break;
                }
            }
            self.expect(Operator::Close)?;
            self.list()?;
            if !self.eat(Operator::CaseEnd)? && !self.at_word("esac")? {
                return Err(SyntaxError::Unexpected);
            }
            self.newlines()?;
        }
        Ok(())
    }

    /// `[[ … ]]`: words and operators, of which only substitutions run anything.
    fn condition(&mut self) -> Parsed {
        self.next()?;
        while !self.eat_word("]]")? {
            match self.next()? {
                Token::Word(_) | Token::Newline => {}
                Token::Operator(operator) => match operator {
                    Operator::And
                    | Operator::Or
                    | Operator::Open
                    | Operator::Close
                    | Operator::Pipe
                    | Operator::Redirect(RedirectKind::Read | RedirectKind::Write) => {}
                    Operator::Redirect(_)
                    | Operator::Here { .. }
                    | Operator::Semicolon
                    | Operator::CaseEnd
                    | Operator::Background => return Err(SyntaxError::Unexpected),
                },
                Token::End => return Err(SyntaxError::Unclosed),
            }
        }
        Ok(())
    }

    fn function_keyword(&mut self) -> Parsed {
        self.next()?;
        let Token::Word(name) = self.next()? else { return Err(SyntaxError::Unexpected) };
        if self.eat(Operator::Open)? {
            self.expect(Operator::Close)?;
        }
        self.function_body(name)
    }

    fn function_body(&mut self, name: Word) -> Parsed {
        let name = name.known().ok_or(SyntaxError::Unexpected)?.to_owned();
        self.script.functions.insert(name);
        self.newlines()?;
        self.command()
    }

    fn group_redirects(&mut self) -> Parsed {
        let mut group = Simple { group: true, ..Simple::default() };
        while self.redirect(&mut group)? {}
        if !group.redirects.is_empty() {
            self.script.commands.push(group);
        }
        Ok(())
    }

    fn simple(&mut self) -> Parsed {
        let mut simple = Simple::default();
        loop {
            if self.redirect(&mut simple)? {
                continue;
            }
            if !matches!(self.peek()?, Token::Word(_)) {
                break;
            }
            let Token::Word(word) = self.next()? else { break };
            let first = simple.words.is_empty();
            if first && simple.assignments.is_empty() && self.at(Operator::Open)? {
                self.next()?;
                self.expect(Operator::Close)?;
                return self.function_body(word);
            }
            match word.assigns.filter(|_| first) {
                Some(at) => simple.assignments.push(assignment(&word, at)),
                None => simple.words.push(word),
            }
        }
        let empty =
            simple.words.is_empty() && simple.assignments.is_empty() && simple.redirects.is_empty();
        if empty {
            return Err(SyntaxError::Unexpected);
        }
        self.script.commands.push(simple);
        Ok(())
    }

    fn redirect(&mut self, simple: &mut Simple) -> Result<bool, SyntaxError> {
        let Token::Operator(operator) = *self.peek()? else { return Ok(false) };
        match operator {
            Operator::Redirect(kind) => {
                self.next()?;
                let Token::Word(target) = self.next()? else { return Err(SyntaxError::Unexpected) };
                simple.redirects.push(Redirect { kind, target });
            }
            Operator::Here { strip_tabs } => {
                self.next()?;
                // The body is read where the line ends: until then its place is kept.
                let Token::Word(end) = self.next()? else { return Err(SyntaxError::Unexpected) };
                let target = self.here_document(&end, strip_tabs)?;
                simple.redirects.push(Redirect { kind: RedirectKind::Text, target });
            }
            Operator::And
            | Operator::Or
            | Operator::Semicolon
            | Operator::CaseEnd
            | Operator::Background
            | Operator::Pipe
            | Operator::Open
            | Operator::Close => return Ok(false),
        }
        Ok(true)
    }
}

fn assignment(word: &Word, at: usize) -> Assignment {
    let name = word.text.get(..at).unwrap_or_default();
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name).to_owned();
    Assignment { name, value: word.text.get(at + 1..).unwrap_or_default().to_owned() }
}
