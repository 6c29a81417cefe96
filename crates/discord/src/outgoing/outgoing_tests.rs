use super::*;

#[test]
fn a_notice_stands_apart() {
    let message = notice("**T3** is done. @everyone");
    assert!(message.content.is_empty());
    assert_eq!(message.frame.unwrap().text, "**T3** is done. \\@everyone");
}

#[test]
fn only_what_is_still_being_written_gives_way() {
    let answer =
        |unfinished| Posting::Answer { markdown: String::new(), unfinished, buttons: Vec::new() };
    assert!(is_unfinished(&answer(true)));
    assert!(!is_unfinished(&answer(false)));
    assert!(!is_unfinished(&Posting::Notice { markdown: String::new(), buttons: Vec::new() }));
}
