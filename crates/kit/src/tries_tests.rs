use std::sync::atomic::{AtomicU32, Ordering};

use cloister_protocol::ErrorCode;
use tokio::time::Instant;

use super::*;

/// Fails in one way until it was tried so often.
struct Failing {
    how: fn() -> Result<(), PlaneError>,
    until: u32,
    tried: AtomicU32,
    on_record: AtomicU32,
    record_fails: u32,
}

impl Failing {
    fn new(how: fn() -> Result<(), PlaneError>, until: u32) -> Self {
        let (tried, on_record) = (AtomicU32::new(0), AtomicU32::new(0));
        Self { how, until, tried, on_record, record_fails: 0 }
    }

    fn tried(&self) -> u32 {
        self.tried.load(Ordering::Relaxed)
    }
}

impl Attempt for Failing {
    fn what(&self) -> String {
        "a test".to_owned()
    }

    async fn once(&self) -> Result<(), PlaneError> {
        if self.tried.fetch_add(1, Ordering::Relaxed) < self.until { (self.how)() } else { Ok(()) }
    }

    async fn pass_over(&self, _why: &str) -> Result<(), PlaneError> {
        match self.on_record.fetch_add(1, Ordering::Relaxed) < self.record_fails {
            true => broken(),
            false => Ok(()),
        }
    }
}

fn refused() -> Result<(), PlaneError> {
    Err(PlaneError::refused(ErrorCode::BadRequest, "it is no good"))
}

fn broken() -> Result<(), PlaneError> {
    Err(PlaneError::busy("the disk is full", Duration::from_secs(1)))
}

async fn tried(attempt: &mut Failing) -> (Handed, Duration) {
    let began = Instant::now();
    let turns = Semaphore::new(1);
    let handed = patiently(&turns, &CancellationToken::new(), attempt).await;
    (handed, began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn what_fails_for_a_reason_of_its_own_is_passed_over_after_a_minute() {
    for how in [refused, || panic!("inside")] {
        let mut attempt = Failing::new(how, u32::MAX);
        assert_eq!(tried(&mut attempt).await, (Handed::Over, Duration::from_secs(60)));
        assert_eq!((attempt.tried(), attempt.on_record.into_inner()), (5, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn what_fails_because_of_us_is_tried_for_as_long_as_that_lasts() {
    let mut attempt = Failing::new(broken, 1_000);
    assert_eq!(tried(&mut attempt).await, (Handed::Over, Duration::from_secs(5_000)));
    assert_eq!(attempt.on_record.into_inner(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_is_passed_over_is_on_record_first() {
    let mut attempt = Failing { record_fails: 3, ..Failing::new(refused, u32::MAX) };
    assert_eq!(tried(&mut attempt).await, (Handed::Over, Duration::from_secs(75)));
    assert_eq!(attempt.on_record.into_inner(), 4);
}

#[tokio::test(start_paused = true)]
async fn who_is_to_stop_does_not_begin() {
    let (turns, stop) = (Semaphore::new(1), CancellationToken::new());
    stop.cancel();
    let mut attempt = Failing::new(refused, 0);
    assert_eq!(patiently(&turns, &stop, &mut attempt).await, Handed::Stopped);
    assert_eq!(attempt.tried(), 0);
}
