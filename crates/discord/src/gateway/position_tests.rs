use super::{Position, ShardPosition};

fn shard(seq: u64, seen: u64) -> ShardPosition {
    let (session, resume_url) = ("s".to_owned(), Some("wss://resume".to_owned()));
    ShardPosition { session, resume_url, seq, seen, since: None }
}

#[test]
fn what_was_kept_is_read_again() {
    let mut position = Position::fresh(7);
    position.shards = 2;
    position.of.insert(1, shard(12, 99));
    assert_eq!(Position::read(Some(&position.to_json()), 1), position);
    assert_eq!(position.seen_by(0), 7, "a shard that has seen nothing begins where all began");
    assert_eq!(position.seen_by(1), 99);
    assert_eq!(position.session_of(1).map(|of| of.seq), Some(12));
    assert!(position.session_of(0).is_none());
}

#[test]
fn what_cannot_be_read_begins_now_and_asks_for_nothing_older() {
    assert_eq!(Position::read(None, 5), Position::fresh(5));
    assert_eq!(Position::read(Some("s12_34"), 5), Position::fresh(5));
}

/// Another number of shards loses the sessions and no message (X1).
#[test]
fn other_shards_begin_where_the_slowest_was() {
    let mut position = Position::fresh(1);
    position.shards = 2;
    position.of.insert(0, shard(3, 50));
    position.of.insert(1, shard(4, 40));
    let wider = position.clone().for_shards(4);
    assert_eq!((wider.shards, wider.seen_by(3)), (4, 40));
    assert!(wider.session_of(0).is_none());
    assert_eq!(position.clone().for_shards(2), position);
}

/// What is still to be asked after a lost session is known after a kill, and after another lost session (X1).
#[test]
fn what_is_still_to_be_asked_is_kept() {
    let mut at = shard(3, 50);
    assert_eq!(at.ask_again(10), 40);
    let mut position = Position::fresh(1);
    position.shards = 1;
    position.of.insert(0, at.clone());
    let kept = Position::read(Some(&position.to_json()), 99);
    assert_eq!(kept.session_of(0).and_then(|of| of.since), Some(40));
    // Others were heard meanwhile: what was not asked is not forgotten for that.
    at.seen = 500;
    assert_eq!(at.ask_again(10), 40);
    position.of.insert(0, at.clone());
    assert_eq!(position.for_shards(2).seen_by(1), 40);
    at.since = None;
    assert_eq!(at.ask_again(10), 490);
}

#[test]
fn a_position_without_it_is_read() {
    let kept =
        r#"{"shards":1,"seen":1,"of":{"0":{"session":"s","resume_url":null,"seq":2,"seen":3}}}"#;
    let read = Position::read(Some(kept), 9);
    assert_eq!(read.session_of(0).map(|of| (of.seq, of.since)), Some((2, None)));
}
