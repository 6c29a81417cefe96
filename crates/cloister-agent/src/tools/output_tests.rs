use super::*;

fn pushed(limit: usize, pieces: &[&str]) -> String {
    let mut output = HeadTail::new(limit);
    for piece in pieces {
        output.push(piece.as_bytes());
    }
    output.finish()
}

#[test]
fn what_fits_is_whole_even_where_the_halves_meet_inside_a_character() {
    assert_eq!(pushed(10, &["abc", "dé", "fg"]), "abcdéfg");
}

#[test]
fn of_what_does_not_fit_both_ends_are_kept_and_the_rest_is_counted() {
    assert_eq!(pushed(8, &["0123", "456", "789ab"]), "0123\n[… 4 bytes left out …]\n89ab");
}
