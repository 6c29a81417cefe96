use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cloister_policy::engine::ChatCall;
use cloister_protocol::{TaskId, TaskState};
use cloister_store::tasks::{Ending, Task};
use cloister_testkit::rows;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rustix::fs::{AtFlags, CWD, FileType, Mode};

use super::*;
use crate::layers::plan::nanoseconds;
use crate::ports::Access;
use crate::test_world::{C1, World};

const MEMORY: &str = "# What to keep in mind\n\n- from before\n";

fn actor() -> Actor {
    Actor::person("test")
}

/// Tasks that land one after the other in a chat of Ada's.
pub(crate) struct Tasks(pub(crate) World);

impl Tasks {
    pub(crate) async fn new() -> Self {
        let world = World::new().await;
        let workspace = world.ada.workspace;
        world.control.cells().prepare_workspace(workspace, vec![C1]).await.unwrap();
        let tasks = Self(world);
        tasks.remember(None, MEMORY).await;
        tasks
    }

    pub(crate) fn store(&self) -> &cloister_store::Store {
        self.0.store()
    }

    pub(crate) fn layers(&self) -> Layers {
        self.0.control.tasks().layers().clone()
    }

    pub(crate) fn workspace(&self) -> cloister_protocol::WorkspaceId {
        self.0.ada.workspace
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.0.control.layout().chat_files(self.0.ada.workspace, C1).join(path)
    }

    /// Everything so far is before what comes next, as the file system counts.
    fn tick(&self) {
        let mark = self.0.control.layout().root().join("tick");
        let ctime = || {
            fs::write(&mark, "x").unwrap();
            nanoseconds(&rustix::fs::statat(CWD, &mark, AtFlags::empty()).unwrap())
        };
        let first = ctime();
        while ctime() == first {}
    }

    pub(crate) async fn begin(&self) -> (Task, PathBuf) {
        let store = self.0.store();
        let new = rows::task((self.0.ada.workspace, C1), self.0.ada.id);
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let key = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string();
        let made = store.tasks().delegate(new, "undo", &key).await.unwrap();
        let task = store.tasks().start_next().await.unwrap().unwrap();
        assert_eq!(task.id, made.id);
        self.tick();
        let target = Path::new("/workspace/chat");
        let mount = self.0.control.tasks().layers().open(&task, target).await.unwrap();
        let writes = match mount.access {
            Access::Layered(layer) => layer.top.join("upper"),
            Access::ReadOnly | Access::ReadWrite => mount.source,
        };
        (task, writes)
    }

    pub(crate) async fn end(&self, task: &Task, state: TaskState) {
        let layers = self.0.control.tasks().layers();
        let ending =
            Ending { state, result: "done".to_owned(), not_shown: vec![], known_to_person: true };
        let ending = match state {
            TaskState::Done => layers.land(task, ending).await.unwrap(),
            _ => ending,
        };
        assert!(self.0.store().tasks().end_task(task.id, ending).await.unwrap().is_some());
        layers.set_aside(task).await.unwrap();
    }

    /// What is kept in mind from now on, by a task or by hand.
    pub(crate) async fn remember(&self, task: Option<TaskId>, text: &str) {
        let (workspace, control) = (self.0.ada.workspace, &self.0.control);
        if let Some(task) = task {
            let before = self.memory();
            let documents = control.store().task_documents();
            documents.note((workspace, task), "MEMORY.md", Some(&before), text).await.unwrap();
        }
        let change = crate::config::VersionedChange {
            workspace,
            path: "MEMORY.md".to_owned(),
            text: text.to_owned(),
            why: "the test".to_owned(),
        };
        control.config().write_versioned(&actor(), change).await.unwrap();
    }

    pub(crate) fn memory(&self) -> String {
        let dir = self.0.control.layout().workspace(self.0.ada.workspace);
        fs::read_to_string(dir.join("MEMORY.md")).unwrap()
    }

    pub(crate) async fn undo(&self, id: TaskId, wish: UndoWish) -> Result<UndoView, TaskError> {
        self.asked(id, (wish, false)).await
    }

    async fn asked(&self, id: TaskId, wish: (UndoWish, bool)) -> Result<UndoView, TaskError> {
        let (tasks, place) = (self.0.control.tasks(), (self.0.ada.workspace, C1));
        let reached = tasks.task_in_chat(self.0.ada.id, ChatCall::RetryTask, place, id).await?;
        tasks.layers().undo(&actor(), &reached, wish).await
    }

    pub(crate) fn files(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(self.at("")).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                found.insert(name, fs::read_to_string(path).unwrap());
            }
        }
        found
    }
}

fn white_out(at: &Path) {
    rustix::fs::mknodat(CWD, at, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
}

/// What a task does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Deed {
    Nothing,
    Writes,
    Removes,
}

const NAMES: [&str; 3] = ["a", "b", "c"];

fn deeds() -> impl Strategy<Value = Vec<(Vec<Deed>, bool)>> {
    let deed = prop_oneof![Just(Deed::Nothing), Just(Deed::Writes), Just(Deed::Removes)];
    let of_task = (prop::collection::vec(deed, NAMES.len()), any::<bool>());
    prop::collection::vec(of_task, 3)
}

/// A file as each task that changed it found and left it, the oldest first; whose change is in force.
type Chain = Vec<(usize, Option<String>, Option<String>, bool)>;

/// What should be there.
struct Expected {
    chains: BTreeMap<&'static str, Chain>,
    first: BTreeMap<&'static str, String>,
    remembers: Vec<bool>,
}

impl Expected {
    fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        for name in NAMES {
            let chain = self.chains.get(name);
            let last = chain.and_then(|chain| chain.iter().rev().find(|one| one.3));
            let said = match last {
                Some((_, _, after, _)) => after.clone(),
                None => self.first.get(name).cloned(),
            };
            if let Some(said) = said {
                files.insert(name.to_owned(), said);
            }
        }
        files
    }

    fn memory(&self) -> String {
        let kept = self.remembers.iter().enumerate().filter(|(_, kept)| **kept);
        MEMORY.to_owned()
            + &kept.map(|(task, _)| format!("- from task {task}\n")).collect::<String>()
    }

    /// What an undo takes back, and what it can't because somebody changed it since.
    fn undo(&mut self, task: usize) -> (BTreeSet<String>, BTreeSet<String>) {
        let (mut done, mut collides) = (BTreeSet::new(), BTreeSet::new());
        for (name, chain) in &mut self.chains {
            let Some(at) = chain.iter().position(|one| one.0 == task) else { continue };
            if chain.iter().skip(at + 1).any(|later| later.3) {
                collides.insert((*name).to_owned());
            } else {
                chain[at].3 = false;
                done.insert((*name).to_owned());
            }
        }
        (done, collides)
    }
}

async fn set_up(deeds: &[(Vec<Deed>, bool)]) -> (Tasks, Vec<TaskId>, Expected) {
    let tasks = Tasks::new().await;
    let mut now: BTreeMap<&'static str, String> = BTreeMap::new();
    for name in &NAMES[..2] {
        fs::write(tasks.at(name), "from before").unwrap();
        now.insert(name, "from before".to_owned());
    }
    let (chains, first, mut ids) = (BTreeMap::new(), now.clone(), Vec::new());
    let mut expected = Expected { chains, first, remembers: vec![false; deeds.len()] };
    for (number, (of_files, remembers)) in deeds.iter().enumerate() {
        let (task, upper) = tasks.begin().await;
        for (name, deed) in NAMES.iter().zip(of_files) {
            let before = now.get(name).cloned();
            match deed {
                Deed::Writes => {
                    let said = format!("{name} of task {number}");
                    fs::write(upper.join(name), &said).unwrap();
                    now.insert(name, said);
                }
                Deed::Removes if before.is_some() => {
                    white_out(&upper.join(name));
                    now.remove(name);
                }
                Deed::Removes | Deed::Nothing => continue,
            }
            let chain = expected.chains.entry(name).or_default();
            chain.push((number, before, now.get(name).cloned(), true));
        }
        if *remembers {
            expected.remembers[number] = true;
            let text = format!("{}- from task {number}\n", tasks.memory());
            tasks.remember(Some(task.id), &text).await;
        }
        tasks.end(&task, TaskState::Done).await;
        ids.push(task.id);
    }
    assert_eq!(tasks.files(), expected.files());
    (tasks, ids, expected)
}

fn names(view: &UndoView) -> BTreeSet<String> {
    view.files.iter().map(|file| file.path.clone()).collect()
}

const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Three tasks that change the same and other files are taken back in every order, and brought back in the opposite
/// one: what a later task made of a file stays and is named, and in the end all is as it was.
#[test]
fn tasks_are_taken_back_in_any_order() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(ProptestConfig { cases: 8, ..ProptestConfig::default() });
    let run = |deeds: Vec<(Vec<Deed>, bool)>| {
        runtime.block_on(Box::pin(async {
            let (tasks, ids, mut expected) = set_up(&deeds).await;
            let all = (tasks.files(), tasks.memory());
            for order in ORDERS {
                let mut undone = Vec::new();
                for task in order {
                    let (done, collides) = expected.undo(task);
                    let had = !done.is_empty() || !collides.is_empty() || deeds[task].1;
                    let before = (tasks.files(), tasks.memory());
                    let dry = tasks.asked(ids[task], (UndoWish::Back, true)).await;
                    assert_eq!((tasks.files(), tasks.memory()), before, "only asked");
                    let view = tasks.undo(ids[task], UndoWish::Back).await;
                    assert_eq!(view.is_ok(), had, "{view:?}");
                    expected.remembers[task] = false;
                    if let (Ok(view), Ok(dry)) = (view, dry) {
                        assert_eq!((names(&dry), &dry.collides), (names(&view), &view.collides));
                        assert_eq!(names(&view), done);
                        assert_eq!(
                            view.collides.iter().cloned().collect::<BTreeSet<_>>(),
                            collides
                        );
                        assert_eq!(view.documents.len(), usize::from(deeds[task].1));
                        undone.push((task, view.done, done));
                    }
                    assert_eq!(tasks.files(), expected.files(), "{order:?} {task}");
                    assert_eq!(tasks.memory(), expected.memory(), "{order:?} {task}");
                }
                for (task, was_done, files) in undone.into_iter().rev() {
                    if !was_done {
                        continue;
                    }
                    let view = tasks.undo(ids[task], UndoWish::Turn).await.unwrap();
                    assert!(view.again && view.collides.is_empty(), "{view:?}");
                    assert_eq!(names(&view), files);
                    for chain in expected.chains.values_mut() {
                        let its = |one: &&mut (usize, _, _, bool)| one.0 == task;
                        chain.iter_mut().find(its).into_iter().for_each(|one| one.3 = true);
                    }
                    expected.remembers[task] = deeds[task].1;
                }
                assert_eq!((tasks.files(), tasks.memory()), all, "{order:?}");
            }
        }));
        Ok(())
    };
    runner.run(&deeds(), run).unwrap();
}

/// What a person wrote into the same document since stays; in the same line it collides, and is named.
#[tokio::test]
async fn what_a_person_wrote_into_a_document_since_stays() {
    let tasks = Tasks::new().await;
    let (task, _upper) = tasks.begin().await;
    tasks.remember(Some(task.id), &format!("{MEMORY}- of the task\n")).await;
    tasks.end(&task, TaskState::Failed).await;
    tasks.remember(None, &format!("{MEMORY}- of the task\n- of a person\n")).await;
    let chat = (tasks.0.ada.workspace, C1);
    let layers = tasks.layers();
    assert_eq!(layers.last_landed(chat).await.unwrap(), Some(task.id), "though it failed");
    let view = tasks.undo(task.id, UndoWish::Turn).await.unwrap();
    assert_eq!((view.documents.len(), view.done), (1, true), "{view:?}");
    assert_eq!(tasks.memory(), format!("{MEMORY}- of a person\n"));
    assert_eq!(layers.standing(task.id).await.unwrap(), Some(super::super::TaskStanding::Undone));
    tasks.undo(task.id, UndoWish::Turn).await.unwrap();
    assert_eq!(tasks.memory(), format!("{MEMORY}- of the task\n- of a person\n"));
    tasks.remember(None, &format!("{MEMORY}- of the task, and corrected\n")).await;
    let view = tasks.undo(task.id, UndoWish::Turn).await.unwrap();
    assert_eq!((view.collides.as_slice(), view.done), (["MEMORY.md".to_owned()].as_slice(), false));
    assert!(tasks.memory().contains("and corrected"));
}

/// A kill while an undo is under way leaves nothing half: the start goes on with files and documents.
#[tokio::test]
async fn an_undo_that_was_killed_is_gone_on_with() {
    let tasks = Tasks::new().await;
    let (task, upper) = tasks.begin().await;
    fs::write(upper.join("new"), "new").unwrap();
    tasks.remember(Some(task.id), &format!("{MEMORY}- of the task\n")).await;
    tasks.end(&task, TaskState::Done).await;
    let layers = tasks.layers();
    let layer = tasks.store().layers().of(task.id).await.unwrap().unwrap();
    // As far as the journal, and no further.
    layers.decide(&layer, false).await.unwrap();
    let states = (LayerState::Landed, LayerState::Undoing);
    let entry = Entry::new(&actor(), "task.undo", task.id).of_workspace(task.workspace);
    assert!(tasks.store().layers().begin_moving(task.id, states, None, entry).await.unwrap());
    layers.take_up().await.unwrap();
    assert_eq!((tasks.files().len(), tasks.memory().as_str()), (0, MEMORY));
    let view = tasks.undo(task.id, UndoWish::Turn).await.unwrap();
    assert!(view.again, "{view:?}");
    assert_eq!(tasks.files().get("new").map(String::as_str), Some("new"));
}

/// What left the machine is named in the dry run and in the answer, and what only read is not.
#[tokio::test]
async fn what_left_the_machine_is_named_and_not_undone() {
    let tasks = Tasks::new().await;
    let (task, upper) = tasks.begin().await;
    fs::write(upper.join("new"), "new").unwrap();
    tasks.end(&task, TaskState::Done).await;
    let (other, _upper) = tasks.begin().await;
    let audit = tasks.store().audit();
    let of = |task: &Task| (task.workspace, Some(task.id));
    for (whose, detail) in [
        (&task, "GET https://news.test/ 12ab"),
        (&task, "POST https://shop.test/order 34cd"),
        (&other, "POST https://other.test/ 56ef"),
    ] {
        let entry = Entry::of_cell(of(whose), "egress.request", "shop.test").with(detail);
        audit.record(entry).await.unwrap();
    }
    let sent = Entry::of_cell(of(&task), "file.send", "files/report.pdf").with("report.pdf: ab");
    audit.record(sent).await.unwrap();
    for dry_run in [true, false] {
        let view = tasks.asked(task.id, (UndoWish::Turn, dry_run)).await.unwrap();
        assert_eq!(view.outward, ["POST https://shop.test/order", "report.pdf"], "{view:?}");
    }
}
