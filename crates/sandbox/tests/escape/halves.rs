//! Runs a test as root and as an ordinary user, each in a process of its own that starts with the
//! canary in its environment, and collects the tables.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use futures_util::future::BoxFuture;

use crate::host::{CANARY, Tools};
use crate::suite::Suite;

const HALF: &str = "CLOISTER_ESCAPE_HALF";
/// No account has it, and no workspace.
const ORDINARY_ID: &str = "54321";
const TABLE_LINE: &str = "| ";

type Attack = fn(&mut Suite) -> BoxFuture<'_, ()>;

pub(crate) fn in_halves(test: &str, attack: Attack) {
    if variable(HALF).is_some() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        return runtime.block_on(async {
            let mut suite = Suite::new();
            attack(&mut suite).await;
            suite.finish();
        });
    }
    let root = rustix::process::geteuid().is_root();
    let mut passed = true;
    let mut table = String::new();
    if root {
        passed &= run_half(test, "root", command(&std::env::current_exe().unwrap()), &mut table);
    } else {
        println!("not started by root: only the half of the ordinary user runs");
    }
    let reachable = Reachable::new();
    let mut ordinary = command(&reachable.test);
    if root {
        ordinary = command(Path::new("setpriv"));
        ordinary.args(["--reuid", ORDINARY_ID, "--regid", ORDINARY_ID, "--clear-groups", "--"]);
        ordinary.arg(&reachable.test);
    }
    ordinary.env("TMPDIR", &reachable.scratch);
    passed &= run_half(test, "ordinary user", ordinary, &mut table);
    write_report(test, &table);
    assert!(passed, "see the table above");
}

fn run_half(test: &str, who: &str, mut half: Command, table: &mut String) -> bool {
    half.args(["--exact", test, "--nocapture"]).env(HALF, who).env("PROBE_CANARY", CANARY);
    let output = half.stdout(Stdio::piped()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    table.push_str(&format!("\nas {who}: {test}\n"));
    for line in text.lines().filter(|line| line.starts_with(TABLE_LINE)) {
        table.push_str(line);
        table.push('\n');
    }
    output.status.success()
}

/// The parts of all tests that have run so far make up one report. Where it can't be written (the
/// build directory is another user's), the tables above are all there is.
fn write_report(test: &str, table: &str) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    if let Err(error) = try_write_report(target, test, table) {
        println!("no report in {}: {error}", target.display());
    }
}

fn try_write_report(target: &Path, test: &str, table: &str) -> std::io::Result<()> {
    let parts = target.join("escape-report");
    fs::create_dir_all(&parts)?;
    fs::write(parts.join(test), table)?;
    let mut names = fs::read_dir(&parts)?
        .map(|part| part.map(|part| part.path()))
        .collect::<std::io::Result<Vec<_>>>()?;
    names.sort();
    let report = names.iter().map(fs::read_to_string).collect::<std::io::Result<String>>()?;
    let finished = target.join(format!("escape-report.{test}"));
    fs::write(&finished, report)?;
    fs::rename(finished, target.join("escape-report.txt"))
}

/// Copies of the programs where every user can reach them.
struct Reachable {
    _dir: tempfile::TempDir,
    test: PathBuf,
    scratch: PathBuf,
}

impl Reachable {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let test = dir.path().join("test");
        fs::copy(std::env::current_exe().unwrap(), &test).unwrap();
        Tools::find().copy_to(dir.path());
        let scratch = dir.path().join("scratch");
        fs::create_dir(&scratch).unwrap();
        fs::set_permissions(&scratch, fs::Permissions::from_mode(0o1777)).unwrap();
        Self { _dir: dir, test, scratch }
    }
}

#[expect(clippy::disallowed_methods, reason = "the suite starts itself and tools of the host")]
pub(crate) fn command(program: &Path) -> Command {
    Command::new(program)
}

#[expect(clippy::disallowed_methods, reason = "the suite is configured by its environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

pub(crate) fn long_form() -> bool {
    variable("CLOISTER_ESCAPE_LONG").is_some_and(|value| value == "1")
}
