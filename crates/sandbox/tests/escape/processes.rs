//! Group B: processes, environment, descriptors.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use cloister_sandbox::Options;

use crate::host::{CANARY, Sentinel, answer};
use crate::suite::{Attack, Build, Suite, Weak, limits, strings};

pub(crate) async fn attack(suite: &mut Suite) {
    let same = |layers: &'static str| (Weak::Without(layers), Weak::Without(layers));
    let own_pid = std::process::id().to_string();
    let canary = CANARY.strip_prefix('S').unwrap().to_owned();
    let rows = [
        (
            "E13",
            "find the canary in environments, memory",
            vec![canary],
            same("empty_environment+sealed_init+masked_proc"),
        ),
        (
            "E15",
            "see host processes, read /proc files",
            vec![own_pid],
            same("masked_proc+landlock"),
        ),
        (
            "E16",
            "write kernel settings, cgroup files",
            Vec::new(),
            (
                Weak::Without(
                    "user_namespace+own_uid+no_capabilities+masked_proc+landlock+seccomp",
                ),
                Weak::NotShown("the files belong to root, so the kernel refuses"),
            ),
        ),
        ("E17", "dump core", Vec::new(), core_dump()),
        (
            "E18",
            "trace and read PID 1",
            Vec::new(),
            same("sealed_init+landlock+seccomp+masked_proc"),
        ),
        ("E19", "fake terminal input", Vec::new(), same("seccomp")),
        (
            "E20",
            "gain a uid by a setuid program, su",
            strings(["{probe}/setuid"]),
            (
                Weak::Without(
                    "user_namespace+own_root+network_namespace+nosuid+no_capabilities+no_new_privileges+landlock+seccomp",
                ),
                Weak::NotShown("an ordinary user's sandbox maps no other uid to gain"),
            ),
        ),
    ];
    for (id, what, args, (as_root, as_user)) in rows {
        suite.attack(Attack { id, what, args, as_root, as_user }).await;
    }
    descriptors(suite).await;
    signals(suite).await;
    leftovers(suite).await;
}

/// The attack raises its limit as far as whoever started the suite may.
fn core_dump() -> (Weak, Weak) {
    let own = rustix::process::getrlimit(rustix::process::Resource::Core);
    let weak = if own.maximum == Some(0) {
        Weak::NotShown("the suite itself runs without core dumps")
    } else {
        Weak::Without("process_limits")
    };
    (weak.clone(), weak)
}

/// Descriptors of this process to the null device, which is what the probe passes: what else the
/// backend opens and closes meanwhile neither counts as a leak nor hides one.
fn null_descriptors() -> usize {
    let null = fs::metadata("/dev/null").unwrap().rdev();
    let own = fs::read_dir("/proc/self/fd").unwrap().flatten();
    own.filter(|entry| fs::metadata(entry.path()).is_ok_and(|found| found.rdev() == null)).count()
}

async fn descriptors(suite: &mut Suite) {
    let count = null_descriptors;
    let args = strings(["{door}"]);
    let (sandbox, door) = suite.start(Build::Hardened, "E14", &args, limits()).await.unwrap();
    let before = count();
    let (door, answered) = tokio::task::spawn_blocking(move || {
        let answered = answer(&door);
        (door, answered)
    })
    .await
    .unwrap();
    answered.unwrap();
    let after = count();
    sandbox.wait().await;
    drop(door);
    let log = sandbox.log_tail();
    let hardened = if log.contains("ESCAPE") || !log.contains("took 100 passed") {
        Err(format!("ESCAPED: {log}"))
    } else if after > before {
        Err(format!("ESCAPED: {} passed descriptors stay open", after - before))
    } else {
        Ok("held, none came along, none passed".to_owned())
    };
    // The weakened one has no door to answer it: what came along is seen before.
    let (sandbox, door) =
        suite.start(Build::Without("closed_descriptors"), "E14", &args, limits()).await.unwrap();
    drop(door);
    sandbox.wait().await;
    let log = sandbox.log_tail();
    let weakened = match log.lines().find(|line| line.starts_with("ESCAPE")) {
        Some(line) => Ok(format!("without closed_descriptors: {line}")),
        None => Err(format!("DOES NOT BITE: {log}")),
    };
    suite.row("E14", "use and pass descriptors", hardened, weakened);
}

async fn signals(suite: &mut Suite) {
    let mut sentinel = Sentinel::start(Options::FIRST_UID + 1);
    let pid = sentinel.0.id().to_string();
    let ran = suite.run(Build::Hardened, "E21", &[pid.clone(), "1".to_owned()], limits()).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let hardened = match (ran.escapes().first(), sentinel.alive()) {
        (None, true) if ran.finished() => Ok(format!("held, only itself died: {:?}", ran.exit)),
        (escape, alive) => {
            Err(format!("ESCAPED: {escape:?}, sentinel alive: {alive}, {:?}", ran.lines))
        }
    };
    let layers = "pid_namespace+own_root+landlock";
    // Not `kill -1` here: it would be everyone's end.
    let ran = suite.run(Build::Without(layers), "E21", &[pid, "0".to_owned()], limits()).await;
    let weakened = match ran.escapes().first() {
        Some(escape) => Ok(format!("without {layers}: escaped: {escape}")),
        None => Err(format!("DOES NOT BITE: {:?}", ran.lines)),
    };
    suite.row("E21", "kill everyone", hardened, weakened);
}

async fn leftovers(suite: &mut Suite) {
    let name = format!("left-{}", std::process::id());
    let key = std::process::id().to_string();
    let mut look = async |build: Build<'static>| {
        suite.run(build, "E22", &["plant".to_owned(), name.clone(), key.clone()], limits()).await;
        suite.run(build, "E22", &["look".to_owned(), name.clone(), key.clone()], limits()).await
    };
    let ran = look(Build::Hardened).await;
    let hardened = match ran.escapes().first() {
        None if ran.finished() => Ok("held, nothing is left".to_owned()),
        escape => Err(format!("ESCAPED: {escape:?} {:?}", ran.lines)),
    };
    let layers = "own_root+ipc_namespace+landlock+seccomp";
    let ran = look(Build::Without("own_root+ipc_namespace+landlock+seccomp")).await;
    let weakened = match ran.escapes().first() {
        Some(escape) => Ok(format!("without {layers}: escaped: {escape}")),
        None => Err(format!("DOES NOT BITE: {:?}", ran.lines)),
    };
    suite.row("E22", "find what an earlier executor left", hardened, weakened);
}
