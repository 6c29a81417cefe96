use super::*;
use crate::{count, say};

#[test]
fn what_is_put_in_is_not_read_as_a_sentence() {
    let name = "{other} {{";
    let text = filled("{name} and {other}, {{as it is}}", &[("name", &name), ("other", &2)]);
    assert_eq!(text, "{other} {{ and 2, {as it is}");
}

#[test]
fn brackets_that_name_nothing_stay() {
    assert_eq!(filled("{ {what} }", &[]), "{ {what} }");
    assert_eq!(filled("open {", &[]), "open {");
}

#[test]
fn a_sentence_nobody_translated_is_said_in_english() {
    for to in Language::ALL {
        assert_eq!(
            filled(text_of(to, "nobody translated {this}"), &[("this", &1)]),
            "nobody translated 1"
        );
    }
}

#[test]
fn numbers_take_the_form_their_language_has_for_them() {
    let forms = |to, numbers: &[u64]| numbers.iter().map(|n| form_of(to, *n)).collect::<Vec<_>>();
    assert_eq!(forms(Language::De, &[0, 1, 2, 21]), [1, 0, 1, 1]);
    assert_eq!(
        forms(Language::Ru, &[0, 1, 2, 5, 11, 12, 21, 22, 25, 111, 121]),
        [2, 0, 1, 2, 2, 2, 0, 1, 2, 2, 0]
    );
}

#[test]
fn a_sentence_that_names_something_else_does_not_compile() {
    assert!(names_all("{a} and {b} and {a}, {{c}}", &["a", "b"]));
    assert!(!names_all("{a}", &[]));
    assert!(!names_all("{a}", &["a", "b"]));
    assert!(!names_all("{ab}", &["a"]));
    assert_eq!(say!(Language::En, "{n} left" /* not in any catalogue */, n = 3), "3 left");
    assert_eq!(count!(Language::En, 1_u64, "{n} thing", "{n} things"), "1 thing");
    assert_eq!(count!(Language::En, 2_u64, "{n} thing", "{n} things"), "2 things");
}
