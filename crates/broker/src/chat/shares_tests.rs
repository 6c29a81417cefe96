use futures_util::FutureExt;

use super::*;

#[tokio::test]
async fn one_user_can_not_take_the_share_of_another() {
    let shares = Shares::new(2);
    let (heavy, quiet) = (UserId::from_number(1), UserId::from_number(2));
    let first = shares.enter(heavy).await.unwrap();
    let _second = shares.enter(heavy).await.unwrap();
    assert!(shares.enter(heavy).now_or_never().is_none());
    assert!(shares.enter(quiet).now_or_never().is_some());
    drop(first);
    assert!(shares.enter(heavy).now_or_never().is_some());
}

#[tokio::test]
async fn users_without_calls_are_forgotten() {
    let shares = Shares::new(2);
    for number in 0..10_000 {
        drop(shares.enter(UserId::from_number(number)).await);
    }
    assert!(shares.users.lock().unwrap().len() <= SWEEP_AT);
}
