//! How a run is set up from outside, and what it leaves behind.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Report;
use crate::random::hash;

/// A run of the ordinary tests.
const SHORT: Duration = Duration::from_millis(800);
/// The ordinary tests try the same inputs every time, as far as they get.
const USUAL_SEED: u64 = 1;

pub(super) struct Options {
    pub(super) time: Duration,
    pub(super) seed: u64,
    /// One input, and nothing else.
    pub(super) only: Option<Vec<u8>>,
}

impl Options {
    #[expect(clippy::disallowed_methods, reason = "how long to fuzz is up to who runs the tests")]
    pub(super) fn from_environment(name: &str) -> Self {
        let number = |variable: &str| std::env::var(variable).ok()?.trim().parse::<u64>().ok();
        let time = number("CLOISTER_FUZZ_SECONDS").map(Duration::from_secs);
        let seed = number("CLOISTER_FUZZ_SEED");
        let only = std::env::var_os("CLOISTER_FUZZ_INPUT").map(PathBuf::from);
        // A saved input is one target's: its file is named after it.
        let only = only.filter(|path| is_of(path, name)).and_then(|path| std::fs::read(path).ok());
        Self {
            // Who asks for a long run wants inputs that nobody has tried.
            seed: seed.unwrap_or_else(|| if time.is_some() { any_seed() } else { USUAL_SEED }),
            time: time.unwrap_or(SHORT),
            only,
        }
    }
}

fn any_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish() % 1_000_000
}

fn is_of(path: &Path, name: &str) -> bool {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    stem.rsplit_once('.').is_some_and(|(target, _)| target == name)
}

/// Inputs that are tried every time: those that failed once.
pub(super) fn corpus(name: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files.iter().filter_map(|file| std::fs::read(file).ok()).collect()
}

/// Keeps an input that fails, below `target/fuzz/`.
pub(super) fn save(name: &str, input: &[u8]) -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fuzz");
    std::fs::create_dir_all(&dir).ok()?;
    let tag = hash(&String::from_utf8_lossy(input));
    let path = dir.canonicalize().unwrap_or(dir).join(format!("{name}.{tag:016x}.input"));
    std::fs::write(&path, input).ok()?;
    Some(path)
}

/// Says what a run did. The tests show it when they fail, or when asked to show everything.
pub(super) fn tell(name: &str, report: Report) {
    let Report { seed, inputs, kinds } = report;
    let line = format!("fuzz {name}: seed {seed}, {inputs} inputs, {kinds} kinds of outcome");
    writeln!(std::io::stderr().lock(), "{line}").ok();
}
