use super::*;

#[tokio::test(start_paused = true)]
async fn a_bucket_gives_its_burst_and_then_its_rate() {
    let bucket = Bucket::new(10.0, 5.0);
    assert_eq!((0..20).filter(|_| bucket.take().is_ok()).count(), 5);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!((0..20).filter(|_| bucket.take().is_ok()).count(), 5);
    tokio::time::advance(Duration::from_millis(200)).await;
    assert_eq!((0..20).filter(|_| bucket.take().is_ok()).count(), 2);
}

#[test]
fn only_the_same_request_in_a_row_is_a_loop() {
    let repeats = Repeats::new(3);
    let asked = ["a", "a", "a", "b", "a", "a", "a", "a"];
    let loops: Vec<bool> = asked.iter().map(|body| repeats.is_loop(body.as_bytes())).collect();
    assert_eq!(loops, [false, false, false, false, false, false, false, true]);
}
