use std::time::Duration;

use cloister_protocol::{ChatId, TaskId, UserId, WorkspaceId};
use tokio::time::Instant;

use super::TrailPace;
use crate::options::GateOptions;
use crate::ports::Principal;

fn pace() -> TrailPace {
    TrailPace::new(&GateOptions {
        request_burst: 10,
        requests_per_second: 2.0,
        denial_burst: 3,
        denials_per_second: 1.0,
        ..GateOptions::default()
    })
}

fn task(number: u32) -> TaskId {
    TaskId::from_number(number)
}

fn somebody(user: u32) -> Principal {
    Principal {
        user: UserId::from_number(user),
        workspace: WorkspaceId::from_number(1),
        chat: ChatId::from_number(1),
        task: Some(task(1)),
    }
}

fn of(number: u32) -> (WorkspaceId, Option<TaskId>) {
    (somebody(1).workspace, Some(task(number)))
}

const ANN: UserId = UserId::from_number(1);
const BOB: UserId = UserId::from_number(2);

/// A cell could make its person's chain grow by 200 entries a second, for as long as it ran.
#[tokio::test(start_paused = true)]
async fn beyond_a_burst_requests_leave_as_fast_as_the_trail_may_grow() {
    let (pace, began) = (pace(), Instant::now());
    for _ in 0..10 {
        assert!(pace.turn(somebody(1)).await);
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
    for _ in 0..20 {
        assert!(pace.turn(somebody(1)).await);
    }
    let taken = began.elapsed();
    assert!((9..=11).contains(&taken.as_secs()), "{taken:?}");
    // What somebody else does in the same workspace does not wait for that.
    let before = Instant::now();
    assert!(pace.turn(somebody(2)).await);
    assert_eq!(before.elapsed(), Duration::ZERO);
    // What did not leave has used up nothing.
    pace.stayed(somebody(1));
    assert!(pace.turn(somebody(1)).await);
    assert_eq!(before.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn every_denial_is_counted_once_however_many_have_an_entry() {
    let pace = pace();
    let (mut entries, mut counted) = (0_u64, 0_u64);
    for _ in 0..1_000 {
        if let Some(before) = pace.denied(ANN, of(1)) {
            entries += 1;
            counted += 1 + before;
        }
    }
    assert_eq!((entries, counted), (3, 3));
    tokio::time::advance(Duration::from_secs(2)).await;
    // Another task of the same person has no burst of its own, and its denials are its own.
    assert_eq!(pace.denied(ANN, of(2)), Some(0));
    assert_eq!(pace.denied(ANN, of(1)), Some(997));
    assert_eq!(pace.denied(ANN, of(1)), None);
    assert_eq!(pace.denied(ANN, of(2)), None);
    assert_eq!(pace.denied(BOB, of(3)), Some(0), "another person");
    let mut left = pace.take_uncounted();
    left.sort_by_key(|((_, task), _)| *task);
    assert_eq!(left, [(of(1), 1), (of(2), 1)]);
    assert_eq!(pace.take_uncounted(), []);
}
