use super::*;
use crate::actor::Actor;
use crate::db::Store;
use crate::tasks::{NewTask, Task};
use crate::test_world;

async fn world() -> (tempfile::TempDir, Store, Task, Task) {
    let (dir, store) = test_world::store().await;
    let user = test_world::add(&store, "ada").await;
    store.chats().new_chat(&Actor::person("ada"), user.workspace, "", None).await.unwrap();
    let new = |parent| NewTask {
        workspace: user.workspace,
        chat: ChatId::from_number(1),
        person: user.id,
        parent,
        turn: cloister_protocol::TurnId::of_message(1),
        title: "t".into(),
        instructions: "i".into(),
        request: String::new(),
        files: vec![],
        plan_first: false,
        budget: 1,
        hosts: None,
        secrets: None,
        marks: vec![],
    };
    let above = store.tasks().delegate(new(None), "s", "1").await.unwrap();
    let below = store.tasks().delegate(new(Some(above.id)), "s", "2").await.unwrap();
    (dir, store, above, below)
}

fn done(result: &str) -> Ending {
    Ending {
        state: TaskState::Done,
        result: result.into(),
        not_shown: vec![],
        known_to_person: false,
    }
}

fn key(task: &Task) -> (WorkspaceId, ChatId, TaskId) {
    (task.workspace, task.chat, task.id)
}

fn entry(task: &Task) -> Entry {
    Entry::of_cell((task.workspace, Some(task.id)), "task.land", task.id)
}

/// Whoever starts after a kill knows how the task ends; nobody else ends it meanwhile.
#[tokio::test]
async fn a_task_whose_files_land_ends_as_was_written_before() {
    let (_dir, store, task, _below) = world().await;
    let layers = store.layers();
    let states = (LayerState::Open, LayerState::Landing);
    layers.open(key(&task), 5).await.unwrap();
    let early = layers.begin_moving(task.id, states, Some(&done("early")), entry(&task)).await;
    assert!(!early.unwrap(), "it does not run");
    store.tasks().start_next().await.unwrap().unwrap();
    assert!(layers.begin_moving(task.id, states, Some(&done("ok")), entry(&task)).await.unwrap());
    let again = layers.begin_moving(task.id, states, Some(&done("twice")), entry(&task)).await;
    assert!(!again.unwrap());
    let cancelled = Ending { state: TaskState::Cancelled, ..done("cancelled") };
    assert!(store.tasks().end_task(task.id, cancelled).await.unwrap().is_none());
    let moving = layers.in_states(&[LayerState::Landing]).await.unwrap();
    let [layer] = moving.as_slice() else { panic!("{moving:?}") };
    let ending = layer.ending.clone().unwrap();
    assert_eq!((ending.state, ending.result.as_str()), (TaskState::Done, "ok"));
    assert_eq!(store.tasks().requeue_running().await.unwrap(), 0, "it is done: nothing runs again");
    assert!(store.tasks().end_task(task.id, ending).await.unwrap().is_some());
    assert_eq!(layers.of(task.id).await.unwrap().unwrap().state, LayerState::Landed);
    assert!(layers.in_states(&[LayerState::Landing]).await.unwrap().is_empty());
}

/// What a sub-task did lies over what the task above did, and under what that does next.
#[tokio::test]
async fn the_layer_of_a_sub_task_joins_that_of_the_task_above() {
    let (_dir, store, above, below) = world().await;
    let layers = store.layers();
    layers.open(key(&above), 5).await.unwrap();
    assert_eq!(layers.open(key(&above), 6).await.unwrap().stack.len(), 1, "again it is the same");
    layers.open(key(&below), 7).await.unwrap();
    assert!(layers.join(below.id, above.id).await.unwrap());
    assert!(!layers.join(below.id, above.id).await.unwrap(), "once");
    let layer = layers.open(key(&above), 8).await.unwrap();
    let own = |number| LayerFolder { task: above.id, number };
    assert_eq!(layer.stack, [own(1), LayerFolder { task: below.id, number: 1 }, own(2)]);
    assert_eq!(layer.begun_ns, 5);
}
