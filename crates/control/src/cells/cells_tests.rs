use cloister_store::Actor;

use crate::test_world::World;

/// A8: who stopped a cell stands in the audit.
#[tokio::test]
async fn who_stops_a_cell_is_recorded() {
    let world = World::new().await;
    let (root, workspace) = (Actor::person("root"), world.club.workspace);
    world.control.cells().stop_cell(&root, workspace).await.unwrap();
    let entries = world.store().audit().audit_tail(10).await.unwrap();
    let stopped = entries.iter().find(|entry| entry.action == "cell.stop").unwrap();
    assert_eq!((stopped.actor.as_str(), stopped.subject.clone()), ("root", workspace.to_string()));
}
