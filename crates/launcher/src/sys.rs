//! System calls that no safe wrapper covers. Every `unsafe` of the launcher is in this file.
#![expect(unsafe_code, reason = "raw system calls; each block says why it is sound")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use rustix::process::Pid;

/// `mount_setattr` flags of `linux/mount.h`.
pub(super) const MOUNT_ATTR_RDONLY: u64 = 0x1;
pub(super) const MOUNT_ATTR_NOSUID: u64 = 0x2;
pub(super) const MOUNT_ATTR_NODEV: u64 = 0x4;

#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    userns_fd: u64,
}

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Closes every descriptor but the three standard ones.
pub(super) fn close_other_descriptors() -> io::Result<()> {
    // SAFETY: called first thing in `run`, when the process owns no descriptor beyond 2 yet, so
    // nothing that is still in use is closed.
    let result = unsafe { libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32) };
    check(result).map(drop)
}

/// Leaves the host's mount namespace for a copy of it.
pub(super) fn leave_mount_namespace() -> io::Result<()> {
    // SAFETY: CLONE_NEWNS changes what paths mean to this one-threaded process and touches no memory.
    let result = unsafe { libc::unshare(libc::CLONE_NEWNS) };
    check(result.into()).map(drop)
}

/// Forks with new namespaces; `None` in the child.
pub(super) fn fork_into(namespaces: libc::c_int) -> io::Result<Option<Pid>> {
    let flags = libc::c_long::from(namespaces) | libc::c_long::from(libc::SIGCHLD);
    let none = 0_usize;
    // SAFETY: without CLONE_VM and with a null stack this is `fork`: the child has its own copy of
    // the memory. The launcher has one thread, so no lock can be left held in the child.
    let result = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) };
    let pid = check(result)?;
    Ok(i32::try_from(pid).ok().and_then(Pid::from_raw))
}

/// Adds mount attributes to a mount and everything mounted below it.
pub(super) fn add_mount_attributes(mount: impl AsFd, recursive: bool, set: u64) -> io::Result<()> {
    let attr = MountAttr { set, clear: 0, propagation: 0, userns_fd: 0 };
    let mut flags = libc::AT_EMPTY_PATH;
    if recursive {
        flags |= libc::AT_RECURSIVE;
    }
    // SAFETY: the path is a NUL-terminated literal and `attr` is a live `struct mount_attr` of the
    // size that is passed.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_fd().as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const attr,
            size_of::<MountAttr>(),
        )
    };
    check(result).map(drop)
}

/// Brings the loopback interface of the own network namespace up.
pub(super) fn bring_loopback_up(socket: impl AsFd) -> io::Result<()> {
    // SAFETY: `ifreq` is plain data for which all zeroes is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo\0") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    let up = libc::IFF_UP | libc::IFF_RUNNING;
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(up).unwrap_or(libc::c_short::MAX);
    // SAFETY: SIOCSIFFLAGS reads one `ifreq`, which lives across the call.
    let result =
        unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    check(result.into()).map(drop)
}

/// Makes a write beyond the file size limit an error instead of the end of the process.
pub(super) fn ignore_file_size_signal() {
    // SAFETY: SIG_IGN installs no handler; the disposition is inherited through exec.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Blocks SIGCHLD and gives a descriptor that is readable when a child has ended.
pub(super) fn child_events() -> io::Result<OwnedFd> {
    // SAFETY: `sigset_t` is plain data; it is initialised by `sigemptyset` before it is used.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a live `sigset_t`.
    unsafe { libc::sigemptyset(&raw mut set) };
    // SAFETY: `set` is a live, initialised `sigset_t`.
    unsafe { libc::sigaddset(&raw mut set, libc::SIGCHLD) };
    // SAFETY: `set` is initialised; the old mask is not asked for.
    let result =
        unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
    check(result.into())?;
    // SAFETY: `set` is initialised and -1 asks for a new descriptor.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    check(fd.into())?;
    // SAFETY: signalfd returned this descriptor just now, so it is open and owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The version of Landlock that the kernel offers.
pub fn landlock_version() -> io::Result<i32> {
    const ASK_VERSION: libc::c_uint = 1;
    let nothing = std::ptr::null::<libc::c_void>();
    // SAFETY: asked for its version, the kernel reads no attributes; none are passed.
    let result =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, ASK_VERSION) };
    Ok(i32::try_from(check(result)?).unwrap_or(i32::MAX))
}
