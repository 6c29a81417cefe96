//! The mask: finds values of secrets in what passes, however it is cut into pieces, and puts their names
//! in their place.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use aho_corasick::AhoCorasick;
use bytes::{Bytes, BytesMut};
use cloister_control::books::OpenSecret;
use cloister_vault::SecretName;
use zeroize::Zeroizing;

use super::encodings::encodings;

/// Shorter values are in every other text, and no secrets worth the name.
const SHORTEST: usize = 6;

/// What must not be seen. Holds values; goes with the door it is of.
#[derive(Default)]
pub(crate) struct Mask {
    /// None: nothing is looked for.
    automaton: Option<AhoCorasick>,
    /// Which secret each pattern of the automaton gives away.
    secret_of: Vec<usize>,
    /// In order, to find what a pattern may begin with.
    patterns: Vec<Zeroizing<Vec<u8>>>,
    longest: usize,
    names: Vec<SecretName>,
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mask({} secrets)", self.names.len())
    }
}

/// A stretch of bytes that is not shown.
struct Span {
    start: usize,
    end: usize,
    /// None: what stands in its place has been shown already.
    secret: Option<usize>,
}

impl Mask {
    pub(crate) fn new(secrets: &[OpenSecret]) -> Result<Self, aho_corasick::BuildError> {
        let mut mask = Self::default();
        let mut patterns: Vec<(Zeroizing<Vec<u8>>, usize)> = Vec::new();
        for secret in secrets.iter().filter(|secret| secret.value.expose().len() >= SHORTEST) {
            mask.names.push(secret.info.name.clone());
            let number = mask.names.len() - 1;
            patterns.extend(encodings(secret.value.expose()).into_iter().map(|p| (p, number)));
        }
        if patterns.is_empty() {
            return Ok(mask);
        }
        patterns.sort_by(|one, other| one.0.as_slice().cmp(other.0.as_slice()));
        mask.automaton = Some(AhoCorasick::new(patterns.iter().map(|(text, _)| text.as_slice()))?);
        mask.longest = patterns.iter().map(|(text, _)| text.len()).max().unwrap_or(0);
        (mask.patterns, mask.secret_of) = patterns.into_iter().unzip();
        Ok(mask)
    }

    /// Whether there is nothing to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.automaton.is_none()
    }

    /// How many bytes at the end may be the beginning of something that is not shown.
    fn unfinished(&self, bytes: &[u8]) -> usize {
        let most = self.longest.saturating_sub(1).min(bytes.len());
        let begins = |length: &usize| {
            let tail = bytes.get(bytes.len() - length..).unwrap_or_default();
            let next = self.patterns.partition_point(|pattern| pattern.as_slice() <= tail);
            self.patterns.get(next).is_some_and(|pattern| pattern.starts_with(tail))
        };
        (1..=most).rev().find(begins).unwrap_or(0)
    }

    /// What is not shown, in order; what overlaps is one.
    fn spans(&self, bytes: &[u8], covered: usize) -> Vec<Span> {
        let Some(automaton) = &self.automaton else { return Vec::new() };
        let found = automaton.find_overlapping_iter(bytes).map(|found| {
            let secret = self.secret_of.get(found.pattern().as_usize()).copied();
            Span { start: found.start(), end: found.end(), secret }
        });
        let mut spans: Vec<Span> = found.collect();
        if covered > 0 {
            spans.push(Span { start: 0, end: covered, secret: None });
        }
        spans.sort_by_key(|span| (span.start, span.secret.is_some()));
        let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
        for span in spans {
            match merged.last_mut() {
                Some(last) if span.start < last.end => last.end = last.end.max(span.end),
                Some(_) | None => merged.push(span),
            }
        }
        merged
    }
}

/// Masks one stream of bytes, piece by piece.
#[derive(Debug)]
pub(crate) struct Masker {
    mask: Arc<Mask>,
    /// The end of what came, which may become something that is not shown.
    held: BytesMut,
    /// How much of what is held belongs to what was masked already.
    covered: usize,
    hits: BTreeSet<usize>,
    told: BTreeSet<usize>,
}

impl Masker {
    pub(crate) fn new(mask: Arc<Mask>) -> Self {
        let (hits, told) = (BTreeSet::new(), BTreeSet::new());
        Self { mask, held: BytesMut::new(), covered: 0, hits, told }
    }

    /// What may be shown now. Holds back only what could be the beginning of a value.
    pub(crate) fn push(&mut self, piece: Bytes) -> Bytes {
        if self.mask.is_empty() {
            return piece;
        }
        let bytes = if self.held.is_empty() {
            piece
        } else {
            self.held.extend_from_slice(&piece);
            self.held.split().freeze()
        };
        let until = bytes.len() - self.mask.unfinished(&bytes);
        self.release(bytes, until)
    }

    /// The rest.
    pub(crate) fn finish(&mut self) -> Bytes {
        let bytes = self.held.split().freeze();
        let until = bytes.len();
        self.release(bytes, until)
    }

    /// The secrets that were masked since this was last asked.
    pub(crate) fn new_hits(&mut self) -> Vec<SecretName> {
        let fresh: Vec<usize> = self.hits.difference(&self.told).copied().collect();
        self.told.extend(&fresh);
        fresh.iter().filter_map(|number| self.mask.names.get(*number)).cloned().collect()
    }

    fn release(&mut self, bytes: Bytes, until: usize) -> Bytes {
        let spans = self.mask.spans(&bytes, self.covered);
        self.covered = self.covered.saturating_sub(until);
        self.held = BytesMut::from(bytes.get(until..).unwrap_or_default());
        if spans.is_empty() {
            return bytes.slice(..until);
        }
        let mut shown = BytesMut::with_capacity(bytes.len());
        let mut at = 0;
        for span in spans.iter().take_while(|span| span.start < until) {
            shown.extend_from_slice(bytes.get(at..span.start).unwrap_or_default());
            if let Some(secret) = span.secret {
                self.hits.insert(secret);
                let name = self.mask.names.get(secret).map_or("", SecretName::as_str);
                shown.extend_from_slice(format!("[secret {name}]").as_bytes());
            }
            at = span.end.min(until);
            self.covered = span.end.saturating_sub(until);
        }
        shown.extend_from_slice(bytes.get(at..until).unwrap_or_default());
        shown.freeze()
    }
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
