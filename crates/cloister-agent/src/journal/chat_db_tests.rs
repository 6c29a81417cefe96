use cloister_protocol::{ChatId, ModelFacts};

use super::*;

fn trigger(id: &str) -> Trigger {
    let cause = Cause::Message {
        from: "ann".into(),
        text: "hi".into(),
        attachments: Vec::new(),
        instead: None,
    };
    Trigger {
        id: id.parse().unwrap(),
        chat: ChatId::from_number(1),
        cause,
        prompt: String::new(),
        model: ModelFacts::default(),
        now: String::new(),
        phrases: Box::default(),
    }
}

fn end(id: &str) -> End {
    let turn = TurnId::of_trigger(&id.parse().unwrap());
    End { turn, message: None, text: "hello".into(), usage: Usage::default(), error: None }
}

#[test]
fn a_trigger_is_fresh_once_open_until_it_ends_and_then_answered() {
    let folder = tempfile::tempdir().unwrap();
    let db = ChatDb::open(folder.path()).unwrap();
    let Accepted::Fresh { seq } = db.accept(&trigger("a")).unwrap() else { panic!() };
    assert_eq!(db.accept(&trigger("a")).unwrap(), Accepted::Open { seq });
    // Also for whoever opens the database next.
    drop(db);
    let db = ChatDb::open(folder.path()).unwrap();
    assert_eq!(db.accept(&trigger("a")).unwrap(), Accepted::Open { seq });
    let ending = Ending { end: end("a"), last: None, notices_told: 0 };
    db.end(&trigger("a"), seq, &ending).unwrap();
    assert_eq!(db.accept(&trigger("a")).unwrap(), Accepted::Ended(end("a")));
    assert!(db.is_loose());
    db.settle().unwrap();
    assert!(!db.is_loose());
    assert_eq!(db.accept(&trigger("a")).unwrap(), Accepted::Ended(end("a")));
}

#[test]
fn what_has_ended_is_on_disk_after_a_moment_and_what_is_acted_upon_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let db = ChatDb::open(folder.path()).unwrap();
    let waits_for_the_disk =
        || db.connection.query_row("PRAGMA synchronous", [], |row| row.get::<_, i64>(0)).unwrap();
    let state = |id: &str| -> String {
        let turn = end(id).turn;
        let sql = "SELECT state FROM turns WHERE id = ?1";
        db.connection.query_row(sql, [turn.as_str()], |row| row.get(0)).unwrap()
    };
    for id in ["a", "b"] {
        let Accepted::Fresh { seq } = db.accept(&trigger(id)).unwrap() else { panic!() };
        let ending = Ending { end: end(id), last: None, notices_told: 0 };
        db.end(&trigger(id), seq, &ending).unwrap();
    }
    assert_eq!((state("a"), state("b")), ("ended".to_owned(), "ended".to_owned()));
    db.settle().unwrap();
    assert_eq!((state("a"), state("b")), ("stored".to_owned(), "stored".to_owned()));
    assert_eq!(waits_for_the_disk(), 1, "only what asks for it waits for the disk");
    assert_eq!(db.durably(|| Ok(waits_for_the_disk())).unwrap(), 2);
}

#[test]
fn a_turn_whose_row_was_lost_with_its_database_still_ends() {
    let folder = tempfile::tempdir().unwrap();
    let db = ChatDb::open(folder.path()).unwrap();
    let ending = Ending { end: end("a"), last: None, notices_told: 0 };
    db.end(&trigger("a"), 17, &ending).unwrap();
    assert_eq!(db.accept(&trigger("a")).unwrap(), Accepted::Ended(end("a")));
}

#[test]
fn a_journal_of_a_newer_version_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(ChatDb::open(folder.path()).unwrap());
    let connection = Connection::open(folder.path().join("history.db")).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let error = ChatDb::open(folder.path()).err().unwrap();
    assert!(error.to_string().contains("newer version"), "{error}");
}
