//! What a task has done to the files of its chat, as people are shown it: before it lands, and after.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cloister_policy::legible;
use cloister_protocol::admin::TaskFiles;
use cloister_store::layers::{Layer, LayerState};
use rustix::fs::{Mode, OFlags, ResolveFlags};
use similar::TextDiff;

use super::Layers;
use super::held::Holding;
use super::landing::{FilePrint, Landed};
use super::place::{BEFORE, HELD, LayerPlace, UNDONE};
use super::plan::{ChangeKind, FileChange, Plan, Planning, plan};
use super::{scan, told};
use crate::error::Fault;
use crate::tasks::{ReachedTask, TaskError};

/// A longer file is shown as a fact.
const MOST_SHOWN: u64 = 256 << 10;
/// As much of all differences together is shown.
pub(super) const MOST_DIFF: usize = 64 << 10;
/// And so many files are looked into.
const MOST_FILES: usize = 200;

impl Layers {
    /// The files that a task has added, changed and removed.
    pub async fn files_of(&self, reached: &ReachedTask) -> Result<TaskFiles, TaskError> {
        let task = reached.task();
        let Some(layer) = self.control.store().layers().of(task.id).await? else {
            return Ok(TaskFiles { task: task.id, ..TaskFiles::default() });
        };
        let (control, uppers) = (self.control.clone(), self.uppers(&layer));
        let holding = self.holding(task.id).await?;
        let failed = "what a task did could not be looked at";
        let look = move || look(&control, &layer, (&uppers, &holding));
        let seen = tokio::task::spawn_blocking(look).await.map_err(Fault::interrupted(failed))?;
        Ok(seen.map_err(Fault::io(failed))?)
    }
}

fn look(
    control: &crate::control::Control,
    layer: &Layer,
    (uppers, holding): (&[PathBuf], &Holding),
) -> io::Result<TaskFiles> {
    let place = LayerPlace::of(control.layout(), layer.workspace);
    let files = control.layout().chat_files(layer.workspace, layer.chat);
    let mut seen = TaskFiles {
        task: layer.task,
        state: layer.state.as_str().to_owned(),
        ..TaskFiles::default()
    };
    let mut room = MOST_DIFF;
    match layer.state {
        LayerState::Open | LayerState::Kept | LayerState::Landing => {
            let scan = scan::scan(uppers).map_err(io::Error::other)?;
            let layers = uppers;
            let (task, begun_ns) = (layer.task, layer.begun_ns);
            let planning = Planning { task, scan, layers, files: &files, begun_ns, holding };
            let Plan { changes, left_out, stayed, held, .. } =
                plan(planning).map_err(io::Error::other)?;
            for one in &held {
                let after = uppers.iter().rev().find_map(|upper| text_of(upper, &one.path));
                let both = (text_of(&files, &one.path), after);
                let mut view = told::view_held(one);
                view.diff = difference(&one.change(), both, &mut room);
                seen.files.push(view);
            }
            for (number, change) in changes.iter().enumerate() {
                let after = || uppers.iter().rev().find_map(|upper| text_of(upper, &change.path));
                let both = (text_of(&files, &change.path), after());
                let diff = (number < MOST_FILES).then(|| difference(change, both, &mut room));
                let mut view = told::view(change);
                view.diff = diff.flatten();
                seen.files.push(view);
            }
            seen.left_out = left_out.iter().map(told::left_out).collect();
            seen.stayed = stayed;
        }
        LayerState::Landed | LayerState::Undoing | LayerState::Undone | LayerState::Redoing => {
            let landed = fs::read(place.landed(layer.task))?;
            let landed: Landed = serde_json::from_slice(&landed).map_err(io::Error::other)?;
            let (before, undone) = (place.own(layer.task, BEFORE)?, place.own(layer.task, UNDONE)?);
            // What somebody has to decide about comes first.
            let held = place.own(layer.task, HELD)?;
            for one in &landed.held {
                let both = (text_of(&files, &one.path), text_of(&held, &one.path));
                let mut view = told::view_held(one);
                view.diff = difference(&one.change(), both, &mut room);
                seen.files.push(view);
            }
            for (number, one) in landed.changes.iter().enumerate() {
                let (at, is_undone) = (one.at(), one.undone.is_some());
                let now = FilePrint::of(&files.join(at))?;
                let both = match is_undone {
                    true => (text_of(&files, at), text_of(&undone, at)),
                    false if now == one.print => (text_of(&before, at), text_of(&files, at)),
                    // Changed since: what the task made of it is not there any more.
                    false => (None, None),
                };
                let diff = (number < MOST_FILES).then(|| difference(&one.change, both, &mut room));
                let mut view = told::view(&one.change);
                view.diff = diff.flatten();
                view.undone = is_undone;
                seen.files.push(view);
            }
            seen.left_out = landed.left_out.iter().map(told::left_out).collect();
            seen.stayed = landed.stayed;
        }
        LayerState::Joined | LayerState::Gone => {}
    }
    Ok(seen)
}

/// How a text file differs from before; none of one that is no text, or too long.
pub(super) fn difference(
    change: &FileChange,
    (before, after): (Option<String>, Option<String>),
    room: &mut usize,
) -> Option<String> {
    let (before, after) = match change.kind {
        ChangeKind::Added => (String::new(), after?),
        ChangeKind::Changed => (before?, after?),
        ChangeKind::Removed => (before?, String::new()),
    };
    let diff = TextDiff::configure()
        .timeout(std::time::Duration::from_millis(200))
        .diff_lines(&before, &after);
    let text = diff.unified_diff().context_radius(3).to_string();
    let text = legible(&text).into_owned();
    if text.len() > *room {
        return None;
    }
    *room -= text.len();
    Some(text)
}

/// What a text file says that is short enough.
pub(super) fn text_of(root: &Path, path: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = rustix::fs::open(root, flags, Mode::empty()).ok()?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let file = rustix::fs::openat2(&root, path, flags, Mode::empty(), resolve).ok()?;
    let file = fs::File::from(file);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_SHOWN + 1).read_to_end(&mut bytes).ok()?;
    let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= MOST_SHOWN);
    String::from_utf8(bytes).ok().filter(|text| fits && !text.contains('\0'))
}
