//! What control relies on: how sandboxes end, and what a handle does to them.

#[cfg(test)]
mod support;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cloister_control::ports::{
    Access, CellBackend, CheckStatus, Exit, LaunchError, Mount, Sandbox,
};
use cloister_protocol::WorkspaceId;
use cloister_sandbox::Options;
use support::Bench;

/// Waits, with a bound, until the agent has said a word.
async fn says(sandbox: &dyn Sandbox, word: &str) {
    let start = Instant::now();
    while !sandbox.log_tail().contains(word) {
        assert!(start.elapsed() < Duration::from_secs(10), "{}", sandbox.log_tail());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A directory next to the bench's door, for what a test plants.
fn root(bench: &Bench) -> &Path {
    bench.spec.door.parent().unwrap_or(Path::new("/"))
}

#[tokio::test]
async fn the_exit_code_of_the_agent_reaches_every_waiter() {
    let bench = Bench::new("code", "echo role $1; exit 7");
    let sandbox = bench.launch().await;
    let (first, second) = tokio::join!(sandbox.wait(), sandbox.wait());
    assert_eq!((first, second), (Exit::Code(7), Exit::Code(7)));
    assert_eq!(sandbox.wait().await, Exit::Code(7));
    assert_eq!(sandbox.log_tail(), "role executor\n");
}

#[tokio::test]
async fn a_signal_is_told_from_a_code() {
    let bench = Bench::new("signal", "kill -SEGV $$");
    assert_eq!(bench.launch().await.wait().await, Exit::Signal(11));
}

#[tokio::test]
async fn wall_time_ends_it() {
    let mut bench = Bench::new("time", "sleep 100");
    bench.spec.limits.wall = Some(Duration::from_millis(200));
    assert_eq!(bench.launch().await.wait().await, Exit::OutOfTime);
}

#[tokio::test]
async fn an_agent_that_eats_memory_is_out_of_memory() {
    let eat = "exec python3 -c 'import time; x = bytearray(400 << 20); time.sleep(60)'";
    let exit = Bench::new("memory", eat).launch().await.wait().await;
    // Where a single process is stopped before the sandbox's limit is, the agent fails by itself.
    assert!(matches!(exit, Exit::OutOfMemory | Exit::Code(1)), "{exit:?}");
}

#[tokio::test]
async fn many_processes_together_are_out_of_memory_and_the_agent_survives() {
    let child = "python3 -c 'import time; x = bytearray(60 << 20); time.sleep(60)' &";
    let script = format!("for i in 1 2 3 4; do {child} done; wait -n; echo one died");
    let bench = Bench::new("together", &script);
    let sandbox = bench.launch().await;
    assert_eq!(sandbox.wait().await, Exit::Code(0), "{}", sandbox.log_tail());
    assert!(sandbox.log_tail().contains("one died"));
}

#[tokio::test]
async fn kill_takes_the_whole_tree_within_a_second() {
    let bench = Bench::new("kill", "trap '' TERM; (setsid sleep 1000 &) ; echo up; sleep 1000");
    let sandbox = bench.launch().await;
    says(&*sandbox, "up").await;
    let start = Instant::now();
    sandbox.kill().await;
    assert!(start.elapsed() < Duration::from_secs(1));
    assert_eq!(sandbox.wait().await, Exit::Killed);
    assert_eq!(sandbox.memory_pss(), None);
}

#[tokio::test]
async fn dropping_the_handle_kills() {
    let bench = Bench::new("drop", "echo up; sleep 1000");
    let sandbox = bench.launch().await;
    says(&*sandbox, "up").await;
    drop(sandbox);
    let start = Instant::now();
    while bench.backend.live() > 0 {
        assert!(start.elapsed() < Duration::from_secs(2));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn writes_can_be_refused_and_allowed_again_from_outside() {
    let script = r#"
ulimit -S -f unlimited 2>/dev/null && echo "limit lifted"
while sleep 0.02; do
    if echo x 2>/dev/null > f; then echo yes; else echo no; fi
    bash -c 'echo y > g' 2>/dev/null && echo yes2 || echo no2
    rm -f f && echo deleted
done"#;
    let bench = Bench::new("writable", script);
    let sandbox = bench.launch().await;
    says(&*sandbox, "yes2").await;
    sandbox.set_writable(false).await;
    says(&*sandbox, "no2").await;
    let refused = sandbox.log_tail();
    let (_, after) = refused.split_once("no2").unwrap();
    assert!(!after.contains("yes"), "{refused}");
    says(&*sandbox, "no\nno2\ndeleted").await;
    sandbox.set_writable(true).await;
    let start = Instant::now();
    while !sandbox.log_tail().trim_end().ends_with("yes2\ndeleted") {
        assert!(start.elapsed() < Duration::from_secs(10), "{}", sandbox.log_tail());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(!sandbox.log_tail().contains("limit lifted"));
    sandbox.kill().await;
}

#[tokio::test]
async fn the_log_keeps_the_end_and_memory_is_told() {
    let bench =
        Bench::new("log", "for i in $(seq 1000); do echo line $i; done; echo end; sleep 100");
    let sandbox = bench.launch().await;
    says(&*sandbox, "end").await;
    assert!(sandbox.log_tail().len() <= 1000);
    let bytes = sandbox.memory_pss().unwrap();
    assert!((100 << 10..64 << 20).contains(&bytes), "{bytes}");
    sandbox.kill().await;
}

#[tokio::test]
async fn a_source_behind_a_symlink_is_refused() {
    let mut bench = Bench::new("symlink", "true");
    std::os::unix::fs::symlink("/etc", root(&bench).join("planted")).unwrap();
    for source in ["planted", "planted/ssl"] {
        bench.spec.mounts[0].source = root(&bench).join(source);
        let refused = bench.backend.launch(bench.spec.clone()).await.err().unwrap();
        assert!(matches!(refused, LaunchError::Failed { .. }), "{refused}");
        assert!(refused.to_string().contains("planted"), "{refused}");
    }
}

#[tokio::test]
async fn read_only_mounts_and_nested_mounts_hold() {
    let script =
        "touch /chat/rules/x; echo $? ; cat /chat/rules/rule; touch /chat/free && echo free";
    let mut bench = Bench::new("nested", script);
    let rules = root(&bench).join("rules");
    std::fs::create_dir(&rules).unwrap();
    std::fs::write(rules.join("rule"), "the rule\n").unwrap();
    let target = PathBuf::from("/chat/rules");
    bench.spec.mounts.push(Mount { source: rules, target, access: Access::ReadOnly });
    let sandbox = bench.launch().await;
    assert_eq!(sandbox.wait().await, Exit::Code(0));
    let log = sandbox.log_tail();
    assert!(log.contains("1\nthe rule\nfree\n"), "{log}");
}

#[tokio::test]
async fn root_may_keep_its_data_in_the_closed_home_of_another_user() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let bench = Bench::new("home", "touch /chat/made && echo fine");
    let home = std::fs::File::open(root(&bench)).unwrap();
    rustix::fs::fchown(&home, Some(rustix::fs::Uid::from_raw(4242)), None).unwrap();
    rustix::fs::fchmod(&home, rustix::fs::Mode::from_raw_mode(0o700)).unwrap();
    let sandbox = bench.launch().await;
    assert_eq!(sandbox.wait().await, Exit::Code(0), "{}", sandbox.log_tail());
}

#[tokio::test]
async fn adopting_gives_one_file_and_nothing_else() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    use std::os::unix::fs::MetadataExt;
    let bench = Bench::new("adopt", "true");
    let tree = root(&bench).join("tree");
    std::fs::create_dir_all(tree.join("below")).unwrap();
    let dir = std::fs::File::open(&tree).unwrap();
    bench.backend.adopt(WorkspaceId::from_number(9), &dir).unwrap();
    let owner = |path: &Path| std::fs::symlink_metadata(path).unwrap().uid();
    assert_eq!(owner(&tree), Options::FIRST_UID + 9);
    assert_eq!(owner(&tree.join("below")), 0);
}

#[tokio::test]
async fn showing_lets_the_cell_read_and_keeps_the_file_ours() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    use std::os::unix::fs::MetadataExt;
    let bench = Bench::new("show", "true");
    let file = root(&bench).join("file");
    std::fs::write(&file, "text").unwrap();
    // As a cell may have left it: its own, and open to everybody.
    let opened = std::fs::File::open(&file).unwrap();
    bench.backend.adopt(WorkspaceId::from_number(9), &opened).unwrap();
    rustix::fs::fchmod(&opened, rustix::fs::Mode::from_raw_mode(0o666)).unwrap();
    bench.backend.show(WorkspaceId::from_number(9), &opened).unwrap();
    let meta = std::fs::metadata(&file).unwrap();
    assert_eq!((meta.uid(), meta.gid()), (0, Options::FIRST_UID + 9));
    assert_eq!(meta.mode() & 0o777, 0o640);
}

#[tokio::test]
async fn this_machine_passes_the_checks() {
    let bench = Bench::new("check", "true");
    let checks = bench.backend.check().await;
    let failed: Vec<_> =
        checks.iter().filter(|check| check.status == CheckStatus::Failed).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(checks.iter().any(|check| check.id == "launch.trial"));
}

/// A start that was killed leaves the directory of its trial. Whoever has its process number next, which in a
/// container is everybody, starts all the same.
#[tokio::test]
async fn what_a_killed_start_left_keeps_nobody_from_starting() {
    let bench = Bench::new("left", "true");
    let left = std::env::temp_dir().join(format!("cloister-trial-{}-0", std::process::id()));
    std::fs::create_dir(&left).unwrap();
    let checks = bench.backend.check().await;
    std::fs::remove_dir(&left).unwrap();
    let trial = checks.iter().find(|check| check.id == "launch.trial").unwrap();
    assert_eq!(trial.status, CheckStatus::Ok, "{trial:?}");
}

/// The launcher knows nothing of ours, so it names the door by itself: where agents and connectors look for it.
#[test]
fn the_door_is_where_everybody_looks_for_it() {
    assert_eq!(cloister_sandbox::launcher::wire::DOOR_PATH, cloister_protocol::link::DOOR_PATH);
}
