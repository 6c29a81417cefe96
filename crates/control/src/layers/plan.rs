//! What the landing of a layer does, step by step, decided before the first of them.
//!
//! Promises: nothing that somebody else changed since the layer was begun is overwritten or removed: what the task made
//! of it lands beside it, and both are told; what can't land is told, and the rest lands.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::fd::OwnedFd;

use cloister_protocol::TaskId;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::held::{HeldFile, Holding};
use super::moving::{MAX_NAMES, MoveStep, Root, beside};
use super::place::Sheet;
use super::print::{self, FilePrint};
use super::scan::{LayerEntry, LayerFile, LeftOut, MAX_ENTRIES, Scan, ScanError};

/// Files up to this size are compared: one that says the same is no change.
pub(super) const MOST_COMPARED: u64 = 1 << 20;

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChangeKind {
    Added,
    Changed,
    Removed,
}

impl ChangeKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// A file that a task added, changed or removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileChange {
    pub path: String,
    pub kind: ChangeKind,
    /// After the change; before it where it was removed.
    pub size: u64,
    /// Where it landed, because somebody else changed what is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// What of the person's would run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<String>,
}

/// What a landing does.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) steps: Vec<MoveStep>,
    pub(super) changes: Vec<FileChange>,
    pub(super) left_out: Vec<LeftOut>,
    /// Files that the task removed and somebody else changed meanwhile: they stay.
    pub(super) stayed: Vec<String>,
    /// What somebody has to say yes to before it lands.
    #[serde(default)]
    pub(super) held: Vec<HeldFile>,
    /// How much is taken away, in bytes on disk.
    #[serde(default)]
    pub(super) taken: u64,
    /// How much lands, and how much of it takes room that it did not take in the layer: files with several names.
    #[serde(default)]
    pub(super) brought: u64,
    #[serde(default)]
    pub(super) copied: u64,
    /// Folders that were there and are not any more, and how open they were.
    #[serde(default)]
    pub(super) lost: Vec<(String, u32)>,
}

/// What a plan is made of.
pub(super) struct Planning<'a> {
    pub(super) task: TaskId,
    pub(super) scan: Scan,
    pub(super) layers: &'a [Sheet],
    /// The files of the chat.
    pub(super) files: OwnedFd,
    /// Whoever changed a file since then is somebody else.
    pub(super) begun_ns: i64,
    pub(super) holding: &'a Holding,
}

pub(super) fn plan(planning: Planning<'_>) -> Result<Plan, ScanError> {
    let mut planner = Planner {
        task: planning.task,
        files: planning.files,
        layers: planning.layers,
        begun_ns: planning.begun_ns,
        holding: planning.holding,
        plan: Plan { left_out: planning.scan.left_out, ..Plan::default() },
        moved: BTreeMap::new(),
        taken: BTreeSet::new(),
        copied: BTreeSet::new(),
    };
    for (path, found) in &planning.scan.entries {
        planner.decide(path, found, &planning.scan.entries)?;
    }
    Ok(planner.plan)
}

struct Planner<'a> {
    task: TaskId,
    files: OwnedFd,
    layers: &'a [Sheet],
    begun_ns: i64,
    holding: &'a Holding,
    plan: Plan,
    /// Folders that land under another name.
    moved: BTreeMap<String, String>,
    /// Names that the plan gives away.
    taken: BTreeSet<String>,
    /// Files of several names, one of which is copied already: by layer and number.
    copied: BTreeSet<(usize, u64)>,
}

type Entries = BTreeMap<String, LayerEntry>;

impl Planner<'_> {
    fn decide(
        &mut self,
        path: &str,
        found: &LayerEntry,
        entries: &Entries,
    ) -> Result<(), ScanError> {
        let at = self.landing_path(path);
        let there = self.there(&at)?;
        match found {
            LayerEntry::Folder { opaque, mode } => {
                self.folder(path, &at, there, (*opaque, *mode), entries)
            }
            LayerEntry::Removed => self.removed(&at, there),
            LayerEntry::File(file) => self.file(path, &at, there, file),
            LayerEntry::Link { layer, to } => {
                let same = there.as_ref().is_some_and(|stat| {
                    is(stat, FileType::Symlink)
                        && rustix::fs::readlinkat(&self.files, at.as_str(), Vec::new())
                            .is_ok_and(|leads| leads.to_bytes() == to.as_bytes())
                });
                if same {
                    return Ok(());
                }
                let size = u64::try_from(to.len()).unwrap_or_default();
                let link = LayerFile { layer: *layer, size, ..LayerFile::default() };
                self.put(path, &at, there, &link)
            }
        }
    }

    /// Where a path lands: under another name, if a folder above it does.
    fn landing_path(&self, path: &str) -> String {
        let above = path.match_indices('/').rev().filter_map(|(at, _)| path.get(..at));
        for folder in above {
            if let Some(other) = self.moved.get(folder) {
                return format!("{other}{}", path.get(folder.len()..).unwrap_or_default());
            }
        }
        path.to_owned()
    }

    fn there(&self, path: &str) -> Result<Option<Stat>, ScanError> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match print::open(&self.files, path, flags) {
            Ok(fd) => Ok(Some(rustix::fs::fstat(fd)?)),
            // A link above it gives way to a folder.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    fn parent_of<'p>(&self, path: &'p str) -> Result<(OwnedFd, &'p str), Errno> {
        let (within, name) = path.rsplit_once('/').unwrap_or((".", path));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok((print::open(&self.files, within, flags)?, name))
    }

    fn changed_since(&self, stat: &Stat) -> bool {
        nanoseconds(stat) >= self.begun_ns
    }

    fn folder(
        &mut self,
        path: &str,
        at: &str,
        there: Option<Stat>,
        (opaque, mode): (bool, u32),
        entries: &Entries,
    ) -> Result<(), ScanError> {
        match there {
            Some(stat) if is(&stat, FileType::Directory) => {
                if opaque {
                    self.empty(at, Some((path, entries)))?;
                }
                return Ok(());
            }
            Some(stat) if self.changed_since(&stat) => {
                let beside = self.free_name(at)?;
                self.moved.insert(path.to_owned(), beside.clone());
                self.plan.steps.push(MoveStep::Folder { path: beside, mode });
                return Ok(());
            }
            Some(stat) => {
                self.take_away(at, &stat)?;
                self.note_removed(at, &stat);
            }
            None => {}
        }
        self.plan.steps.push(MoveStep::Folder { path: at.to_owned(), mode });
        Ok(())
    }

    fn removed(&mut self, at: &str, there: Option<Stat>) -> Result<(), ScanError> {
        match there {
            None => {}
            Some(stat) if is(&stat, FileType::Directory) => {
                self.empty(at, None)?;
                self.lose(at.to_owned(), &stat);
            }
            Some(stat) if self.changed_since(&stat) => self.plan.stayed.push(at.to_owned()),
            Some(stat) => {
                self.take_away(at, &stat)?;
                self.note_removed(at, &stat);
            }
        }
        Ok(())
    }

    fn file(
        &mut self,
        path: &str,
        at: &str,
        there: Option<Stat>,
        file: &LayerFile,
    ) -> Result<(), ScanError> {
        if let Some(stat) = &there
            && is(stat, FileType::RegularFile)
            && size_of(stat) == file.size
            && file.size <= MOST_COMPARED
            && self.says_the_same((path, file.layer), (at, stat))?
        {
            return Ok(());
        }
        self.put(path, at, there, file)
    }

    fn put(
        &mut self,
        path: &str,
        at: &str,
        there: Option<Stat>,
        file: &LayerFile,
    ) -> Result<(), ScanError> {
        let (from, size) = ((Root::Layer(file.layer), path.to_owned()), file.size);
        let shared = file.shared.is_some();
        let move_to = |to: (Root, String)| {
            let from = from.clone();
            if shared {
                MoveStep::Copy { from, to }
            } else {
                MoveStep::Move { from, to, was: None }
            }
        };
        self.plan.brought = self.plan.brought.saturating_add(file.blocks);
        if let Some(number) = file.shared
            && !self.copied.insert((file.layer, number))
        {
            self.plan.copied = self.plan.copied.saturating_add(file.blocks);
        }
        let runs = match self.layers.get(file.layer) {
            Some(sheet) => super::held::runs_of((sheet.files(), path), at)?,
            None => None,
        };
        if let Some(runs) = runs.filter(|runs| !self.holding.lets(runs, at)) {
            let was = FilePrint::beneath(&self.files, at)?;
            self.plan.steps.push(move_to((Root::Held, at.to_owned())));
            self.plan.held.push(HeldFile::of(at, size, runs.by, was));
            return Ok(());
        }
        let runs = runs.map(|runs| runs.by.to_owned());
        let step = |to: String| move_to((Root::Files, to));
        let is_folder = there.as_ref().is_some_and(|stat| is(stat, FileType::Directory));
        let meanwhile = match &there {
            Some(_) if is_folder => self.holds_new(at)?,
            Some(stat) => self.changed_since(stat),
            None => self.taken.contains(at),
        };
        if meanwhile {
            let beside = self.free_name(at)?;
            self.plan.steps.push(step(beside.clone()));
            self.note_run(at, ChangeKind::Added, size, (Some(beside), runs));
            return Ok(());
        }
        let kind = match &there {
            None => ChangeKind::Added,
            Some(stat) if is_folder => {
                self.empty(at, None)?;
                self.lose(at.to_owned(), stat);
                ChangeKind::Added
            }
            Some(stat) => {
                self.take_away(at, stat)?;
                ChangeKind::Changed
            }
        };
        self.plan.steps.push(step(at.to_owned()));
        self.note_run(at, kind, size, (None, runs));
        Ok(())
    }

    /// Removes what is in a folder of the chat's, but for what the layer has there and what others changed.
    fn empty(&mut self, at: &str, keep: Option<(&str, &Entries)>) -> Result<(), ScanError> {
        let mut folders = Vec::new();
        for (path, stat) in self.below(at)? {
            let stays = keep.is_some_and(|(folder, entries)| {
                let below = path.strip_prefix(at).unwrap_or_default();
                entries.contains_key(&format!("{folder}{below}"))
            });
            if stays {
                continue;
            }
            if is(&stat, FileType::Directory) {
                folders.push((path, stat));
            } else if self.changed_since(&stat) {
                self.plan.stayed.push(path);
            } else {
                self.take_away(&path, &stat)?;
                self.note_removed(&path, &stat);
            }
        }
        // The innermost first.
        for (path, stat) in folders.into_iter().rev() {
            self.lose(path, &stat);
        }
        Ok(())
    }

    /// Removes an empty folder of the chat's.
    fn lose(&mut self, path: String, stat: &Stat) {
        self.plan.lost.push((path.clone(), stat.st_mode & 0o777));
        self.plan.steps.push(MoveStep::NoFolder { path });
    }

    fn holds_new(&self, at: &str) -> Result<bool, ScanError> {
        let mut files = self.below(at)?.into_iter();
        Ok(files.any(|(_, stat)| !is(&stat, FileType::Directory) && self.changed_since(&stat)))
    }

    /// All that is below a folder of the chat's, folders before what is in them.
    fn below(&self, at: &str) -> Result<Vec<(String, Stat)>, ScanError> {
        let mut found = Vec::new();
        let mut open = vec![at.to_owned()];
        while let Some(folder) = open.pop() {
            let (parent, name) = self.parent_of(&folder)?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut dir = Dir::new(rustix::fs::openat(parent, name, flags, Mode::empty())?)?;
            while let Some(entry) = dir.read() {
                let entry = entry?;
                let name = entry.file_name();
                if [c".", c".."].contains(&name) {
                    continue;
                }
                let stat = rustix::fs::statat(dir.fd()?, name, AtFlags::SYMLINK_NOFOLLOW)?;
                let Ok(name) = name.to_str() else { continue };
                let path = format!("{folder}/{name}");
                if is(&stat, FileType::Directory) {
                    open.push(path.clone());
                }
                found.push((path, stat));
                if found.len() > MAX_ENTRIES {
                    return Err(ScanError::TooMuch);
                }
            }
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(found)
    }

    fn take_away(&mut self, at: &str, stat: &Stat) -> Result<(), ScanError> {
        self.plan.taken = self.plan.taken.saturating_add(blocks_of(stat));
        let (from, to) = ((Root::Files, at.to_owned()), (Root::Before, at.to_owned()));
        let was = FilePrint::beneath(&self.files, at)?;
        self.plan.steps.push(MoveStep::Move { from, to, was });
        Ok(())
    }

    fn note_removed(&mut self, path: &str, stat: &Stat) {
        self.note_run(path, ChangeKind::Removed, size_of(stat), (None, None));
    }

    fn note_run(
        &mut self,
        path: &str,
        kind: ChangeKind,
        size: u64,
        (beside, runs): (Option<String>, Option<String>),
    ) {
        self.plan.changes.push(FileChange { path: path.to_owned(), kind, size, beside, runs });
    }

    /// A name beside the one that is taken.
    fn free_name(&mut self, at: &str) -> Result<String, ScanError> {
        for number in 1..=MAX_NAMES {
            let free = beside(at, self.task, number);
            if self.there(&free)?.is_none() && self.taken.insert(free.clone()) {
                return Ok(free);
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists).into())
    }

    fn says_the_same(
        &self,
        (path, layer): (&str, usize),
        (at, there): (&str, &Stat),
    ) -> Result<bool, ScanError> {
        let Some(upper) = self.layers.get(layer) else { return Ok(false) };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let upper = rustix::fs::open(upper.files(), flags, Mode::empty())?;
        let [Some(ours), Some(theirs)] = [read(&upper, path)?, read(&self.files, at)?] else {
            return Ok(false);
        };
        Ok(ours.1 & 0o777 == there.st_mode & 0o777 && ours.0 == theirs.0)
    }
}

/// What is in a small file, and its mode; none if it can't be read.
pub(super) fn read(root: &OwnedFd, path: &str) -> Result<Option<(Vec<u8>, u32)>, ScanError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(fd) = print::open(root, path, flags) else {
        return Ok(None);
    };
    let mode = rustix::fs::fstat(&fd)?.st_mode;
    let mut bytes = Vec::new();
    let mut file = io::Read::take(std::fs::File::from(fd), MOST_COMPARED + 1);
    io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(Some((bytes, mode)))
}

fn is(stat: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(stat.st_mode) == kind
}

pub(super) fn size_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or_default()
}

/// What it takes on disk: that of a file with holes is less than its size.
pub(super) fn blocks_of(stat: &Stat) -> u64 {
    u64::try_from(stat.st_blocks).unwrap_or_default().saturating_mul(512)
}

/// When what is known of a file was last changed: nobody but the kernel sets that.
pub(super) fn nanoseconds(stat: &Stat) -> i64 {
    stat.st_ctime
        .saturating_mul(1_000_000_000)
        .saturating_add(i64::try_from(stat.st_ctime_nsec).unwrap_or_default())
}
