//! Files that programs of the person's run: what of a task's does not land with the rest, and waits for a yes.
//!
//! Promises: what others' content may have led to lands only if a person says so, and then exactly what they were shown;
//! the rest of the task does not wait for it.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use cloister_policy::{Interpreted, interpreted, interpreted_link};
use cloister_protocol::TaskId;
use cloister_protocol::admin::FileChangeView;
use cloister_store::Actor;
use cloister_store::audit::Entry;
use cloister_store::layers::{Layer, LayerState};
use cloister_store::tasks::Task;
use ref_cast::RefCast as _;
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::landing::Landed;
use super::moving::{MoveStep, Root};
use super::place::{HELD, LayerPlace, open_files};
use super::plan::{ChangeKind, FileChange, MOST_COMPARED, Plan, blocks_of, read};
use super::print::{self, FilePrint};
use super::pruning::Pruning;
use super::scan::ScanError;
use super::showing::{MOST_DIFF, difference, text_of};
use super::told;
use super::{Alone, Layers};
use crate::error::Fault;
use crate::gates::{ToLand, ask_to_land};
use crate::layout::replace_private;
use crate::tasks::{TaskError, TaskRefusal};

/// Which of the files that programs run land with the rest.
#[derive(Clone, Debug)]
pub(super) enum Holding {
    /// Nothing of others' is in the task: those that the person's words ask for.
    Words(String),
    /// Others' content is in it: none.
    All,
}

impl Holding {
    pub(super) fn lets(&self, runs: &Interpreted, path: &str) -> bool {
        match self {
            Self::Words(words) => runs.is_wanted(path, words),
            Self::All => false,
        }
    }
}

/// A file that waits for a yes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct HeldFile {
    pub(super) path: String,
    size: u64,
    pub(super) why: String,
    /// What was there when it was held back.
    there: Option<FilePrint>,
}

impl HeldFile {
    pub(super) fn of(path: &str, size: u64, why: &str, there: Option<FilePrint>) -> Self {
        Self { path: path.to_owned(), size, why: why.to_owned(), there }
    }

    /// What its landing would be.
    pub(super) fn change(&self) -> FileChange {
        let kind = if self.there.is_some() { ChangeKind::Changed } else { ChangeKind::Added };
        let runs = Some(self.why.clone());
        FileChange { path: self.path.clone(), kind, size: self.size, beside: None, runs }
    }
}

/// What would run a file of a layer where it lands.
pub(super) fn runs_of(
    (upper, path): (&Path, &str),
    at: &str,
) -> Result<Option<Interpreted>, ScanError> {
    let at_worst = interpreted(at, None).or_else(|| interpreted_link(at));
    if at_worst.is_none() {
        return Ok(None);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let upper = rustix::fs::open(upper, flags, Mode::empty())?;
    // What can't be read, a link among it, is as bad as it could be.
    let Some((bytes, mode)) = read(&upper, path)? else { return Ok(at_worst) };
    if FileType::from_raw_mode(mode) != FileType::RegularFile {
        return Ok(at_worst);
    }
    let whole = u64::try_from(bytes.len()).is_ok_and(|length| length <= MOST_COMPARED);
    let text = String::from_utf8(bytes).ok().filter(|_| whole);
    Ok(interpreted(at, text.as_deref()))
}

impl Layers {
    /// What of a task's lands by itself of the files that programs run.
    pub(super) async fn holding(&self, task: TaskId) -> Result<Holding, Fault> {
        let words = self.control.provenance().words_if_trusted(task).await?;
        Ok(words.map_or(Holding::All, Holding::Words))
    }

    /// What is to be said of a task that others' content may have led.
    pub(super) async fn warning(&self, task: &Task, plan: &Plan) -> Result<Option<String>, Fault> {
        let most = self.control.inner.parts.gates.many_files;
        let Some(said) = told::warning(task.id, plan, most) else { return Ok(None) };
        let trusted = self.control.provenance().words_if_trusted(task.id).await?;
        Ok(trusted.is_none().then_some(said))
    }

    /// Asks whether what was held back may land. Unasked it can be kept by its task's name all the same.
    pub(super) async fn ask_about(&self, task: &Task, held: &[HeldFile]) {
        if held.is_empty() {
            return;
        }
        let asked = async {
            let files = self.control.layout().chat_files(task.workspace, task.chat);
            let place = LayerPlace::of(self.control.layout(), task.workspace);
            let (held, id) = (held.to_vec(), task.id);
            let failed = "what was held back could not be looked at";
            let look = move || shown(&held, (&files, &place.own(id, HELD)?));
            let shown = tokio::task::spawn_blocking(look).await;
            let shown = shown.map_err(Fault::interrupted(failed))?.map_err(Fault::io(failed))?;
            ask_to_land(&self.control, task, shown).await
        };
        if let Err(error) = asked.await {
            tracing::error!(task = %task.id, error = error.chain(), "nobody was asked about what a landing held back");
        }
    }

    /// A person has allowed what they were shown.
    pub(crate) async fn land_allowed(
        &self,
        actor: &Actor,
        to_land: &ToLand,
    ) -> Result<(), TaskError> {
        let nothing = || TaskRefusal::NothingKept { id: to_land.held_of };
        let find = || self.control.store().layers().of(to_land.held_of);
        let workspace = find().await?.ok_or_else(nothing)?.workspace;
        let alone = self.control.inner.landings.alone(workspace).await;
        let layer = find().await?.filter(|layer| layer.state == LayerState::Landed);
        let layer = layer.ok_or_else(nothing)?;
        self.land_held(actor, (layer, &alone), Some(to_land.sha256.clone())).await.map(|_files| ())
    }

    /// Lands what was held back; where it was shown, only if it is that. The caller alone lands here.
    pub(super) async fn land_held(
        &self,
        actor: &Actor,
        (layer, alone): (Layer, &Alone),
        shown: Option<String>,
    ) -> Result<Vec<FileChangeView>, TaskError> {
        let (layout, of) = (self.control.layout().clone(), layer.clone());
        let failed = "what was held back could not be looked at";
        let decide = move || {
            let place = LayerPlace::of(&layout, of.workspace);
            let landed: Landed = serde_json::from_slice(&fs::read(place.landed(of.task))?)
                .map_err(io::Error::other)?;
            let held = place.own(of.task, HELD)?;
            if let Some(shown) = shown
                && fingerprint(&landed.held, &held)? != shown
            {
                return Ok(Plan::default());
            }
            let files = open_files(&layout, (of.workspace, of.chat))?;
            let plan = plan_held(&landed.held, &files)?;
            let json = serde_json::to_vec(&plan).map_err(io::Error::other)?;
            match fs::remove_file(place.elsewhere(of.task)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                removed => removed?,
            }
            replace_private(&place.plan(of.task), &json)?;
            io::Result::Ok(plan)
        };
        let plan = tokio::task::spawn_blocking(decide).await;
        let plan = plan.map_err(Fault::interrupted(failed))?.map_err(Fault::io(failed))?;
        if plan.changes.is_empty() {
            return Err(TaskRefusal::NothingKept { id: layer.task }.into());
        }
        let entry = Entry::new(actor, "task.keep", layer.task).with(told::summary(&plan));
        let entry = entry.of_workspace(layer.workspace);
        let states = (LayerState::Landed, LayerState::Landing);
        self.control.inner.landings.may_be_left();
        if self.control.store().layers().begin_moving(layer.task, states, None, entry).await? {
            let workspace = layer.workspace;
            let layer = Layer { state: LayerState::Landing, ending: None, ..layer };
            self.carry_out(&layer, alone).await?;
            Pruning::ref_cast(&self.control).took(workspace, plan.taken);
        }
        Ok(plan.changes.iter().map(told::view).collect())
    }
}

/// The landing of what was held back, but for what somebody changed since: that stays as it is.
fn plan_held(held: &[HeldFile], files: &OwnedFd) -> io::Result<Plan> {
    let mut plan = Plan::default();
    for one in held {
        let at = || one.path.clone();
        if FilePrint::beneath(files, &one.path)? != one.there {
            plan.stayed.push(at());
            continue;
        }
        if let Some(was) = one.there {
            let there = print::open(files, &one.path, OFlags::PATH | OFlags::NOFOLLOW)?;
            let found = rustix::fs::statat(there, "", AtFlags::EMPTY_PATH)?;
            plan.taken = plan.taken.saturating_add(blocks_of(&found));
            let (from, to) = ((Root::Files, at()), (Root::Before, at()));
            plan.steps.push(MoveStep::Move { from, to, was: Some(was) });
        }
        let (from, to) = ((Root::Held, at()), (Root::Files, at()));
        plan.steps.push(MoveStep::Move { from, to, was: None });
        plan.changes.push(one.change());
    }
    Ok(plan)
}

/// What a person is shown of files that were held back.
pub(crate) struct HeldShown {
    pub(crate) names: String,
    pub(crate) diff: String,
    /// Of their names and all that is in them.
    pub(crate) sha256: String,
}

fn shown(held: &[HeldFile], (files, root): (&Path, &Path)) -> io::Result<HeldShown> {
    let mut room = MOST_DIFF;
    let mut diff = String::new();
    for one in held {
        let print = fingerprint(std::slice::from_ref(one), root)?;
        writeln!(diff, "{} ({}), {} bytes, {print}", one.path, one.why, one.size)
            .map_err(io::Error::other)?;
        let both = (text_of(files, &one.path), text_of(root, &one.path));
        match difference(&one.change(), both, &mut room) {
            Some(lines) => diff.push_str(&lines),
            None => diff.push_str("(it can't be shown as text here)\n"),
        }
    }
    let names: Vec<&str> = held.iter().map(|one| one.path.as_str()).collect();
    Ok(HeldShown { names: names.join(", "), diff, sha256: fingerprint(held, root)? })
}

/// Of the names of files and what is in them, of links where they lead.
fn fingerprint(held: &[HeldFile], root: &Path) -> io::Result<String> {
    let mut all = Sha256::new();
    for one in held {
        let path = root.join(&one.path);
        let meta = fs::symlink_metadata(&path)?;
        let mut content = Sha256::new();
        if meta.is_symlink() {
            content.update(fs::read_link(&path)?.as_os_str().as_encoded_bytes());
        } else {
            io::copy(&mut fs::File::open(&path)?, &mut content)?;
        }
        all.update(Sha256::digest(one.path.as_bytes()));
        all.update([u8::from(meta.is_symlink())]);
        all.update(content.finalize());
    }
    Ok(all.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}
