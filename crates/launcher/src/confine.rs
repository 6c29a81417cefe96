//! What a process inside can't get back: limits, capabilities, Landlock.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use super::error::{InLayer, LayerError};
use super::layers::Layers;
use crate::wire::{Layer, LimitSpec};

/// The oldest Landlock that is enough: before it, files could not be moved between directories, and
/// everything that came later is also refused by another layer (truncation by read-only mounts,
/// abstract sockets and signals by namespaces, device control by there being no devices).
const OLDEST: ABI = ABI::V2;
/// [`OLDEST`] as the kernel counts.
pub const OLDEST_LANDLOCK: i32 = OLDEST as i32;
const NEWEST: ABI = ABI::V6;

const STACK_BYTES: u64 = 8 * 1024 * 1024;
const LOCKED_BYTES: u64 = 1024 * 1024;
/// PID 1 and the agent before it executes.
const OWN_PROCESSES: u64 = 2;

/// Sets the limits that every process inside inherits.
pub(super) fn limit(limits: &LimitSpec, layers: Layers) -> Result<(), LayerError> {
    if !layers.process_limits {
        return Ok(());
    }
    let mut wanted = vec![
        (Resource::Core, 0),
        (Resource::Fsize, limits.file_bytes),
        (Resource::Nofile, limits.open_files),
        (Resource::Nproc, limits.processes.saturating_add(OWN_PROCESSES)),
        (Resource::Stack, STACK_BYTES),
        (Resource::Memlock, LOCKED_BYTES),
        (Resource::Msgqueue, 0),
        (Resource::Rtprio, 0),
    ];
    wanted.extend(limits.process_memory_bytes.map(|bytes| (Resource::Data, bytes)));
    for (resource, wanted) in wanted {
        // What the launcher was itself given can't be exceeded.
        let most = rustix::process::getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let value = Some(wanted.min(most));
        rustix::process::setrlimit(resource, Rlimit { current: value, maximum: value })
            .layer(Layer::Limits, || format!("limit {resource:?} to {wanted}"))?;
    }
    Ok(())
}

/// Gives up every capability, for good.
pub(super) fn drop_privileges(layers: Layers) -> Result<(), LayerError> {
    let layer = Layer::Capabilities;
    if layers.no_new_privileges {
        rustix::thread::set_no_new_privs(true).layer(layer, || "set no_new_privs".to_owned())?;
    }
    if !layers.no_capabilities {
        return Ok(());
    }
    for capability in CapabilitySet::all() {
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            // The kernel knows fewer than this program does.
            Ok(()) | Err(rustix::io::Errno::INVAL) => {}
            Err(error) => {
                return Err(error).layer(layer, || "empty the bounding set".to_owned());
            }
        }
    }
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(bits)
        .layer(layer, || "lock the secure bits".to_owned())?;
    rustix::thread::clear_ambient_capability_set()
        .layer(layer, || "clear ambient capabilities".to_owned())?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).layer(layer, || "drop capabilities".to_owned())
}

/// Allows what the mounts allow and nothing else, whatever is mounted or reached later.
pub(super) fn landlock(writable: &[PathBuf], read_only: &[PathBuf]) -> Result<(), LayerError> {
    let version = super::sys::landlock_version()
        .layer(Layer::Landlock, || "the kernel offers no Landlock".to_owned())?;
    if version < OLDEST_LANDLOCK {
        let reason = format!("the kernel offers version {version}, needed is {OLDEST_LANDLOCK}");
        return Err(LayerError::new(Layer::Landlock, reason));
    }
    restrict(writable, read_only)
        .layer(Layer::Landlock, || "restrict the agent".to_owned())
        .and_then(|status| match (status.ruleset, status.landlock) {
            (RulesetStatus::NotEnforced, _)
            | (_, LandlockStatus::NotEnabled | LandlockStatus::NotImplemented) => {
                Err(LayerError::new(Layer::Landlock, "the kernel does not enforce Landlock"))
            }
            (RulesetStatus::PartiallyEnforced | RulesetStatus::FullyEnforced, _) => Ok(()),
        })
}

fn restrict(
    writable: &[PathBuf],
    read_only: &[PathBuf],
) -> Result<landlock::RestrictionStatus, landlock::RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(OLDEST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .set_compatibility(CompatLevel::BestEffort);
    let run = AccessFs::from_read(NEWEST);
    let read = run & !AccessFs::Execute;
    let write = AccessFs::from_all(NEWEST) & !(AccessFs::MakeBlock | AccessFs::MakeChar);
    let write = write & !BitFlags::from(AccessFs::IoctlDev);
    let use_device = read | AccessFs::WriteFile | AccessFs::IoctlDev;
    rules = allow(rules, Path::new("/"), AccessFs::ReadDir.into())?;
    for dir in ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/run/cloister"] {
        rules = allow(rules, Path::new(dir), run)?;
    }
    for dir in ["/etc", "/proc"] {
        rules = allow(rules, Path::new(dir), read)?;
    }
    rules = allow(rules, Path::new("/dev"), use_device)?;
    for dir in ["/tmp", "/dev/shm"] {
        rules = allow(rules, Path::new(dir), write)?;
    }
    for path in read_only {
        rules = allow(rules, path, run)?;
    }
    for path in writable {
        rules = allow(rules, path, write)?;
    }
    rules.restrict_self()
}

/// Adds a rule for a path, if there is such a path: what does not exist needs no permission.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let Ok(place) = PathFd::new(path) else { return Ok(rules) };
    let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(place, access))
}
