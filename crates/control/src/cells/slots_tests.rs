use super::*;

const ONE: WorkspaceId = WorkspaceId::from_number(1);
const TWO: WorkspaceId = WorkspaceId::from_number(2);
const ADA: UserId = UserId::from_number(1);
const BOB: UserId = UserId::from_number(2);

fn seat(workspace: WorkspaceId) -> Seat {
    Seat { workspace, most: 2, person: None }
}

#[tokio::test]
async fn so_many_of_one_workspace_run_and_the_next_waits_in_order() {
    let slots = Slots::default();
    let first = slots.try_take(seat(ONE)).unwrap();
    let second = slots.try_take(seat(ONE)).unwrap();
    assert!(slots.try_take(seat(ONE)).is_none() && !second.is_wanted());
    assert!(slots.try_take(seat(TWO)).is_some(), "another workspace has its own");

    let mut third = slots.wait(seat(ONE));
    let mut fourth = slots.wait(seat(ONE));
    assert!(second.is_wanted());
    assert!(futures_util::poll!(&mut third).is_pending());
    assert!(futures_util::poll!(&mut fourth).is_pending());
    drop(first);
    assert!(slots.try_take(seat(ONE)).is_none(), "nobody goes ahead of who waits");
    let third = third.await.unwrap();
    assert!(second.is_wanted());
    drop(fourth);
    assert!(!second.is_wanted(), "who gave up waits no more");
    drop((second, third));
    assert!(slots.try_take(seat(ONE)).is_some());
}

/// A member of a community whose chats have used up their share waits for one of those; the others have theirs.
#[tokio::test]
async fn in_a_community_everybody_has_a_share() {
    let slots = Slots::default();
    let of = |person| Seat { workspace: ONE, most: 4, person: Some((person, 1)) };
    let bobs = slots.try_take(of(BOB)).unwrap();
    assert!(slots.try_take(of(BOB)).is_none());
    assert_eq!((slots.lacks_share(of(BOB)), slots.lacks_share(of(ADA))), (Some(BOB), None));
    let mut next = slots.wait(of(BOB));
    assert!(futures_util::poll!(&mut next).is_pending());
    let adas = slots.try_take(of(ADA)).unwrap();
    assert!(bobs.is_wanted() && !adas.is_wanted(), "one of his own is to make room");
    drop(bobs);
    let next = next.await.unwrap();
    assert!(!next.is_wanted());
    // Where the workspace itself is full, it is as before.
    let rest = [3, 4].map(|n| slots.try_take(of(UserId::from_number(n))).unwrap());
    let mut fifth = slots.wait(of(UserId::from_number(5)));
    assert!(futures_util::poll!(&mut fifth).is_pending());
    assert!(adas.is_wanted());
    drop(rest);
    assert!(fifth.await.is_some());
}
