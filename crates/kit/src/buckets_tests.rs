use super::*;

#[tokio::test(start_paused = true)]
async fn a_bucket_gives_its_burst_and_then_its_rate() {
    let bucket = Bucket::new(Rate::new(5.0, 10.0));
    assert_eq!((0..20).filter(|_| bucket.take().is_ok()).count(), 5);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!((0..20).filter(|_| bucket.take().is_ok()).count(), 5);
    tokio::time::advance(Duration::from_millis(200)).await;
    assert_eq!((0..20).filter(|_| bucket.take().is_ok()).count(), 2);
}

#[test]
fn a_rate_of_nothing_still_has_an_end() {
    for per_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let (buckets, now) = (Buckets::new(Rate::new(0u32, per_s)), Instant::now());
        assert_eq!(buckets.take("key", now), Ok(()));
        assert!(buckets.take("key", now).is_err_and(|wait| wait <= Duration::from_secs(10_000)));
    }
}
