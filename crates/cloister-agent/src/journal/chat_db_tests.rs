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
    db.mark_stored(&end("a").turn).unwrap();
    assert_eq!(db.accept(&trigger("a")).unwrap(), Accepted::Ended(end("a")));
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
