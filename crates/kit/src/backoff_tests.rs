use super::*;

#[test]
fn waits_grow_to_the_limit_and_start_over() {
    let most = Duration::from_secs(20);
    let mut backoff = Backoff::new(most);
    let mut whole = FIRST;
    for _ in 0..50 {
        let wait = backoff.pause();
        assert!(wait >= whole / 2 && wait <= whole, "{wait:?} is not within {whole:?}");
        whole = (whole * 2).min(most);
    }
    backoff.reset();
    assert!(backoff.pause() <= FIRST);
}
