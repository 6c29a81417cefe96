//! Launches a trivial program many times and prints how long it took until it ran, and until its
//! sandbox was gone. Run as `cargo run --release -p cloister-sandbox --example launch_times`.

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cloister_control::ports::{Access, CellBackend, Inhabitant, Limits, Mount, Role, SandboxSpec};
use cloister_protocol::WorkspaceId;
use cloister_sandbox::{NativeBackend, Options};

const LAUNCHES: usize = 200;
const IDLE: usize = 20;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let examples = std::env::current_exe()?;
    let built = examples.ancestors().nth(2).ok_or("no build directory")?;
    let options = Options {
        launcher: built.join("cloister-launcher"),
        agent: PathBuf::from("/usr/bin/true"),
        instance: format!("times-{}", std::process::id()),
        first_uid: Options::FIRST_UID,
    };
    let backend = NativeBackend::new(options.clone());
    let scratch = tempfile::tempdir()?;
    let door = std::fs::canonicalize(scratch.path())?.join("door");
    let _listener = UnixListener::bind(&door)?;
    let waits = door.with_file_name("waits");
    std::fs::create_dir(&waits)?;
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        waits.join("executor"),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    )?;
    let (mut ready, mut gone) = (Vec::new(), Vec::new());
    for number in 0..LAUNCHES {
        let start = Instant::now();
        let sandbox = backend.launch(spec(number, door.clone())).await?;
        ready.push(start.elapsed());
        sandbox.wait().await;
        gone.push(start.elapsed());
    }
    let idle = Options { agent: PathBuf::from("/usr/bin/tail"), ..options };
    let memory = idle_memory(&NativeBackend::new(idle), &door).await?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "idle sandbox with nearly nothing in it: {} KiB", memory / 1024)?;
    for (what, mut times) in [("ready", ready), ("gone", gone)] {
        times.sort_unstable();
        let at = |percent: usize| {
            times.get(times.len() * percent / 100).copied().unwrap_or(Duration::ZERO)
        };
        writeln!(out, "{what}: p50 {:?}, p95 {:?}", at(50), at(95))?;
    }
    for check in backend.check().await {
        writeln!(out, "{check:?}")?;
    }
    Ok(())
}

/// The memory of one of many idle sandboxes: launcher, PID 1 and a program that waits.
async fn idle_memory(
    backend: &NativeBackend,
    door: &Path,
) -> Result<u64, Box<dyn std::error::Error>> {
    let mut sandboxes = Vec::new();
    for number in 0..IDLE {
        // `tail executor`, where `executor` is a named pipe, waits for ever.
        let mut idle = spec(number, door.to_owned());
        idle.mounts.push(Mount {
            source: door.with_file_name("waits"),
            target: PathBuf::from("/chat"),
            access: Access::ReadOnly,
        });
        idle.cwd = PathBuf::from("/chat");
        sandboxes.push(backend.launch(idle).await?);
    }
    let bytes: u64 = sandboxes.iter().filter_map(|sandbox| sandbox.memory_pss()).sum();
    Ok(bytes / IDLE as u64)
}

fn spec(number: usize, door: PathBuf) -> SandboxSpec {
    SandboxSpec {
        name: format!("times-{number}"),
        inhabitant: Inhabitant::Agent(Role::Executor),
        owner: WorkspaceId::from_number(1).into(),
        mounts: Vec::new(),
        door,
        cwd: PathBuf::from("/tmp"),
        limits: Limits {
            memory_bytes: 256 << 20,
            processes: 64,
            cpu_percent: 100,
            cpu_weight: 100,
            file_bytes: 64 << 20,
            open_files: 256,
            tmp_bytes: 64 << 20,
            log_bytes: 4096,
            wall: Some(Duration::from_secs(10)),
        },
    }
}
