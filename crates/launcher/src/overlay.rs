//! Folders laid over one another: what is below is read, what is written goes to the top.
//!
//! The kernel takes them by name, and only of what is mounted here: each is attached under a short name in a folder of
//! the new root that is gone before anything runs inside.

use std::ffi::CString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::AtFlags;
use rustix::mount::{MountFlags, OpenTreeFlags, UnmountFlags};

use super::error::{InLayer, LayerError};
use super::root::{self, STAGING};
use crate::wire::Layer;

const SCRATCH: &str = "run/cloister/lay";
const TOP: &str = "top";
const MERGED: &str = "merged";

/// Makes one mount of the folders, attached nowhere yet. The first is the uppermost of those that are only read.
pub(super) fn lay(
    root: &OwnedFd,
    lowers: &[OwnedFd],
    top: &OwnedFd,
) -> Result<OwnedFd, LayerError> {
    let scratch = Path::new(SCRATCH);
    root::make_dir(root, scratch)?;
    let names: Vec<String> = (0..lowers.len()).map(|number| number.to_string()).collect();
    let trees = names.iter().map(String::as_str).zip(lowers).chain([(TOP, top)]);
    for (name, tree) in trees {
        root::make_dir(root, &scratch.join(name))?;
        root::attach(root, &scratch.join(name), tree)?;
    }
    root::make_dir(root, &scratch.join(MERGED))?;
    let laid = mount(root, &names)?;
    let attached = names.iter().map(String::as_str).chain([TOP, MERGED]);
    for name in attached {
        let place = scratch.join(name);
        rustix::mount::unmount(staged(&place), UnmountFlags::DETACH)
            .layer(Layer::Mounts, || format!("detach {}", place.display()))?;
        remove_dir(root, &place)?;
    }
    remove_dir(root, scratch)?;
    Ok(laid)
}

fn mount(root: &OwnedFd, lowers: &[String]) -> Result<OwnedFd, LayerError> {
    let scratch = root::open_inside(root, Path::new(SCRATCH))?;
    rustix::process::fchdir(&scratch).layer(Layer::Mounts, || "go to the folders".to_owned())?;
    let data =
        format!("lowerdir={},upperdir={TOP}/upper,workdir={TOP}/work,userxattr", lowers.join(":"));
    let data = CString::new(data).layer(Layer::Spec, || "name the folders".to_owned())?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("overlay", MERGED, "overlay", flags, data.as_c_str())
        .layer(Layer::Mounts, || "lay a task's files over the chat's (overlayfs)".to_owned())?;
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    rustix::mount::open_tree(&scratch, MERGED, flags)
        .layer(Layer::Mounts, || "take the mount of the folders".to_owned())
}

/// The place as it is named before the new root is the root.
fn staged(place: &Path) -> PathBuf {
    Path::new(STAGING).join(place)
}

fn remove_dir(root: &OwnedFd, place: &Path) -> Result<(), LayerError> {
    rustix::fs::unlinkat(root, place, AtFlags::REMOVEDIR)
        .layer(Layer::Mounts, || format!("remove {}", place.display()))
}
