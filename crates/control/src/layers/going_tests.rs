use super::*;
use crate::options::Most;

const DAY: i64 = DAY_MS;
const MB: u64 = 1 << 20;

fn keeping(days: u32, mb: u32) -> Keeping {
    Keeping::of(&FileOptions {
        undo_days: Most::of(days),
        undo_mb: Most::of(mb),
        ..FileOptions::default()
    })
}

fn one(task: u32, at: i64, mb: u64, told_at: Option<i64>) -> Undoable {
    let (task, chat) = (TaskId::from_number(task), ChatId::from_number(1));
    Undoable { task, chat, at, bytes: mb * MB, told_at }
}

fn ids(all: &[Undoable]) -> Vec<String> {
    all.iter().map(|one| one.task.to_string()).collect()
}

#[test]
fn it_is_said_a_day_before_thirty_days_are_over_and_goes_a_day_after_that() {
    let limits = keeping(30, 2048);
    let at = |now, told| fates(vec![one(1, 0, 1, told)], limits, now);
    assert_eq!(at(28 * DAY, None), Fates::default());
    let said = 29 * DAY;
    assert_eq!(ids(&at(said, None).ages), ["T1"]);
    assert_eq!(at(said + 1, Some(said)), Fates::default(), "once");
    assert_eq!(at(30 * DAY - 1, Some(said)), Fates::default());
    assert_eq!(ids(&at(30 * DAY, Some(said)).goes), ["T1"]);
    // Whoever was off for long is told first.
    assert_eq!(ids(&at(90 * DAY, None).ages), ["T1"]);
    assert_eq!(at(90 * DAY + DAY - 1, Some(90 * DAY)), Fates::default());
    assert_eq!(ids(&at(91 * DAY, Some(90 * DAY)).goes), ["T1"]);
    // What was brought back since begins anew.
    let anew = fates(vec![one(1, 40 * DAY, 1, Some(29 * DAY))], limits, 60 * DAY);
    assert_eq!(anew, Fates::default());
}

#[test]
fn those_that_follow_soon_are_said_together() {
    let all = vec![one(1, 0, 1, None), one(2, DAY / 2, 1, None), one(3, 3 * DAY, 1, None)];
    assert_eq!(ids(&fates(all, keeping(30, 0), 29 * DAY).ages), ["T1", "T2"]);
}

#[test]
fn of_too_much_the_oldest_goes_first_and_is_said_a_round_before() {
    let all = |told| vec![one(1, 1, 60, told), one(2, 2, 60, None), one(3, 3, 30, None)];
    let limits = keeping(30, 100);
    let first = fates(all(None), limits, DAY);
    assert_eq!((ids(&first.is_pushed), first.goes.len()), (vec!["T1".to_owned()], 0));
    assert_eq!(
        fates(all(Some(DAY)), limits, DAY + 1),
        Fates::default(),
        "not before the next round"
    );
    assert_eq!(ids(&fates(all(Some(DAY)), limits, DAY + HOUR_MS).goes), ["T1"]);
}

#[test]
fn of_far_too_much_the_oldest_goes_at_once_and_the_newest_is_said_first() {
    let all = vec![one(1, 1, 150, None), one(2, 2, 900, None)];
    let found = fates(all, keeping(30, 100), DAY);
    assert_eq!(
        (ids(&found.is_pushed), ids(&found.goes_at_once)),
        (vec!["T2".into()], vec!["T1".into()])
    );
    // Without room of its own nothing goes for room.
    let documents = fates(vec![one(1, 1, 0, None), one(2, 2, 900, Some(3))], keeping(30, 100), DAY);
    assert_eq!((ids(&documents.goes), documents.is_pushed.len()), (vec!["T2".to_owned()], 0));
}

#[test]
fn never_is_never() {
    let all = vec![one(1, 0, 9_999_999, None)];
    assert_eq!(fates(all, keeping(0, 0), 9_999 * DAY), Fates::default());
    let word: FileOptions = toml_like("never");
    assert_eq!(word.undo_days.number(), None);
}

fn toml_like(word: &str) -> FileOptions {
    serde_json::from_value(serde_json::json!({"undo_days": word, "undo_mb": 0})).unwrap()
}
