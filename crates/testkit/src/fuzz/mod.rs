//! Fuzzing: mutated inputs for a parser, and a check of what it makes of each.
//!
//! Owns: mutation, the pool of inputs, what is done with an input that fails. Promises: the inputs
//! follow from the seed alone; a panic, a failed check and an input that takes too long are all
//! reported with the input, which is saved where it can be replayed from.
//!
//! A target is an ordinary test beside its parser, named `fuzz_…`. It runs for about a second unless
//! `CLOISTER_FUZZ_SECONDS` says otherwise; `CLOISTER_FUZZ_SEED` and `CLOISTER_FUZZ_INPUT=FILE` repeat
//! a run or one input. Files of `crates/testkit/corpus/NAME/` are tried first, every time.
//!
//! Stable Rust has no coverage to be guided by. Instead the check answers with what kind of thing it
//! saw, and an input that made it see a new one is kept to be mutated further.

mod mutate;
mod saved;

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use mutate::Mutator;

/// The longest input.
const MAX_BYTES: usize = 64 << 10;
/// How many inputs are kept to be mutated.
const MAX_POOL: usize = 512;
/// What one input may take, on a machine that does other things as well.
const SLOWEST: Duration = Duration::from_millis(500);
/// An input that is not done after this long never will be.
const STUCK: Duration = Duration::from_secs(20);
/// A slow input is tried this often: a busy machine is no finding.
const SLOW_TRIES: u32 = 4;
/// How often an input that fails is made smaller.
const MAX_SHRINKS: usize = 400;

/// A target: its name, and inputs to begin with.
#[derive(Clone, Debug)]
pub struct Fuzz {
    name: &'static str,
    seeds: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
    slowest: Duration,
}

/// What a run did.
#[derive(Clone, Copy, Debug)]
pub struct Report {
    pub seed: u64,
    pub inputs: u64,
    /// Kinds of outcome that were seen.
    pub kinds: usize,
}

/// An input that fails.
pub struct Finding {
    pub target: &'static str,
    pub seed: u64,
    pub problem: String,
    pub input: Vec<u8>,
    pub saved: Option<PathBuf>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = String::from_utf8_lossy(&self.input).chars().take(600).collect();
        writeln!(f, "fuzz {} (seed {}): {}", self.target, self.seed, self.problem)?;
        writeln!(f, "input ({} bytes): {shown:?}", self.input.len())?;
        match &self.saved {
            Some(path) => write!(
                f,
                "again: CLOISTER_FUZZ_INPUT={} cargo test fuzz_{}",
                path.display(),
                self.target
            ),
            None => f.write_str("the input could not be saved"),
        }
    }
}

// What a test prints when it unwraps one.
impl fmt::Debug for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Finding {}

impl Fuzz {
    pub fn new(name: &'static str) -> Self {
        Self { name, seeds: Vec::new(), words: Vec::new(), slowest: SLOWEST }
    }

    /// Inputs that the parser knows.
    pub fn seeds<T: AsRef<[u8]>>(mut self, seeds: impl IntoIterator<Item = T>) -> Self {
        self.seeds.extend(seeds.into_iter().map(|seed| seed.as_ref().to_vec()));
        self
    }

    /// Pieces that mean something to the parser.
    pub fn words<T: AsRef<[u8]>>(mut self, words: impl IntoIterator<Item = T>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_vec()));
        self
    }

    /// What one input may take at most.
    pub fn slowest(mut self, slowest: Duration) -> Self {
        self.slowest = slowest;
        self
    }

    /// Checks text: what is not UTF-8 comes with replacement characters in it.
    pub fn run_text<T: Hash>(
        self,
        check: impl Fn(&str) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Report, Box<Finding>> {
        self.run(move |bytes| check(&String::from_utf8_lossy(bytes)))
    }

    /// Tries inputs until the time is over or one fails. The check says what kind of outcome it saw,
    /// or what is wrong.
    pub fn run<T: Hash>(
        self,
        check: impl Fn(&[u8]) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Report, Box<Finding>> {
        let options = saved::Options::from_environment(self.name);
        let now_trying = Arc::new(Mutex::new(Vec::new()));
        let (done, ended) = mpsc::sync_channel(1);
        let run = Run {
            check: Box::new(move |input| check(input).map(|kind| hash_of(&kind))),
            now_trying: Arc::clone(&now_trying),
            name: self.name,
            slowest: self.slowest,
            seed: options.seed,
        };
        let time = options.time;
        let (name, seed) = (self.name, options.seed);
        // An input that never ends is reported from outside.
        let worker = std::thread::Builder::new().name(format!("fuzz {name}")).spawn(move || {
            // Nobody waits any more if it was given up.
            drop(done.send(run.all(self, &options)));
        });
        let stuck = |problem: String| {
            let input = now_trying.lock().unwrap_or_else(PoisonError::into_inner).clone();
            Err(finding(name, seed, problem, input))
        };
        if let Err(error) = worker {
            return stuck(format!("no thread could be started: {error}"));
        }
        match ended.recv_timeout(time + STUCK + grace(time)) {
            Ok(outcome) => outcome,
            Err(error) => stuck(format!("it did not end ({error})")),
        }
    }
}

/// A busy machine may be slow to come to the end of a run.
fn grace(time: Duration) -> Duration {
    time.max(Duration::from_secs(10))
}

fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn finding(target: &'static str, seed: u64, problem: String, input: Vec<u8>) -> Box<Finding> {
    let saved = saved::save(target, &input);
    Box::new(Finding { target, seed, problem, input, saved })
}

type Check = Box<dyn Fn(&[u8]) -> Result<u64, String> + Send>;

/// A run that is under way.
struct Run {
    check: Check,
    now_trying: Arc<Mutex<Vec<u8>>>,
    name: &'static str,
    slowest: Duration,
    seed: u64,
}

impl Run {
    fn all(&self, target: Fuzz, options: &saved::Options) -> Result<Report, Box<Finding>> {
        if let Some(input) = &options.only {
            self.tried(input)?;
            return Ok(Report { seed: self.seed, inputs: 1, kinds: 1 });
        }
        let mut kinds = HashSet::new();
        let mut pool = Vec::new();
        for input in saved::corpus(self.name).into_iter().chain(target.seeds) {
            kinds.insert(self.tried(&input)?);
            pool.push(input);
        }
        let mut inputs = u64::try_from(pool.len()).unwrap_or(0);
        let mut mutator = Mutator::new(self.seed, self.name, target.words);
        let until = Instant::now() + options.time;
        while Instant::now() < until {
            let mut input = mutator.mutated(&pool);
            input.truncate(MAX_BYTES);
            inputs += 1;
            if kinds.insert(self.tried(&input)?) && pool.len() < MAX_POOL {
                pool.push(input);
            }
        }
        let report = Report { seed: self.seed, inputs, kinds: kinds.len() };
        saved::tell(self.name, report);
        Ok(report)
    }

    /// Tries one input; a failure is made smaller before it is reported.
    fn tried(&self, input: &[u8]) -> Result<u64, Box<Finding>> {
        match self.outcome(input) {
            Ok(kind) => Ok(kind),
            Err(problem) => {
                let input = self.shrunk(input);
                let problem = self.outcome(&input).err().unwrap_or(problem);
                Err(finding(self.name, self.seed, problem, input))
            }
        }
    }

    fn outcome(&self, input: &[u8]) -> Result<u64, String> {
        {
            let mut now = self.now_trying.lock().unwrap_or_else(PoisonError::into_inner);
            now.clear();
            now.extend_from_slice(input);
        }
        let mut fastest = Duration::MAX;
        for _ in 0..SLOW_TRIES {
            let began = Instant::now();
            let outcome = catch_unwind(AssertUnwindSafe(|| (self.check)(input)));
            let kind = match outcome {
                Ok(checked) => checked?,
                Err(panic) => return Err(format!("it panics: {}", words_of(&*panic))),
            };
            fastest = fastest.min(began.elapsed());
            if fastest <= self.slowest {
                return Ok(kind);
            }
        }
        Err(format!(
            "it takes {} ms, and {} are allowed",
            fastest.as_millis(),
            self.slowest.as_millis()
        ))
    }

    /// Leaves out what is not needed for the input to fail.
    fn shrunk(&self, input: &[u8]) -> Vec<u8> {
        let mut smallest = input.to_vec();
        let mut size = smallest.len() / 2;
        let mut tries = 0;
        while size > 0 && tries < MAX_SHRINKS {
            let mut at = 0;
            while at < smallest.len() && tries < MAX_SHRINKS {
                tries += 1;
                let end = (at + size).min(smallest.len());
                let mut smaller = smallest.clone();
                smaller.drain(at..end);
                if self.outcome(&smaller).is_err() {
                    smallest = smaller;
                } else {
                    at += size;
                }
            }
            size /= 2;
        }
        smallest
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
}

#[cfg(test)]
#[path = "fuzz_tests.rs"]
mod tests;
