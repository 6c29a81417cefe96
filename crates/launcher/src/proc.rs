//! The sandbox's own `/proc`.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags};

use super::error::{InLayer, LayerError};
use super::layers::Layers;
use super::root::{attach, attach_at, make_dir, make_file, open_inside};
use super::sys;
use crate::wire::Layer;

/// What stays visible of `/proc` next to the processes; everything else, known today or not, is
/// covered.
const PROC_VISIBLE: [&str; 13] = [
    "cpuinfo",
    "filesystems",
    "loadavg",
    "meminfo",
    "mounts",
    "net",
    "self",
    "stat",
    "sys",
    "thread-self",
    "uptime",
    "version",
    "vmstat",
];

/// A `/proc` of the own PID namespace, where processes see each other only if they could trace each
/// other, and hardly anything about the machine.
pub(super) fn mount(root: &OwnedFd, layers: Layers) -> Result<(), LayerError> {
    let make = || {
        let context = rustix::mount::fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
        if layers.masked_proc {
            rustix::mount::fsconfig_set_string(&context, "hidepid", "2")?;
        }
        rustix::mount::fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
    };
    let proc = make().layer(Layer::Proc, || "make an own /proc".to_owned())?;
    attach(root, Path::new("proc"), &proc)?;
    if layers.masked_proc {
        cover_proc(root, &proc)?;
        sys::add_mount_attributes(&proc, false, sys::MOUNT_ATTR_RDONLY)
            .layer(Layer::Proc, || "make /proc read-only".to_owned())?;
    }
    Ok(())
}

fn cover_proc(root: &OwnedFd, proc: &OwnedFd) -> Result<(), LayerError> {
    let (nothing, no_files) = (Path::new("run/cloister/nothing"), Path::new("run/cloister/empty"));
    drop(make_file(root, nothing)?);
    make_dir(root, no_files)?;
    let nothing = open_inside(root, nothing)?;
    let no_files = open_inside(root, no_files)?;
    let entries = rustix::fs::openat(
        proc,
        ".",
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .and_then(rustix::fs::Dir::new)
    .layer(Layer::Proc, || "list /proc".to_owned())?;
    for entry in entries {
        let entry = entry.layer(Layer::Proc, || "list /proc".to_owned())?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.bytes().all(|byte| byte.is_ascii_digit());
        if process || name.starts_with('.') || PROC_VISIBLE.contains(&name.as_str()) {
            continue;
        }
        let cover = if entry.file_type() == FileType::Directory { &no_files } else { &nothing };
        cover_entry(proc, &name, cover).layer(Layer::Proc, || format!("cover /proc/{name}"))?;
    }
    Ok(())
}

fn cover_entry(proc: &OwnedFd, name: &str, cover: &OwnedFd) -> rustix::io::Result<()> {
    let place = rustix::fs::openat(
        proc,
        name,
        OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH;
    attach_at(&place, &rustix::mount::open_tree(cover, "", flags)?)
}
