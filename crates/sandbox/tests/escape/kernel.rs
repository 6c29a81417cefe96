//! Group C: what of the kernel can be reached.

use std::path::Path;

use crate::halves::{command, long_form};
use crate::suite::{Attack, Suite, Weak};

const REAL_ROOT: &str = "user_namespace+own_uid+no_capabilities+landlock+seccomp";

pub(crate) async fn attack(suite: &mut Suite) {
    let rows = [
        ("E23", "new namespaces, chroot, pivot_root"),
        ("E24", "io_uring, bpf, perf, userfaultfd"),
        ("E25", "kernel keys"),
        ("E26", "calls of other ABIs"),
        ("E27", "personality, modify_ldt, iopl"),
        ("E28", "the mount API"),
        ("E30", "socket families"),
    ];
    for (id, what) in rows {
        let weak = Weak::Without("seccomp");
        suite
            .attack(Attack { id, what, args: Vec::new(), as_root: weak.clone(), as_user: weak })
            .await;
    }
    suite
        .attack(Attack {
            id: "E29",
            what: "modules, kexec, swap, reboot, clock",
            args: Vec::new(),
            as_root: Weak::Without(REAL_ROOT),
            as_user: Weak::NotShown("each asks for a capability over the host"),
        })
        .await;
    any_call(suite).await;
}

/// Random calls with random arguments; a seed that fails is printed with the line.
async fn any_call(suite: &mut Suite) {
    let seconds = if long_form() { "60" } else { "4" };
    let seed = std::process::id().to_string();
    let before = kernel_complaints();
    suite
        .attack(Attack {
            id: "E31",
            what: "any system call, random arguments",
            args: vec!["{probe}/listed".to_owned(), seconds.to_owned(), seed],
            as_root: Weak::Without("seccomp"),
            as_user: Weak::Without("seccomp"),
        })
        .await;
    let after = kernel_complaints();
    let clean = match (before, after) {
        (Some(before), Some(after)) if after > before => {
            Err(format!("the kernel complained {} times", after - before))
        }
        (Some(_), Some(_)) => Ok("held, the host's log is clean".to_owned()),
        (None, _) | (_, None) => Ok("the host's log is not ours to read".to_owned()),
    };
    suite.row("E31", "… and the host's log", clean, Ok("not shown: needs a kernel bug".to_owned()));
}

fn kernel_complaints() -> Option<usize> {
    let log = command(Path::new("dmesg")).output().ok().filter(|log| log.status.success())?;
    let text = String::from_utf8_lossy(&log.stdout).into_owned();
    let bad = ["BUG:", "Oops:", "WARNING:", "UBSAN:", "KASAN:"];
    Some(text.lines().filter(|line| bad.iter().any(|word| line.contains(word))).count())
}
