use cloister_protocol::surface::WhyWaiting;
use serde_json::json;

use super::*;

fn waiting(id: i64, album: Option<&str>, from: i64, since: i64) -> Waiting {
    let raw = json!({"update_id": id, "message": {"message_id": id, "date": 1,
        "chat": {"id": 42, "type": "private"}, "from": {"id": from}, "media_group_id": album}});
    let row = WaitingEvent {
        id,
        place: "42".to_owned(),
        event: format!("42-{id}"),
        why: WhyWaiting::NoFile,
        sealed: Some(raw.to_string()),
        since,
        told: false,
    };
    Waiting::read(row).unwrap()
}

fn events(together: &Together) -> Vec<i64> {
    together.parts.iter().map(|part| part.row.id).collect()
}

/// X5: the pictures of an album are one message, also when they come in two polls with something between.
#[test]
fn an_album_is_gathered() {
    let all = || {
        vec![
            waiting(1, Some("a"), 7, 1000),
            waiting(2, Some("a"), 7, 1100),
            waiting(3, None, 7, 1150),
            waiting(4, Some("a"), 7, 1200),
            waiting(5, Some("b"), 7, 1300),
        ]
    };
    let early = first_together(all(), 1500, 1000).unwrap();
    assert_eq!((events(&early), early.wait_ms), (vec![1, 2, 4], Some(700)));
    let late = first_together(all(), 2200, 1000).unwrap();
    assert_eq!((events(&late), late.wait_ms), (vec![1, 2, 4], None));
}

#[test]
fn what_is_no_album_goes_at_once_and_alone() {
    let all = vec![waiting(1, None, 7, 1000), waiting(2, Some("a"), 7, 1000)];
    let first = first_together(all, 1000, 1000).unwrap();
    assert_eq!((events(&first), first.wait_ms), (vec![1], None));
    assert!(first_together(Vec::new(), 0, 1000).is_none());
}

/// Nobody puts a picture into somebody else's album.
#[test]
fn an_album_is_of_one_person() {
    let all = vec![waiting(1, Some("a"), 7, 0), waiting(2, Some("a"), 8, 0)];
    assert_eq!(events(&first_together(all, 9000, 1000).unwrap()), [1]);
}

#[test]
fn an_album_is_not_waited_for_forever() {
    let all: Vec<Waiting> = (1..=12).map(|id| waiting(id, Some("a"), 7, 1000)).collect();
    let full = first_together(all, 1000, 1000).unwrap();
    assert_eq!((full.parts.len(), full.wait_ms), (MOST_PARTS, None), "no more come");
    // A clock that was set back.
    let odd = first_together(vec![waiting(1, Some("a"), 7, 9000)], 1000, 1000).unwrap();
    assert_eq!(odd.wait_ms, Some(1000));
}

/// X1: what waits in a group that got another number is taken where the group is now, under the name that it had:
/// the numbers of messages begin anew there.
#[test]
fn what_waits_follows_its_group() {
    let raw = json!({"update_id": 1, "message": {"message_id": 12, "date": 1, "from": {"id": 7},
        "message_thread_id": 3, "is_topic_message": true, "chat": {"id": -5, "type": "group"}}});
    let mut row = waiting(1, None, 7, 0).row;
    row.sealed = Some(raw.to_string());
    for (place, answerable) in [("-5/3", 12), ("-1005/3", 0)] {
        row.place = place.to_owned();
        let read = Waiting::read(row.clone()).unwrap();
        let message = read.message().unwrap();
        assert_eq!((message.place().as_str(), message.name().as_str()), (place, "-5-12"));
        assert_eq!(message.answerable(), answerable, "no answer refers to another message");
    }
}
