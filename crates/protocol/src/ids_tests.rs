use super::*;

#[test]
fn a_numbered_id_reads_only_what_it_prints() {
    assert_eq!("C12".parse::<ChatId>().unwrap().to_string(), "C12");
    for wrong in ["", "C", "C0", "C01", "c1", "C-1", "C1 ", "C1/..", "C99999999999", "C\u{0661}"] {
        assert!(wrong.parse::<ChatId>().is_err(), "{wrong:?} must not be a chat id");
    }
}

#[test]
fn a_word_id_has_no_room_for_tricks() {
    for wrong in ["", "a b", "a/b", "a\0b", "é", &"x".repeat(129)] {
        assert!(wrong.parse::<MessageId>().is_err(), "{wrong:?} must not be a message id");
    }
}

#[test]
fn the_error_says_what_was_expected() {
    let error = "Alice!".parse::<UserName>().unwrap_err().to_string();
    assert!(error.contains("Alice!") && error.contains("lower-case"), "{error}");
}
