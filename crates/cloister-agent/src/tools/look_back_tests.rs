use super::*;

#[test]
fn a_moment_is_a_date_and_a_time() {
    assert_eq!(moment(0), "1970-01-01 00:00");
    assert_eq!(moment(951_782_400), "2000-02-29 00:00");
    assert_eq!(moment(1_795_011_900), "2026-11-18 14:25");
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
