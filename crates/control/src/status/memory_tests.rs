use super::*;

#[test]
fn who_was_busy_gives_back_once_when_idle() {
    let mut calm = Calm::default();
    let looks: Vec<bool> = [1_000, 1_001, 1_001, 1_002, 1_003, 1_004, 1_005]
        .into_iter()
        .map(|ticks| calm.looked(ticks))
        .collect();
    assert_eq!(looks, [false, false, false, false, true, false, false]);
    assert!(!calm.looked(2_000), "busy again");
    let again: Vec<bool> = (0..4).map(|more| calm.looked(2_000 + more)).collect();
    assert_eq!(again, [false, false, false, true]);
}

#[test]
fn what_the_kernel_says_is_read() {
    let said = "55d0-7ffe ---p 00000000 00:00 0 [rollup]\nRss:   30000 kB\nPss:   20480 kB\n";
    assert_eq!(proportional_bytes(said), Some(20 << 20));
    assert_eq!(proportional_bytes("Rss: 1 kB\n"), None);
}
