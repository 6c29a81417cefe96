//! The window on the past: recent turns in full, older ones in the running summary.
//!
//! The summary is renewed before anything falls out between the two: when the turns it does not cover
//! fill most of the budget, all but the newest half is folded into it.

use cloister_protocol::ModelFacts;
use cloister_protocol::link::Step;

use super::past::{self, Past};
use super::told;
use crate::journal::{ChatDb, PastTurn, Replaced};
use crate::text;

/// About four bytes are a token.
const BYTES_PER_TOKEN: usize = 4;

/// How much of the past: tokens, and turns, of which short ones cost more time than tokens.
#[derive(Clone, Copy)]
struct Amount {
    tokens: usize,
    turns: usize,
}

const NOTHING: Amount = Amount { tokens: 0, turns: 0 };
/// What is shown for a model of which the window is not known.
const USUAL_TOKENS: usize = 12_000;
/// More is not shown however large the window is: every turn pays for it.
const MOST_TOKENS: usize = 64_000;
const LEAST_TOKENS: usize = 400;
/// The same for the steps of what is worked on: outputs of tools, and what they were given.
const USUAL_STEPS_BYTES: usize = 240 << 10;
const MOST_STEPS_BYTES: usize = 480 << 10;
const LEAST_STEPS_BYTES: usize = 4 << 10;
/// So many tokens for each turn that may be shown.
const TOKENS_PER_TURN: usize = 300;
const MOST_TURNS: usize = 200;

/// How much of the past a model is shown, by what else its window must hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    tokens: usize,
}

impl Room {
    /// `besides`: the bytes of all that is shown with it.
    pub(crate) fn of(model: ModelFacts, besides: usize) -> Self {
        let Some(window) = model.window_tokens else { return Self { tokens: USUAL_TOKENS } };
        let window = usize::try_from(window).unwrap_or(usize::MAX);
        let answer = model.output_tokens.map_or(window / 4, |most| most as usize).min(window / 4);
        // Tokens are counted roughly: a tenth is left for that.
        let left = window.saturating_sub(answer + window / 10 + besides / BYTES_PER_TOKEN);
        Self { tokens: left.clamp(LEAST_TOKENS, MOST_TOKENS) }
    }

    /// The bytes of a turn's or task's own steps that a model is shown.
    pub(crate) fn of_steps(model: ModelFacts, besides: usize) -> usize {
        let Some(window) = model.window_tokens else { return USUAL_STEPS_BYTES };
        let window = usize::try_from(window).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN);
        let left = (window / 2).saturating_sub(besides / 2);
        left.clamp(LEAST_STEPS_BYTES, MOST_STEPS_BYTES)
    }

    fn part(self, parts: usize, of: usize) -> Amount {
        let tokens = self.tokens * parts / of;
        let turns = (self.tokens / TOKENS_PER_TURN).clamp(4, MOST_TURNS) * parts / of;
        Amount { tokens, turns: turns.max(1) }
    }

    fn shown(self) -> Amount {
        self.part(4, 4)
    }

    /// Beyond this the summary is renewed …
    fn renew(self) -> Amount {
        self.part(3, 4)
    }

    /// … up to the turns that fit in this.
    fn kept(self) -> Amount {
        self.part(2, 4)
    }

    /// So many bytes are folded into the summary at a time.
    fn fold(self) -> usize {
        (self.tokens * BYTES_PER_TOKEN).min(MAX_FOLD_BYTES)
    }
}

impl Amount {
    fn covers(self, spent: Amount) -> bool {
        spent.tokens <= self.tokens && spent.turns <= self.turns
    }

    fn and(self, turn: &PastTurn) -> Amount {
        Amount { tokens: self.tokens.saturating_add(tokens(turn)), turns: self.turns + 1 }
    }
}

/// So much is folded into the summary at a time.
const MAX_FOLD_TURNS: usize = 64;
const MAX_FOLD_BYTES: usize = 32 << 10;
const MAX_FOLD_TURN_BYTES: usize = 4 << 10;
const MAX_SUMMARY_BYTES: usize = 8 << 10;

#[derive(Debug)]
pub(super) struct Window {
    pub(super) summary: Option<String>,
    pub(super) past: Past,
    pub(super) overflow: bool,
    /// Turns that are neither shown nor in the summary.
    pub(super) unseen: usize,
}

/// What there is to show: the summary, where it still is of what was said; the last turn that it covers; and which turns
/// since do not count any more.
fn since(db: &ChatDb) -> rusqlite::Result<(Option<String>, i64, Replaced)> {
    let floor = db.cleared_upto()?;
    if let Some((upto, summary)) = db.summary(floor)? {
        let replaced = db.replaced(upto)?;
        if !replaced.reaches(upto) {
            return Ok((Some(summary), upto, replaced));
        }
    }
    Ok((None, floor, db.replaced(floor)?))
}

pub(super) fn load(db: &ChatDb, before: i64, room: Room) -> rusqlite::Result<Window> {
    let (summary, after, replaced) = since(db)?;
    let mut spent = NOTHING;
    let mut too_large = None;
    let turns = db.newest((after, before), &replaced, |turn| {
        spent = spent.and(turn);
        let fits = room.shown().covers(spent);
        if !fits && too_large.is_none() {
            too_large = Some(turn.clone());
        }
        fits
    })?;
    let mut past = Past::default();
    match too_large {
        // What was said just now is never missing, however long it was.
        Some(newest) if turns.is_empty() => shortened(&mut past, &newest, room.shown().tokens),
        _ => turns.iter().rev().for_each(|turn| past.add(turn)),
    }
    let summary = summary.map(|text| text::head(&text, MAX_SUMMARY_BYTES).to_owned());
    let oldest = turns.last().map_or(before, |turn| turn.seq);
    let unseen = db.count_between((after, oldest), &replaced)?;
    Ok(Window { summary, past, overflow: !room.renew().covers(spent), unseen })
}

/// What is to be folded into the summary, and the summary so far.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Backlog {
    pub(crate) summary: Option<String>,
    /// The conversation since, oldest first.
    pub(crate) transcript: String,
    pub(crate) upto: i64,
}

pub(crate) fn backlog(db: &ChatDb, room: Room) -> rusqlite::Result<Option<Backlog>> {
    let _snapshot = db.snapshot()?;
    let (summary, after, replaced) = since(db)?;
    let mut spent = NOTHING;
    let kept = db.newest((after, i64::MAX), &replaced, |turn| {
        spent = spent.and(turn);
        // A newest turn that is larger than all we keep stays out of the summary all the same.
        spent.turns == 1 || room.kept().covers(spent)
    })?;
    let before = kept.last().map_or(0, |oldest_kept| oldest_kept.seq);
    let mut transcript = String::new();
    let mut upto = None;
    for turn in db.oldest((after, before), &replaced, MAX_FOLD_TURNS)? {
        if transcript.len() > room.fold() {
            break;
        }
        transcript.push_str(&as_lines(&turn));
        upto = Some(turn.seq);
    }
    Ok(upto.map(|upto| Backlog { summary, transcript, upto }))
}

fn as_lines(turn: &PastTurn) -> String {
    let asked = text::shorten(&told(&turn.cause), MAX_FOLD_TURN_BYTES / 2);
    let answered = text::shorten(&past::words(turn), MAX_FOLD_TURN_BYTES / 2);
    let note = past::note(turn).map(|note| format!("{note}\n")).unwrap_or_default();
    format!("Person: {asked}\nAgent: {answered}\n{note}\n")
}

fn tokens(turn: &PastTurn) -> usize {
    let steps: usize = turn.steps.iter().map(size).sum();
    (told(&turn.cause).len() + turn.text.len().max(steps)).div_ceil(BYTES_PER_TOKEN)
}

fn size(step: &Step) -> usize {
    match step {
        Step::Answer { text, calls } => {
            let calls = calls.iter().map(|call| call.name.len() + call.arguments.len());
            text.len() + calls.sum::<usize>()
        }
        Step::Result { outcome, .. } => outcome.output.len(),
        Step::Call { .. } => 0,
    }
}

fn shortened(past: &mut Past, turn: &PastTurn, budget_tokens: usize) {
    let half = budget_tokens * BYTES_PER_TOKEN / 2;
    let asked = text::shorten(&told(&turn.cause), half);
    let answered = text::shorten(&past::words(turn), half);
    past.add_shortened(asked, answered, past::note(turn));
}
