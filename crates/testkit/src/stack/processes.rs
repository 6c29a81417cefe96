//! The product's processes, seen through `/proc`.

use std::fs;

use rustix::process::{Pid, Signal};

/// What a process of the product is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Coordinator,
    Executor,
    /// The program of a surface.
    Connector,
    /// The outer launcher, which is the parent of a sandbox.
    Launcher,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: u32,
    pub kind: Kind,
}

/// The agents and launchers below a control plane, oldest first.
pub fn below(control_plane: u32) -> Vec<Process> {
    let mut found = Vec::new();
    for launcher in children(control_plane) {
        if !arguments(launcher).first().is_some_and(|name| name.ends_with("cloister-launcher")) {
            continue;
        }
        found.push(Process { pid: launcher, kind: Kind::Launcher });
        for agent in children(launcher).into_iter().flat_map(children) {
            let kind = match arguments(agent).get(1).map(String::as_str) {
                Some("coordinator") => Kind::Coordinator,
                Some("executor") => Kind::Executor,
                Some("connector") => Kind::Connector,
                Some(_) | None => continue,
            };
            found.push(Process { pid: agent, kind });
        }
    }
    found.sort_unstable_by_key(|process| process.pid);
    found
}

fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            let pids = list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
            pids.collect::<Vec<u32>>()
        })
        .collect()
}

fn arguments(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let arguments = bytes.split(|byte| *byte == 0).filter(|argument| !argument.is_empty());
    arguments.map(|argument| String::from_utf8_lossy(argument).into_owned()).collect()
}

/// Whether the signal reached the process.
pub fn signal(pid: u32, signal: Signal) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| rustix::process::kill_process(pid, signal).is_ok())
}
