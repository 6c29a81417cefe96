use super::*;

#[tokio::test(start_paused = true)]
async fn sessions_begin_five_seconds_apart_in_as_many_rows_as_discord_says() {
    let began = Instant::now();
    let turns = Turns::new(2);
    for shard in 0..4 {
        turns.of(shard).await.taken();
        let rows_before = u64::from(shard / 2);
        assert_eq!(began.elapsed(), APART * u32::try_from(rows_before).unwrap(), "{shard}");
    }
    // Who did not begin takes nobody's time.
    drop(turns.of(4).await);
    let before = Instant::now();
    drop(turns.of(4).await);
    assert_eq!(before.elapsed(), Duration::ZERO);
}
