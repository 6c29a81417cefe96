use super::*;

fn labels(markup: &Keyboard) -> Vec<Vec<&str>> {
    let row = |row: &'_ Vec<KeyboardButton>| row.len();
    assert!(markup.inline_keyboard.iter().map(row).all(|length| length > 0));
    markup
        .inline_keyboard
        .iter()
        .map(|row| row.iter().map(|button| button.text.as_str()).collect())
        .collect()
}

fn token(number: usize) -> String {
    format!("{number:022}")
}

#[test]
fn short_buttons_stand_beside_one_another_and_long_ones_alone() {
    let given = ["👍 allow once", "👎 deny", "🛑 deny and stop the task"];
    let given = given.iter().enumerate().map(|(number, label)| (*label, token(number)));
    let markup = markup(given).unwrap();
    assert_eq!(
        labels(&markup),
        [vec!["👍 allow once", "👎 deny"], vec!["🛑 deny and stop the task"]]
    );
    let data = markup.inline_keyboard[0][1].callback_data.clone();
    assert_eq!(data, token(1), "each has its own token and nothing else");
}

/// X5: as many as control makes fit into eight rows, each with data that Telegram takes.
#[test]
fn there_are_never_more_than_eight_rows() {
    for count in [1, 8, 9, 20, MOST_BUTTONS] {
        let label = "C12 · a title that is rather long for a button";
        let given = (0..count).map(|number| (label, token(number)));
        let markup = markup(given).unwrap();
        assert!(markup.inline_keyboard.len() <= MAX_ROWS, "{count}");
        let buttons: Vec<_> = markup.inline_keyboard.iter().flatten().collect();
        assert_eq!(buttons.len(), count);
        assert!(markup.inline_keyboard.iter().all(|row| row.len() <= MAX_IN_A_ROW));
        let fits = |data: &String| !data.is_empty() && data.len() <= MAX_DATA;
        assert!(buttons.iter().all(|button| fits(&button.callback_data)));
    }
}

#[test]
fn a_label_is_short_visible_and_never_empty() {
    assert_eq!(shown(" \n "), "…");
    assert_eq!(shown("a\nb"), "a b");
    assert!(shown(&"x".repeat(500)).chars().count() <= MAX_LABEL + 1);
    assert!(!shown("a\u{202e}b").chars().any(cloister_policy::is_hidden));
    assert!(markup(std::iter::empty()).is_none());
    assert!(markup([("x", "y".repeat(65))].into_iter()).is_none(), "too long to be a token");
}
