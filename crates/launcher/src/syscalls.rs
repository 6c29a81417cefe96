//! The system calls that programs inside may make. Everything else is refused.
//!
//! A call that is newer than this list, or of another ABI of the same machine, is answered as if the
//! kernel did not have it, so that programs fall back; a known call that is not listed is refused as
//! not permitted; code of a foreign architecture is killed.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::error::{InLayer, LayerError};
use crate::wire::Layer;

type Rules = BTreeMap<libc::c_long, Vec<SeccompRule>>;

/// The newest call this list was made with; `mseal`.
const NEWEST_KNOWN: u32 = 462;

/// Filters the calls of this process and of everything it will ever start.
pub(super) fn restrict(refuse_unowned_memory: bool) -> Result<(), LayerError> {
    let program = program(refuse_unowned_memory)
        .layer(Layer::Seccomp, || "compile the list of system calls".to_owned())?;
    seccompiler::apply_filter(&program).layer(Layer::Seccomp, || "install the filter".to_owned())
}

/// Every call that the filter lets through in some form.
pub(super) fn allowed_calls() -> Vec<i64> {
    rules(false).map(|rules| rules.into_keys().collect()).unwrap_or_default()
}

fn program(refuse_unowned_memory: bool) -> Result<BpfProgram, seccompiler::BackendError> {
    let rules = rules(refuse_unowned_memory)?;
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch)?;
    let mut program = answered_as_missing(refuse_unowned_memory);
    program.extend(BpfProgram::try_from(filter)?);
    Ok(program)
}

fn rules(refuse_unowned_memory: bool) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    if !refuse_unowned_memory {
        rules.extend(UNOWNED_MEMORY.iter().map(|call| (*call, Vec::new())));
    }
    conditional(&mut rules)?;
    Ok(rules)
}

/// Runs before the list: what the kernel shall seem not to have. It looks only at the number; the
/// list behind it checks the architecture first, and the answer here is a refusal in any case.
fn answered_as_missing(refuse_unowned_memory: bool) -> BpfProgram {
    let code = |bits: u32| u16::try_from(bits).unwrap_or(u16::MAX);
    let step = |bits: u32, k: u32| sock_filter { code: code(bits), jt: 0, jf: 0, k };
    let missing =
        step(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs());
    let skip_unless = |bits: u32, k: u32| sock_filter {
        code: code(libc::BPF_JMP | bits | libc::BPF_K),
        jt: 0,
        jf: 1,
        k,
    };
    let mut calls = vec![libc::SYS_clone3];
    if refuse_unowned_memory {
        calls.extend(UNOWNED_MEMORY);
    }
    // The architecture is the second word that a filter sees, the number is the first. Foreign
    // code must reach the check behind, which kills it.
    let length = u8::try_from(2 * calls.len() + 3).unwrap_or(u8::MAX);
    let mut program = vec![
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 4),
        sock_filter {
            code: code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K),
            jt: 0,
            jf: length,
            k: AUDIT_ARCH,
        },
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        skip_unless(libc::BPF_JGT, NEWEST_KNOWN),
        missing.clone(),
    ];
    for call in calls {
        program.push(skip_unless(libc::BPF_JEQ, u32::try_from(call).unwrap_or(u32::MAX)));
        program.push(missing.clone());
    }
    program
}

#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xc000_00b7;

/// Calls that are allowed only with certain arguments.
fn conditional(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    let namespaces = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    rules
        .insert(libc::SYS_clone, vec![all([masked(0, u64::from(namespaces.unsigned_abs()), 0)?])?]);
    rules.insert(libc::SYS_socket, sockets()?);
    rules.insert(libc::SYS_socketpair, vec![all([is(0, libc::AF_UNIX)?])?]);
    rules.insert(libc::SYS_personality, vec![all([is(0, 0)?])?, all([is(0, -1)?])?]);
    // Input can't be faked on a terminal, and no other line discipline or console be chosen.
    let terminal = [libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD, libc::TIOCCONS];
    let others = terminal.iter().map(|request| is_not(1, low_word(*request)));
    rules.insert(libc::SYS_ioctl, vec![all(others.collect::<Result<Vec<_>, _>>()?)?]);
    // A second filter could only be used to confuse what runs behind it.
    rules.insert(libc::SYS_prctl, vec![all([is_not(0, libc::PR_SET_SECCOMP)?])?]);
    // The file size limit is the quota's: it is set from outside and can't be lifted from inside.
    let own = is(0, 0)?;
    let file_size = low_word(u64::from(libc::RLIMIT_FSIZE));
    let asks_only = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?;
    rules.insert(
        libc::SYS_prlimit64,
        vec![all([own.clone(), asks_only])?, all([own, is_not(1, file_size)?])?],
    );
    let kinds = [0, libc::S_IFREG, libc::S_IFIFO, libc::S_IFSOCK];
    let made = |argument: u8| {
        let rule = |kind: &u32| all([masked(argument, u64::from(libc::S_IFMT), u64::from(*kind))?]);
        kinds.iter().map(rule).collect::<Result<Vec<_>, _>>()
    };
    rules.insert(libc::SYS_mknodat, made(2)?);
    #[cfg(target_arch = "x86_64")]
    {
        rules.insert(libc::SYS_mknod, made(1)?);
        rules.insert(libc::SYS_setrlimit, vec![all([is_not(0, file_size)?])?]);
    }
    Ok(())
}

/// Unix sockets, and TCP and UDP, which end in the sandbox's own network.
fn sockets() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut rules = vec![all([is(0, libc::AF_UNIX)?])?];
    for family in [libc::AF_INET, libc::AF_INET6] {
        for (kind, protocol) in [
            (libc::SOCK_STREAM, 0),
            (libc::SOCK_STREAM, libc::IPPROTO_TCP),
            (libc::SOCK_DGRAM, 0),
            (libc::SOCK_DGRAM, libc::IPPROTO_UDP),
        ] {
            let kind = masked(1, 0xf, u64::from(kind.unsigned_abs()))?;
            rules.push(all([is(0, family)?, kind, is(2, protocol)?])?);
        }
    }
    Ok(rules)
}

fn all(
    conditions: impl Into<Vec<SeccompCondition>>,
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions.into())
}

/// The kernel takes these arguments as 32 bits, so the filter compares 32 bits.
fn is(argument: u8, value: libc::c_int) -> Result<SeccompCondition, seccompiler::BackendError> {
    let value = u64::from(value.cast_unsigned());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn is_not(argument: u8, value: libc::c_int) -> Result<SeccompCondition, seccompiler::BackendError> {
    let value = u64::from(value.cast_unsigned());
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn masked(
    argument: u8,
    mask: u64,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(mask), value)
}

fn low_word(value: u64) -> libc::c_int {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(u32::MAX).cast_signed()
}

/// Memory that lives in no process and no mount of ours, so that only a cgroup counts it.
const UNOWNED_MEMORY: [libc::c_long; 2] = [libc::SYS_memfd_create, libc::SYS_shmget];

// table: one call per entry
#[rustfmt::skip]
const ALLOWED: &[libc::c_long] = &[
    // Files.
    libc::SYS_read, libc::SYS_write, libc::SYS_openat, libc::SYS_openat2, libc::SYS_close,
    libc::SYS_close_range, libc::SYS_fstat, libc::SYS_newfstatat, libc::SYS_statx, libc::SYS_lseek,
    libc::SYS_pread64, libc::SYS_pwrite64, libc::SYS_readv, libc::SYS_writev, libc::SYS_preadv,
    libc::SYS_pwritev, libc::SYS_preadv2, libc::SYS_pwritev2, libc::SYS_faccessat,
    libc::SYS_faccessat2, libc::SYS_sendfile, libc::SYS_copy_file_range, libc::SYS_splice,
    libc::SYS_tee, libc::SYS_vmsplice, libc::SYS_fcntl, libc::SYS_flock, libc::SYS_fsync,
    libc::SYS_fdatasync, libc::SYS_sync, libc::SYS_syncfs, libc::SYS_sync_file_range,
    libc::SYS_truncate, libc::SYS_ftruncate, libc::SYS_fallocate, libc::SYS_fadvise64,
    libc::SYS_readahead, libc::SYS_getdents64, libc::SYS_getcwd, libc::SYS_chdir, libc::SYS_fchdir,
    libc::SYS_mkdirat, libc::SYS_linkat, libc::SYS_unlinkat, libc::SYS_symlinkat,
    libc::SYS_readlinkat, libc::SYS_renameat, libc::SYS_renameat2, libc::SYS_fchmod,
    libc::SYS_fchmodat, SYS_FCHMODAT2, libc::SYS_fchown, libc::SYS_fchownat, libc::SYS_umask,
    libc::SYS_utimensat, libc::SYS_statfs, libc::SYS_fstatfs, libc::SYS_dup, libc::SYS_dup3,
    libc::SYS_pipe2, libc::SYS_setxattr, libc::SYS_lsetxattr, libc::SYS_fsetxattr,
    libc::SYS_getxattr, libc::SYS_lgetxattr, libc::SYS_fgetxattr, libc::SYS_listxattr,
    libc::SYS_llistxattr, libc::SYS_flistxattr, libc::SYS_removexattr, libc::SYS_lremovexattr,
    libc::SYS_fremovexattr, libc::SYS_inotify_init1, libc::SYS_inotify_add_watch,
    libc::SYS_inotify_rm_watch, SYS_CACHESTAT,
    // Memory.
    libc::SYS_mmap, libc::SYS_mprotect, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_brk,
    libc::SYS_madvise, libc::SYS_msync, libc::SYS_mincore, libc::SYS_mlock, libc::SYS_mlock2,
    libc::SYS_munlock, libc::SYS_mlockall, libc::SYS_munlockall, libc::SYS_pkey_alloc,
    libc::SYS_pkey_free, libc::SYS_pkey_mprotect, libc::SYS_membarrier, SYS_MSEAL,
    libc::SYS_shmat, libc::SYS_shmctl, libc::SYS_shmdt, libc::SYS_semget, libc::SYS_semop,
    libc::SYS_semctl, libc::SYS_semtimedop,
    // Processes and threads.
    libc::SYS_execve, libc::SYS_execveat, libc::SYS_exit, libc::SYS_exit_group, libc::SYS_wait4,
    libc::SYS_waitid, libc::SYS_kill, libc::SYS_tkill, libc::SYS_tgkill, libc::SYS_getpid,
    libc::SYS_getppid, libc::SYS_gettid, libc::SYS_getuid, libc::SYS_geteuid, libc::SYS_getgid,
    libc::SYS_getegid, libc::SYS_getresuid, libc::SYS_getresgid, libc::SYS_getgroups,
    libc::SYS_setuid, libc::SYS_setgid, libc::SYS_setreuid, libc::SYS_setregid,
    libc::SYS_setresuid, libc::SYS_setresgid, libc::SYS_setfsuid, libc::SYS_setfsgid,
    libc::SYS_setpgid, libc::SYS_getpgid, libc::SYS_getsid, libc::SYS_setsid, libc::SYS_capget,
    libc::SYS_getpriority, libc::SYS_setpriority, libc::SYS_getrusage, libc::SYS_times,
    libc::SYS_sched_yield, libc::SYS_sched_getaffinity, libc::SYS_sched_setaffinity,
    libc::SYS_sched_getparam, libc::SYS_sched_setparam, libc::SYS_sched_getscheduler,
    libc::SYS_sched_setscheduler, libc::SYS_sched_getattr, libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min, libc::SYS_sched_rr_get_interval, libc::SYS_getcpu,
    libc::SYS_set_tid_address, libc::SYS_set_robust_list, libc::SYS_get_robust_list, libc::SYS_rseq,
    libc::SYS_futex, libc::SYS_futex_waitv, SYS_FUTEX_WAKE, SYS_FUTEX_WAIT, SYS_FUTEX_REQUEUE,
    libc::SYS_pidfd_open, libc::SYS_pidfd_send_signal, libc::SYS_restart_syscall,
    libc::SYS_ioprio_get, libc::SYS_ioprio_set,
    // Signals, events, time.
    libc::SYS_rt_sigaction, libc::SYS_rt_sigprocmask, libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigpending, libc::SYS_rt_sigtimedwait, libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo, libc::SYS_rt_sigsuspend, libc::SYS_sigaltstack,
    libc::SYS_signalfd4, libc::SYS_ppoll, libc::SYS_pselect6, libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl, libc::SYS_epoll_pwait, libc::SYS_epoll_pwait2, libc::SYS_eventfd2,
    libc::SYS_timerfd_create, libc::SYS_timerfd_settime, libc::SYS_timerfd_gettime,
    libc::SYS_timer_create, libc::SYS_timer_settime, libc::SYS_timer_gettime,
    libc::SYS_timer_getoverrun, libc::SYS_timer_delete, libc::SYS_setitimer, libc::SYS_getitimer,
    libc::SYS_nanosleep, libc::SYS_clock_nanosleep, libc::SYS_clock_gettime,
    libc::SYS_clock_getres, libc::SYS_gettimeofday, libc::SYS_getrandom, libc::SYS_uname,
    libc::SYS_sysinfo,
    // Sockets that `socket` and `socketpair` let through.
    libc::SYS_bind, libc::SYS_connect, libc::SYS_listen, libc::SYS_accept, libc::SYS_accept4,
    libc::SYS_getsockname, libc::SYS_getpeername, libc::SYS_sendto, libc::SYS_recvfrom,
    libc::SYS_sendmsg, libc::SYS_recvmsg, libc::SYS_sendmmsg, libc::SYS_recvmmsg,
    libc::SYS_shutdown, libc::SYS_setsockopt, libc::SYS_getsockopt,
    // The older names that only x86-64 has.
    #[cfg(target_arch = "x86_64")] libc::SYS_open,
    #[cfg(target_arch = "x86_64")] libc::SYS_creat,
    #[cfg(target_arch = "x86_64")] libc::SYS_stat,
    #[cfg(target_arch = "x86_64")] libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")] libc::SYS_access,
    #[cfg(target_arch = "x86_64")] libc::SYS_poll,
    #[cfg(target_arch = "x86_64")] libc::SYS_select,
    #[cfg(target_arch = "x86_64")] libc::SYS_pipe,
    #[cfg(target_arch = "x86_64")] libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")] libc::SYS_pause,
    #[cfg(target_arch = "x86_64")] libc::SYS_alarm,
    #[cfg(target_arch = "x86_64")] libc::SYS_fork,
    #[cfg(target_arch = "x86_64")] libc::SYS_vfork,
    #[cfg(target_arch = "x86_64")] libc::SYS_getdents,
    #[cfg(target_arch = "x86_64")] libc::SYS_rename,
    #[cfg(target_arch = "x86_64")] libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")] libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")] libc::SYS_link,
    #[cfg(target_arch = "x86_64")] libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")] libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")] libc::SYS_chown,
    #[cfg(target_arch = "x86_64")] libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")] libc::SYS_utime,
    #[cfg(target_arch = "x86_64")] libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")] libc::SYS_futimesat,
    #[cfg(target_arch = "x86_64")] libc::SYS_time,
    #[cfg(target_arch = "x86_64")] libc::SYS_getpgrp,
    #[cfg(target_arch = "x86_64")] libc::SYS_getrlimit,
    #[cfg(target_arch = "x86_64")] libc::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")] libc::SYS_epoll_create,
    #[cfg(target_arch = "x86_64")] libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")] libc::SYS_eventfd,
    #[cfg(target_arch = "x86_64")] libc::SYS_signalfd,
    #[cfg(target_arch = "x86_64")] libc::SYS_inotify_init,
];

// Newer calls have the same number everywhere.
const SYS_CACHESTAT: libc::c_long = 451;
const SYS_FCHMODAT2: libc::c_long = 452;
const SYS_FUTEX_WAKE: libc::c_long = 454;
const SYS_FUTEX_WAIT: libc::c_long = 455;
const SYS_FUTEX_REQUEUE: libc::c_long = 456;
const SYS_MSEAL: libc::c_long = 462;

#[cfg(test)]
#[path = "syscalls_tests.rs"]
mod tests;
