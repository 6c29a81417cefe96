use super::*;

const ONE: WorkspaceId = WorkspaceId::from_number(1);
const TWO: WorkspaceId = WorkspaceId::from_number(2);

#[tokio::test]
async fn so_many_of_one_workspace_run_and_the_next_waits_in_order() {
    let slots = Slots::default();
    let first = slots.try_take(ONE, 2).unwrap();
    let second = slots.try_take(ONE, 2).unwrap();
    assert!(slots.try_take(ONE, 2).is_none() && !slots.is_wanted(ONE));
    assert!(slots.try_take(TWO, 2).is_some(), "another workspace has its own");

    let mut third = slots.wait(ONE, 2);
    let mut fourth = slots.wait(ONE, 2);
    assert!(slots.is_wanted(ONE));
    assert!(futures_util::poll!(&mut third).is_pending());
    assert!(futures_util::poll!(&mut fourth).is_pending());
    drop(first);
    assert!(slots.try_take(ONE, 2).is_none(), "nobody goes ahead of who waits");
    let third = third.await.unwrap();
    assert!(slots.is_wanted(ONE));
    drop(fourth);
    assert!(!slots.is_wanted(ONE), "who gave up waits no more");
    drop((second, third));
    assert!(slots.try_take(ONE, 2).is_some());
}
