//! The sandbox's own root: a fresh tmpfs with read-only pieces of the system, the mounts of the spec,
//! an own `/proc`, and nothing else.
//!
//! Sources are opened by descriptor, in a mount namespace of their own and without following any
//! symlink, so a path that the cell can write to can't be redirected. They are opened with what rights
//! the launcher has; everything after that happens as the cell's uid.

use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags,
    OpenTreeFlags, UnmountFlags,
};
use rustix::thread::{Gid, Uid};

use super::error::{InLayer, LayerError};
use super::layers::Layers;
use super::{INSIDE_ID, overlay, proc, sys};
use crate::wire::{DOOR_PATH, LaunchSpec, Layer, MountSpec, OverlaySpec};

/// Where the new root is attached before it becomes the root. Any directory that every host has.
pub(super) const STAGING: &str = "/usr";
const ROOT_BYTES: u64 = 1024 * 1024;
const ROOT_FILES: u64 = 512;
const SHARED_MEMORY_BYTES: u64 = 64 * 1024 * 1024;
/// One file per this many bytes of a tmpfs.
const BYTES_PER_FILE: u64 = 16 * 1024;

const SYSTEM: [&str; 7] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];
/// What programs read below `/etc`; everything else there is the host's own business.
const ETC: [&str; 5] = [
    "etc/alternatives",
    "etc/ld.so.cache",
    "etc/localtime",
    "etc/ssl/certs",
    "etc/ssl/openssl.cnf",
];
const DEVICES: [&str; 5] = ["dev/null", "dev/zero", "dev/full", "dev/random", "dev/urandom"];
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("dev/fd", "/proc/self/fd"),
    ("dev/stdin", "/proc/self/fd/0"),
    ("dev/stdout", "/proc/self/fd/1"),
    ("dev/stderr", "/proc/self/fd/2"),
];
const FILES: [(&str, &str); 4] = [
    (
        "etc/passwd",
        "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\n\
         cell:x:1000:1000:cell:/tmp/home:/bin/bash\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    ),
    ("etc/group", "root:x:0:\ncell:x:1000:\nnogroup:x:65534:\n"),
    ("etc/hosts", "127.0.0.1 localhost cell\n::1 localhost\n"),
    ("etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"),
];
/// What the root holds, for the layers on top of it.
pub(super) struct Built {
    pub(super) read_only: Vec<PathBuf>,
    pub(super) writable: Vec<PathBuf>,
}

/// Everything of the host that is seen inside; mounts that are attached nowhere yet.
pub(super) struct Pieces(Vec<Piece>);

/// A piece of the host that will appear in the new root.
enum Piece {
    Tree {
        at: PathBuf,
        tree: OwnedFd,
        is_dir: bool,
    },
    /// Folders over one another, the uppermost first; what is written goes to the top.
    Overlay {
        at: PathBuf,
        lowers: Vec<OwnedFd>,
        top: OwnedFd,
    },
    Link {
        at: PathBuf,
        to: PathBuf,
    },
}

/// Builds the root out of its pieces and moves into it.
pub(super) fn build(
    spec: &LaunchSpec,
    layers: Layers,
    pieces: Option<Pieces>,
) -> Result<Built, LayerError> {
    detach_from_host()?;
    let pieces = match pieces {
        Some(pieces) => pieces,
        None if layers.own_root => collect(spec, layers)?,
        None => Pieces(Vec::new()),
    };
    if layers.user_namespace {
        become_id(INSIDE_ID)?;
    } else if layers.own_uid {
        become_id(spec.host_id)?;
    }
    if layers.own_root {
        let root = attach_root()?;
        populate(&root, spec, pieces.0)?;
        proc::mount(&root, layers)?;
        enter(&root, layers)?;
    }
    let (writable, read_only): (Vec<_>, Vec<_>) =
        spec.mounts.iter().partition(|mount| mount.writable);
    let targets =
        |mounts: Vec<&MountSpec>| mounts.into_iter().map(|mount| mount.target.clone()).collect();
    Ok(Built { read_only: targets(read_only), writable: targets(writable) })
}

/// What is mounted from here on stays here.
pub(super) fn detach_from_host() -> Result<(), LayerError> {
    let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    rustix::mount::mount_change("/", private)
        .layer(Layer::Mounts, || "detach from the host's mounts".to_owned())
}

/// Opens everything of the host that will be seen inside.
pub(super) fn collect(spec: &LaunchSpec, layers: Layers) -> Result<Pieces, LayerError> {
    let mut pieces = Vec::new();
    for path in SYSTEM.iter().chain(&ETC) {
        pieces.extend(system_piece(path, layers)?);
    }
    for path in DEVICES {
        pieces.push(device(path)?);
    }
    for mount in &spec.mounts {
        pieces.push(match &mount.overlay {
            Some(overlay) => overlaid(mount, overlay)?,
            None => piece(&mount.source, &mount.target, mount.writable, layers)?,
        });
    }
    pieces.push(piece(&spec.agent, Path::new("/run/cloister/agent"), false, layers)?);
    pieces.push(piece(&spec.door, Path::new(DOOR_PATH), true, layers)?);
    Ok(Pieces(pieces))
}

/// A device can be used, but neither its mode nor its owner be changed: it is the host's own.
fn device(path: &str) -> Result<Piece, LayerError> {
    let tree = clone_tree(&Path::new("/").join(path))?;
    sys::add_mount_attributes(&tree, false, sys::MOUNT_ATTR_RDONLY | sys::MOUNT_ATTR_NOSUID)
        .layer(Layer::Mounts, || format!("restrict the mount of /{path}"))?;
    Ok(Piece::Tree { at: path.into(), tree, is_dir: false })
}

/// A part of the system: as a link where the host has one, else as a read-only tree.
fn system_piece(path: &str, layers: Layers) -> Result<Option<Piece>, LayerError> {
    let source = Path::new("/").join(path);
    let Ok(found) = std::fs::symlink_metadata(&source) else { return Ok(None) };
    if found.is_symlink() {
        let to = std::fs::read_link(&source)
            .layer(Layer::Mounts, || format!("read the link {}", source.display()))?;
        return Ok(Some(Piece::Link { at: path.into(), to }));
    }
    piece(&source, &source, false, layers).map(Some)
}

fn piece(
    source: &Path,
    target: &Path,
    writable: bool,
    layers: Layers,
) -> Result<Piece, LayerError> {
    let tree = clone_tree(source)?;
    let mut attributes = 0;
    if layers.nosuid {
        attributes |= sys::MOUNT_ATTR_NOSUID | sys::MOUNT_ATTR_NODEV;
    }
    if !writable && layers.read_only {
        attributes |= sys::MOUNT_ATTR_RDONLY;
    }
    sys::add_mount_attributes(&tree, true, attributes)
        .layer(Layer::Mounts, || format!("restrict the mount of {}", source.display()))?;
    let found = rustix::fs::fstat(&tree)
        .layer(Layer::Mounts, || format!("look at {}", source.display()))?;
    let is_dir = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    Ok(Piece::Tree { at: place(target)?, tree, is_dir })
}

fn overlaid(mount: &MountSpec, overlay: &OverlaySpec) -> Result<Piece, LayerError> {
    let lowers = overlay.over.iter().chain([&mount.source]).map(|lower| clone_tree(lower));
    let lowers = lowers.collect::<Result<_, _>>()?;
    Ok(Piece::Overlay { at: place(&mount.target)?, lowers, top: clone_tree(&overlay.top)? })
}

/// Where a mount goes in the new root.
fn place(target: &Path) -> Result<PathBuf, LayerError> {
    let at = target.strip_prefix("/").unwrap_or(target).to_owned();
    let plain = at.components().all(|part| matches!(part, Component::Normal(_)));
    if !plain || at.as_os_str().is_empty() {
        let reason = format!("the mount target {} is not a plain absolute path", target.display());
        return Err(LayerError::new(Layer::Spec, reason));
    }
    Ok(at)
}

/// A private copy of the mount at a path that holds no symlink.
fn clone_tree(source: &Path) -> Result<OwnedFd, LayerError> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let found = rustix::fs::openat2(CWD, source, flags, Mode::empty(), resolve)
        .layer(Layer::Spec, || format!("open {}", source.display()))?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    rustix::mount::open_tree(&found, "", flags)
        .layer(Layer::Mounts, || format!("clone the mount of {}", source.display()))
}

/// Takes an id: the one that exists inside. Capabilities over the new namespaces stay for now.
fn become_id(id: u32) -> Result<(), LayerError> {
    let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
    rustix::thread::set_thread_res_gid(gid, gid, gid)
        .layer(Layer::UidMap, || "take the gid inside".to_owned())?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)
        .layer(Layer::UidMap, || "take the uid inside".to_owned())
}

fn attach_root() -> Result<OwnedFd, LayerError> {
    let root = tmpfs(ROOT_BYTES, ROOT_FILES, "0755")?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    rustix::mount::move_mount(&root, "", CWD, STAGING, flags)
        .layer(Layer::Mounts, || "attach the new root".to_owned())?;
    Ok(root)
}

/// A tmpfs with limits, not attached anywhere yet.
fn tmpfs(bytes: u64, files: u64, mode: &str) -> Result<OwnedFd, LayerError> {
    let make = || {
        let context = rustix::mount::fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        rustix::mount::fsconfig_set_string(&context, "size", bytes.to_string())?;
        rustix::mount::fsconfig_set_string(&context, "nr_inodes", files.to_string())?;
        rustix::mount::fsconfig_set_string(&context, "mode", mode)?;
        rustix::mount::fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
    };
    make().layer(Layer::Mounts, || "make a tmpfs".to_owned())
}

/// Fills the root, in an order in which a mount never hides an earlier one's place.
fn populate(root: &OwnedFd, spec: &LaunchSpec, pieces: Vec<Piece>) -> Result<(), LayerError> {
    for dir in ["etc", "etc/ssl", "dev", "dev/shm", "proc", "run", "run/cloister", "tmp"] {
        make_dir(root, Path::new(dir))?;
    }
    for (path, text) in FILES {
        let file = make_file(root, Path::new(path))?;
        rustix::io::write(&file, text.as_bytes())
            .layer(Layer::Mounts, || format!("write {path}"))?;
    }
    for (path, to) in DEVICE_LINKS {
        make_link(root, Path::new(path), Path::new(to))?;
    }
    let tmp_files = (spec.limits.tmp_bytes / BYTES_PER_FILE).max(1024);
    let tmp = tmpfs(spec.limits.tmp_bytes, tmp_files, "1777")?;
    make_dir(&tmp, Path::new("home"))?;
    attach(root, Path::new("tmp"), &tmp)?;
    let shared_bytes = SHARED_MEMORY_BYTES.min(spec.limits.tmp_bytes);
    let shared = tmpfs(shared_bytes, (shared_bytes / BYTES_PER_FILE).max(1024), "1777")?;
    attach(root, Path::new("dev/shm"), &shared)?;
    for piece in pieces {
        match piece {
            Piece::Link { at, to } => make_link(root, &at, &to)?,
            Piece::Tree { at, tree, is_dir } => {
                make_place(root, &at, is_dir)?;
                attach(root, &at, &tree)?;
            }
            Piece::Overlay { at, lowers, top } => {
                make_place(root, &at, true)?;
                attach(root, &at, &overlay::lay(root, &lowers, &top)?)?;
            }
        }
    }
    Ok(())
}

/// Makes the place a mount goes to, with the directories above it.
fn make_place(root: &OwnedFd, at: &Path, is_dir: bool) -> Result<(), LayerError> {
    let mut above: Vec<_> =
        at.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()).collect();
    above.reverse();
    for dir in above {
        make_dir(root, dir)?;
    }
    if is_dir { make_dir(root, at) } else { make_file(root, at).map(drop) }
}

pub(super) fn make_dir(root: &OwnedFd, path: &Path) -> Result<(), LayerError> {
    let (parent, name) = parent_of(root, path)?;
    match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => {
            Err(error).layer(Layer::Mounts, || format!("make the directory {}", path.display()))
        }
    }
}

pub(super) fn make_file(root: &OwnedFd, path: &Path) -> Result<OwnedFd, LayerError> {
    let (parent, name) = parent_of(root, path)?;
    let make = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let made = rustix::fs::openat(&parent, name, make, Mode::from_raw_mode(0o644));
    if let Err(rustix::io::Errno::EXIST) = made {
        return open_inside(root, path);
    }
    made.layer(Layer::Mounts, || format!("make the file {}", path.display()))
}

fn make_link(root: &OwnedFd, path: &Path, to: &Path) -> Result<(), LayerError> {
    let (parent, name) = parent_of(root, path)?;
    rustix::fs::symlinkat(to, &parent, name)
        .layer(Layer::Mounts, || format!("make the link {}", path.display()))
}

fn parent_of<'a>(root: &OwnedFd, path: &'a Path) -> Result<(OwnedFd, &'a Path), LayerError> {
    let parent = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().map_or(path, Path::new);
    Ok((open_inside(root, parent)?, name))
}

/// Opens a place in the new root, following nothing that a cell may have planted there.
pub(super) fn open_inside(root: &OwnedFd, path: &Path) -> Result<OwnedFd, LayerError> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat2(root, path, flags, Mode::empty(), resolve)
        .layer(Layer::Mounts, || format!("open {} in the new root", path.display()))
}

pub(super) fn attach(root: &OwnedFd, at: &Path, tree: &OwnedFd) -> Result<(), LayerError> {
    let place = open_inside(root, at)?;
    attach_at(&place, tree).layer(Layer::Mounts, || format!("mount {}", at.display()))
}

pub(super) fn attach_at(place: &OwnedFd, tree: &OwnedFd) -> rustix::io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    rustix::mount::move_mount(tree, "", place, "", flags)
}

/// Makes the new root the root, lets go of the old one and closes it for writing.
fn enter(root: &OwnedFd, layers: Layers) -> Result<(), LayerError> {
    let enter = || {
        rustix::process::fchdir(root)?;
        rustix::process::pivot_root(".", ".")?;
        rustix::mount::unmount(".", UnmountFlags::DETACH)?;
        rustix::process::chdir("/")
    };
    enter().layer(Layer::Mounts, || "enter the new root".to_owned())?;
    if layers.read_only {
        sys::add_mount_attributes(root, false, sys::MOUNT_ATTR_RDONLY)
            .layer(Layer::Mounts, || "make the root read-only".to_owned())?;
    }
    Ok(())
}
