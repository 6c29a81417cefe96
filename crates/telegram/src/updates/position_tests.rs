use super::*;

const DAY: i64 = 24 * 60 * 60 * 1000;

/// X1: the offset moves past what is stored, never back, and is the same after a restart.
#[test]
fn it_moves_forward_and_is_kept() {
    let first = Position::after(None, 10, 1000);
    assert_eq!(first.offset(1000), Some(11));
    let again = Position::after(Some(first), 9, 1001);
    assert_eq!(again.offset(1001), Some(11), "an update that comes again leads nowhere");
    assert_eq!(Position::read(&again.to_string()), Some(again));
    assert_eq!(Position::read("nonsense"), None);
}

/// Telegram counts anew after a week without updates: an old offset must not hide them.
#[test]
fn an_old_offset_is_not_used() {
    let long_ago = Position::after(None, 900_000_000, 0);
    assert_eq!(long_ago.offset(5 * DAY), Some(900_000_001));
    assert_eq!(long_ago.offset(8 * DAY), None);
    let anew = Position::after(Some(long_ago), 17, 8 * DAY);
    assert_eq!(anew.offset(8 * DAY), Some(18));
}
