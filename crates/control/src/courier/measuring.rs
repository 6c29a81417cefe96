//! How long texts are on a surface. Where it counts by itself what can be counted here, it is not asked; else it is
//! asked for all that is wanted at once, until everything is known.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use super::posting::Halt;
use super::split::Limit;
use super::worker::Worker;
use crate::ports::{Measure, SendError, Surface};

/// How often is asked for one text: a long one is halved about so often until its breaks are found.
const MOST_ROUNDS: usize = 400;

/// Does what depends on lengths with a limit that knows them.
pub(super) async fn with_lengths<T>(
    surface: &dyn Surface,
    work: impl Fn(&Limit<'_>) -> T,
) -> Result<T, SendError> {
    let manners = surface.manners();
    let longest = manners.longest;
    let mut known: HashMap<String, usize> = HashMap::new();
    for _ in 0..MOST_ROUNDS {
        let (done, wanted) = {
            let wanted: RefCell<BTreeSet<String>> = RefCell::default();
            let measure = |text: &str| match manners.measure {
                Measure::Bytes => text.len(),
                Measure::Chars => text.chars().count(),
                Measure::Utf16 => text.encode_utf16().count(),
                Measure::Asked => known.get(text).copied().unwrap_or_else(|| {
                    wanted.borrow_mut().insert(text.to_owned());
                    text.len()
                }),
            };
            let done = work(&Limit { longest, measure: &measure });
            (done, wanted.into_inner())
        };
        if wanted.is_empty() {
            return Ok(done);
        }
        let wanted: Vec<String> = wanted.into_iter().collect();
        let lengths = surface.measured(wanted.clone()).await?;
        if lengths.len() != wanted.len() {
            return Err(SendError::Unreachable("it did not say how long texts are".to_owned()));
        }
        known.extend(wanted.into_iter().zip(lengths));
    }
    Err(SendError::Refused("it can't be found out how long it is".to_owned()))
}

impl Worker {
    /// The same, for where this one tells.
    pub(super) async fn with_lengths<T>(&self, work: impl Fn(&Limit<'_>) -> T) -> Result<T, Halt> {
        Ok(with_lengths(&*self.surface, work).await?)
    }
}

#[cfg(test)]
#[path = "measuring_tests.rs"]
mod tests;
