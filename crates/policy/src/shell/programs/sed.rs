//! `sed`: an editor whose scripts can run programs and write files.
//!
//! Only scripts made of commands that can do neither are told apart; everything else is code.

use super::super::args::Args;
use super::files::written;
use super::{HIDDEN_OPTION, Judged, READS, RUNS_CODE};

pub(super) fn judge(args: Args<'_>) -> Judged {
    if args.has_hidden_options() {
        return HIDDEN_OPTION;
    }
    if args.has_short('f') || args.has_long("file") {
        return RUNS_CODE;
    }
    let in_place = args.has_short('i') || args.has_long("in-place");
    let mut words = args.iter();
    let mut scripts = Vec::new();
    let mut files = Vec::new();
    while let Some(word) = words.next() {
        let Some(text) = word.known().filter(|text| text.starts_with('-') && *text != "-") else {
            files.push(word);
            continue;
        };
        if text.starts_with("--expression=") {
            scripts.push(text.trim_start_matches("--expression="));
        } else if text == "--expression" || (!text.starts_with("--") && text.ends_with('e')) {
            match words.next().map(|script| script.known()) {
                Some(Some(script)) => scripts.push(script),
                Some(None) | None => return RUNS_CODE,
            }
        } else if !text.starts_with("--") && text.contains('e') {
            return RUNS_CODE;
        }
    }
    if scripts.is_empty() {
        let Some(first) = files.first().and_then(|word| word.known()) else { return RUNS_CODE };
        scripts.push(first);
        files.remove(0);
    }
    if !scripts.iter().all(|script| only_edits(script)) {
        return RUNS_CODE;
    }
    if !in_place {
        return READS;
    }
    files.into_iter().map(written).max().unwrap_or(READS)
}

/// Whether a script can do nothing but change the text that passes through.
fn only_edits(script: &str) -> bool {
    let mut chars = script.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace() || matches!(c, ';' | '{' | '}')).is_some() {}
        if chars.peek().is_none() {
            return true;
        }
        if !skip_address(&mut chars) {
            return false;
        }
        let fine = match chars.next() {
            Some(
                'p' | 'P' | 'd' | 'D' | 'q' | 'Q' | '=' | 'n' | 'N' | 'h' | 'H' | 'g' | 'G' | 'x'
                | 'l' | '{' | '}',
            ) => true,
            Some('s') => skip_substitution(&mut chars, true),
            Some('y') => skip_substitution(&mut chars, false),
            _ => false,
        };
        let ended = chars.peek().is_none_or(|c| c.is_whitespace() || matches!(c, ';' | '}' | '{'));
        if !fine || !ended {
            return false;
        }
    }
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_address(chars: &mut Chars<'_>) -> bool {
    while let Some(c) = chars
        .next_if(|c| c.is_ascii_digit() || matches!(c, '$' | ',' | '!' | '+' | '~' | '/' | ' '))
    {
        if c == '/' && !skip_to(chars, '/') {
            return false;
        }
    }
    true
}

fn skip_to(chars: &mut Chars<'_>, end: char) -> bool {
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                chars.next();
            }
            _ if c == end => return true,
            _ => {}
        }
    }
    false
}

fn skip_substitution(chars: &mut Chars<'_>, flags: bool) -> bool {
    let Some(end) = chars.next().filter(|c| !c.is_alphanumeric() && *c != '\\' && *c != '\n')
    else {
        return false;
    };
    if !skip_to(chars, end) || !skip_to(chars, end) {
        return false;
    }
    // Not `e`, which runs what it made, nor `w`, which writes.
    while flags
        && chars
            .next_if(|c| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I' | 'm' | 'M'))
            .is_some()
    {}
    true
}
