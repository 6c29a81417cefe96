//! What a task has done to the files of its chat, as people are shown it: before it lands, and after.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use cloister_policy::legible;
use cloister_protocol::admin::TaskFiles;
use cloister_store::layers::{Layer, LayerState};
use cloister_store::tasks::Task;
use rustix::fs::{Mode, OFlags};
use similar::TextDiff;

use super::Layers;
use super::held::Holding;
use super::landing::Landed;
use super::place::{BEFORE, HELD, LayerPlace, Sheet, UNDONE, open_files};
use super::plan::{ChangeKind, FileChange, Plan, Planning, plan};
use super::print::{self, FilePrint};
use super::scan::LayerEntry;
use super::{documents, scan, told};
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
        let mut seen = match self.control.store().layers().of(task.id).await? {
            Some(layer) => self.look(layer).await?,
            None => TaskFiles { task: task.id, ..TaskFiles::default() },
        };
        let documents = self.control.store().task_documents().of(task.id).await?;
        seen.documents = documents.iter().map(documents::view).collect();
        seen.outward = self.outward(task).await?;
        if ["", "gone"].contains(&seen.state.as_str())
            && let Some(standing) = self.standing(task.id).await?
        {
            standing.as_str().clone_into(&mut seen.state);
        }
        Ok(seen)
    }

    /// The files and documents that a task has changed so far, by their paths; none where that can't be known.
    pub(crate) async fn changed_by(&self, task: &Task) -> Option<Vec<String>> {
        let found = async {
            let layer = self.control.store().layers().of(task.id).await?;
            let uppers = layer.map(|layer| self.uppers(&layer)).unwrap_or_default();
            let failed = "what a task did could not be looked at";
            let scan =
                move || scan::scan(&uppers, scan::Closed::LeaveOut).map_err(io::Error::other);
            let scan =
                tokio::task::spawn_blocking(scan).await.map_err(Fault::interrupted(failed))?;
            let entries = scan.map_err(Fault::io(failed))?.entries.into_iter();
            let is_folder = |entry: &LayerEntry| matches!(entry, LayerEntry::Folder { .. });
            let mut paths: Vec<String> =
                entries.filter(|(_, entry)| !is_folder(entry)).map(|(path, _)| path).collect();
            let documents = self.control.store().task_documents().of(task.id).await?;
            paths.extend(documents.into_iter().map(|document| document.path));
            Ok::<_, Fault>(paths)
        };
        let found = found.await;
        found.inspect_err(|error| {
            tracing::warn!(task = %task.id, error = error.chain(), "which files a task changed is not known");
        }).ok()
    }

    async fn look(&self, layer: Layer) -> Result<TaskFiles, Fault> {
        let (control, uppers) = (self.control.clone(), self.uppers(&layer));
        let holding = self.holding(layer.task).await?;
        let failed = "what a task did could not be looked at";
        let look = move || look(&control, &layer, (&uppers, &holding));
        let seen = tokio::task::spawn_blocking(look).await.map_err(Fault::interrupted(failed))?;
        seen.map_err(Fault::io(failed))
    }
}

fn look(
    control: &crate::control::Control,
    layer: &Layer,
    (uppers, holding): (&[Sheet], &Holding),
) -> io::Result<TaskFiles> {
    let place = LayerPlace::of(control.layout(), layer.workspace);
    let files = control.layout().chat_files(layer.workspace, layer.chat);
    let beneath = open_files(control.layout(), (layer.workspace, layer.chat))?;
    let mut seen = TaskFiles {
        task: layer.task,
        state: layer.state.as_str().to_owned(),
        ..TaskFiles::default()
    };
    let mut room = MOST_DIFF;
    match layer.state {
        LayerState::Open | LayerState::Kept | LayerState::Landing => {
            let scan = scan::scan(uppers, scan::Closed::LeaveOut).map_err(io::Error::other)?;
            let layers = uppers;
            let (task, begun_ns) = (layer.task, layer.begun_ns);
            let planning = Planning { task, scan, layers, files: beneath, begun_ns, holding };
            let Plan { changes, left_out, stayed, held, .. } =
                plan(planning).map_err(io::Error::other)?;
            for one in &held {
                let after = uppers.iter().rev().find_map(|upper| text_of(upper.files(), &one.path));
                let both = (text_of(&files, &one.path), after);
                let mut view = told::view_held(one);
                view.diff = difference(&one.change(), both, &mut room);
                seen.files.push(view);
            }
            for (number, change) in changes.iter().enumerate() {
                let after =
                    || uppers.iter().rev().find_map(|upper| text_of(upper.files(), &change.path));
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
                let now = FilePrint::beneath(&beneath, at)?;
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
                view.changed_since = !is_undone && now != one.print;
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
    let file = print::open(&root, path, flags).ok()?;
    let file = fs::File::from(file);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_SHOWN + 1).read_to_end(&mut bytes).ok()?;
    let fits = u64::try_from(bytes.len()).is_ok_and(|length| length <= MOST_SHOWN);
    String::from_utf8(bytes).ok().filter(|text| fits && !text.contains('\0'))
}
