//! The processes of a sandbox, seen from the host through `/proc`.

use std::fs;

use rustix::process::Pid;

/// A process and everything below it. Whatever is orphaned in a sandbox becomes a child of its PID 1,
/// so the tree of PID 1 is the whole sandbox.
pub(super) fn tree(root: Pid) -> Vec<Pid> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())) else {
            continue;
        };
        found.push(pid);
        for task in tasks.flatten() {
            if let Ok(children) = fs::read_to_string(task.path().join("children")) {
                let pids = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok());
                open.extend(pids.filter_map(Pid::from_raw));
            }
        }
    }
    found
}

/// The memory of a process, shared pages divided among those that share them. Where that may not be
/// read (PID 1 is sealed), its private memory.
pub(super) fn proportional_bytes(pid: Pid) -> u64 {
    let path = format!("/proc/{}/smaps_rollup", pid.as_raw_nonzero());
    let pss = fs::read_to_string(path).ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()
    });
    pss.map_or_else(|| private_bytes(pid), |kilobytes| kilobytes * 1024)
}

/// The anonymous memory of a process; what it shares with a parent by fork counts in both.
pub(super) fn private_bytes(pid: Pid) -> u64 {
    let Ok(text) = fs::read_to_string(format!("/proc/{}/statm", pid.as_raw_nonzero())) else {
        return 0;
    };
    let mut pages =
        text.split_ascii_whitespace().skip(1).map_while(|field| field.parse::<u64>().ok());
    let resident = pages.next().unwrap_or(0);
    let shared = pages.next().unwrap_or(0);
    resident.saturating_sub(shared) * page_bytes()
}

fn page_bytes() -> u64 {
    u64::try_from(rustix::param::page_size()).unwrap_or(4096)
}

/// The first process that `parent` started and that still runs. The agent, if asked about PID 1:
/// orphans join the list behind it.
pub(super) fn oldest_child(parent: Pid) -> Option<Pid> {
    let pid = parent.as_raw_nonzero();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_ascii_whitespace().next()?.parse().ok().and_then(Pid::from_raw)
}
