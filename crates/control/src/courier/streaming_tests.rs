use cloister_protocol::TextChunk;

use super::*;

/// A8: a draft that is due again, and could not be shown just now, is not tried without a pause.
#[tokio::test]
async fn a_draft_that_is_due_again_waits_its_turn() {
    let now = Instant::now();
    let mut desk = Desk::default();
    let chunk = TextChunk { turn: "t-m1".parse().unwrap(), seq: 0, text: "so far".to_owned() };
    desk.add(1, &chunk, now);
    let version = desk.turns().first().unwrap().version;
    let later = now + Duration::from_secs(3);
    let shown = ShownAnswer {
        origin: None,
        chat: (WorkspaceId::from_number(1), ChatId::from_number(1)),
        settled: Settled::default(),
        bits: Vec::new(),
        text: "so far".to_owned(),
        version,
        next: later,
        every: Duration::from_secs(3),
        again: Some(now),
        since: now,
        given_up: false,
    };
    let mut streams = Streams { shown: BTreeMap::from([(1, shown)]) };
    assert_eq!(streams.next(&desk, Duration::ZERO), Some((1, later)));
}
