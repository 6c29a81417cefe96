//! Sets of entry numbers, written like `3-9,12`.

use std::fmt;
use std::str::FromStr;

/// Numbers in ascending ranges that neither touch nor overlap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ranges(Vec<(u64, u64)>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a list of entries: expected numbers and ranges such as 3-9,12")]
pub struct ParseRangesError(String);

impl Ranges {
    pub fn one(first: u64, last: u64) -> Self {
        if first <= last { Self(vec![(first, last)]) } else { Self::default() }
    }

    /// Adds a number; cheap when it is the greatest so far.
    pub fn push(&mut self, number: u64) {
        match self.0.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            Some((_, last)) if *last >= number => self.insert(number, number),
            _ => self.0.push((number, number)),
        }
    }

    pub fn add(&mut self, other: &Self) {
        self.0.extend_from_slice(&other.0);
        self.tidy();
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, number: u64) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= number);
        after.checked_sub(1).and_then(|i| self.0.get(i)).is_some_and(|(_, last)| number <= *last)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.0.iter().copied()
    }

    /// How many numbers.
    pub fn count(&self) -> u64 {
        self.iter().map(|(first, last)| last - first + 1).sum()
    }

    /// The first number that is here and not in `other`.
    pub fn first_outside(&self, other: &Self) -> Option<u64> {
        for (first, last) in self.iter() {
            let mut at = first;
            while at <= last {
                match other.iter().find(|(from, to)| (*from..=*to).contains(&at)) {
                    Some((_, to)) => at = to + 1,
                    None => return Some(at),
                }
            }
        }
        None
    }

    /// Parts of no more than so many ranges.
    pub fn chunks(&self, ranges: usize) -> impl Iterator<Item = Self> {
        self.0.chunks(ranges.max(1)).map(|part| Self(part.to_vec()))
    }

    fn insert(&mut self, first: u64, last: u64) {
        self.0.push((first, last));
        self.tidy();
    }

    fn tidy(&mut self) {
        self.0.sort_unstable();
        let mut tidy: Vec<(u64, u64)> = Vec::with_capacity(self.0.len());
        for (first, last) in self.0.drain(..) {
            match tidy.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = (*end).max(last),
                _ => tidy.push((first, last)),
            }
        }
        self.0 = tidy;
    }
}

impl FromIterator<u64> for Ranges {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut ranges = Self::default();
        numbers.into_iter().for_each(|number| ranges.push(number));
        ranges
    }
}

impl fmt::Display for Ranges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (first, last)) in self.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Ranges {
    type Err = ParseRangesError;

    fn from_str(text: &str) -> Result<Self, ParseRangesError> {
        let wrong = || ParseRangesError(text.chars().take(80).collect());
        let mut ranges = Self::default();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (first.parse().ok(), last.parse().ok());
            let (Some(first), Some(last)) = (first, last) else { return Err(wrong()) };
            if first == 0 || first > last || last == u64::MAX {
                return Err(wrong());
            }
            ranges.0.push((first, last));
        }
        ranges.tidy();
        Ok(ranges)
    }
}

#[cfg(test)]
#[path = "ranges_tests.rs"]
mod tests;
