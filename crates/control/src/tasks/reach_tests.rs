use cloister_protocol::ErrorCode;
use cloister_store::Actor;
use cloister_store::tasks::NewTask;
use cloister_store::users::User;
use cloister_testkit::rows;

use super::*;
use crate::test_world::{C1, World};

/// A task that waits in the queue of this chat.
pub(crate) async fn queued(world: &World, chat: (WorkspaceId, ChatId), person: &User) -> TaskId {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let key = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed).to_string();
    let title = format!("work in {} {}", chat.0, chat.1);
    let task = NewTask { title, ..rows::task(chat, person.id) };
    world.store().tasks().delegate(task, "reach tests", &key).await.unwrap().id
}

/// A cancel was authorised for the socket's chat, and acted anywhere in the workspace.
#[tokio::test]
async fn a_cancel_acts_in_its_own_chat_alone() {
    let world = World::new().await;
    world.role(&world.bob, "member").await;
    let club = world.club.workspace;
    let other = world
        .store()
        .chats()
        .new_chat(&Actor::person("test"), club, "other", None)
        .await
        .unwrap()
        .id;
    let (here, there) = ((club, C1), (club, other));
    let bob = &world.bob;
    let theirs = queued(&world, there, bob).await;
    let own = queued(&world, here, bob).await;
    let ada = queued(&world, (world.ada.workspace, C1), &world.ada).await;
    let reach = |id| world.control.tasks().task_in_chat(bob.id, ChatCall::CancelTask, here, id);
    for id in [theirs, ada, TaskId::from_number(999)] {
        let refused = reach(id).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::NotFound);
        assert_eq!(refused.body().message, format!("there is no task {id}"), "the same words");
    }
    let reached = reach(own).await.unwrap();
    assert_eq!(
        world.control.tasks().cancel_task(&Actor::person("bob"), &reached).await.unwrap(),
        [own]
    );
    let state = world.store().tasks().task(theirs).await.unwrap().state;
    assert_eq!(state, cloister_protocol::TaskState::Queued);

    let row = world.stored(there, bob, "hello", None).await;
    let turn = TurnId::of_trigger(&row.trigger().unwrap());
    let refused = world.control.tasks().cancel_turn_in_chat(bob.id, here, &turn).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::NotFound);
    world.control.tasks().cancel_turn_in_chat(bob.id, there, &turn).await.unwrap();
    let nobodys = "t-m12345".parse().unwrap();
    let missing =
        world.control.tasks().cancel_turn_in_chat(bob.id, here, &nobodys).await.unwrap_err();
    assert_eq!(missing.code(), ErrorCode::NotFound);
    // Who may do nothing there does nothing there.
    let ada =
        world.control.tasks().cancel_turn_in_chat(world.ada.id, there, &turn).await.unwrap_err();
    assert_eq!(ada.code(), ErrorCode::Forbidden);
}
