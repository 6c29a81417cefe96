//! Who waits for the processor. Whoever people wait for asks for short slices of it, executors take long
//! ones: the kernel (from 6.12 on) lets a short one in at once, where it would otherwise finish the slice
//! that is running. Shares stay as they are; nobody starves.
#![expect(unsafe_code, reason = "one raw system call that no safe wrapper covers")]

use std::io;
use std::time::Duration;

/// What the control plane and coordinators do at a time is shorter than this.
const SHORT_SLICE: Duration = Duration::from_micros(200);
/// Long slices also cost an executor fewer switches.
const LONG_SLICE: Duration = Duration::from_millis(20);

/// `struct sched_attr` of `linux/sched/types.h`, as of its second version.
#[repr(C)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

/// For the control plane, before it starts threads: they and all it launches inherit it. A kernel that
/// does not know of slices is as it was.
pub fn prefer_latency() -> io::Result<()> {
    set(libc::SCHED_OTHER, SHORT_SLICE)
}

/// For an executor, before its program starts: it gives way to everyone else who wakes up.
pub(crate) fn prefer_throughput() -> io::Result<()> {
    set(libc::SCHED_BATCH, LONG_SLICE)
}

/// For an executor: one processor is left to the control plane and the coordinators, where there are
/// several. Giving way costs a waking thread more than finding a processor free.
pub(crate) fn leave_one_free() -> io::Result<()> {
    let mut allowed = rustix::thread::sched_getaffinity(None)?;
    let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu));
    if let Some(first) = first
        && allowed.count() > 1
    {
        allowed.unset(first);
        rustix::thread::sched_setaffinity(None, &allowed)?;
    }
    Ok(())
}

fn set(policy: libc::c_int, slice: Duration) -> io::Result<()> {
    let attr = SchedAttr {
        size: u32::try_from(size_of::<SchedAttr>()).unwrap_or_default(),
        policy: policy.unsigned_abs(),
        flags: 0,
        // It is set along with the rest, so it is set to what it is.
        nice: rustix::process::getpriority_process(None)?,
        priority: 0,
        runtime: u64::try_from(slice.as_nanos()).unwrap_or(u64::MAX),
        deadline: 0,
        period: 0,
        util_min: 0,
        util_max: 0,
    };
    let (own_thread, flags) = (0, 0_u32);
    // SAFETY: the kernel reads one `struct sched_attr` of the size it says, which lives across the call.
    let result =
        unsafe { libc::syscall(libc::SYS_sched_setattr, own_thread, &raw const attr, flags) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
