//! Landing a layer: what a task did becomes part of the chat's files.
//!
//! Promises: the plan is on disk, and that it is carried out is in the database with the end of its task, before the
//! first file moves; whoever starts after a kill carries it out to its end.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use cloister_protocol::{TaskId, TaskState, with_causes};
use cloister_store::audit::Entry;
use cloister_store::layers::{Layer, LayerState};
use cloister_store::tasks::{Ending, Task};
use ref_cast::RefCast as _;
use rustix::fs::{AtFlags, CWD};
use serde::{Deserialize, Serialize};

use super::held::HeldFile;
use super::moving::{Elsewhere, MoveStep, Mover, Roots};
use super::place::{BEFORE, HELD, LayerPlace, UNDONE, open_files};
use super::plan::{ChangeKind, FileChange, Plan, Planning, nanoseconds, plan};
use super::print::FilePrint;
use super::pruning::Pruning;
use super::scan::{self, Closed, LeftOut, ScanError};
use super::told::{otherwise, summary, told};
use super::undo::note_undone;
use super::{Alone, Layers};
use crate::error::Fault;
use crate::files::remove_tree;
use crate::layout::replace_private;
use crate::tasks::{TaskError, TaskRefusal};

/// What has landed of a task, and how it can be told again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Landed {
    pub(super) changes: Vec<LandedChange>,
    /// The folders that were made, and how open they are.
    #[serde(default)]
    pub(super) folders: Vec<(String, u32)>,
    /// Those that are gone.
    #[serde(default)]
    pub(super) lost: Vec<(String, u32)>,
    pub(super) left_out: Vec<LeftOut>,
    pub(super) stayed: Vec<String>,
    /// What went otherwise than planned.
    #[serde(default)]
    otherwise: Option<String>,
    /// When it landed, as the file system counts.
    #[serde(default)]
    pub(super) landed_ns: i64,
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

impl Landed {
    /// Whether a file waits for a yes.
    fn holds(&self, path: &str) -> bool {
        self.held.iter().any(|one| one.path == path)
    }

    /// The same after some of what was held back has landed, too.
    fn with_held(mut self, more: Self) -> Self {
        let lands = |path: &str| more.changes.iter().any(|one| one.change.path == path);
        self.held.retain(|one| !lands(&one.path));
        self.changes.retain(|one| !lands(&one.change.path));
        self.changes.extend(more.changes);
        self.folders.extend(more.folders);
        self.otherwise = more.otherwise;
        self
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
            if joined {
                return Ok(ending);
            }
            tracing::warn!(task = %task.id, "the task above is over: what this one did is kept");
            self.control.store().layers().set_state(task.id, LayerState::Kept).await?;
            let said = format!(
                "The task above is over: what this one did to files was not put into the chat. `/task diff {0}` shows \
                 it, `/task keep {0}` puts it there.",
                task.id
            );
            return Ok(with_line(ending, &said));
        }
        if self.is_untouched(&layer).await {
            self.remove(&layer).await?;
            return Ok(ending);
        }
        let alone = self.control.inner.landings.alone(task.workspace).await;
        let plan = match self.plan(&layer).await {
            Ok(plan) => plan,
            Err(error) => {
                tracing::error!(task = %task.id, error = error.chain(), "what a task did can't land");
                self.control.store().layers().set_state(task.id, LayerState::Kept).await?;
                let said = format!(
                    "Its files were not put into the chat's: {0}. `/task keep {1}` tries again, `/task drop {1}` \
                     lets go of them.",
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
        self.control.inner.landings.may_be_left();
        let begun =
            self.control.store().layers().begin_moving(task.id, states, Some(&ending), entry);
        if !begun.await? {
            // Ended meanwhile: nothing has moved.
            return Ok(ending);
        }
        let layer = Layer { state: LayerState::Landing, ending: Some(ending.clone()), ..layer };
        let otherwise = self.carry_out(&layer, &alone).await?;
        Pruning::ref_cast(&self.control).took(task.workspace, plan.taken);
        self.ask_about(task, &plan.held).await;
        Ok(with_lines(ending, otherwise))
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
            "What it did to files was not put into the chat: `/task diff {id}` shows it, `/task keep {id}` puts it there, `/task drop {id}` lets go of it."
        );
        with_line(ending, &line)
    }

    /// What a landing would do now, on disk before it is answered with.
    pub(super) async fn plan(&self, layer: &Layer) -> Result<Plan, TaskError> {
        let failed = "what a task did could not be looked at";
        let holding = self.holding(layer.task).await?;
        let (control, of, stack) = (self.control.clone(), layer.clone(), self.uppers(layer));
        let work = move || -> Result<Plan, ScanError> {
            let scan = scan::scan(&stack, Closed::Open)?;
            let files = open_files(control.layout(), (of.workspace, of.chat))?;
            let (task, begun_ns, holding) = (of.task, of.begun_ns, &holding);
            let plan = plan(Planning { task, scan, layers: &stack, files, begun_ns, holding })?;
            let place = LayerPlace::of(control.layout(), of.workspace);
            place.own(task, BEFORE)?;
            place.own(task, UNDONE)?;
            place.own(task, HELD)?;
            let json = serde_json::to_vec(&plan).map_err(io::Error::other)?;
            // What a task wrote is on disk before anything depends on it.
            rustix::fs::syncfs(File::open(place.task(task))?)?;
            match std::fs::remove_file(place.elsewhere(task)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
            replace_private(&place.plan(task), &json)?;
            Ok(plan)
        };
        let planned =
            tokio::task::spawn_blocking(work).await.map_err(Fault::interrupted(failed))?;
        let plan = match planned {
            Ok(plan) => plan,
            Err(ScanError::TooMuch) => return Err(TaskRefusal::TooMuchToLand.into()),
            Err(ScanError::Io(error)) => return Err(Fault::io(failed)(error).into()),
        };
        self.has_room(layer, &plan).await?;
        Ok(plan)
    }

    /// Refuses what would make a workspace larger than it may be. What lies in a layer is counted already; what lands
    /// with several names is copied, and what is taken away is not counted any more.
    async fn has_room(&self, layer: &Layer, plan: &Plan) -> Result<(), TaskError> {
        let user = self.control.store().users().user_of(layer.workspace).await?;
        let (quota, used) =
            (user.limits.quota_bytes, self.control.cells().measure(layer.workspace).await?);
        let after = used.saturating_add(plan.copied).saturating_sub(plan.taken);
        let grows = plan.brought.saturating_add(plan.copied) > plan.taken;
        if grows && after > quota {
            let (used_mb, quota_mb) = (after >> 20, quota >> 20);
            return Err(TaskRefusal::NoRoomToLand { used_mb, quota_mb }.into());
        }
        Ok(())
    }

    /// Carries out the plan of a layer, and notes that it is; what went otherwise than planned. A landing with an end of
    /// its task is noted with that, so that no kill lies between the two.
    pub(super) async fn carry_out(
        &self,
        layer: &Layer,
        alone: &Alone,
    ) -> Result<Option<String>, Fault> {
        let failed = "the files of a task could not be moved";
        let (control, of, alone) = (self.control.clone(), layer.clone(), alone.clone());
        let uppers = self.uppers(layer);
        let work = move || {
            // Whoever stops waiting for it does not stop it, and nobody else moves files before it is done.
            let _alone = alone;
            let layout = control.layout();
            let place = LayerPlace::of(layout, of.workspace);
            let json = std::fs::read(place.plan(of.task))?;
            let plan: Plan = serde_json::from_slice(&json).map_err(io::Error::other)?;
            let files = open_files(layout, (of.workspace, of.chat))?;
            let elsewhere = read_elsewhere(&place, of.task)?;
            let roots = Roots {
                task: of.task,
                files: files.try_clone()?,
                layers: uppers.iter().map(|sheet| sheet.files().to_owned()).collect(),
                before: place.own(of.task, BEFORE)?,
                undone: place.own(of.task, UNDONE)?,
                held: place.own(of.task, HELD)?,
                give: &|file: &File| control.backend().adopt(of.workspace, file),
                note: &|elsewhere: &Elsewhere| {
                    let json = serde_json::to_vec(elsewhere).map_err(io::Error::other)?;
                    replace_private(&place.elsewhere(of.task), &json)
                },
            };
            let elsewhere = Mover::new(roots, elsewhere).carry_out(&plan.steps)?;
            note_landed(&place, (&of, plan), (&files, &elsewhere))
        };
        let moved = tokio::task::spawn_blocking(work).await.map_err(Fault::interrupted(failed))?;
        let otherwise = moved.map_err(Fault::io(failed))?;
        let state = match layer.state {
            LayerState::Undoing => LayerState::Undone,
            LayerState::Landing if layer.ending.is_some() => return Ok(otherwise),
            _ => LayerState::Landed,
        };
        self.control.store().layers().set_state(layer.task, state).await?;
        Ok(otherwise)
    }
}

/// When a file of our own was made; now, if it was not.
fn marked_ns(mark: &Path) -> io::Result<i64> {
    File::options().create(true).append(true).open(mark)?;
    Ok(nanoseconds(&rustix::fs::statat(CWD, mark, AtFlags::empty())?))
}

fn read_elsewhere(place: &LayerPlace, task: TaskId) -> io::Result<Elsewhere> {
    match std::fs::read(place.elsewhere(task)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Elsewhere::new()),
        json => serde_json::from_slice(&json?).map_err(io::Error::other),
    }
}

/// Writes down what has landed, and lets go of the folders that it came from. Says what went otherwise than planned.
fn note_landed(
    place: &LayerPlace,
    (layer, plan): (&Layer, Plan),
    (files, elsewhere): (&OwnedFd, &Elsewhere),
) -> io::Result<Option<String>> {
    if layer.state != LayerState::Landing {
        return note_undone(place, (layer, &plan), files).map(|()| None);
    }
    let noted = match std::fs::read(place.landed(layer.task)) {
        Ok(json) => Some(serde_json::from_slice::<Landed>(&json).map_err(io::Error::other)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let waits = |noted: &Landed| plan.changes.iter().any(|one| noted.holds(&one.path));
    let landed = match noted {
        // Noted before a kill: whoever changed something since then is not taken for the task.
        Some(noted) if !waits(&noted) => noted,
        noted => {
            let landed_ns = marked_ns(&place.task(layer.task).join("landed"))?;
            let landed = Landed { landed_ns, ..landed(layer.task, plan, (files, elsewhere))? };
            let landed = match noted {
                Some(noted) => noted.with_held(landed),
                None => landed,
            };
            let json = serde_json::to_vec(&landed).map_err(io::Error::other)?;
            replace_private(&place.landed(layer.task), &json)?;
            landed
        }
    };
    for folder in &layer.stack {
        match remove_tree(&place.top(*folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::warn!(task = %layer.task, error = with_causes(&error), "a folder of a layer is left");
            }
            Ok(()) => {}
        }
        for noted in [place.seen(*folder), place.size(*folder)] {
            match std::fs::remove_file(noted) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
    }
    Ok(landed.otherwise)
}

/// What a plan has become.
fn landed(
    task: TaskId,
    plan: Plan,
    (files, elsewhere): (&OwnedFd, &Elsewhere),
) -> io::Result<Landed> {
    let folders = plan.steps.into_iter().filter_map(|step| match step {
        MoveStep::Folder { path, mode } => Some((path, mode)),
        MoveStep::NoFolder { .. } | MoveStep::Move { .. } | MoveStep::Copy { .. } => None,
    });
    let mut landed = Landed {
        changes: Vec::new(),
        folders: folders.collect(),
        lost: plan.lost,
        left_out: plan.left_out,
        stayed: plan.stayed,
        otherwise: None,
        landed_ns: 0,
        held: plan.held,
    };
    let (mut beside, mut stayed) = (Vec::new(), Vec::new());
    for mut change in plan.changes {
        let planned = change.beside.as_deref().unwrap_or(&change.path);
        if let Some(other) = elsewhere.get(planned).filter(|_| change.kind != ChangeKind::Removed) {
            change = FileChange { kind: ChangeKind::Added, beside: Some(other.clone()), ..change };
            beside.push(change.clone());
        }
        let mut change = LandedChange { change, print: None, undone: None };
        change.print = FilePrint::beneath(files, change.at())?;
        if change.change.kind == ChangeKind::Removed && change.print.is_some() {
            stayed.push(change.change.path);
        } else {
            landed.changes.push(change);
        }
    }
    landed.otherwise = otherwise(task, &beside, &stayed);
    landed.stayed.extend(stayed);
    Ok(landed)
}

pub(super) fn with_lines(ending: Ending, lines: Option<String>) -> Ending {
    match lines {
        Some(lines) => with_line(ending, &lines),
        None => ending,
    }
}

fn with_line(ending: Ending, line: &str) -> Ending {
    let result = if ending.result.trim().is_empty() {
        line.to_owned()
    } else {
        format!("{}\n\n{line}", ending.result.trim_end())
    };
    Ending { result, ..ending }
}
