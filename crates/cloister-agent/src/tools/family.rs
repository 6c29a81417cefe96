//! A program with everything it started, found and killed.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Kills the group of its leader unless it was let go.
pub(super) struct Family {
    leader: Option<Pid>,
}

impl Family {
    pub(super) fn of(leader: Option<u32>) -> Self {
        let leader = leader.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Self { leader }
    }

    /// The leader has ended by itself: what it left running on purpose may live on.
    pub(super) fn let_go(&mut self) {
        self.leader = None;
    }

    pub(super) fn kill(&mut self) {
        let Some(leader) = self.leader.take() else { return };
        // Those that left the group are found by their parents, before these are gone.
        let descendants = descendants(leader.as_raw_nonzero().get());
        // An error means that nobody is left.
        kill_process_group(leader, Signal::KILL).ok();
        for pid in descendants.into_iter().filter_map(Pid::from_raw) {
            kill_process(pid, Signal::KILL).ok();
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Every process below `root`, by the process table as it is now.
fn descendants(root: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let parents: Vec<(i32, i32)> = entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name in brackets may hold anything; what follows its last bracket may not.
            let (_, rest) = stat.rsplit_once(')')?;
            let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect();
    let mut found = vec![root];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        let children = parents.iter().filter(|(_, of)| *of == parent).map(|(pid, _)| *pid);
        let children: Vec<i32> = children.filter(|pid| !found.contains(pid)).collect();
        found.extend(children);
        at += 1;
    }
    found
}
