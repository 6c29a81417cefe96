use std::cell::Cell;

use tokio::time::Instant;

use super::*;

async fn said(answers: &[Result<u8, SendError>]) -> (Result<u8, SendError>, usize) {
    let tries = Cell::new(0);
    let said = say_patiently(|| {
        let answer = answers[tries.get()].clone();
        tries.set(tries.get() + 1);
        std::future::ready(answer)
    });
    (said.await, tries.get())
}

#[tokio::test(start_paused = true)]
async fn it_is_said_once_more_when_it_is_asked_to_wait() {
    let began = Instant::now();
    let wait = || Err(SendError::Wait(Duration::from_secs(600)));
    assert!(matches!(said(&[wait(), Ok(7)]).await, (Ok(7), 2)));
    assert_eq!(began.elapsed(), LONGEST_PAUSE);
    assert!(matches!(said(&[wait(), wait()]).await, (Err(SendError::Wait(_)), 2)));
    let refused = || Err(SendError::Unreachable("it is gone".to_owned()));
    assert!(matches!(said(&[refused(), Ok(7)]).await, (Err(SendError::Unreachable(_)), 1)));
}
