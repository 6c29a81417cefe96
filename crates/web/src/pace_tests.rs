use std::time::Duration;

use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use super::*;

fn person(number: u32) -> UserId {
    UserId::from_number(number)
}

#[test]
fn who_sends_forms_without_end_is_told_when_to_go_on_and_nobody_else_is() {
    let (pace, now) = (Turnstile::default(), Instant::now());
    let post = |user, at| pace.charge(person(user), &Method::POST, at);
    for _ in 0..60 {
        post(1, now).unwrap();
    }
    let refused = post(1, now).unwrap_err().into_response();
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(refused.headers()[header::RETRY_AFTER], "2");
    post(2, now).unwrap();
    pace.charge(person(1), &Method::GET, now).unwrap();
    post(1, now + Duration::from_secs(2)).unwrap();
}

#[test]
fn a_program_that_asks_without_end_is_told_to_wait_too() {
    let pace = Turnstile::default();
    let refused = (0..1000).find_map(|_| pace.pass(person(1)).err()).unwrap();
    assert_eq!(refused.into_response().status(), StatusCode::TOO_MANY_REQUESTS);
    pace.pass(person(2)).unwrap();
}

#[tokio::test]
async fn the_pages_of_one_person_are_made_a_few_at_a_time() {
    let pace = Turnstile::default();
    let first = pace.enter(person(1), &Method::GET).await.unwrap();
    let _second = pace.enter(person(1), &Method::GET).await.unwrap();
    let third = waits(pace.enter(person(1), &Method::GET));
    assert!(third, "the third waits");
    assert!(!waits(pace.enter(person(2), &Method::GET)), "and nobody else does");
    drop(first);
    assert!(!waits(pace.enter(person(1), &Method::GET)));
}

/// Whether it has to wait.
fn waits<T>(future: impl Future<Output = T>) -> bool {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    future.as_mut().poll(&mut context).is_pending()
}
