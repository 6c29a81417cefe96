//! Group F: resources.

use cloister_control::ports::Limits;

use crate::halves::long_form;
use crate::suite::{Attack, Build, Suite, Weak, limits, strings};

pub(crate) async fn attack(suite: &mut Suite) {
    let looser =
        |limits: Limits| (Weak::Looser(Box::new(limits.clone())), Weak::Looser(Box::new(limits)));
    // What, how much of it is too much, the limits that hold it and those that do not.
    let rows = [
        ("fork bomb", "fork 100", limits(), Limits { processes: 200, ..limits() }),
        ("3 GB of memory", "memory 600", limits(), Limits { memory_bytes: 2 << 30, ..limits() }),
        ("10^6 files in /tmp", "files 8000", limits(), Limits { tmp_bytes: 1 << 30, ..limits() }),
        ("12 GB in one file", "write 20", limits(), Limits { file_bytes: 64 << 20, ..limits() }),
    ];
    for (what, args, held, loose) in rows {
        let (as_root, as_user) = looser(loose);
        let args = args.split(' ').map(str::to_owned).collect();
        suite.attack_with(Attack { id: "E56", what, args, as_root, as_user }, held).await;
    }
    processor(suite).await;
    output(suite).await;
}

/// A cgroup caps the processor; without one, cells step back behind everything else.
async fn processor(suite: &mut Suite) {
    // Far apart: on a busy machine a cell that nothing caps gets little too.
    let held = Limits { cpu_percent: 5, ..limits() };
    let capped = Attack {
        id: "E57",
        what: "spin on every core",
        args: strings(["spin", "15"]),
        as_root: Weak::Looser(Box::new(Limits { cpu_percent: 400, ..limits() })),
        as_user: Weak::NotShown("no cgroup: see the next row"),
    };
    if suite.root {
        suite.attack_with(capped, held).await;
    } else {
        let attack = Attack {
            id: "E57",
            what: "spin on every core",
            args: strings(["nice", "10"]),
            as_root: Weak::NotShown("a cgroup caps it"),
            as_user: Weak::NotShown("no cgroup here: not capped, but behind everyone (nice 10)"),
        };
        suite.attack_with(attack, held).await;
    }
}

async fn output(suite: &mut Suite) {
    let megabytes = if long_form() { "1024" } else { "64" };
    let args = strings(["output", megabytes]);
    let kept = 64 << 10;
    let mut keeps = async |log_bytes: u64| {
        let limits = Limits { log_bytes, ..limits() };
        let (sandbox, _door) = suite.start(Build::Hardened, "E57", &args, limits).await.unwrap();
        sandbox.wait().await;
        sandbox.log_tail().len() as u64
    };
    let hardened = match keeps(kept).await {
        bytes if bytes <= kept => Ok(format!("held, {bytes} bytes kept")),
        bytes => Err(format!("ESCAPED: {bytes} bytes kept")),
    };
    let weakened = match keeps(4 << 20).await {
        bytes if bytes > kept => Ok(format!("looser limits: {bytes} bytes kept")),
        bytes => Err(format!("DOES NOT BITE: {bytes} bytes kept")),
    };
    suite.row("E57", &format!("{megabytes} MB of output"), hardened, weakened);
}
