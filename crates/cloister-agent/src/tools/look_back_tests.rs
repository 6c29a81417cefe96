use super::*;

#[test]
fn a_moment_is_a_date_and_a_time() {
    assert_eq!(moment(0), "1970-01-01 00:00");
    assert_eq!(moment(951_782_400), "2000-02-29 00:00");
    assert_eq!(moment(1_795_011_900), "2026-11-18 14:25");
}

/// What a person was told when no model could answer is no word of the model's, wherever it is looked up.
#[test]
fn an_error_is_never_shown_as_an_answer() {
    let failed = PastTurn {
        seq: 4,
        at: 0,
        cause: Cause::Message {
            from: "ann".into(),
            text: "how far?".into(),
            attachments: vec![],
            instead: None,
        },
        text: "no model answered. main: it answered 401: invalid key.".into(),
        error: Some(cloister_protocol::ErrorCode::ModelUnavailable),
        steps: Vec::new(),
    };
    let all = LookBack { query: String::new(), turn: Some(4), before: None, offset: 0 };
    let found = [all.read(&failed).output, excerpt(&failed, &["far".into()]).unwrap()];
    for shown in &found {
        assert!(shown.contains("how far?") && !shown.contains("401"), "{shown}");
        assert!(shown.contains("could not be answered"), "{shown}");
    }
    assert!(excerpt(&failed, &["401".into()]).is_none());
}

#[test]
fn an_excerpt_shows_where_the_words_are() {
    let long = format!("{} the Rhine {}", "a".repeat(3_000), "b".repeat(3_000));
    let turn = PastTurn {
        seq: 3,
        at: 0,
        cause: Cause::Message {
            from: "ann".into(),
            text: long,
            attachments: Vec::new(),
            instead: None,
        },
        text: "It is a river.".into(),
        error: None,
        steps: Vec::new(),
    };
    let found = excerpt(&turn, &["rhine".into(), "river".into()]).unwrap();
    assert!(found.contains("the Rhine") && found.starts_with("Turn 3, 1970-01-01"), "{found}");
    assert!(found.len() < 1_200, "{}", found.len());
    assert!(excerpt(&turn, &["elbe".into()]).is_none());
}
