use cloister_protocol::TurnId;

use super::*;

#[test]
fn a_find_is_shown_with_what_stands_around_it() {
    assert_eq!(around("plant Beans", "beans"), "plant Beans");
    let long = format!("{} beans {}", "x".repeat(300), "y".repeat(300));
    let shown = around(&long, "beans");
    assert!(
        shown.starts_with("…x") && shown.ends_with("y…") && shown.contains(" beans "),
        "{shown}"
    );
    assert!(shown.chars().count() < 200);
}

/// Folding makes some letters longer; the place of a find is that in the text as it was written.
#[test]
fn a_find_is_placed_where_it_stands_in_any_script() {
    let long = format!("{} Straße {}", "ß".repeat(200), "ß".repeat(200));
    assert!(around(&long, "STRASSE").contains(" Straße "));
    let long = format!("{} ХЛЕБ {}", "ы".repeat(300), "ы".repeat(300));
    assert!(around(&long, "хлеб").contains(" ХЛЕБ "));
}

#[test]
fn all_words_are_marked_in_any_script() {
    let shown = |text: &str, words: &str| marked(text, words).into_string();
    assert_eq!(
        shown("Plant <b> BEANS, beans", "beans plant"),
        "<mark>Plant</mark> &lt;b&gt; <mark>BEANS</mark>, <mark>beans</mark>"
    );
    assert_eq!(shown("Die Straße", "STRASSE"), "Die <mark>Straße</mark>");
    assert_eq!(shown("Купить хлеб", "ХЛЕБ"), "Купить <mark>хлеб</mark>");
    assert_eq!(shown("nothing", "else"), "nothing");
    assert_eq!(around("one two three", "three two"), "one two three");
}

#[test]
fn an_answer_is_found_without_its_marks_and_a_message_to_the_letter() {
    let mut found = FoundWords {
        chat: "C1".parse().unwrap(),
        at: 0,
        said: false,
        turn: TurnId::of_message(1),
        text: "# Plan\n\n> A **slow** `walk`".to_owned(),
    };
    assert_eq!(plain(&found), "Plan\n\nA slow walk");
    found.said = true;
    assert_eq!(plain(&found), found.text);
}

/// How long this thread was at work: what other programs take of the machine does not count. At least what the kernel
/// counts in.
fn worked() -> std::time::Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    std::time::Duration::from_nanos(stat.split_whitespace().next().unwrap().parse().unwrap())
}

const TICK: std::time::Duration = std::time::Duration::from_millis(5);

/// As long as messages may be, with a find in each letter, or in none: eight times the text is about eight times the work.
#[test]
fn a_long_text_is_read_once_however_many_words_are_looked_for() {
    let words = (0..100).map(|number| format!("xxxx{number} ")).collect::<String>();
    let took = |letters: usize| {
        let text = "x".repeat(letters);
        let run = || {
            let before = worked();
            assert!(!marked(&around(&text, &words), &words).into_string().is_empty());
            (worked() - before).max(TICK)
        };
        (0..3).map(|_| run()).min().unwrap()
    };
    let (once, eight) = (took(100_000), took(800_000));
    assert!(eight < once * 24, "{once:?}, then {eight:?}");
}
