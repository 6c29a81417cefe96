//! Landing a layer: what a task did becomes part of the chat's files.
//!
//! Promises: the plan is on disk, and that it is carried out is in the database with the end of its task, before the
//! first file moves; whoever starts after a kill carries it out to its end.

use std::fs::File;
use std::io;
use std::path::Path;

use cloister_protocol::{TaskId, TaskState, with_causes};
use cloister_store::audit::Entry;
use cloister_store::layers::{Layer, LayerState};
use cloister_store::tasks::{Ending, Task};
use rustix::fs::{AtFlags, CWD, Stat};
use serde::{Deserialize, Serialize};

use super::Layers;
use super::held::HeldFile;
use super::moving::{MoveStep, Mover, Roots};
use super::place::{BEFORE, HELD, LayerPlace, UNDONE};
use super::plan::{FileChange, Plan, Planning, plan};
use super::scan::{self, LeftOut};
use super::told::{summary, told};
use super::undo::note_undone;
use crate::error::Fault;
use crate::files::remove_tree;
use crate::layout::replace_private;

/// What has landed of a task, and how it can be told again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Landed {
    pub(super) changes: Vec<LandedChange>,
    /// The folders that were made, and how open they are.
    #[serde(default)]
    pub(super) folders: Vec<(String, u32)>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) stayed: Vec<String>,
    /// What did not land with the rest, and waits for a yes.
    #[serde(default)]
    pub(super) held: Vec<HeldFile>,
}

/// A file as the landing left it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LandedChange {
    #[serde(flatten)]
    pub(super) change: FileChange,
    /// What tells it from a later one of the same name; none of one that was removed.
    pub(super) print: Option<FilePrint>,
    /// It is taken back, which left this there.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "some_print")]
    pub(super) undone: Option<Option<FilePrint>>,
}

impl LandedChange {
    /// Where it landed.
    pub(super) fn at(&self) -> &str {
        self.change.beside.as_deref().unwrap_or(&self.change.path)
    }
}

/// A print that may be that of nothing: in a list of its own, so that it is told from none.
mod some_print {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::FilePrint;

    #[expect(clippy::ref_option, clippy::option_option, reason = "serde hands it over so")]
    pub(super) fn serialize<S: Serializer>(
        print: &Option<Option<FilePrint>>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        print.map(|print| [print]).serialize(to)
    }

    #[expect(clippy::option_option, reason = "serde takes it so")]
    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Option<FilePrint>>, D::Error> {
        Ok(Option::<[Option<FilePrint>; 1]>::deserialize(from)?.map(|[print]| print))
    }
}

/// What tells a file from another in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FilePrint {
    inode: u64,
    size: i64,
    written: (i64, i64),
}

impl FilePrint {
    pub(super) fn of(path: &Path) -> io::Result<Option<Self>> {
        match rustix::fs::statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW) {
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(None),
            stat => Ok(Some(Self::from_stat(&stat?))),
        }
    }

    pub(super) fn from_stat(stat: &Stat) -> Self {
        let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
        let written = (stat.st_mtime, nanoseconds);
        Self { inode: stat.st_ino, size: stat.st_size, written }
    }
}

impl Layers {
    /// The end of a task that is done, after its files have landed or joined those of the task above; with what is to
    /// be said of them.
    pub(crate) async fn land(&self, task: &Task, ending: Ending) -> Result<Ending, Fault> {
        let Some(layer) = self.control.store().layers().of(task.id).await? else {
            return Ok(ending);
        };
        if layer.state != LayerState::Open {
            return Ok(ending);
        }
        if let Some(above) = task.parent {
            let joined = self.control.store().layers().join(task.id, above).await?;
            if !joined {
                tracing::warn!(task = %task.id, "the task above is over: what this one did is kept");
                self.control.store().layers().set_state(task.id, LayerState::Kept).await?;
            }
            return Ok(ending);
        }
        if self.is_untouched(&layer).await {
            self.remove(&layer).await?;
            return Ok(ending);
        }
        let landing = self.control.inner.landings.of(task.workspace);
        let _alone = landing.alone.lock().await;
        let plan = match self.plan(&layer).await {
            Ok(plan) => plan,
            Err(error) => {
                tracing::error!(task = %task.id, error = error.chain(), "what a task did can't land");
                self.control.store().layers().set_state(task.id, LayerState::Kept).await?;
                let said = format!(
                    "Its files were not put into the chat's: {}. `/task keep {}` tries again.",
                    error.body().message,
                    task.id
                );
                return Ok(with_line(ending, &said));
            }
        };
        if plan.steps.is_empty() && plan.left_out.is_empty() && plan.stayed.is_empty() {
            self.remove(&layer).await?;
            return Ok(ending);
        }
        let said = [told(task.id, &plan), self.warning(task, &plan).await?].into_iter().flatten();
        let ending = said.fold(ending, |ending, said| with_line(ending, &said));
        let entry = Entry::of_cell((task.workspace, Some(task.id)), "task.land", task.id);
        let entry = entry.with(summary(&plan));
        let states = (LayerState::Open, LayerState::Landing);
        let begun =
            self.control.store().layers().begin_moving(task.id, states, Some(&ending), entry);
        if !begun.await? {
            // Ended meanwhile: nothing has moved.
            return Ok(ending);
        }
        self.carry_out(&Layer { state: LayerState::Landing, ..layer }).await?;
        self.took(task.workspace, plan.taken);
        self.ask_about(task, &plan.held).await;
        Ok(ending)
    }

    /// The end of a task that lands nothing: it says so, if the task did anything.
    pub(crate) async fn say_kept(&self, id: TaskId, ending: Ending) -> Ending {
        if ending.state == TaskState::Done {
            return ending;
        }
        let layer = match self.control.store().layers().of(id).await {
            Ok(Some(layer)) if layer.state == LayerState::Open => layer,
            Ok(_) => return ending,
            Err(error) => {
                tracing::error!(task = %id, error = with_causes(&error), "whether a task did anything is not known");
                return ending;
            }
        };
        if self.is_untouched(&layer).await {
            return ending;
        }
        let line = format!(
            "What it did to files was not put into the chat: `/task diff {id}` shows it, `/task keep {id}` puts it there."
        );
        with_line(ending, &line)
    }

    /// Goes on with what a kill has interrupted.
    pub(crate) async fn take_up(&self) -> Result<(), Fault> {
        let moving = [LayerState::Landing, LayerState::Undoing, LayerState::Redoing];
        for layer in self.control.store().layers().in_states(&moving).await? {
            if let Err(error) = self.carry_out(&layer).await {
                // Tried again at the next start; its task waits for it.
                tracing::error!(task = %layer.task, error = error.chain(), "the files of a task did not all move");
                continue;
            }
            if let Some(ending) = layer.ending {
                self.control.tasks().end_task(layer.task, ending).await?;
            }
        }
        Ok(())
    }

    /// What a landing would do now, on disk before it is answered with.
    pub(super) async fn plan(&self, layer: &Layer) -> Result<Plan, Fault> {
        let failed = "what a task did could not be looked at";
        let (stack, begun_ns, task) = (self.uppers(layer), layer.begun_ns, layer.task);
        let files = self.control.layout().chat_files(layer.workspace, layer.chat);
        let place = LayerPlace::of(self.control.layout(), layer.workspace);
        let holding = self.holding(task).await?;
        let work = move || {
            let scan = scan::scan(&stack).map_err(io::Error::other)?;
            let (layers, files, holding) = (&stack[..], files.as_path(), &holding);
            let planning = Planning { task, scan, layers, files, begun_ns, holding };
            let plan = plan(planning).map_err(io::Error::other)?;
            place.own(task, BEFORE)?;
            place.own(task, UNDONE)?;
            place.own(task, HELD)?;
            let json = serde_json::to_vec(&plan).map_err(io::Error::other)?;
            // What a task wrote is on disk before anything depends on it.
            rustix::fs::syncfs(File::open(place.task(task))?)?;
            replace_private(&place.plan(task), &json)?;
            Ok(plan)
        };
        let planned =
            tokio::task::spawn_blocking(work).await.map_err(Fault::interrupted(failed))?;
        planned.map_err(Fault::io(failed))
    }

    /// Carries out the plan of a layer, and notes that it is.
    pub(super) async fn carry_out(&self, layer: &Layer) -> Result<(), Fault> {
        let failed = "the files of a task could not be moved";
        let (control, of) = (self.control.clone(), layer.clone());
        let uppers = self.uppers(layer);
        let work = move || {
            let layout = control.layout();
            let place = LayerPlace::of(layout, of.workspace);
            let json = std::fs::read(place.plan(of.task))?;
            let plan: Plan = serde_json::from_slice(&json).map_err(io::Error::other)?;
            let files = layout.chat_files(of.workspace, of.chat);
            let give = |file: &File| control.backend().adopt(of.workspace, file);
            let roots = Roots {
                files: files.clone(),
                layers: uppers,
                before: place.own(of.task, BEFORE)?,
                undone: place.own(of.task, UNDONE)?,
                held: place.own(of.task, HELD)?,
                give: &give,
            };
            Mover::new(roots).carry_out(&plan.steps)?;
            note_landed(&place, (&of, plan), &files)
        };
        let moved = tokio::task::spawn_blocking(work).await.map_err(Fault::interrupted(failed))?;
        moved.map_err(Fault::io(failed))?;
        let state = match layer.state {
            LayerState::Undoing => LayerState::Undone,
            _ => LayerState::Landed,
        };
        Ok(self.control.store().layers().set_state(layer.task, state).await?)
    }
}

/// Writes down what has landed, and lets go of the folders that it came from.
fn note_landed(place: &LayerPlace, (layer, plan): (&Layer, Plan), files: &Path) -> io::Result<()> {
    if layer.state != LayerState::Landing {
        return note_undone(place, (layer, &plan), files);
    }
    let mut landed = Landed::default();
    if plan.of_held {
        let before = std::fs::read(place.landed(layer.task))?;
        landed = serde_json::from_slice(&before).map_err(io::Error::other)?;
        let lands = |path: &str| plan.changes.iter().any(|change| change.path == path);
        landed.held.retain(|one| !lands(&one.path));
        landed.changes.retain(|one| !lands(&one.change.path));
    } else {
        landed.held = plan.held;
        landed.left_out = plan.left_out;
        landed.stayed = plan.stayed;
    }
    let folders = plan.steps.into_iter().filter_map(|step| match step {
        MoveStep::Folder { path, mode } => Some((path, mode)),
        MoveStep::NoFolder { .. } | MoveStep::Move { .. } | MoveStep::Copy { .. } => None,
    });
    landed.folders.extend(folders);
    for change in plan.changes {
        let mut change = LandedChange { change, print: None, undone: None };
        change.print = FilePrint::of(&files.join(change.at()))?;
        landed.changes.push(change);
    }
    let json = serde_json::to_vec(&landed).map_err(io::Error::other)?;
    replace_private(&place.landed(layer.task), &json)?;
    for folder in &layer.stack {
        match remove_tree(&place.top(*folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::warn!(task = %layer.task, error = with_causes(&error), "a folder of a layer is left");
            }
            Ok(()) => {}
        }
    }
    Ok(())
}

fn with_line(ending: Ending, line: &str) -> Ending {
    let result = if ending.result.trim().is_empty() {
        line.to_owned()
    } else {
        format!("{}\n\n{line}", ending.result.trim_end())
    };
    Ending { result, ..ending }
}
